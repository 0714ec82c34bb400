/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does disabling an event wake a reader that waits for it? No: disabling sets no flag and wakes
 * nobody, so a profiler that stops needs another channel (an eventfd) to its reader.
 * Observed with a thread that sleeps in poll(2). It must still sleep when a witness in another
 * poll, woken after the disable, has run; and one sample must then wake it.
 */
#include <sys/prctl.h>

#include "probe.h"
#include "waiter.h"
#include "waking.h"

PROBE(TITLE("disabling an event while a reader waits")
      SINCE("2.6.31")
      POINT(idle.ioctl_does_not_wake, "IOC_DISABLE wakes nobody, the ring being empty")
      POINT(idle.prctl_does_not_wake, "PR_TASK_PERF_EVENTS_DISABLE wakes nobody, the ring being "
	    "empty")
      POINT(unread.ioctl_does_not_wake, "IOC_DISABLE wakes nobody, the ring holding records")
      POINT(unread.prctl_does_not_wake, "PR_TASK_PERF_EVENTS_DISABLE wakes nobody, the ring "
	    "holding records")
      POINT(counting.ioctl_does_not_wake, "IOC_DISABLE of a mapped counter wakes nobody")
      POINT(counting.prctl_does_not_wake, "PR_TASK_PERF_EVENTS_DISABLE of a mapped counter wakes "
	    "nobody")
      POINT(whole_cpu.ioctl_does_not_wake, "IOC_DISABLE of a CPU's cpu-clock wakes nobody")
      POINT(whole_cpu.prctl_does_not_wake, "PR_TASK_PERF_EVENTS_DISABLE by the task that opened a "
	    "CPU's cpu-clock disables it and wakes nobody"))

FIXTURE(ring)
{
	struct sampler sampler;
	struct waiter waiter;
	int control;			/* an event whose sample must wake the reader */
};

FIXTURE_VARIANT(ring)
{
	unsigned int unread;
	bool counting, whole_cpu;
};

FIXTURE_VARIANT_ADD(ring, idle)
{
	.unread = 0,
};

FIXTURE_VARIANT_ADD(ring, unread)
{
	.unread = 20,
};

FIXTURE_VARIANT_ADD(ring, counting)
{
	.counting = true,
};

FIXTURE_VARIANT_ADD(ring, whole_cpu)
{
	.whole_cpu = true,
};

FIXTURE_SETUP(ring)
{
	const int cpu = variant->whole_cpu ? move_to_nth_cpu(0) : -1;
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP), control = attr;

	if (variant->counting)
		attr.sample_period = attr.sample_type = 0;
	if (variant->whole_cpu) {
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = 1000000000000;	/* no sample of its own wakes anybody */
	}
	self->sampler = must_sampler(&attr, variant->whole_cpu ? -1 : 0, cpu, 1);
	control.wakeup_events = 1;
	self->control = must_open(&control, 0, cpu, -1, 0);
	must_ioctl(self->control, PERF_EVENT_IOC_SET_OUTPUT, self->sampler.fd);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1 + variant->unread));
	must_wait(&self->waiter, self->sampler.fd, 5000);
}

FIXTURE_TEARDOWN(ring)
{
	close(self->control);
}

/* The reader sleeps after the disable, and a sample wakes it. */
static void must_sleep_on(struct waiter *waiter, int control, struct sampler *sampler)
{
	uint64_t counted = must_count(sampler->fd);
	int revents;

	ASSERT_EQ(0, cause_faults(1));
	if (must_count(sampler->fd) != counted)
		say_broken("the event counts on: it was not disabled");
	expect_asleep(waiter, "the disable");
	cause_enabled_faults(control, 1);
	revents = woken_by(waiter, 1000);
	if (revents != POLLIN)
		say_broken("a sample after the disable: revents=%#x want=%#x", revents, POLLIN);
}

TEST_F(ring, ioctl_does_not_wake)
{
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	must_sleep_on(&self->waiter, self->control, &self->sampler);
}

TEST_F(ring, prctl_does_not_wake)
{
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	must_sleep_on(&self->waiter, self->control, &self->sampler);
}

PROBE_MAIN
