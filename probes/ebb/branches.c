/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: do event-based branches arrive in the program's own handler?
 * Observed: the handler, in assembly, counts itself; counter and control registers are used from
 * user mode.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "power.h"
#include <sys/prctl.h>

PROBE(TITLE("event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(scheduled, "after ENABLE read(2) gives 8 bytes: the event is on its counter")
      POINT(prctl_enable, "PR_TASK_PERF_EVENTS_ENABLE schedules it as well")
      POINT(cycles, "cycles overflowing 10 times give 10 branches to the handler")
      POINT(no_handler, "with BESCR disabled an overflow does not branch")
      FACT(branches, int, "branches", "taken of 10 overflows; emulators lose some"))

#if defined(__powerpc64__)

#define BESCR_ON 0x8000000100000000ul
#define MMCR0_FC 0x80000000ul
#define MMCR0_PMAE 0x04000000ul
#define PERIOD 0x100000ul

/* Read by the handler: how often it ran, and what it writes into PMC1. */
struct { unsigned long count, reload; } ebb_state
	__attribute__((visibility("hidden"))) = { 0, 0x80000000ul - PERIOD };
extern char ebb_handler[];

/*
 * Counts itself, reloads PMC1, lets the counter run again (MMCR0: PMAE on, FC and PMAO off), clears
 * BESCR[PMEO], sets BESCR[PME], returns with rfebb 1. Uses r3 to r5 and LR, saved below the red
 * zone; finds its data relative to itself, so that it may lie anywhere.
 */
__asm__(".pushsection .text\n"
	".hidden ebb_handler\n"
	".globl ebb_handler\n"
	"ebb_handler:\n"
	"	stdu 1, -640(1)\n"
	"	std 3, 560(1)\n"
	"	std 4, 568(1)\n"
	"	std 5, 576(1)\n"
	"	mflr 3\n"
	"	std 3, 584(1)\n"
	"	bcl 20, 31, 1f\n"
	"1:	mflr 5\n"
	"	addis 5, 5, (ebb_state - 1b)@ha\n"
	"	addi 5, 5, (ebb_state - 1b)@l\n"
	"	ld 3, 0(5)\n"
	"	addi 3, 3, 1\n"
	"	std 3, 0(5)\n"
	"	ld 3, 8(5)\n"
	"	mtspr 771, 3\n"
	"	ld 3, 584(1)\n"
	"	mtlr 3\n"
	"	mfspr 3, 779\n"
	"	oris 3, 3, 0x0400\n"
	"	li 4, 0x80\n"
	"	andc 3, 3, 4\n"
	"	lis 4, 0x4000\n"
	"	sldi 4, 4, 1\n"
	"	andc 3, 3, 4\n"
	"	mtspr 779, 3\n"
	"	li 4, 1\n"
	"	mtspr 802, 4\n"			/* BESCRR: PMEO */
	"	sldi 5, 4, 32\n"
	"	mtspr 800, 5\n"			/* BESCRS: PME */
	"	mfspr 3, 806\n"			/* emulators keep BESCRS and BESCRR apart */
	"	andc 3, 3, 4\n"
	"	or 3, 3, 5\n"
	"	mtspr 806, 3\n"
	"	ld 3, 560(1)\n"
	"	ld 4, 568(1)\n"
	"	ld 5, 576(1)\n"
	"	addi 1, 1, 640\n"
	"	.long 0x4c000924\n"		/* rfebb 1 */
	".popsection\n");

static void arm(void)
{
	ebb_state.count = 0;
	WRITE_SPR(804, ebb_handler);
	WRITE_SPR(806, BESCR_ON);
	WRITE_SPR(771, ebb_state.reload);
	WRITE_SPR(779, MMCR0_PMAE);
}

/* Emulators lose branches unless their clock is the instruction counter. */
static bool emulated(void)
{
	char text[4096] = "";

	pm_read_text("/proc/cpuinfo", text, sizeof(text));
	return strstr(text, "emulated by qemu") || strstr(text, "IBM pSeries (emulated");
}

TEST(scheduled)
{
	must_schedule(_metadata);
	if (READ_SPR(771) > 0xffffffff)
		broken("PMC1=%#lx", READ_SPR(771));
}

TEST(prctl_enable)
{
	uint64_t value;
	int fd;

	fd = must_lead(_metadata);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE));
	if (read(fd, &value, 8) != 8)
		broken("read(2) gives no value after PR_TASK_PERF_EVENTS_ENABLE");
}

TEST(cycles)
{
	volatile unsigned long *count = &ebb_state.count;
	const uint64_t end = now_ns() + 3000000000;

	must_schedule(_metadata);
	arm();
	while (*count < 10 && now_ns() < end)
		;
	WRITE_SPR(779, MMCR0_FC);
	WRITE_SPR(806, 0);
	fact_int("branches", *count);
	if (*count < 10 && emulated())
		say_absent("an emulator lost %lu of 10 branches", 10 - *count);
	if (*count < 10)
		broken("branches=%lu in three seconds, want 10", *count);
}

TEST(no_handler)
{
	must_schedule(_metadata);
	arm();
	WRITE_SPR(806, 0);
	spin_ns(20000000);
	WRITE_SPR(779, MMCR0_FC);
	if (ebb_state.count)
		broken("branches=%lu with BESCR 0", ebb_state.count);
}

#else

NOT_POWER(scheduled)
NOT_POWER(prctl_enable)
NOT_POWER(cycles)
NOT_POWER(no_handler)

#endif

PROBE_MAIN
