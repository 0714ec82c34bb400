/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: may a program read the branch history (BHRB) while its event for event-based branches
 * (EBB) asks for it with bit 62? A handler learns from it how the program came to the sampled
 * place.
 * Observed: clrbhrb and mfbhrbe are executed; what faults is counted.
 * Power ISA 2.07, Book II, Branch History Rolling Buffer.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"

PROBE(TITLE("branch history beside event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(accepted, "an EBB event with bit 62 is accepted and gets its counter")
      POINT(readable, "while it is there, clrbhrb and mfbhrbe work in user mode")
      POINT(trap_without, "without bit 62 both are SIGILL")
      POINT(trap_after_close, "after the event is closed both are SIGILL")
      FACT(entries, int, "entries", "of the history that are not 0 after 100 branches"))

static int must_schedule_with(uint64_t bits)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1), without = attr_ebb(CYCLES_1);
	uint64_t value;
	int fd;

	require_ebb();
	attr.config |= bits;
	fd = ask_open(&attr, &without, 0, -1, "the branch history bit");
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (read(fd, &value, 8) != 8)
		say_unknown("the event is not scheduled: another has the counters");
	return fd;
}

#if defined(__powerpc64__)

static void clear_history(void)
{
	__asm__ volatile(".long 0x7c00035c" : : : "memory");	/* clrbhrb */
}

#define ENTRY(n) \
	__asm__ volatile(".long 0x7c60025c | " #n " << 11" : "=r"(entry)); /* mfbhrbe 3, n */ \
	found += entry != 0;

/* How many of eight entries are not 0. */
static int count_entries(void)
{
	register unsigned long entry __asm__("r3") = 0;
	int found = 0;

	ENTRY(0) ENTRY(1) ENTRY(2) ENTRY(3) ENTRY(4) ENTRY(5) ENTRY(6) ENTRY(7)
	return found;
}

#else

static void clear_history(void)
{
}

static int count_entries(void)
{
	return 0;
}

#endif

TEST(accepted)
{
	must_schedule_with(BHRB);
}

static volatile int branches_made;

static void __attribute__((noinline)) branch_often(void)
{
	for (int i = 0; i < 100; i++)
		branches_made++;
}

/* SIGILLs of both instructions, with whatever event there is. */
static unsigned long count_refused(void)
{
	count_traps();
	clear_history();
	count_entries();
	return traps_taken();
}

static int must_read_history(void)
{
	const int fd = must_schedule_with(BHRB);

	expect_whole(!count_refused(), "clrbhrb or mfbhrbe is SIGILL");
	return fd;
}

TEST(readable)
{
	must_read_history();
	spr_write(SPR_MMCR0, 0);
	branch_often();
	fact_int("entries", count_entries());
}

TEST(trap_without)
{
	unsigned long refused;

	close(must_read_history());
	must_schedule_with(0);
	refused = count_refused();
	expect_whole(refused == 9, "%lu of 9 instructions were SIGILL", refused);
}

TEST(trap_after_close)
{
	unsigned long refused;

	must_close(must_read_history());
	refused = count_refused();
	expect_whole(refused == 9, "%lu of 9 instructions were SIGILL", refused);
}

PROBE_MAIN
