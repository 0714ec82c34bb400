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

static int signal_number(void)
{
	return SIGRTMIN + 3;
}

/* Have an event's signal sent to a thread, blocked here. */
static void ask_for_signals(struct __test_metadata *_metadata, int fd, pid_t tid)
{
	struct f_owner_ex owner = { F_OWNER_TID, tid };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_number());
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, signal_number()) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC))
		cannot_tell("F_SETOWN_EX, F_SETSIG or O_ASYNC: %s", errno_name(errno));
}

/* Take one signal within a time. Returns whether there was one. */
static bool take_signal(siginfo_t *info, int within_ms)
{
	const struct timespec time = { within_ms / 1000, within_ms % 1000 * 1000000l };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_number());
	memset(info, 0, sizeof(*info));
	return sigtimedwait(&set, info, &time) == signal_number();
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
	ask_for_signals(_metadata, self->fd, pm_gettid());
}

FIXTURE_TEARDOWN(event)
{
	close(self->fd);
}

TEST_F(event, each_sample)
{
	for (int i = 0; i < 5; i++) {
		if (take_signal(&self->info, 0))
			broken("a signal before sample %d", i);
		sample_faults(self->fd, 1);
		if (take_signal(&self->info, 1000))
			continue;
		if (i == 0 && !variant->mapped)
			say_no("no signal of a sample without a ring");
		broken("no signal of sample %d", i);
	}
}

TEST_F(event, tells_descriptor)
{
	sample_faults(self->fd, 1);
	if (!take_signal(&self->info, 1000))
		cannot_tell("no signal");
	if (self->info.si_code != POLL_IN || self->info.si_fd != self->fd)
		broken("si_code=%d si_fd=%d want=%d,%d", self->info.si_code, self->info.si_fd,
		       POLL_IN, self->fd);
}

TEST_F(event, none_after_disable)
{
	sample_faults(self->fd, 1);
	if (!take_signal(&self->info, 1000))
		cannot_tell("no signal before the disable");
	ASSERT_EQ(0, cause_faults(10));
	if (take_signal(&self->info, 20))
		broken("a signal after IOC_DISABLE: si_code=%d", self->info.si_code);
}

static int take_in_worker(void *info)
{
	return take_signal(info, 1000);
}

TEST(owner_is_a_thread)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0), theirs;
	struct worker other;
	siginfo_t info;

	ask_for_signals(_metadata, fd, pm_gettid());	/* blocked before the thread is made */
	must_start(&other, WORKER_THREAD);
	ask_for_signals(_metadata, fd, other.tid);
	sample_faults(fd, 1);
	theirs = worker_do(&other, take_in_worker, &info);
	if (theirs != 1 || info.si_fd != fd || take_signal(&info, 0))
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
		ask_for_signals(_metadata, watch.fd, pm_gettid());
	if (source_asks)
		ask_for_signals(_metadata, source, pm_gettid());
	*target = watch.fd;
	return source;
}

TEST(source_signals_itself)
{
	int target, source = redirected(_metadata, true, true, &target);
	siginfo_t info, more;

	sample_faults(source, 1);
	if (!take_signal(&info, 1000) || info.si_fd != source || take_signal(&more, 10))
		broken("si_fd=%d want=%d (the target is %d)", info.si_fd, source, target);
}

TEST(target_keeps_quiet)
{
	int target, source = redirected(_metadata, true, false, &target);
	siginfo_t info;

	sample_faults(source, 1);
	if (take_signal(&info, 20))
		broken("the target signals for its source: si_fd=%d", info.si_fd);
	sample_faults(target, 1);
	if (!take_signal(&info, 1000) || info.si_fd != target)
		broken("the target does not signal for itself: si_fd=%d want=%d", info.si_fd, target);
}

PROBE_MAIN
