/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which thread gets the signal of a sample, and which event sends it? The signal goes to the thread
 * that F_SETOWN_EX names, not to the one that was sampled. In a shared ring the source sends it,
 * with its own descriptor, and the target that holds the ring sends none.
 * Observed with a blocked real-time signal taken by sigtimedwait(2), one page fault at a time.
 */
#include "probe.h"
#include <fcntl.h>
#include "redirection.h"
#include "signals.h"

PROBE(TITLE("who gets the signal of a sample, and from whom")
      SINCE("2.6.32")
      POINT(owner_is_a_thread, "F_OWNER_TID: the signal of a sample is pending for that thread "
	    "alone, whichever thread was sampled")
      POINT(owner_is_a_process, "F_SETOWN: the signal of a sample goes to the process that it "
	    "names")
      POINT(told_back, "F_GETFL, F_GETSIG, F_GETOWN_EX and F_GETOWN tell what was set of an event")
      POINT(source_signals_itself, "a redirected event sends its signal with its own descriptor")
      SINCE("2.6.35")
      POINT(target_keeps_quiet, "the target of a redirection sends no signal for samples of its "
	    "source")
      SINCE("2.6.35"))

#define NUMBER (SIGRTMIN + 3)

static int take_in_worker(void *info)
{
	return take_signal(NUMBER, 0, info);
}

/* Wait until the signal is pending for the calling thread, and leave it so. */
static int see_pending(void *unused)
{
	const uint64_t end = now_ns() + 1000000000;
	sigset_t set;

	(void)unused;
	do
		sigpending(&set);
	while (sigismember(&set, NUMBER) != 1 && now_ns() < end && !poll(NULL, 0, 1));
	return sigismember(&set, NUMBER);
}

TEST(owner_is_a_thread)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0), pending, theirs;
	struct worker other;
	siginfo_t info = { 0 };

	must_get_signals(fd, NUMBER, pm_gettid());	/* blocked before the thread is made */
	must_start_worker(&other, WORKER_THREAD);
	must_get_signals(fd, NUMBER, other.tid);
	cause_enabled_faults(fd, 1);
	pending = worker_do(&other, see_pending, NULL);
	/* A signal of the process would be pending for every thread, and whoever asks takes it. */
	if (take_signal(NUMBER, 0, &info))
		say_broken("another thread takes the signal; pending for the owner: %d", pending);
	theirs = worker_do(&other, take_in_worker, &info);
	if (theirs != 1 || info.si_fd != fd)
		say_broken("pending for the owning thread=%d, taken by it=%d, si_fd=%d want=%d",
			   pending, theirs, info.si_fd, fd);
}

TEST(owner_is_a_process)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0), pending;
	struct worker child;

	must_get_signals(fd, NUMBER, pm_gettid());	/* blocked before the child is made */
	must_start_worker(&child, WORKER_CHILD);
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, child.tid));
	cause_enabled_faults(fd, 1);
	pending = worker_do(&child, see_pending, NULL);
	if (pending != 1)
		say_broken("no signal is pending for the process that owns the event: %d", pending);
	if (take_signal(NUMBER, 0, NULL))
		say_broken("a signal for this process, which does not own the event");
}

TEST(told_back)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	const int fd = must_open(&attr, 0, -1, -1, 0), plain = fcntl(fd, F_GETFL);
	struct f_owner_ex owner = { 0 };

	must_get_signals(fd, NUMBER, pm_gettid());
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	if (fcntl(fd, F_GETFL) != (plain | O_ASYNC | O_NONBLOCK))
		say_broken("F_GETFL=%#x, and %#x before O_ASYNC and O_NONBLOCK were set",
			   fcntl(fd, F_GETFL), plain);
	if (fcntl(fd, F_GETSIG) != NUMBER)
		say_broken("F_GETSIG=%d want=%d", fcntl(fd, F_GETSIG), NUMBER);
	ASSERT_EQ(0, fcntl(fd, F_GETOWN_EX, &owner));
	if (owner.type != F_OWNER_TID || owner.pid != pm_gettid())
		say_broken("F_GETOWN_EX: type=%d pid=%d want=%d,%d", owner.type, owner.pid,
			   F_OWNER_TID, pm_gettid());
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	if (fcntl(fd, F_GETOWN) != getpid())
		say_broken("F_GETOWN=%d want=%d", fcntl(fd, F_GETOWN), getpid());
}

TEST(source_signals_itself)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);
	siginfo_t info = { 0 }, more;

	must_get_signals(pair.target.fd, NUMBER, pm_gettid());
	must_get_signals(pair.source, NUMBER, pm_gettid());
	expect_samples(pair.source, &pair.target.ring, 1, "into the target");
	if (!take_signal(NUMBER, 1000, &info) || info.si_fd != pair.source ||
	    take_signal(NUMBER, 10, &more))
		say_broken("si_fd=%d want=%d (the target is %d)", info.si_fd, pair.source,
			   pair.target.fd);
}

/* The target's own signal comes second, and alone: had its source's come, it would be first. */
TEST(target_keeps_quiet)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);
	siginfo_t info = { 0 };

	must_get_signals(pair.target.fd, NUMBER, pm_gettid());
	expect_samples(pair.source, &pair.target.ring, 1, "into the target");
	if (take_signal(NUMBER, 10, &info))
		say_broken("the target signals for its source: si_fd=%d", info.si_fd);
	cause_enabled_faults(pair.target.fd, 1);
	if (!take_signal(NUMBER, 1000, &info) || info.si_fd != pair.target.fd)
		say_broken("the target does not signal for itself: si_fd=%d want=%d", info.si_fd,
			   pair.target.fd);
	if (take_signal(NUMBER, 10, &info))
		say_broken("a second signal after one sample of the target");
}

PROBE_MAIN
