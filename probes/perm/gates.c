/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does perf_event_paranoid, at the level it has now, open and close what it is said to?
 *
 * Each gate is asked twice: with the capabilities this persona holds, and with none at all. A gate
 * that lets through what it should hold back is a hole; one that holds back what its level lets
 * through has something else behind it, which is policy. Other levels: perm.levels.
 */
#include "probe.h"

#include <sys/resource.h>

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
	self->tracepoint = pm_tracepoint_id("sched", "sched_switch");
	self->admin = !variant->drop && pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
	self->perfmon = self->admin || (!variant->drop && pm_env_has_cap(env, PM_CAP_PERFMON));
	if (variant->drop && drop_to(0) < 0)
		cannot_tell("capabilities cannot be dropped");
}

FIXTURE_TEARDOWN(as)
{
}

static void judge(struct __test_metadata *_metadata, int answer, bool allowed, int want,
		  const char *what)
{
	struct finding finding;

	if (allowed && answer >= 0)
		return;
	if (!allowed)
		hold_rule(answer, want, BROKEN, what);
	if (!allowed)
		return;
	classify_setup(-answer, NULL, 0, -1, &finding);	/* policy that is not the level's */
	speak(&finding);
}

TEST_F(as, any_event)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int answer = pm_open(&attr, 0, -1, -1, 0);

	if (!variant->drop)
		fact_int("level", self->level);
	if (self->level > 2 && !self->admin) {
		fact_bool("vendor_level", answer < 0);
		if (answer >= 0)	/* mainline: all levels above 2 are 2 */
			return;
	}
	judge(_metadata, answer, self->level <= 2 || self->admin, EACCES, "an event of one's own");
}

TEST_F(as, kernel)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.exclude_kernel = 0;
	judge(_metadata, pm_open(&attr, 0, -1, -1, 0), self->level <= 1 || self->perfmon, EACCES,
	      "an event that counts the kernel");
}

TEST_F(as, cpu_wide)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = move_to_nth_cpu(0);

	close(must_open(&attr, 0, -1, -1, 0));
	judge(_metadata, pm_open(&attr, -1, cpu, -1, 0), self->level <= 0 || self->perfmon,
	      EACCES, "an event on a whole CPU");
}

TEST_F(as, raw_tracepoint)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_RAW);

	if (self->tracepoint < 0) {		/* asked for before capabilities were dropped */
		require(REQUIRE_TRACEFS);
		say_absent("no tracepoint sched:sched_switch");
	}
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = self->tracepoint;
	attr.sample_type = 0;
	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_type = PERF_SAMPLE_RAW;
	judge(_metadata, pm_open(&attr, 0, -1, -1, 0), self->level <= -1 || self->perfmon, EPERM,
	      "the payload of sched_switch");
}

TEST_F(as, mlock)
{
	const struct pm_env *env = probe_env();
	const bool allowed = self->level <= -1 ||
			     (!variant->drop && pm_env_has_cap(env, PM_CAP_IPC_LOCK));
	const uint64_t budget = (uint64_t)env->mlock_kb * 1024 * env->cpus_online;
	struct perf_event_attr attr = attr_faults(0);
	struct pm_ring ring;
	size_t pages = 1;
	int fd = must_open(&attr, 0, -1, -1, 0), error;

	if (env->mlock_kb < 0)
		say_absent("perf_event_mlock_kb is not there or not readable");
	while (pages * env->page_size <= budget)
		pages *= 2;
	if (allowed && pages * env->page_size > 16u << 20)
		say_absent("a ring beyond the budget would take %zu MiB",
			   pages * env->page_size >> 20);
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 0, 0 });
	error = pm_ring_open(fd, pages, PROT_READ | PROT_WRITE, &ring);
	if (allowed && error == -ENOMEM)
		cannot_tell("ENOMEM for a ring of %zu pages", pages);
	judge(_metadata, error, allowed, EPERM, "a ring beyond the budget");
}

PROBE_MAIN
