/* SPDX-License-Identifier: MIT */
/*
 * Event-based branches as the files of this room share them; not installed.
 * Registers and bits: Power ISA 2.07, Book II 4 (the facility) and Book III-S 9 (the PMU).
 */
#ifndef PM_EBB_H
#define PM_EBB_H

#include <sys/types.h>

#include "../perfmodes_ebb.h"

#ifdef PM_HAS_EBB

/* Numbers of special purpose registers, as user mode names them. */
#define SPR_PMC(n) (770 + (n))		/* 1 to 6 */
#define SPR_MMCR0 779
#define SPR_SIAR 780
#define SPR_BESCRS 800			/* what is written sets bits of BESCR */
#define SPR_BESCRR 802			/* and this clears them */
#define SPR_EBBHR 804
#define SPR_EBBRR 805
#define SPR_BESCR 806

#define BESCR_GE (1ul << 63)		/* branches are on; rfebb 1 sets it */
#define BESCR_PME (1ul << 32)		/* those of the PMU are */
#define BESCR_PMEO 1ul			/* one has occurred */
#define MMCR0_FC 0x80000000ul		/* counters are frozen */
#define MMCR0_PMAE 0x04000000ul		/* an overflow alerts */
#define MMCR0_PMAO 0x00000080ul		/* it did */
#define OVERFLOWN 0x80000000ul		/* the bit of a counter that alerts */

#define TEXT_OF(n) #n
#define SPR_TEXT(n) TEXT_OF(n)
#define READ_SPR(n) \
	({ unsigned long v_; __asm__ volatile("mfspr %0," SPR_TEXT(n) : "=r"(v_)); v_; })
#define WRITE_SPR(n, v) \
	__asm__ volatile("mtspr " SPR_TEXT(n) ",%0" : : "r"((unsigned long)(v)) : "memory")

/*
 * Counters and MMCR0 belong to user mode only while an event is on the PMU. The kernel may take it
 * away between any two instructions, and the next write is a SIGILL: the places of such writes are
 * listed, and pm_ebb_guard() makes the signal skip them.
 */
#define WRITE_PMU(n, v) \
	__asm__ volatile("77: mtspr " SPR_TEXT(n) ",%0\n" \
			 ".pushsection pm_ebb_writes, \"a\"\n" \
			 ".balign 4\n" \
			 ".long 77b - .\n" \
			 ".popsection" : : "r"((unsigned long)(v)) : "memory")

#define PM_EBB_SAVED 96			/* behind the header of its stack frame */

/* What entry.S saves first, by address from its frame. */
struct ebb_frame {
	uint64_t r0, r2, r3_to_r12[10];
	uint64_t lr, ctr, xer, cr;
};

struct pm_ebb {
	unsigned int used;		/* 1 << PMC */
	unsigned int flags;		/* enum pm_ebb_flags */
	unsigned char index_of[PM_EBB_COUNTERS + 1];	/* by PMC */
	unsigned char pmc_of[PM_EBB_COUNTERS];	/* by index */
	bool stopping;			/* the callback wants no more */
	bool evicted;			/* a write met SIGILL */
	bool running;
	size_t count;
	uint64_t periods[PM_EBB_COUNTERS + 1];	/* by PMC; atomic */
	uint64_t overflows[PM_EBB_COUNTERS + 1];	/* by PMC */
	uint64_t branches, spurious, missed, late;
	pm_ebb_callback callback;
	void *context;
	char *stack_top;		/* NULL: that of the interrupted code */
	uint64_t codes[PM_EBB_COUNTERS];
	int fds[PM_EBB_COUNTERS];	/* -1: none */
	pid_t pid, tid;			/* whose they are */
};

/* The set of the calling thread: where the handler finds it without a call. */
extern __thread struct pm_ebb *pm_ebb_of_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* entry.S: the handlers, and a call on another stack. */
extern const char pm_ebb_entry[] __attribute__((visibility("hidden")));
extern const char pm_ebb_entry_vectors[] __attribute__((visibility("hidden")));
void pm_ebb_call_on(char *stack_top, pm_ebb_callback callback, void *context,
		    const struct pm_ebb_branch *branch) __attribute__((visibility("hidden")));

/*
 * branch.c, called by entry.S: general registers alone may be used there. Returns what MMCR0 is to
 * be when all registers are restored: the counters count from there on.
 */
uint64_t pm_ebb_dispatch(const struct ebb_frame *frame) __attribute__((visibility("hidden")));

/*
 * pm_ebb_open and pm_ebb_destroy without memory of their own: `ebb` is zeroed. With `diag` NULL
 * these, pm_ebb_start and pm_ebb_stop may be called by a signal handler.
 */
int pm_ebb_enter(struct pm_ebb *ebb, const struct pm_ebb_opts *opts, struct pm_diag *diag)
	__attribute__((visibility("hidden")));
void pm_ebb_leave(struct pm_ebb *ebb) __attribute__((visibility("hidden")));

/* Whether its events are on the PMU, from any thread: read(2) gives nothing for others. */
bool pm_ebb_is_scheduled(const struct pm_ebb *ebb) __attribute__((visibility("hidden")));

/* Full periods for all counters, and go. */
void pm_ebb_arm(struct pm_ebb *ebb) __attribute__((visibility("hidden")));

/* guard.c: SIGILL of a listed write is skipped from now on. 0 or -errno. */
int pm_ebb_guard(void) __attribute__((visibility("hidden")));

#endif
#endif
