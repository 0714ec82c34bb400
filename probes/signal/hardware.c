/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do several hardware counters signal at the same time, in a group and apart? v4.11 lost the
 * signals of all but one.
 * Observed with counters of cycles and instructions over some milliseconds of work.
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"
#include "signals.h"

PROBE(TITLE("signals of several hardware counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(apart.both_signal, "two independent hardware events both send signals")
      POINT(group.both_signal, "a hardware leader and its sibling both send signals")
      POINT(group.refresh_of_leader, "REFRESH of a hardware leader lets its sibling sample as well")
      POINT(apart.refresh_of_leader, "REFRESH of one hardware event leaves an independent one "
	    "stopped"))

FIXTURE(pair)
{
	int fds[2];
};

FIXTURE_VARIANT(pair)
{
	bool group;
};

FIXTURE_VARIANT_ADD(pair, apart)
{
	.group = false,
};

FIXTURE_VARIANT_ADD(pair, group)
{
	.group = true,
};

static struct perf_event_attr counter(uint64_t config)
{
	struct perf_event_attr attr = attr_core(config);

	attr.sample_period = 3200000;
	attr.sample_type = PERF_SAMPLE_IP;
	return attr;
}

/* A PMU with one counter refuses a group of two, and takes both events apart. */
static bool has_no_room(const struct perf_event_attr *attr, int leader)
{
	const int fd = pm_open(attr, 0, -1, leader, 0);

	if (fd >= 0)
		close(fd);
	return fd == -EINVAL || fd == -ENOSPC;
}

FIXTURE_SETUP(pair)
{
	must_have_counters();
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr attr = counter(i ? PERF_COUNT_HW_INSTRUCTIONS :
						      PERF_COUNT_HW_CPU_CYCLES);
		const bool member = i == 1 && variant->group;

		attr.disabled = !member;
		if (member && !try_open(&attr) && has_no_room(&attr, self->fds[0]))
			say_absent("a second counter, for a group of two");
		self->fds[i] = must_open(&attr, 0, -1, member ? self->fds[0] : -1, 0);
		must_get_signals(self->fds[i], SIGRTMIN + 3 + i, pm_gettid());
	}
}

FIXTURE_TEARDOWN(pair)
{
	close(self->fds[1]);
}

/* How many signals of either event there are after so much work. */
static void work_and_take(int taken[2], uint64_t ns)
{
	spin_ns(ns);
	for (int i = 0; i < 2; i++)
		for (taken[i] = 0; take_signal(SIGRTMIN + 3 + i, 0, NULL); taken[i]++)
			;
}

TEST_F(pair, both_signal)
{
	int taken[2] = { 0 };

	must_ioctl(self->fds[0], PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(self->fds[1], PERF_EVENT_IOC_ENABLE, 0);
	for (int round = 0; round < 20 && !(taken[0] && taken[1]); round++)
		work_and_take(taken, 5000000);
	if (taken[0] && taken[1])
		return;
	must_have_run();
	say_broken("signals=%d of cycles, %d of instructions", taken[0], taken[1]);
}

TEST_F(pair, refresh_of_leader)
{
	int taken[2] = { 0 };

	must_ioctl(self->fds[0], PERF_EVENT_IOC_REFRESH, 1000);
	for (int round = 0; round < 20 && !taken[0]; round++)
		work_and_take(taken, 10000000);
	if (!taken[0])
		must_have_run();
	if (!taken[0] || !!taken[1] != variant->group)
		say_broken("signals=%d of the refreshed, %d of the other", taken[0], taken[1]);
}

PROBE_MAIN
