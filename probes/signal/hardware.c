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

#define PERIOD 3200000

FIXTURE(pair)
{
	int fds[2];
	int taken[2];			/* signals of either so far */
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

	attr.sample_period = PERIOD;
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

/*
 * Work until all those of the two that are awaited have signalled, or four looks found another
 * period counted and no signal. A single look proves nothing, however much was counted: a virtual
 * CPU that stood still counts many periods at once, and their interrupt comes after that.
 */
static void work_for_signals(FIXTURE_DATA(pair) *self, const bool awaited[2])
{
	const uint64_t end = now_ns() + 2000000000;
	uint64_t counted[2] = { 0, 0 };
	int periods[2] = { 0, 0 };
	bool more = true;

	while (more && now_ns() < end) {
		spin_ns(5000000);
		more = false;
		for (int i = 0; i < 2; i++) {
			const uint64_t count = must_count(self->fds[i]);

			while (take_signal(SIGRTMIN + 3 + i, 0, NULL))
				self->taken[i]++;
			if (count - counted[i] >= PERIOD) {
				counted[i] = count;
				periods[i]++;
			}
			more |= awaited[i] && !self->taken[i] && periods[i] < 4;
		}
	}
	for (int i = 0; i < 2; i++)
		if (awaited[i] && !self->taken[i] && periods[i] < 4) {
			must_have_run();
			say_unknown("event %d has counted %" PRIu64 " in two seconds, of a period "
				    "of %d", i, must_count(self->fds[i]), PERIOD);
		}
}

TEST_F(pair, both_signal)
{
	must_ioctl(self->fds[0], PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(self->fds[1], PERF_EVENT_IOC_ENABLE, 0);
	work_for_signals(self, (bool[]){ true, true });
	if (!self->taken[0] || !self->taken[1])
		say_broken("signals=%d of cycles, %d of instructions", self->taken[0],
			   self->taken[1]);
}

TEST_F(pair, refresh_of_leader)
{
	must_ioctl(self->fds[0], PERF_EVENT_IOC_REFRESH, 1000);
	work_for_signals(self, (bool[]){ true, variant->group });
	if (!self->taken[0] || !!self->taken[1] != variant->group)
		say_broken("signals=%d of the refreshed, %d of the other", self->taken[0],
			   self->taken[1]);
}

PROBE_MAIN
