/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A handler of Power's event-based branches, for the probes that take some. Included behind
 * probe.h and ebb.h, on 64-bit Power alone.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#ifndef EBB_HANDLER_H
#define EBB_HANDLER_H

#define BESCR_ON 0x8000000100000000ul		/* GE and PME */
#define MMCR0_FC 0x80000000ul
#define MMCR0_PMAE 0x04000000ul
#define MMCR0_PMAO 0x00000080ul
#define OVERFLOWN 0x80000000ul
#define PERIOD 0x100000ul
#define COUNTERS 6

/* What the handler counts, and what it writes into counters that overflowed. Its offsets are in
 * the assembly below. */
struct {
	unsigned long branches;			/* 0: how often it ran */
	unsigned long overflows[COUNTERS];	/* 8: by the counter that overflowed, PMC1 first */
	unsigned long reload[COUNTERS];		/* 56 */
	unsigned long yield;			/* 104: not 0: it calls sched_yield(2) */
	unsigned long mmcr0;			/* 112: MMCR0 as it was at the first branch */
} ebb_state __attribute__((visibility("hidden")));
extern char ebb_handler[];

/*
 * Counts itself and the counters that overflowed, reloads those, may make a system call, lets the
 * counters run again (MMCR0: PMAE on, FC and PMAO off), clears BESCR[PMEO], sets BESCR[PME],
 * returns with rfebb 1. Saves what a system call may change in a frame that begins below the red
 * zone; finds its data relative to itself, so that it may lie anywhere.
 */
__asm__(".pushsection .text\n"
	".hidden ebb_handler\n"
	".globl ebb_handler\n"
	"ebb_handler:\n"
	"	stdu 1, -768(1)\n"
	"	std 0, 64(1)\n"
	"	.irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12\n"
	"	std \\n, 48 + 8 * \\n(1)\n"
	"	.endr\n"
	"	mflr 3\n"
	"	std 3, 152(1)\n"
	"	mfctr 3\n"
	"	std 3, 160(1)\n"
	"	mfxer 3\n"
	"	std 3, 168(1)\n"
	"	mfcr 3\n"
	"	std 3, 176(1)\n"
	"	bcl 20, 31, 1f\n"
	"1:	mflr 5\n"
	"	addis 5, 5, (ebb_state - 1b)@ha\n"
	"	addi 5, 5, (ebb_state - 1b)@l\n"
	"	ld 3, 0(5)\n"
	"	cmpdi 3, 0\n"
	"	addi 3, 3, 1\n"
	"	std 3, 0(5)\n"
	"	bne 2f\n"
	"	mfspr 3, 779\n"
	"	std 3, 112(5)\n"
	"2:\n"
	"	.irp n, 1, 2, 3, 4, 5, 6\n"
	"	mfspr 3, 770 + \\n\n"
	"	andis. 3, 3, 0x8000\n"
	"	beq 3f\n"
	"	ld 3, 8 * \\n(5)\n"
	"	addi 3, 3, 1\n"
	"	std 3, 8 * \\n(5)\n"
	"	ld 3, 48 + 8 * \\n(5)\n"
	"	mtspr 770 + \\n, 3\n"
	"3:\n"
	"	.endr\n"
	"	ld 3, 104(5)\n"
	"	cmpdi 3, 0\n"
	"	beq 4f\n"
	"	li 0, 158\n"			/* sched_yield */
	"	sc\n"
	"4:	mfspr 3, 779\n"
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
	"	ld 3, 176(1)\n"
	"	mtcr 3\n"
	"	ld 3, 168(1)\n"
	"	mtxer 3\n"
	"	ld 3, 160(1)\n"
	"	mtctr 3\n"
	"	ld 3, 152(1)\n"
	"	mtlr 3\n"
	"	.irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12\n"
	"	ld \\n, 48 + 8 * \\n(1)\n"
	"	.endr\n"
	"	ld 0, 64(1)\n"
	"	addi 1, 1, 768\n"
	"	.long 0x4c000924\n"		/* rfebb 1 */
	".popsection\n");

/* From now on overflows branch to the handler. PMC1 is one period away from its first. */
static inline void arm(unsigned long period)
{
	memset(&ebb_state, 0, sizeof(ebb_state));
	for (int i = 0; i < COUNTERS; i++)
		ebb_state.reload[i] = OVERFLOWN - period;
	WRITE_SPR(804, ebb_handler);
	WRITE_SPR(806, BESCR_ON);
	WRITE_SPR(771, OVERFLOWN - period);
	WRITE_SPR(779, MMCR0_PMAE);
}

static inline void disarm(void)
{
	WRITE_SPR(779, MMCR0_FC);
	WRITE_SPR(806, 0);
}

/* Spin until that many branches were taken, or three seconds are over. */
static inline unsigned long take_branches(unsigned long want)
{
	const uint64_t end = now_ns() + 3000000000;
	volatile unsigned long *branches = &ebb_state.branches;

	while (*branches < want && now_ns() < end)
		;
	return *branches;
}

/*
 * Whether the set and reset registers of BESCR do what the architecture says. Where they are mere
 * storage the facility is an emulator's, and such a one loses branches, too.
 */
static inline bool facility_is_whole(void)
{
	unsigned long set, reset;

	WRITE_SPR(806, 0);
	WRITE_SPR(800, 1ul << 32);
	set = READ_SPR(806);
	WRITE_SPR(802, 1ul << 32);
	reset = READ_SPR(806);
	WRITE_SPR(806, 0);
	return (set & 1ul << 32) && !(reset & 1ul << 32);
}

/* Fewer branches than wanted: the kernel's fault, but for an emulator that is found out. */
#define expect_branches(taken, want)                                                           \
	do {                                                                                   \
		unsigned long taken_ = taken, want_ = want;                                    \
		if (taken_ < want_ && !facility_is_whole())                                    \
			say_absent("emulator: BESCRS and BESCRR do nothing, and it lost "      \
				   "%lu of %lu branches", want_ - taken_, want_);              \
		if (taken_ < want_)                                                            \
			say_broken("branches=%lu want=%lu", taken_, want_);                    \
	} while (0)

#endif
