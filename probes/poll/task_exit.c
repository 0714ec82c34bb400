/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does poll tell that the watched task has ended? POLLHUP wakes the reader, but not before the
 * last inherited child is gone; and a leader whose own task has ended reports POLLHUP although
 * other tasks still write into its ring, so that its reader can sleep no more.
 * Observed with a thread asleep in poll(2), and with polls that do not wait.
 */
#include "probe.h"

PROBE(TITLE("poll and the end of the watched task")
      SINCE("3.18")
      COMMIT("179033b3e064")
      POINT(exit_wakes_with_hup, "a reader asleep in poll wakes with POLLHUP as the task ends")
      POINT(dead_task_hangs_up, "poll of an event whose task has ended reports POLLHUP")
      POINT(child_keeps_it_open, "no POLLHUP while an inherited child lives")
      POINT(last_child_hangs_up, "POLLHUP when the last inherited child has ended")
      POINT(exec_removal_hangs_up, "POLLHUP when remove_on_exec has removed the event")
      SINCE("5.13")
      POINT(exec_alone_does_not, "no POLLHUP after an exec without remove_on_exec")
      POINT(leader_hangs_up_early, "POLLHUP of a leader whose task ended, its followers writing")
      POINT(followers_still_write, "samples of the followers still land in that leader's ring"))

/* The end of a task reaches the reader a moment after wait(2): bounded tries. */
static int revents_soon(int fd)
{
	int revents = 0;

	for (const uint64_t end = now_ns() + 200000000; !revents && now_ns() < end; sched_yield())
		revents = poll_once(fd, POLLIN, 0);
	return revents;
}

static void must_hang_up(struct __test_metadata *_metadata, int revents, const char *when)
{
	if (!revents || revents == -EAGAIN)
		say_no("%s: nothing is reported", when);
	if (!(revents & POLLHUP))
		broken("%s: revents=%#x want=%#x", when, revents, POLLHUP);
}

/* A task and a ring of its faults, known to work and to be silent. */
static struct watch watch_task(struct __test_metadata *_metadata, struct worker *task,
			       enum worker_kind kind, struct perf_event_attr *attr, int cpu)
{
	struct watch watch;

	attr->disabled = 0;
	must_start(task, kind);
	watch = must_watch(attr, task->tid, cpu, 1);
	worker_faults(task, 5);
	if (count_records(&watch.ring, PERF_RECORD_SAMPLE) < 5)
		broken("5 page faults of the task left no 5 records");
	if (poll_once(watch.fd, POLLIN, 0))
		broken("reported before the task has ended");
	return watch;
}

TEST(exit_wakes_with_hup)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct worker task;
	struct watch watch = watch_task(_metadata, &task, WORKER_CHILD, &attr, -1);
	struct waiter waiter;
	int error = waiter_start(&waiter, watch.fd, 3000);

	if (error)
		cannot_tell("no waiting thread: %s", errno_name(error));
	worker_stop(&task);
	must_hang_up(_metadata, waiter_woke(&waiter, 500), "task ended");
}

TEST(dead_task_hangs_up)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct worker task;
	struct watch watch = watch_task(_metadata, &task, WORKER_CHILD, &attr, -1);

	worker_stop(&task);
	must_hang_up(_metadata, revents_soon(watch.fd), "task has ended");
	must_hang_up(_metadata, revents_soon(watch.fd), "asked again");
}

/* A task whose inherited child outlives it; ends with the child alive. */
static struct watch outlive(struct __test_metadata *_metadata, struct worker *child)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	static struct worker task;
	struct watch watch;
	int cpu = move_to_nth_cpu(0);

	attr.inherit = 1;
	watch = watch_task(_metadata, &task, WORKER_THREAD, &attr, cpu < 0 ? 0 : cpu);
	if (worker_prepare(child, WORKER_THREAD) || worker_do(&task, worker_launch, child))
		cannot_tell("no thread of a thread");
	count_records(&watch.ring, 0);
	worker_faults(child, 5);
	if (count_records(&watch.ring, PERF_RECORD_SAMPLE) < 5)
		broken("the child has not inherited the event");
	worker_stop(&task);
	return watch;
}

TEST(child_keeps_it_open)
{
	struct worker child;
	struct watch watch = outlive(_metadata, &child);
	struct waiter waiter;
	int revents;

	if (waiter_start(&waiter, watch.fd, 3000))
		cannot_tell("no waiting thread");
	revents = waiter_woke(&waiter, 30);
	worker_faults(&child, 5);
	if (revents != -EAGAIN || count_records(&watch.ring, PERF_RECORD_SAMPLE) < 5)
		broken("a child lives, but revents=%#x", revents);
}

TEST(last_child_hangs_up)
{
	struct worker child;
	struct watch watch = outlive(_metadata, &child);

	worker_dismiss(&child);
	must_hang_up(_metadata, revents_soon(watch.fd), "last child ended");
}

TEST(exec_removal_hangs_up)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP), with = without;
	struct worker task;
	struct watch watch;

	with.remove_on_exec = 1;
	close(ask_open(&with, &without, 0, -1, "remove_on_exec"));
	watch = watch_task(_metadata, &task, WORKER_CHILD, &with, -1);
	if (worker_exec(&task, NULL))
		cannot_tell("the child cannot execute this program");
	must_hang_up(_metadata, revents_soon(watch.fd), "removed by exec");
	worker_stop(&task);
}

TEST(exec_alone_does_not)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct worker task;
	struct watch watch = watch_task(_metadata, &task, WORKER_CHILD, &attr, -1);
	int revents;

	if (worker_exec(&task, NULL))
		cannot_tell("the child cannot execute this program");
	revents = poll_once(watch.fd, POLLIN, 0);
	count_records(&watch.ring, 0);
	worker_faults(&task, 5);
	if (revents & POLLHUP || count_records(&watch.ring, PERF_RECORD_SAMPLE) < 5)
		broken("after exec: revents=%#x", revents);
	worker_stop(&task);
}

/* A leader whose task has ended, and a follower: this thread. */
static int orphan(struct __test_metadata *_metadata, struct watch *leader)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP), own = attr;
	int cpu = move_to_nth_cpu(0), follower;
	struct worker task;

	cpu = cpu < 0 ? 0 : cpu;
	*leader = watch_task(_metadata, &task, WORKER_CHILD, &attr, cpu);
	follower = must_open(&own, 0, cpu, -1, 0);
	must_ioctl(follower, PERF_EVENT_IOC_SET_OUTPUT, leader->fd);
	worker_stop(&task);
	count_records(&leader->ring, 0);
	return follower;
}

TEST(leader_hangs_up_early)
{
	struct watch leader;
	int follower = orphan(_metadata, &leader);

	must_hang_up(_metadata, revents_soon(leader.fd), "leader's task ended");
	if (poll_once(follower, POLLIN, 0) & POLLHUP)
		broken("POLLHUP of the follower, whose task lives");
}

TEST(followers_still_write)
{
	struct watch leader;
	int follower = orphan(_metadata, &leader), found;

	sample_faults(follower, 20);
	found = count_records(&leader.ring, PERF_RECORD_SAMPLE);
	if (found != 20)
		broken("records=%d want=20 in the ring of a leader whose task ended", found);
}

PROBE_MAIN
