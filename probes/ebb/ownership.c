/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: may a program use the registers of event-based branches (EBB) while its event is open, and
 * does the kernel take them back when the last event is closed or the task forks?
 * Observed: registers are written and read in user mode; an access that must fault is tried in a
 * child.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"
#include "waiter.h"

PROBE(TITLE("registers of event-based branches (EBB)")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(registers, "BESCR and EBBHR keep what user mode writes")
      POINT(close_takes_back, "after the last EBB event is closed, a write to a counter is SIGILL")
      POINT(other_event_keeps, "while one of two EBB events is open, counters stay writable")
      POINT(fork_clears, "a child starts with BESCR, EBBHR and EBBRR 0, and cannot write a "
			 "counter"))

/* An address that nothing branches to: branches stay off. */
#define SOMEWHERE (unsigned long)0x0100000000000000ull

static int write_counter(void *unused)
{
	(void)unused;
	spr_write(SPR_PMC1, 0);
	return 0;
}

TEST(registers)
{
	require_ebb();
	spr_write(SPR_BESCR, BESCR_ON);
	spr_write(SPR_EBBHR, SOMEWHERE);
	if (spr_read(SPR_BESCR) != BESCR_ON || spr_read(SPR_EBBHR) != SOMEWHERE)
		say_broken("BESCR=%#lx EBBHR=%#lx", spr_read(SPR_BESCR), spr_read(SPR_EBBHR));
	spr_write(SPR_BESCR, 0);
}

/* Writes a counter while the event is open, says so, and writes it again after the close. */
static int write_around_close(void *wrote)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0 || pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return 1;
	write_counter(NULL);
	gate_open(wrote);
	close(fd);
	return write_counter(NULL);
}

TEST(close_takes_back)
{
	struct gate wrote;
	int status;

	require_ebb();
	ASSERT_EQ(0, gate_init(&wrote));
	status = wait_child(start_child(write_around_close, &wrote));
	if (status == 1 || poll_once(wrote.fds[0], POLLIN, 0) != POLLIN)
		say_unknown("a counter could not be written while the event was open (%d)", status);
	if (status != 128 + SIGILL)
		say_broken("a write to PMC1 after close ended with %d, want SIGILL", status);
}

TEST(other_event_keeps)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_2 | EBB);
	int leader = must_schedule();
	int sibling;

	attr.disabled = 0;
	sibling = must_open(&attr, 0, -1, leader, 0);
	close(sibling);
	count_traps();
	write_counter(NULL);
	if (traps_taken())
		say_broken("SIGILL at a counter of the event that is still open");
}

static int look_after_fork(void *unused)
{
	(void)unused;
	if (spr_read(SPR_BESCR) || spr_read(SPR_EBBHR) || spr_read(SPR_EBBRR))
		return 1;
	return write_counter(NULL);
}

TEST(fork_clears)
{
	int status;

	must_schedule();
	spr_write(SPR_EBBHR, SOMEWHERE);
	spr_write(SPR_EBBRR, 2 * SOMEWHERE);
	spr_write(SPR_BESCR, BESCR_PME);
	status = wait_child(start_child(look_after_fork, NULL));
	spr_write(SPR_MMCR0, MMCR0_FC);
	spr_write(SPR_BESCR, 0);
	if (status == 1)
		say_broken("the child has its parent's BESCR, EBBHR or EBBRR");
	if (status != 128 + SIGILL)
		say_broken("the child's write to PMC1 ended with %d, want SIGILL", status);
}

PROBE_MAIN
