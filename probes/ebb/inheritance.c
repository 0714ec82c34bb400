/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: what of event-based branches (EBB) goes along into a new thread, a forked child and a new
 * program? The event is one task's; a handler's address means nothing in a new program.
 * Observed: registers and counters are read and written there; what faults is counted.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"
#include "fork_exec.h"
#include "worker.h"
#include <fcntl.h>

PROBE(TITLE("event-based branches across fork, clone and exec")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(thread_clears, "a thread starts with BESCR, EBBHR and EBBRR 0, and cannot write a "
			   "counter")
      POINT(thread_own_event, "a thread takes the branches of an event that it opened itself, and"
			      " so does the thread that started it")
      POINT(child_own_event, "a forked child takes the branches of an event that it opened itself")
      POINT(child_reads, "a forked child reads its parent's event")
      POINT(parent_goes_on, "a task takes all branches after it has forked ten times")
      POINT(exec_survived, "a program that is executed while branches are on runs as any other")
      FACT(exec_clears, bool, "-", "BESCR, EBBHR and EBBRR are 0 in a program that is executed")
      FACT(exec_keeps_event, bool, "-", "a program that is executed may write the counter of the "
					"event that its predecessor opened")
      FACT(exec_branches, int, "branches", "that an executed program took of its predecessor's "
					   "event, by the handler's address, in 20 ms"))

#define SOMEWHERE (unsigned long)0x0100000000000000ull

static bool registers_are_clear(void)
{
	return !spr_read(SPR_BESCR) && !spr_read(SPR_EBBHR) && !spr_read(SPR_EBBRR);
}

/* Whether this task may write a counter. */
static bool may_write(void)
{
	count_traps();
	spr_write(SPR_PMC1, 0);
	return !traps_taken();
}

static void *look(void *found)
{
	((int *)found)[0] = registers_are_clear();
	((int *)found)[1] = may_write();
	return NULL;
}

TEST(thread_clears)
{
	int found[2];

	must_schedule();
	spr_write(SPR_EBBHR, SOMEWHERE);
	spr_write(SPR_EBBRR, 2 * SOMEWHERE);
	spr_write(SPR_BESCR, BESCR_PME);
	ASSERT_EQ(0, run_in_thread(look, found));
	disarm();
	if (!found[0])
		say_broken("the thread has BESCR, EBBHR or EBBRR of the one that started it");
	if (found[1])
		say_broken("the thread writes PMC1 without an event of its own");
}

/* Branches taken with an event of the caller's own, or -1 without one. */
static int take_ten(void *unused)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	unsigned long before, taken;
	uint64_t value;
	int fd;

	(void)unused;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0 || pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || read(fd, &value, 8) != 8)
		return -1;
	arm(PERIOD);
	before = branches_taken();
	taken = take_branches(before + 10) - before;
	disarm();
	close(fd);
	return (int)taken;
}

static void *take_ten_there(void *taken)
{
	*(int *)taken = take_ten(NULL);
	return NULL;
}

TEST(thread_own_event)
{
	unsigned long taken;
	int theirs;

	must_schedule();
	arm(PERIOD);
	disarm();
	ASSERT_EQ(0, run_in_thread(take_ten_there, &theirs));
	if (theirs < 0)
		say_unknown("the thread's event is not scheduled");
	expect_branches((unsigned long)theirs, 10);
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	expect_branches(taken, 10);
}

TEST(child_own_event)
{
	int taken;

	must_schedule();
	taken = wait_child(start_child(take_ten, NULL));
	if (taken == 255)
		say_unknown("the child's event is not scheduled");
	if (taken >= 128)
		say_broken("the child ended with %d, want 10", taken);
	expect_branches((unsigned long)taken, 10);
}

static int read_event(void *fd)
{
	uint64_t value;

	return read(*(int *)fd, &value, 8) != 8;
}

TEST(child_reads)
{
	int fd = must_schedule();

	if (wait_child(start_child(read_event, &fd)))
		say_broken("read(2) gives the child no value");
	if (read_event(&fd))
		say_broken("read(2) gives the parent no value any more");
}

static int do_nothing(void *unused)
{
	(void)unused;
	return 0;
}

TEST(parent_goes_on)
{
	unsigned long taken;

	must_schedule();
	arm(PERIOD);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, wait_child(start_child(do_nothing, NULL)));
	taken = take_branches(branches_taken() + 10);
	disarm();
	expect_branches(taken, 10);
}

/* In the worker: an event, scheduled, with branches on. 0, or 1 without one. */
static int prepare(void *unused)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	uint64_t value;
	int fd;

	(void)unused;
	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0 || read(fd, &value, 8) != 8 || fcntl(fd, F_SETFD, 0))
		return 1;
	arm(PERIOD);
	return 0;
}

/* In the program that it executed: 1 registers are clear, 2 the counter may be written, and four
 * times the branches that came by themselves. */
static int look_after_exec(void *unused)
{
	const int clear = registers_are_clear();
	unsigned long taken;
	bool writes;

	(void)unused;
	spin_ns(20000000);
	taken = branches_taken();
	spr_write(SPR_BESCR, 0);
	writes = may_write();
	return clear | writes << 1 | (int)(taken > 1000 ? 1000 : taken) << 2;
}

TEST(exec_survived)
{
	struct worker worker;
	int found;

	close(must_lead());
	ASSERT_EQ(0, worker_start(&worker, WORKER_CHILD));
	if (worker_do(&worker, prepare, NULL))
		say_unknown("the event is not scheduled");
	must_exec_worker(&worker);
	found = worker_do(&worker, look_after_exec, NULL);
	worker_stop(&worker);
	if (found < 0)
		say_broken("the program ended or stopped (%d)", found);
	fact_bool("exec_clears", found & 1);
	fact_bool("exec_keeps_event", found & 2);
	fact_int("exec_branches", found >> 2);
}

PROBE_MAIN
