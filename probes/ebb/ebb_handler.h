/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A handler of Power's event-based branches, for the probes that take some. Included behind
 * probe.h and ebb.h. On other machines there is none, and no test gets as far as here.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#ifndef EBB_HANDLER_H
#define EBB_HANDLER_H

#include <signal.h>

#define OVERFLOWN 0x80000000ul
#define PERIOD 0x100000ul
#define COUNTERS 6

/* What the handler counts, and what it writes into counters that overflowed. Its offsets are in
 * the assembly below. */
struct {
	unsigned long branches;			/* 0: how often it ran */
	unsigned long overflows[COUNTERS];	/* 8: by the counter that overflowed, PMC1 first */
	unsigned long reload[COUNTERS];		/* 56 */
	unsigned long call;			/* 104: number of the system call it makes, or 0 */
	unsigned long arguments[3];		/* 112: of that call */
	unsigned long mmcr0;			/* 136: MMCR0 as it was at the first branch */
	unsigned long before_call, after_call;	/* 144, 152: MMCR0 around the call */
	unsigned long bursts;			/* 160: how often PMC1 is to overflow at once */
	unsigned long from;			/* 168: EBBRR of the last branch */
	unsigned long same;			/* 176: branches from where the one before came */
	unsigned long traps;			/* SIGILLs: the counters were taken away */
} ebb_state __attribute__((visibility("hidden")));

#if defined(__powerpc64__)

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
	"	std 3, 136(5)\n"
	"2:	mfspr 3, 805\n"			/* EBBRR */
	"	ld 4, 168(5)\n"
	"	std 3, 168(5)\n"
	"	cmpd 3, 4\n"
	"	bne 3f\n"
	"	ld 3, 176(5)\n"
	"	addi 3, 3, 1\n"
	"	std 3, 176(5)\n"
	"3:\n"
	"	.irp n, 1, 2, 3, 4, 5, 6\n"
	"	mfspr 3, 770 + \\n\n"
	"	andis. 3, 3, 0x8000\n"
	"	beq 4f\n"
	"	ld 3, 8 * \\n(5)\n"
	"	addi 3, 3, 1\n"
	"	std 3, 8 * \\n(5)\n"
	"	ld 3, 48 + 8 * \\n(5)\n"
	"	mtspr 770 + \\n, 3\n"
	"4:\n"
	"	.endr\n"
	"	ld 3, 160(5)\n"
	"	cmpdi 3, 0\n"
	"	beq 5f\n"
	"	addi 3, 3, -1\n"
	"	std 3, 160(5)\n"
	"	lis 3, 0x7fff\n"
	"	ori 3, 3, 0xfffe\n"
	"	mtspr 771, 3\n"
	"5:	ld 0, 104(5)\n"
	"	cmpdi 0, 0\n"
	"	beq 6f\n"
	"	mfspr 3, 779\n"
	"	std 3, 144(5)\n"
	"	ld 3, 112(5)\n"
	"	ld 4, 120(5)\n"
	"	std 5, 184(1)\n"
	"	ld 5, 128(5)\n"
	"	sc\n"
	"	ld 5, 184(1)\n"
	"	mfspr 3, 779\n"
	"	std 3, 152(5)\n"
	"6:	mfspr 3, 779\n"
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

/* Power faults at an instruction that it does not have. Count it, and go on behind it. */
static void step_over(int number, siginfo_t *info, void *context)
{
	ucontext_t *was = context;

	(void)number;
	(void)info;
	was->uc_mcontext.gp_regs[32] += 4;	/* NIP */
	ebb_state.traps++;
}

#else

static char ebb_handler[1];

static void step_over(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	abort();
}

#endif

/* From now on instructions that Power refuses are counted in ebb_state.traps and stepped over. */
static inline void count_traps(void)
{
	struct sigaction action = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO };

	ebb_state.traps = 0;
	sigaction(SIGILL, &action, NULL);
}

/* Branches are on, to the handler, which reloads each counter with that period. Needs no event. */
static inline void be_willing(unsigned long period)
{
	memset(&ebb_state, 0, sizeof(ebb_state));
	count_traps();
	for (int i = 0; i < COUNTERS; i++)
		ebb_state.reload[i] = OVERFLOWN - period;
	spr_write(SPR_EBBHR, (unsigned long)ebb_handler);
	spr_write(SPR_BESCR, BESCR_ON);
}

/* That counter (1 to 6) runs, one period away from its first overflow. */
static inline void start_counter(int counter, unsigned long period)
{
	spr_write(SPR_PMC1 + counter - 1, OVERFLOWN - period);
	spr_write(SPR_MMCR0, MMCR0_PMAE);
}

/* Both: from now on overflows of that counter branch to the handler. */
static inline void arm_counter(int counter, unsigned long period)
{
	be_willing(period);
	start_counter(counter, period);
}

static inline void arm(unsigned long period)
{
	arm_counter(1, period);
}

static inline void disarm(void)
{
	spr_write(SPR_MMCR0, MMCR0_FC);
	spr_write(SPR_BESCR, 0);
}

/* Branches that were taken so far. */
static inline unsigned long branches_taken(void)
{
	return *(volatile unsigned long *)&ebb_state.branches;
}

static inline unsigned long traps_taken(void)
{
	return *(volatile unsigned long *)&ebb_state.traps;
}

/*
 * Spin until that many branches were taken, the counters are taken away, or this thread has spun
 * for 150 ms. QEMU notices an overflow of instructions only where the clock is read.
 */
static inline unsigned long take_branches(unsigned long want)
{
	const uint64_t end = used_ns() + 150000000;

	while (branches_taken() < want && !traps_taken() && used_ns() < end)
		for (int i = 0; i < 1000 && branches_taken() < want; i++)
			now_ns();
	return branches_taken();
}

/*
 * Whether the set and reset registers of BESCR do what the architecture says. Where they are mere
 * storage the facility is an emulator's, and such a one loses branches, too.
 */
static inline bool facility_is_whole(void)
{
	unsigned long set, reset;

	spr_write(SPR_BESCR, 0);
	spr_write(SPR_BESCRS, BESCR_PME);
	set = spr_read(SPR_BESCR);
	spr_write(SPR_BESCRR, BESCR_PME);
	reset = spr_read(SPR_BESCR);
	spr_write(SPR_BESCR, 0);
	return (set & BESCR_PME) && !(reset & BESCR_PME);
}

/* An effect that is missing: the kernel's fault, but for an emulator that is found out. */
#define expect_whole(good, ...)                                                                \
	do {                                                                                   \
		if (!(good) && !facility_is_whole())                                           \
			say_absent("emulator: its BESCRS and BESCRR do nothing; " __VA_ARGS__); \
		if (!(good))                                                                   \
			say_broken(__VA_ARGS__);                                               \
	} while (0)

/* Spin until PMC1 has overflowed; unknown when it does not within 50 ms. */
static inline void must_overflow(void)
{
	const uint64_t end = used_ns() + 50000000;

	while (spr_read(SPR_PMC1) < OVERFLOWN && used_ns() < end)
		;
	if (spr_read(SPR_PMC1) >= OVERFLOWN)
		return;
	if (!facility_is_whole())
		say_absent("emulator: it interrupts the kernel, which sets the counter back");
	say_unknown("PMC1=%#lx after 50 ms: no overflow", spr_read(SPR_PMC1));
}

/* As many branches as wanted, and the counters never taken away meanwhile. */
#define expect_branches(taken, want)                                                           \
	do {                                                                                   \
		const unsigned long taken_ = taken, want_ = want;                              \
		expect_whole(!traps_taken(), "SIGILL at a counter that the event has, after "  \
			     "%lu branches", taken_);                                          \
		expect_whole(taken_ >= want_, "branches=%lu want=%lu", taken_, want_);         \
	} while (0)

#endif
