/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an inherit event follow the tasks that its target creates? Tools that profile a whole
 * program from one descriptor rely on it.
 * Observed: a new thread or process causes page faults, and the one counter of the first task
 * gains exactly that many while the new task lives, and keeps them after its end.
 */
#include "probe.h"

PROBE(TITLE("inherited counts of threads and processes")
      SINCE("2.6.31")
      POINT(thread.counts_alive, "faults of a new thread are in the sum while it lives")
      POINT(thread.counts_after_exit, "the sum is the same after the thread's end")
      POINT(thread.only_with_inherit, "without attr.inherit a new thread is not counted")
      POINT(thread.second_generation, "a thread made by an inherited process is counted")
      POINT(fork.counts_alive, "faults of a forked child are in the sum while it lives")
      POINT(fork.counts_after_exit, "the sum is the same after the child's end")
      POINT(fork.only_with_inherit, "without attr.inherit a forked child is not counted")
      POINT(fork.second_generation, "a process made by an inherited thread is counted")
      POINT(vforked, "a child that shares memory, as vfork(2) makes it, is counted"))

#define FAULTS 23

FIXTURE(follow)
{
	int fd;
	struct worker worker;
};

FIXTURE_VARIANT(follow)
{
	enum worker_kind kind, other;
};
FIXTURE_VARIANT_ADD(follow, thread)
{
	.kind = WORKER_THREAD,
	.other = WORKER_CHILD,
};
FIXTURE_VARIANT_ADD(follow, fork)
{
	.kind = WORKER_CHILD,
	.other = WORKER_THREAD,
};

static struct perf_event_attr counting(bool inherit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

#define want_gain(got, want)                                                                   \
	do {                                                                                   \
		if ((got) != (want))                                                           \
			broken("gained=%" PRIu64 " want=%d", got, want);                       \
	} while (0)

FIXTURE_SETUP(follow)
{
	const struct perf_event_attr attr = counting(true);

	self->fd = must_open(&attr, 0, -1, -1, 0);
}

FIXTURE_TEARDOWN(follow)
{
	worker_stop(&self->worker);
}

TEST_F(follow, counts_alive)
{
	uint64_t gain;

	must_start(&self->worker, variant->kind);
	gain = gain_of_faults(self->fd, &self->worker, FAULTS);
	want_gain(gain, FAULTS);
}

/* Disabled before the end, so that what the exit itself costs is not in the way. */
TEST_F(follow, counts_after_exit)
{
	uint64_t gain, alive, after;

	must_start(&self->worker, variant->kind);
	gain = gain_of_faults(self->fd, &self->worker, FAULTS);
	want_gain(gain, FAULTS);
	must_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0);
	alive = must_count(self->fd);
	ASSERT_EQ(0, worker_stop(&self->worker));
	after = must_count(self->fd);
	if (after != alive)
		broken("alive=%" PRIu64 " after_exit=%" PRIu64, alive, after);
}

TEST_F(follow, only_with_inherit)
{
	const struct perf_event_attr attr = counting(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t gain;

	must_start(&self->worker, variant->kind);
	gain = gain_of_faults(fd, &self->worker, FAULTS);
	want_gain(gain, 0);
	gain = gain_of_faults(fd, NULL, FAULTS);	/* and yet it counts */
	want_gain(gain, FAULTS);
}

TEST_F(follow, second_generation)
{
	struct worker second;
	uint64_t gain;

	ASSERT_EQ(0, worker_prepare(&second, variant->kind));
	must_start(&self->worker, variant->other);
	ASSERT_EQ(0, worker_do(&self->worker, worker_launch, &second));
	gain = gain_of_faults(self->fd, &second, FAULTS);
	want_gain(gain, FAULTS);
	ASSERT_EQ(0, worker_do(&self->worker, worker_stop, &second));
}

struct shared {
	int fd;
	uint64_t before, after;
	int error;
};

static int fault_in_shared_memory(void *argument)
{
	struct shared *shared = argument;

	shared->error = cause_faults(1) ?: pm_read_count(shared->fd, &shared->before);
	if (!shared->error)
		shared->error = cause_faults(FAULTS);
	if (!shared->error)
		shared->error = pm_read_count(shared->fd, &shared->after);
	return 0;
}

TEST(vforked)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	const struct perf_event_attr attr = counting(true);
	struct shared shared = { .fd = must_open(&attr, 0, -1, -1, 0) };
	pid_t child;

	memset(stack, 1, sizeof(stack));
	child = clone(fault_in_shared_memory, stack + sizeof(stack), CLONE_VM | CLONE_VFORK |
		      SIGCHLD, &shared);
	ASSERT_LT(0, child);
	ASSERT_EQ(0, wait_child(child));
	if (shared.error)
		cannot_tell("in the child: %s", errno_name(shared.error));
	want_gain(shared.after - shared.before, FAULTS);
}

PROBE_MAIN
