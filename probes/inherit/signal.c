/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an overflow in an inherited thread signal the owner of the descriptor? Before v4.2 the copy
 * looked for an owner of its own and found none.
 * Observed: SIGIO, blocked and waited for, after the task itself or its thread caused overflows.
 * Linux fed66e2cdd4f ("perf: Fix fasync handling on inherited events") (v4.2)
 */
#include "probe.h"

PROBE(TITLE("signals from inherited events")
      SINCE("2.6.31")
      POINT(own_overflow, "an overflow in the task itself sends SIGIO to the owner of an inherit "
	    "event")
      POINT(thread_overflow, "an overflow in an inherited thread sends SIGIO to the owner")
      SINCE("4.2")
      COMMIT("fed66e2cdd4f")
      POINT(child_overflow, "an overflow in an inherited child sends SIGIO to the owner")
      SINCE("4.2")
      COMMIT("fed66e2cdd4f"))

FIXTURE(signal)
{
	struct worker worker;
	sigset_t set;
	int fd;
};

static bool signalled(const sigset_t *set, int timeout_ms)
{
	const struct timespec timeout = { .tv_sec = timeout_ms / 1000,
					  .tv_nsec = timeout_ms % 1000 * 1000000 };

	return sigtimedwait(set, NULL, &timeout) == SIGIO;
}

FIXTURE_SETUP(signal)
{
	struct perf_event_attr attr = attr_faults(0);

	sigemptyset(&self->set);
	sigaddset(&self->set, SIGIO);
	sigprocmask(SIG_BLOCK, &self->set, NULL);
	attr.inherit = 1;
	self->fd = must_open(&attr, 0, -1, -1, 0);
	if (fcntl(self->fd, F_SETOWN, getpid()) < 0 ||
	    fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_ASYNC) < 0)
		say_unknown("O_ASYNC: %s", pm_errno_name(errno));
}

FIXTURE_TEARDOWN(signal)
{
	worker_stop(&self->worker);
}

TEST_F(signal, own_overflow)
{
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(5));
	if (!signalled(&self->set, 500))
		say_broken("no SIGIO after 5 overflows");
}

/* Nothing of the task's own may be pending when the other one begins. */
static void ask(FIXTURE_DATA(signal) * self, enum worker_kind kind)
{
	struct perf_event_attr attr = attr_counter(false);
	const int own = must_open(&attr, 0, -1, -1, 0);
	uint64_t before;

	must_start_worker(&self->worker, kind);
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(5));
	if (!signalled(&self->set, 500))
		say_unknown("not even the task's own overflows signal");
	/* This thread's own faults signal, too: those on pages that it shares with a child. */
	for (int i = 0; i < 20; i++) {
		before = must_count(own);
		while (signalled(&self->set, 5))
			;
		ASSERT_EQ(0, worker_faults(&self->worker, 5));
		if (!signalled(&self->set, 500))
			say_no("no SIGIO after 5 overflows of the other task; own ones do signal");
		if (must_count(own) == before)
			return;
	}
	say_unknown("this thread faults whenever the other task does");
}

TEST_F(signal, thread_overflow)
{
	ask(self, WORKER_THREAD);
}

TEST_F(signal, child_overflow)
{
	ask(self, WORKER_CHILD);
}

PROBE_MAIN
