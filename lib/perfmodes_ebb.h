/* SPDX-License-Identifier: MIT */
/*
 * Event-based branches of Power (POWER8 and later): when a counter of the PMU overflows, the CPU
 * branches to a handler in user mode. The kernel opens the event, and has no part in a sample.
 * Power ISA 2.07, Book II, Event-Based Branch Facility; the conventions are those of perfmodes.h.
 *
 * A set of counters belongs to one thread, because the registers do: that thread opens, starts,
 * stops and closes it. The state of a forked child and of a new thread is empty: they open their
 * own.
 *
 * DANGER: stop the counters before execve(2). The kernel clears neither EBBHR nor BESCR there and
 * may branch to the old handler's address in the new program, which ends by SIGSEGV: 24 of 24 times
 * on power8 (6.1) and power9 (7.3) in QEMU; stopped before, 4 of 4 lived. The library is not called
 * at an exec and cannot do it for the program. A forked child begins with branches off, and may
 * exec.
 *
 * The handler saves and restores every register of the interrupted code, leaves its red zone alone
 * and sets the TOC pointer. It needs 2 KiB of the stack it comes upon, and what the callback takes.
 *
 * Elsewhere than on little-endian 64-bit Power every call is -EOPNOTSUPP, inline, and the library
 * has no code for it.
 */
#ifndef PERFMODES_EBB_H
#define PERFMODES_EBB_H

#include "perfmodes.h"

#if defined(__powerpc64__) && defined(_CALL_ELF) && _CALL_ELF == 2 && defined(__LITTLE_ENDIAN__)
#define PM_HAS_EBB 1
#endif

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define PM_EBB_COUNTERS 6	/* PMC1 to PMC6 */

/* The counters of one thread. (0.1) */
struct pm_ebb;

/* One overflow, as a callback sees it. (0.1) */
struct pm_ebb_branch {
	size_t size;			/* set by the library */
	unsigned int counter;		/* index into pm_ebb_opts.counters */
	unsigned int more;		/* other counters that overflowed with it */
	uint64_t periods;		/* that it stands for: more than 1 when it came late */
	uint64_t ip;			/* where the branch came: EBBRR */
	uint64_t sampled;		/* SIAR: where the event was; 0 when it is not told */
	uint64_t late;			/* events that were counted since the overflow */
	uint64_t timebase;		/* the time base register */
	uint64_t sp, lr;		/* of the interrupted code, to walk its back chain from */
};

/*
 * Runs in the interrupted thread, between two of its instructions, with further branches off.
 * It may call what is async-signal-safe and pm_ebb_request_stop, nothing else of this library;
 * errno must be as before when it returns. It must return: longjmp(3), an exception and
 * pthread_exit(3) leave branches off and the counters frozen. It must not overflow the stack that
 * it comes upon; PM_EBB_STACK gives it one of its own.
 */
typedef void (*pm_ebb_callback)(void *context, const struct pm_ebb_branch *branch);

enum pm_ebb_flags {
	/*
	 * Floating-point and vector registers are kept as well: for a callback that is compiled
	 * as usual. Without it the callback, and all it calls, is compiled with -msoft-float
	 * -mno-altivec -mno-vsx, or is known to touch none of them: memcpy(3) does.
	 */
	PM_EBB_VECTORS = 1,
	PM_EBB_PRCTL = 2,	/* enable all events of the thread by prctl(2) */
	PM_EBB_USER_ONLY = 4,	/* do not count what happens in the kernel */
	/*
	 * No event is opened here: the thread is willing, and another process opens one for it
	 * (pm_ebb_open_for). The counters must name what that one opens.
	 */
	PM_EBB_ADOPT = 8
};

/* A counter: a raw code with its PMC in bits 16 to 19 (pm_ebb_code), and how often it branches. */
struct pm_ebb_counter {
	size_t size;		/* sizeof(struct pm_ebb_counter); of an array: in its first */
	uint64_t code;
	uint64_t period;	/* events between two branches, 1 to 2^31 - 1 */
};

/* (0.1) */
struct pm_ebb_opts {
	size_t size;		/* sizeof(struct pm_ebb_opts) */
	const struct pm_ebb_counter *counters;	/* each on a PMC of its own */
	size_t count;			/* up to PM_EBB_COUNTERS */
	unsigned int flags;		/* enum pm_ebb_flags */
	pm_ebb_callback callback;	/* NULL: branches are counted */
	void *context;
	void *stack;		/* for callbacks; NULL: that of the interrupted code */
	size_t stack_size;	/* 4 KiB at least */
};

enum pm_ebb_state {
	PM_EBB_STOPPED,
	PM_EBB_RUNNING,
	PM_EBB_EVICTED,		/* another pinned event has the counters now */
	PM_EBB_LOST,		/* an overflow was there and no branch came: an emulator's fault */
	PM_EBB_ELSEWHERE	/* this is another thread, or a forked child */
};

/* What came. Overflows of all counters together are `branches` and what came with them. (0.1) */
struct pm_ebb_stats {
	size_t size;		/* sizeof(struct pm_ebb_stats) */
	uint64_t branches;	/* how often the handler ran */
	uint64_t spurious;	/* and found no counter that had overflowed */
	uint64_t overflows[PM_EBB_COUNTERS];	/* by index of the counter */
	uint64_t missed;	/* periods that ended while branches were off, in the kernel say */
	uint64_t late;		/* events counted between overflow and handler, of all counters */
};

#ifdef PM_HAS_EBB

/*
 * Whether branches can be had here: the CPU and the kernel's driver announce them, and the kernel
 * refuses an event that breaks their rules. A good open alone proves nothing: where the facility is
 * missing the kernel ignores the bit that asks for it. Returns 1; -ENODEV without the facility,
 * -errno of perf_event_open(2) where perf is refused; the diagnosis says what to do. (0.1)
 */
int pm_ebb_supported(struct pm_diag *diag);

/*
 * The raw code of a name: "cycles" (PMC1), "cycles@2" on another counter, "instructions@2",
 * "run_instructions" (PMC5), "run_cycles" (PMC6), "r1001e", or a name in "events" of the CPU's PMU
 * in sysfs with "@N". -EINVAL for no such form; -ENOENT for no such event; -ENOTUNIQ when it does
 * not say on which counter; -ERANGE for a counter that cannot count it. (0.1)
 */
int pm_ebb_code(const char *name, struct pm_diag *diag, uint64_t *ret);

/*
 * Opens the counters for the calling thread, as a group with the attributes that the kernel asks
 * for, stopped. One set a thread: -EBUSY. -EINVAL for options that make no sense; -EOPNOTSUPP
 * without the facility; -errno of perf_event_open(2); -ENOMEM. (0.1)
 */
int pm_ebb_open(const struct pm_ebb_opts *opts, struct pm_diag *diag, struct pm_ebb **ret);

/*
 * Opens an event for a thread of another process that has started counters with PM_EBB_ADOPT: its
 * handler takes the branches, and the thread must write a counter after this (pm_ebb_start again).
 * Returns a descriptor, which is enabled; close(2) ends it. -EBUSY: opened, not scheduled. (0.1)
 */
int pm_ebb_open_for(int tid, const struct pm_ebb_counter *counter, unsigned int flags,
		    struct pm_diag *diag);

/*
 * Enables the events, verifies by read(2) that they are on the PMU, and starts from full periods;
 * after a stop, again. -EBUSY when they are not: the diagnosis names what holds the PMU where that
 * can be told. -EXDEV in another thread or a forked child. (0.1)
 */
int pm_ebb_start(struct pm_ebb *ebb, struct pm_diag *diag);

/* No branch comes after this; events stay enabled, and counters frozen. Returns 0; -EXDEV. (0.1) */
int pm_ebb_stop(struct pm_ebb *ebb);

/* The same from within a callback: takes effect when it returns. (0.1) */
void pm_ebb_request_stop(struct pm_ebb *ebb);

/*
 * Another period for a counter, from its next overflow on, from any thread and from a callback.
 * -EINVAL. (0.1)
 */
int pm_ebb_set_period(struct pm_ebb *ebb, unsigned int counter, uint64_t period);

/* Asks the kernel and the registers; in the thread of the counters. (0.1) */
enum pm_ebb_state pm_ebb_state(const struct pm_ebb *ebb);

/* The thread whose counters they are. (0.1) */
int pm_ebb_tid(const struct pm_ebb *ebb);

/* From any thread; consistent when stopped. Fills up to ret->size. Returns 0. (0.1) */
int pm_ebb_stats(const struct pm_ebb *ebb, struct pm_ebb_stats *ret);

/*
 * Stops, closes and frees. NULL is allowed. In another thread or a forked child it closes the
 * descriptors and touches no register. (0.1)
 */
void pm_ebb_destroy(struct pm_ebb *ebb);

#else

#ifndef EOPNOTSUPP
#include <errno.h>
#endif

/* Not this architecture: says so. */
static __inline__ int pm_ebb_elsewhere(struct pm_diag *diag)
{
	static const char text[] = "event-based branches: 64-bit little-endian Power only; sample "
				   "with pm_session_attach";

	size_t i;

	if (diag != NULL && diag->size >= sizeof(*diag)) {
		diag->error = EOPNOTSUPP;
		diag->cause = PM_CAUSE_UNSUPPORTED;
		for (i = 0; i < sizeof(text); i++)
			diag->text[i] = text[i];
	}
	return -EOPNOTSUPP;
}

static __inline__ int pm_ebb_supported(struct pm_diag *diag)
{
	return pm_ebb_elsewhere(diag);
}

static __inline__ int pm_ebb_code(const char *name, struct pm_diag *diag, uint64_t *ret)
{
	(void)name;
	(void)ret;
	return pm_ebb_elsewhere(diag);
}

static __inline__ int pm_ebb_open(const struct pm_ebb_opts *opts, struct pm_diag *diag,
			      struct pm_ebb **ret)
{
	(void)opts;
	(void)ret;
	return pm_ebb_elsewhere(diag);
}

static __inline__ int pm_ebb_open_for(int tid, const struct pm_ebb_counter *counter,
				  unsigned int flags, struct pm_diag *diag)
{
	(void)tid;
	(void)counter;
	(void)flags;
	return pm_ebb_elsewhere(diag);
}

static __inline__ int pm_ebb_start(struct pm_ebb *ebb, struct pm_diag *diag)
{
	(void)ebb;
	return pm_ebb_elsewhere(diag);
}

static __inline__ int pm_ebb_stop(struct pm_ebb *ebb)
{
	(void)ebb;
	return -EOPNOTSUPP;
}

static __inline__ void pm_ebb_request_stop(struct pm_ebb *ebb)
{
	(void)ebb;
}

static __inline__ int pm_ebb_set_period(struct pm_ebb *ebb, unsigned int counter, uint64_t period)
{
	(void)ebb;
	(void)counter;
	(void)period;
	return -EOPNOTSUPP;
}

static __inline__ enum pm_ebb_state pm_ebb_state(const struct pm_ebb *ebb)
{
	(void)ebb;
	return PM_EBB_STOPPED;
}

static __inline__ int pm_ebb_tid(const struct pm_ebb *ebb)
{
	(void)ebb;
	return -EOPNOTSUPP;
}

static __inline__ int pm_ebb_stats(const struct pm_ebb *ebb, struct pm_ebb_stats *ret)
{
	(void)ebb;
	(void)ret;
	return -EOPNOTSUPP;
}

static __inline__ void pm_ebb_destroy(struct pm_ebb *ebb)
{
	(void)ebb;
}

#endif

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
