/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: do event-based branches (EBB) follow their task: across system calls in the handler,
 * beside other tasks with branches of their own, and where another task opened the event?
 * Observed: each task's handler counts its branches.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"
#include "waiter.h"
#include <sys/syscall.h>

PROBE(TITLE("event-based branches of several tasks")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(call_in_handler, "a handler that gives up the CPU by a system call goes on after it")
      POINT(mmcr0_kept, "MMCR0 is the same before and after a system call in the handler that "
			"gives up the CPU")
      POINT(several, "four tasks on one CPU, each with an EBB event, take all of their branches")
      POINT(willing_child, "a child that has branches on takes those of an event that its parent "
			   "opens on it afterwards")
      POINT(unaware_child, "a child without a handler may use the counters of an event that its "
			   "parent opened on it"))

#include "ebb_handler.h"

#define TASKS 4

static int spin_and_yield(void *unused)
{
	(void)unused;
	move_to_nth_cpu(0);
	for (;;)
		sched_yield();
	return 0;
}

/* Twenty branches whose handler gives up the CPU, beside a task that takes it. */
static void yield_in_handler(void)
{
	unsigned long taken;
	pid_t other;

	must_schedule();
	ASSERT_LE(0, move_to_nth_cpu(0));
	other = start_child(spin_and_yield, NULL);
	ASSERT_LT(0, other);
	arm(PERIOD);
	ebb_state.call = SYS_sched_yield;
	taken = take_branches(20);
	disarm();
	kill(other, SIGKILL);
	wait_child(other);
	expect_branches(taken, 20);
}

TEST(call_in_handler)
{
	yield_in_handler();
}

TEST(mmcr0_kept)
{
	yield_in_handler();
	if (ebb_state.before_call != ebb_state.after_call)
		say_broken("MMCR0=%#lx before the call, %#lx after it", ebb_state.before_call,
			   ebb_state.after_call);
}

/* Exit status of a task that takes ten branches: 0 when it did, 1 when not, 2 without an event. */
static int take_ten(void *unused)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	unsigned long taken;
	uint64_t value;
	int fd;

	(void)unused;
	move_to_nth_cpu(0);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0 || pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || read(fd, &value, 8) != 8)
		return 2;
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	return taken < 10;
}

TEST(several)
{
	pid_t children[TASKS];
	int whole = 0, status;

	close(must_lead());
	for (int i = 0; i < TASKS; i++) {
		children[i] = start_child(take_ten, NULL);
		ASSERT_LT(0, children[i]);
	}
	for (int i = 0; i < TASKS; i++) {
		status = wait_child(children[i]);
		if (status == 2)
			say_unknown("the event of task %d of %d was not scheduled", i, TASKS);
		whole += status == 0;
	}
	expect_whole(whole == TASKS, "%d of %d tasks took their ten branches", whole, TASKS);
}

struct child {
	struct gate ready, opened;
	bool willing;
};

/* Exit status: branches taken, 100 when the counter could be written and none was wanted. */
static int be_watched(void *context)
{
	struct child *child = context;
	unsigned long taken = 100;

	if (child->willing)
		be_willing(PERIOD);
	gate_open(&child->ready);
	gate_wait(&child->opened);
	if (child->willing) {
		start_counter(1, PERIOD);
		taken = take_branches(10);
	} else {
		spr_write(SPR_PMC1, OVERFLOWN - PERIOD);
		spin_ns(5000000);
	}
	disarm();
	return taken > 100 ? 99 : taken;
}

static int watch_child(bool willing)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	struct child child = { .willing = willing };
	pid_t pid;
	int fd;

	close(must_lead());
	ASSERT_EQ(0, gate_init(&child.ready));
	ASSERT_EQ(0, gate_init(&child.opened));
	pid = start_child(be_watched, &child);
	ASSERT_LT(0, pid);
	gate_wait(&child.ready);
	fd = must_open(&attr, pid, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	gate_open(&child.opened);
	return wait_child(pid);
}

TEST(willing_child)
{
	int status = watch_child(true);

	expect_whole(status < 128, "the child ended with %d, want its count of branches", status);
	expect_branches(status, 10);
}

TEST(unaware_child)
{
	int status = watch_child(false);

	expect_whole(status == 100, "the child ended with %d, want 100", status);
}

PROBE_MAIN
