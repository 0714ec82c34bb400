/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a sample be a signal, and which one? With O_ASYNC each overflow signals the owner
 * of the descriptor, ring or no ring: what sampling profilers inside a process are built on.
 * Observed with a blocked real-time signal taken by sigtimedwait(2), one page fault at a time.
 */
#include "probe.h"
#include "signals.h"

PROBE(TITLE("signals of samples")
      SINCE("2.6.31")
      POINT(without_ring.each_sample, "without a ring each sample sends one signal")
      SINCE("3.0")
      POINT(with_ring.each_sample, "with a ring each sample sends one signal")
      POINT(without_ring.tells_descriptor, "without a ring the signal has si_code POLL_IN, the "
	    "descriptor in si_fd and POLLIN in si_band")
      SINCE("3.0")
      POINT(with_ring.tells_descriptor, "with a ring the signal has si_code POLL_IN, the "
	    "descriptor in si_fd and POLLIN in si_band")
      POINT(without_ring.none_after_disable, "without a ring no signal comes after IOC_DISABLE")
      SINCE("3.0")
      POINT(with_ring.none_after_disable, "with a ring no signal comes after IOC_DISABLE"))

#define NUMBER (SIGRTMIN + 3)

FIXTURE(event)
{
	struct pm_ring ring;
	int fd;
	siginfo_t info;
};

FIXTURE_VARIANT(event)
{
	bool mapped;
};

FIXTURE_VARIANT_ADD(event, without_ring)
{
	.mapped = false,
};

FIXTURE_VARIANT_ADD(event, with_ring)
{
	.mapped = true,
};

FIXTURE_SETUP(event)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	self->fd = must_open(&attr, 0, -1, -1, 0);
	if (variant->mapped)
		must_map(self->fd, 1, &self->ring);
	must_get_signals(self->fd, NUMBER, pm_gettid());
}

FIXTURE_TEARDOWN(event)
{
	close(self->fd);
}

TEST_F(event, each_sample)
{
	for (int i = 0; i < 5; i++) {
		if (take_signal(NUMBER, 0, &self->info))
			say_broken("a signal before sample %d", i);
		cause_enabled_faults(self->fd, 1);
		if (take_signal(NUMBER, 1000, &self->info))
			continue;
		if (i == 0 && !variant->mapped)
			say_no("no signal of a sample without a ring");
		say_broken("no signal of sample %d", i);
	}
}

TEST_F(event, tells_descriptor)
{
	cause_enabled_faults(self->fd, 1);
	if (!take_signal(NUMBER, 1000, &self->info))
		say_unknown("no signal");
	if (self->info.si_code != POLL_IN || self->info.si_fd != self->fd)
		say_broken("si_code=%d si_fd=%d want=%d,%d", self->info.si_code, self->info.si_fd,
			   POLL_IN, self->fd);
	if (!(self->info.si_band & POLLIN))
		say_broken("si_band=%#lx lacks POLLIN", (unsigned long)self->info.si_band);
}

TEST_F(event, none_after_disable)
{
	cause_enabled_faults(self->fd, 1);
	if (!take_signal(NUMBER, 1000, &self->info))
		say_unknown("no signal before the disable");
	while (take_signal(NUMBER, 0, &self->info))
		;	/* of a fault that nobody meant, before it */
	ASSERT_EQ(0, cause_faults(10));
	if (take_signal(NUMBER, 20, &self->info))
		say_broken("a signal after IOC_DISABLE: si_code=%d", self->info.si_code);
}

PROBE_MAIN
