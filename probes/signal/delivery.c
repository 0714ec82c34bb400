/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a sample be a signal, and which one, to whom? With O_ASYNC each overflow signals the owner
 * of the descriptor, ring or no ring: what sampling profilers inside a process are built on.
 * Observed with a blocked real-time signal taken by sigtimedwait(2), one page fault at a time.
 */
#include "probe.h"

PROBE(TITLE("signals of samples")
      SINCE("2.6.31")
      POINT(without_ring.each_sample, "without a ring every sample is one signal")
      SINCE("3.0")
      POINT(with_ring.each_sample, "with a ring every sample is one signal")
      POINT(without_ring.tells_descriptor, "si_code is POLL_IN and si_fd the descriptor")
      SINCE("3.0")
      POINT(with_ring.tells_descriptor, "si_code is POLL_IN and si_fd the descriptor")
      POINT(without_ring.none_after_disable, "no signal after IOC_DISABLE")
      SINCE("3.0")
      POINT(with_ring.none_after_disable, "no signal after IOC_DISABLE")
      POINT(owner_is_a_thread, "F_OWNER_TID sends it to that thread, whoever sampled")
      SINCE("2.6.32")
      POINT(source_signals_itself, "a redirected event signals with its own descriptor")
      SINCE("2.6.35")
      POINT(target_keeps_quiet, "its target, though asked to, does not signal for it")
      SINCE("2.6.35"))

#define NUMBER (SIGRTMIN + 3)

static void must_ask(struct __test_metadata *_metadata, int fd, pid_t tid)
{
	int error = ask_for_signals(fd, NUMBER, tid);

	if (error)
		cannot_tell("F_SETOWN_EX, F_SETSIG or O_ASYNC: %s", errno_name(error));
}

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
	must_ask(_metadata, self->fd, pm_gettid());
}

FIXTURE_TEARDOWN(event)
{
	close(self->fd);
}

TEST_F(event, each_sample)
{
	for (int i = 0; i < 5; i++) {
		if (take_signal(NUMBER, 0, &self->info))
			broken("a signal before sample %d", i);
		sample_faults(self->fd, 1);
		if (take_signal(NUMBER, 1000, &self->info))
			continue;
		if (i == 0 && !variant->mapped)
			say_no("no signal of a sample without a ring");
		broken("no signal of sample %d", i);
	}
}

TEST_F(event, tells_descriptor)
{
	sample_faults(self->fd, 1);
	if (!take_signal(NUMBER, 1000, &self->info))
		cannot_tell("no signal");
	if (self->info.si_code != POLL_IN || self->info.si_fd != self->fd)
		broken("si_code=%d si_fd=%d want=%d,%d", self->info.si_code, self->info.si_fd,
		       POLL_IN, self->fd);
}

TEST_F(event, none_after_disable)
{
	sample_faults(self->fd, 1);
	if (!take_signal(NUMBER, 1000, &self->info))
		cannot_tell("no signal before the disable");
	ASSERT_EQ(0, cause_faults(10));
	if (take_signal(NUMBER, 20, &self->info))
		broken("a signal after IOC_DISABLE: si_code=%d", self->info.si_code);
}

static int take_in_worker(void *info)
{
	return take_signal(NUMBER, 1000, info);
}

TEST(owner_is_a_thread)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0), theirs;
	struct worker other;
	siginfo_t info = { 0 };

	must_ask(_metadata, fd, pm_gettid());	/* blocked before the thread is made */
	must_start(&other, WORKER_THREAD);
	must_ask(_metadata, fd, other.tid);
	sample_faults(fd, 1);
	theirs = worker_do(&other, take_in_worker, &info);
	if (theirs != 1 || info.si_fd != fd || take_signal(NUMBER, 0, &info))
		broken("signals=%d of the owning thread, si_fd=%d", theirs, info.si_fd);
}

static int redirected(struct __test_metadata *_metadata, bool target_asks, bool source_asks,
		      int *target)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct watch watch = must_watch(&attr, 0, -1, 1);
	int source = must_open(&attr, 0, -1, -1, 0);

	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, watch.fd);
	if (target_asks)
		must_ask(_metadata, watch.fd, pm_gettid());
	if (source_asks)
		must_ask(_metadata, source, pm_gettid());
	*target = watch.fd;
	return source;
}

TEST(source_signals_itself)
{
	int target, source = redirected(_metadata, true, true, &target);
	siginfo_t info, more;

	sample_faults(source, 1);
	if (!take_signal(NUMBER, 1000, &info) || info.si_fd != source ||
	    take_signal(NUMBER, 10, &more))
		broken("si_fd=%d want=%d (the target is %d)", info.si_fd, source, target);
}

TEST(target_keeps_quiet)
{
	int target, source = redirected(_metadata, true, false, &target);
	siginfo_t info = { 0 };

	sample_faults(source, 1);
	if (take_signal(NUMBER, 20, &info))
		broken("the target signals for its source: si_fd=%d", info.si_fd);
	sample_faults(target, 1);
	if (!take_signal(NUMBER, 1000, &info) || info.si_fd != target)
		broken("the target does not signal for itself: si_fd=%d want=%d", info.si_fd,
		       target);
}

PROBE_MAIN
