/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event stay with its process when the id is given to another one? A sampler of many
 * processes keeps events of ended ones for a while, and ids come back.
 * Observed: a child ends, a new child gets its id by clone3(2), and both cause known page faults.
 * Linux 49cb2fc42ce4 ("fork: extend clone3() to support setting a PID") (v5.5)
 */
#include "probe.h"
#include "finding.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

PROBE(TITLE("process ids that are used again")
      SINCE("5.5")
      COMMIT("49cb2fc42ce4")
      NEEDS("root")
      POINT(old_event, "an event of a process that ended counts nothing of a new one with its id")
      POINT(hangs_up, "its poll hangs up, and goes on doing so while the new process runs")
      POINT(new_event, "an event opened on the id then counts the new process alone")
      POINT(own_ids, "samples of both have the same id, and each is in its own event's ring"))

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

struct clone_order {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		 set_tid_size;
};

static int order_pipe[2], done_pipe[2];

/* A child causes as many page faults as each byte says, and ends at the end of the pipe. */
static noreturn void serve_faults(void)
{
	unsigned char faults;

	close(order_pipe[1]);
	cause_faults(1);
	if (write(done_pipe[1], "", 1) != 1)
		_exit(1);
	while (read(order_pipe[0], &faults, 1) == 1)
		if (cause_faults(faults) || write(done_pipe[1], "", 1) != 1)
			break;
	_exit(0);
}

static void must_hear(void)
{
	char byte;

	if (poll_once(done_pipe[0], POLLIN, 5000) != POLLIN || read(done_pipe[0], &byte, 1) != 1)
		say_unknown("the child does not answer");
}

static void must_fault(unsigned char faults)
{
	ASSERT_EQ(1, write(order_pipe[1], &faults, 1));
	must_hear();
}

/* A child with that id, or with any (0). */
static pid_t must_clone(pid_t wanted)
{
	struct clone_order order = { .exit_signal = SIGCHLD };
	long child;

	ASSERT_EQ(0, pipe(order_pipe));
	ASSERT_EQ(0, pipe(done_pipe));
	if (wanted) {
		order.set_tid = (uintptr_t)&wanted;
		order.set_tid_size = 1;
	}
	child = syscall(SYS_clone3, &order, sizeof(order));
	if (child == 0)
		serve_faults();
	if (child < 0 && errno == E2BIG && wanted)
		say_absent("clone3(2) takes no chosen id: E2BIG with one, success without");
	if (child < 0 && errno != ENOSYS)
		say_unknown("%s for a child with id %d", pm_errno_name(errno), (int)wanted);
	must_call(child, "clone3");
	must_hear();
	return (pid_t)child;
}

static void must_end(pid_t child)
{
	close(order_pipe[1]);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	close(order_pipe[0]);
	close(done_pipe[0]);
	close(done_pipe[1]);
}

static struct perf_event_attr attr_running(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	return attr;
}

static int must_watch(pid_t child)
{
	struct perf_event_attr attr = attr_running();

	return must_open(&attr, child, -1, -1, 0);
}

/* The id of a child that ended after 16 faults under the event of the caller's. */
static pid_t must_have_ended(int *ret_fd)
{
	pid_t child;

	require(REQUIRE_ROOT);
	child = must_clone(0);
	*ret_fd = must_watch(child);
	must_fault(16);
	must_end(child);
	if (must_count(*ret_fd) < 16)
		say_unknown("the event did not count its process");
	return child;
}

TEST(old_event)
{
	uint64_t before;
	int fd;

	must_clone(must_have_ended(&fd));
	before = must_count(fd);
	must_fault(16);
	if (must_count(fd) != before)
		say_broken("%" PRIu64 " counts, then %" PRIu64, before, must_count(fd));
}

TEST(hangs_up)
{
	struct pm_ring ring;
	pid_t child;
	int fd, revents[2];

	require(REQUIRE_ROOT);
	child = must_clone(0);
	fd = must_watch(child);
	must_map(fd, 4, &ring);
	must_end(child);
	revents[0] = poll_once(fd, POLLIN, 1000);
	must_clone(child);
	revents[1] = poll_once(fd, POLLIN, 1000);
	for (int i = 0; i < 2; i++)
		if (!(revents[i] & POLLHUP))
			say_broken("revents=%#x %s the id was used again", revents[i],
				   i ? "after" : "before");
}

TEST(new_event)
{
	uint64_t before;
	pid_t child;
	int old, fd;

	child = must_have_ended(&old);
	must_clone(child);
	fd = must_watch(child);
	before = must_count(fd);
	must_fault(16);
	if (must_count(fd) < before + 16 || must_count(fd) > before + 18)
		say_broken("%" PRIu64 " counts of 16 faults", must_count(fd) - before);
}

TEST(own_ids)
{
	struct perf_event_attr attr = attr_running();
	struct sampler old, now;
	int samples[2];
	pid_t child;

	require(REQUIRE_ROOT);
	child = must_clone(0);
	old = must_sampler(&attr, child, -1, 4);
	must_fault(16);
	must_end(child);
	must_clone(child);
	now = must_sampler(&attr, child, -1, 4);
	must_fault(20);
	samples[0] = count_samples(&old, child);
	samples[1] = count_samples(&now, child);
	if (samples[0] < 16 || samples[0] > 18 || samples[1] < 20 || samples[1] > 22)
		say_broken("samples=%d want=16, of the new process=%d want=20", samples[0],
			   samples[1]);
}

PROBE_MAIN
