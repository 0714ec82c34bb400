/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a uprobe leave in the program? While its event is open there is a breakpoint
 * instruction in the code, and a counter in memory tells a program that it is being watched; after
 * close both must be as before. Observed: the bytes of a function of this very program, and such a
 * counter.
 */
#include "probe.h"
#include "pmu.h"
#include "uprobe_target.h"

PROBE(TITLE("what uprobes leave behind")
      SINCE("4.17")
      COMMIT("33ea4b24277b")
      NEEDS("uprobe")
      POINT(removed, "after close the function runs as before, and nothing stays behind")
      POINT(reference, "a reference counter is 1 while the event is open and 0 after")
      SINCE("4.20"))

/* Initialised, so that it has a place in the file. */
static volatile uint16_t semaphore __attribute__((aligned(8))) = 0x100;

/*
 * Of one test alone: the kernel refuses a counter at a place where a probe without one is open,
 * even in another process that runs this program.
 */
static __attribute__((noinline)) int counted_function(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value - 5;
}

TEST(removed)
{
	struct perf_event_attr attr = must_uprobe(watched_function);
	const volatile unsigned char *code = (const unsigned char *)(uintptr_t)watched_function;
	unsigned char before[8], during[8], after[8];
	int fd;

#ifdef __arm__
	code = (const unsigned char *)((uintptr_t)code & ~1ul);
#endif
	for (int i = 0; i < 8; i++)
		before[i] = code[i];
	fd = open_uprobe(&attr);
	for (int i = 0; i < 8; i++)
		during[i] = code[i];
	close(fd);
	for (int i = 0; i < 8; i++)
		after[i] = code[i];
	call_nine_times();
	if (!memcmp(before, during, 8))
		say_broken("no breakpoint instruction in the code while the event is open");
	if (memcmp(before, after, 8))
		say_broken("the code is not as it was before");
}

TEST(reference)
{
	struct perf_event_attr plain = must_uprobe(counted_function), attr = plain;
	uint16_t idle = semaphore, open, closed;
	int fd;

	must_place("uprobe", "ref_ctr_offset", file_offset(&semaphore), &attr);
	fd = ask_open(&attr, &plain, 0, -1, "a reference counter");
	open = semaphore;
	close(fd);
	closed = semaphore;
	if (open != idle + 1 || closed != idle)
		say_broken("idle=%u open=%u want=%u closed=%u want=%u", idle, open, idle + 1,
			   closed, idle);
}

PROBE_MAIN
