/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does perf_event_paranoid, at its present level, allow and refuse what is documented?
 *
 * Each gate is tried twice: with the capabilities of this persona, and with none. A gate that
 * allows what it should refuse is a hole. Where something is refused that the level allows, another
 * policy refuses it. perm.levels asks about other levels.
 */
#include "probe.h"
#include "finding.h"
#include "privilege.h"
#include "tracepoint.h"
#include "waiter.h"

#define AS(name)                                                                               \
	POINT(name.any_event, "a user-mode event of one's own: EACCES above level 2 only")    \
	POINT(name.kernel, "an event that counts the kernel: EACCES above level 1")            \
	SINCE("2.6.32")                                                                        \
	POINT(name.cpu_wide, "an event on a whole CPU: EACCES above level 0")                  \
	POINT(name.raw_tracepoint, "the payload of a tracepoint: EPERM above level -1")        \
	NEEDS("tracefs")                                                                       \
	POINT(name.mlock, "a ring beyond the memory budget: EPERM above level -1")
PROBE(TITLE("the gates of perf_event_paranoid")
      SINCE("2.6.31")
      FACT(level, int, "-", "perf_event_paranoid")
      /* lint: allow fact-missing: a level of 2 or less, and root, say nothing of it */
      FACT(vendor_level, bool, "-", "a level above 2 refuses more than level 2, a vendor's patch")
      AS(held)
      AS(dropped))

FIXTURE(as)
{
	int level;
	bool perfmon, admin;
	int tracepoint;
};

FIXTURE_VARIANT(as)
{
	bool drop;
};

FIXTURE_VARIANT_ADD(as, held)
{
	.drop = false,
};

FIXTURE_VARIANT_ADD(as, dropped)
{
	.drop = true,
};

FIXTURE_SETUP(as)
{
	const struct pm_env *env = probe_env();

	if (!env->paranoid_present || env->paranoid == INT32_MIN)
		say_absent("perf_event_paranoid is not there or not readable");
	self->level = env->paranoid;
	self->tracepoint = tracepoint_id("sched", "sched_switch");
	self->admin = !variant->drop && pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
	self->perfmon = self->admin || (!variant->drop && pm_env_has_cap(env, PM_CAP_PERFMON));
	if (variant->drop && drop_to(0) < 0)
		say_unknown("capabilities cannot be dropped");
}

FIXTURE_TEARDOWN(as)
{
}

/* Where the level or a capability opens the gate, a refusal is policy that is not the level's. */
static void judge(int answer, enum level_gate gate, bool allowed)
{
	const struct level_rule *rule = &level_rules[gate];
	struct finding finding;

	if (!allowed && (answer == -EINVAL || answer == -E2BIG))
		say_unknown("%s: %s, before anybody asks for permission", rule->what,
			    pm_errno_name(answer));
	if (!allowed && answer == 0)
		say_broken("%s: accepted, want %s", rule->what, pm_errno_name(rule->refusal));
	if (!allowed)
		expect_refused(answer, rule->refusal, BROKEN, rule->what);
	if (!allowed || answer == 0)
		return;
	if (answer == -EIO)
		say_broken("%s: opened, but counts no faults", rule->what);
	classify_setup(-answer, NULL, 0, -1, &finding);
	say(&finding);
}

TEST_F(as, any_event)
{
	int answer = try_gate(GATE_EVENT, 0);

	if (!variant->drop)
		fact_int("level", self->level);
	if (self->level > 2 && !self->admin) {
		fact_bool("vendor_level", answer < 0);
		if (answer == 0)	/* mainline: all levels above 2 are 2 */
			return;
	}
	judge(answer, GATE_EVENT, self->level <= 2 || self->admin);
}

static void ask_gate(const FIXTURE_DATA(as) * self, enum level_gate gate)
{
	must_open_plain();
	judge(try_gate(gate, self->tracepoint), gate,
	      self->level <= level_rules[gate].open_up_to || self->perfmon);
}

TEST_F(as, kernel)
{
	ask_gate(self, GATE_KERNEL);
}

TEST_F(as, cpu_wide)
{
	ask_gate(self, GATE_CPU);
}

TEST_F(as, raw_tracepoint)
{
	must_have_id(self->tracepoint, "sched", "sched_switch");
	ask_gate(self, GATE_PAYLOAD);
}

TEST_F(as, mlock)
{
	const struct pm_env *env = probe_env();
	const bool allowed = self->level <= -1 ||
			     (!variant->drop && pm_env_has_cap(env, PM_CAP_IPC_LOCK));
	size_t bytes;

	must_open_plain();
	if (env->mlock_kb < 0)
		say_absent("perf_event_mlock_kb is not there or not readable");
	if (env->cpus_possible <= 0)
		say_unknown("how many CPUs there are cannot be read");
	bytes = pages_beyond_budget() * env->page_size;
	if (allowed && bytes > 16u << 20)
		say_absent("a ring beyond the budget would take %zu MiB", bytes >> 20);
	judge(try_gate(GATE_MLOCK, 0), GATE_MLOCK, allowed);
}

PROBE_MAIN
