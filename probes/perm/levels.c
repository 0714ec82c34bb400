/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does each level of perf_event_paranoid open and shut, -1 to 4?
 *
 * Needs root: every test sets a level, gives up all its capabilities and asks as nobody. Levels 3
 * and 4 are those of vendors; where the kernel does not know them they mean 2. The level is put
 * back when the program ends, whatever ends it.
 */
#include "probe.h"

#include <sys/resource.h>

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
      FACT(perfmon_at_3, enum, "-", "the same at level 3 with CAP_PERFMON alone")
      FACT(perfmon_at_4, enum, "-", "the same at level 4 with CAP_PERFMON alone"))

static void __attribute__((constructor)) keep(void)
{
	keep_file(PARANOID);
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
	self->tracepoint = pm_tracepoint_id("sched", "sched_switch");
	error = write_file(PARANOID, variant->text);
	if (error == -EINVAL || error == -EPERM)
		say_blocked("%s: level %d may not be set here", errno_name(error),
			    variant->level);
	pm_read_number(PARANOID, &level);
	if (error || level != variant->level)
		cannot_tell("level %d cannot be set: %s", variant->level, errno_name(error));
}

FIXTURE_TEARDOWN(level)
{
}

/* As nobody, without capabilities: shut means that errno, open means open. */
static void judge(struct __test_metadata *_metadata, int answer, bool open, int want,
		  const char *what)
{
	if (open && answer < 0)
		broken("%s: errno=%s, want open", what, errno_name(answer));
	if (!open && answer != -want)
		broken("%s: %s, want %s", what, answer < 0 ? errno_name(answer) : "open",
		       errno_name(want));
}

static void nobody(struct __test_metadata *_metadata)
{
	if (drop_to(0) < 0)
		cannot_tell("capabilities cannot be dropped");
}

static struct perf_event_attr plain(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_faults(0);
	int answer;

	nobody(_metadata);
	answer = pm_open(&attr, 0, -1, -1, 0);
	if (answer == -EACCES)
		say_blocked("EACCES: this level refuses nobody every event");
	if (answer < 0)
		cannot_tell("a user-mode event: %s", errno_name(answer));
	close(answer);
	return attr;
}

TEST_F(level, any_event)
{
	struct perf_event_attr attr = attr_faults(0);
	int answer;

	nobody(_metadata);
	answer = pm_open(&attr, 0, -1, -1, 0);
	if (variant->level > 2) {
		fact_str(variant->level == 3 ? "nobody_at_3" : "nobody_at_4", "%s",
			 answer < 0 ? errno_name(answer) : "opens");
		if (answer >= 0)	/* mainline: all levels above 2 are 2 */
			return;
	}
	judge(_metadata, answer, variant->level <= 2, EACCES, "an event of one's own");
}

TEST_F(level, kernel)
{
	struct perf_event_attr attr = plain(_metadata);

	attr.exclude_kernel = 0;
	judge(_metadata, pm_open(&attr, 0, -1, -1, 0), variant->level <= 1, EACCES, "the kernel");
}

TEST_F(level, cpu_wide)
{
	struct perf_event_attr attr = plain(_metadata);

	judge(_metadata, pm_open(&attr, -1, move_to_nth_cpu(0), -1, 0), variant->level <= 0,
	      EACCES, "a whole CPU");
}

TEST_F(level, raw_tracepoint)
{
	struct perf_event_attr attr;

	require(REQUIRE_TRACEFS);
	attr = plain(_metadata);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = self->tracepoint;
	attr.sample_type = PERF_SAMPLE_RAW;
	judge(_metadata, pm_open(&attr, 0, -1, -1, 0), variant->level <= -1, EPERM, "payload");
}

TEST_F(level, mlock)
{
	const struct pm_env *env = probe_env();
	struct perf_event_attr attr = plain(_metadata);
	struct pm_ring ring;
	size_t pages = 1;

	while (pages * env->page_size <= (uint64_t)env->mlock_kb * 1024 * env->cpus_online)
		pages *= 2;
	if (pages * env->page_size > 16u << 20)
		say_absent("a ring beyond the budget would take %zu MiB",
			   pages * env->page_size >> 20);
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 0, 0 });
	judge(_metadata, pm_ring_open(must_open(&attr, 0, -1, -1, 0), pages,
				      PROT_READ | PROT_WRITE, &ring),
	      variant->level <= -1, EPERM, "a ring beyond the budget");
}

TEST_F(level, perfmon)
{
	struct perf_event_attr attr = attr_faults(0);
	int answer;

	if (drop_to(1ull << PM_CAP_PERFMON) < 0)
		say_no("this kernel knows no CAP_PERFMON");
	answer = pm_open(&attr, 0, -1, -1, 0);
	if (variant->level > 2)
		fact_str(variant->level == 3 ? "perfmon_at_3" : "perfmon_at_4", "%s",
			 answer < 0 ? errno_name(answer) : "opens");
	if (variant->level > 2 && answer == -EACCES)	/* some vendors want CAP_SYS_ADMIN */
		return;
	judge(_metadata, answer, true, 0, "an event with CAP_PERFMON");
}

PROBE_MAIN
