/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does each level of perf_event_paranoid allow and refuse, -1 to 4?
 *
 * Needs root: every test sets a level, drops all its capabilities and asks as nobody. Levels 3 and
 * 4 are vendors' additions; a kernel that does not know them treats them as 2. The level is
 * restored when the program ends, however it ends.
 */
#include "probe.h"
#include "privilege.h"
#include "tracepoint.h"
#include "waiter.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

#define LEVEL(name)                                                                            \
	POINT(name.any_event, "a user-mode event of one's own: EACCES above level 2 only")     \
	POINT(name.kernel, "an event that counts the kernel: EACCES above level 1")            \
	POINT(name.cpu_wide, "an event on a whole CPU: EACCES above level 0")                  \
	POINT(name.raw_tracepoint, "the payload of a tracepoint: EPERM above level -1")        \
	NEEDS("tracefs")                                                                       \
	POINT(name.mlock, "a ring beyond the memory budget: EPERM above level -1")             \
	POINT(name.perfmon, "CAP_PERFMON opens a user-mode event; above level 2 it may be EACCES") \
	SINCE("5.8")
PROBE(TITLE("every level of perf_event_paranoid")
      SINCE("4.6")
      COMMIT("0161028b7c8a")
      NEEDS("root")
      DISTURBS("perf_event_paranoid for all tasks")
      LEVEL(minus_1) LEVEL(zero) LEVEL(one) LEVEL(two) LEVEL(three) LEVEL(four)
      FACT(nobody_at_3, enum, "-", "answer to a user-mode event at level 3: opens, or the errno")
      FACT(nobody_at_4, enum, "-", "answer to a user-mode event at level 4: opens, or the errno")
      FACT(perfmon_at_3, enum, "-", "answer at level 3 with CAP_PERFMON alone: opens or errno")
      FACT(perfmon_at_4, enum, "-", "answer at level 4 with CAP_PERFMON alone: opens or errno"))

static void __attribute__((constructor)) keep(void)
{
	restore_at_exit(PARANOID);
}

FIXTURE(level)
{
	int tracepoint;
};

FIXTURE_VARIANT(level)
{
	int level;
	const char *text;
};

FIXTURE_VARIANT_ADD(level, minus_1) { .level = -1, .text = "-1" };
FIXTURE_VARIANT_ADD(level, zero) { .level = 0, .text = "0" };
FIXTURE_VARIANT_ADD(level, one) { .level = 1, .text = "1" };
FIXTURE_VARIANT_ADD(level, two) { .level = 2, .text = "2" };
FIXTURE_VARIANT_ADD(level, three) { .level = 3, .text = "3" };
FIXTURE_VARIANT_ADD(level, four) { .level = 4, .text = "4" };

FIXTURE_SETUP(level)
{
	int64_t level = INT64_MIN;
	int error;

	require(REQUIRE_PERF | REQUIRE_ROOT);
	self->tracepoint = tracepoint_id("sched", "sched_switch");
	error = write_file(PARANOID, variant->text);
	if (error == -EINVAL || error == -EPERM)
		say_blocked("%s: level %d may not be set here", pm_errno_name(error),
			    variant->level);
	pm_read_number(PARANOID, &level);
	if (!error && level != variant->level && variant->level <= 2)
		say_broken("level %d was set, and reads %" PRId64, variant->level, level);
	if (error || level != variant->level)
		say_unknown("level %d cannot be set: %s", variant->level, pm_errno_name(error));
}

FIXTURE_TEARDOWN(level)
{
}

/* As nobody, without capabilities: shut means that errno, open means open. */
static void judge(int answer, enum level_gate gate, int level)
{
	const struct level_rule *rule = &level_rules[gate];
	const bool open = level <= rule->open_up_to;

	if (open && answer < 0)
		say_broken("%s: errno=%s, want open", rule->what, pm_errno_name(answer));
	if (!open && answer != -rule->refusal)
		say_broken("%s: %s, want %s", rule->what,
			   answer < 0 ? pm_errno_name(answer) : "open",
			   pm_errno_name(rule->refusal));
}

static int knock_as_nobody(enum level_gate gate, int tracepoint)
{
	if (drop_to(0) < 0)
		say_unknown("capabilities cannot be dropped");
	return try_gate(gate, tracepoint);
}

TEST_F(level, any_event)
{
	int answer = knock_as_nobody(GATE_EVENT, 0);

	if (variant->level > 2) {
		fact_str(variant->level == 3 ? "nobody_at_3" : "nobody_at_4", "%s",
			 answer < 0 ? pm_errno_name(answer) : "opens");
		if (answer == 0)	/* mainline: all levels above 2 are 2 */
			return;
	}
	judge(answer, GATE_EVENT, variant->level);
}

/* A gate is only asked about where nobody may have an event at all. */
static void ask_gate(enum level_gate gate, int tracepoint, int level)
{
	int answer = knock_as_nobody(GATE_EVENT, 0);

	if (answer == -EACCES)
		say_blocked("EACCES: this level refuses nobody every event");
	if (answer < 0)
		say_unknown("a user-mode event: %s", pm_errno_name(answer));
	judge(try_gate(gate, tracepoint), gate, level);
}

TEST_F(level, kernel)
{
	ask_gate(GATE_KERNEL, 0, variant->level);
}

TEST_F(level, cpu_wide)
{
	ask_gate(GATE_CPU, 0, variant->level);
}

TEST_F(level, raw_tracepoint)
{
	must_have_id(self->tracepoint, "sched", "sched_switch");
	ask_gate(GATE_PAYLOAD, self->tracepoint, variant->level);
}

TEST_F(level, mlock)
{
	const size_t bytes = pages_beyond_budget() * probe_env()->page_size;

	if (bytes > 16u << 20)
		say_absent("a ring beyond the budget would take %zu MiB", bytes >> 20);
	ask_gate(GATE_MLOCK, 0, variant->level);
}

TEST_F(level, perfmon)
{
	int answer;

	if (probe_env()->cap_last >= 0 && probe_env()->cap_last < PM_CAP_PERFMON)
		say_no("the highest capability known here is %d", probe_env()->cap_last);
	if (drop_to(1ull << PM_CAP_PERFMON) < 0)
		say_unknown("all capabilities but CAP_PERFMON cannot be dropped");
	answer = try_gate(GATE_EVENT, 0);
	if (variant->level > 2)
		fact_str(variant->level == 3 ? "perfmon_at_3" : "perfmon_at_4", "%s",
			 answer < 0 ? pm_errno_name(answer) : "opens");
	if (variant->level > 2 && answer == -EACCES)	/* some vendors want CAP_SYS_ADMIN */
		return;
	if (answer < 0)
		say_broken("an event with CAP_PERFMON: errno=%s, want open", pm_errno_name(answer));
}

PROBE_MAIN
