/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the synthetic PMU share. README.md says what it is and what it cannot be.
 */
#ifndef PMU_H
#define PMU_H

#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define MAX_COUNTERS 16
#define NSEC_MIN 10000		/* no timer shorter than this: it would starve what it measures */

/* ---------------------------------------------------------------- parameters.c */

/* A PMU that lies: one bit for each lie of the parameter `lie`. */
enum lie {
	LIE_FROZEN,
	LIE_HALF_COUNT,
	LIE_DOUBLE_COUNT,
	LIE_BACKWARDS,
	LIE_RUNS_ASLEEP,
	LIE_NOISE,
	LIE_NO_INTERRUPT,
	LIE_LOST_INTERRUPTS,
	LIE_EXTRA_INTERRUPTS,
	LIE_ONE_INTERRUPT,
	LIE_LATE_INTERRUPTS,
	LIE_EXCLUDE_USER,
	LIE_EXCLUDE_KERNEL,
	LIE_EXCLUDE_IDLE,
	LIE_EXCLUDE_HOST,
	LIE_DEAD_CPU,
	LIE_ALL_CPUS,
	LIE_CROWD,
	LIE_PINNED,
	LIE_ANY_EVENT,
	LIE_SAME_EVENT,
	LIE_CACHE_ZERO,
	LIE_IP,
	LIE_PERIOD,
	LIE_TRACE_EMPTY,
	LIE_TRACE_GAPS,
	LIE_TRACE_SILENT,
	LIE_TRACE_UNPAUSED,
	LIES
};

extern unsigned int counters, dead_cpu, max_precise, filters;
extern unsigned int exclude_error, sampling_error, width, granularity, taken, skid;
extern bool hybrid, interrupts, trace, branches, uncore, excludes, needs_exclude_guest;
extern bool generic_events, once;
extern int only_cpu;
int parameters_check(void);
bool lies(enum lie lie);

/* ---------------------------------------------------------------- main.c */

int register_cores(void);
int unregister_all(void);

/* ---------------------------------------------------------------- lookup.c */

/* Functions of the kernel that it exports to no module; NULL where there is no such function. */
extern int (*core_overflow)(struct perf_event *event, struct perf_sample_data *data,
			    struct pt_regs *regs);
extern long (*core_copy_aux)(struct perf_output_handle *aux, struct perf_output_handle *handle,
			     unsigned long from, unsigned long to);

int lookup_all(void);

/* ---------------------------------------------------------------- clock.c */

/* What a CPU is doing. Each has a clock of its own, and only one of them moves at a time. */
enum mode {
	MODE_USER,
	MODE_KERNEL,
	MODE_IDLE,
	MODES
};

#define MODE_BIT(mode) (1u << (mode))

int clock_start(void);
u64 clock_read(unsigned int modes);
void clock_hold(void);
void clock_release(void);

/* ---------------------------------------------------------------- events.c */

/* What an event counts: `num` for each `den` nanoseconds in one of `modes`. */
struct meaning {
	u32 num, den;
	unsigned int modes;
};

int meaning_of(struct perf_event *event, struct meaning *ret);
extern const struct attribute_group events_group, format_group;

/* ---------------------------------------------------------------- counter.c */

/* One of the PMUs this module registers; a plain machine has one of them. */
struct core_pmu {
	struct pmu pmu;
	const char *name;
	cpumask_t cpus;
	bool registered;
};

/* What a counter remembers of its event, as event->pmu_private. */
struct counter {
	struct perf_event *event;
	struct hrtimer timer;
	struct meaning meaning;
	u64 since;		/* reading of the clock up to which everything is counted */
	u64 stopped;		/* when, by the clock of all modes */
	u32 rest;		/* parts of a count, 1 / den each, that are not one yet */
	int slot;
	unsigned int overflows, reads, tries;
	bool in_overflow;	/* its timer's function is running: that starts the timer again */
};

#define to_core(p) container_of(p, struct core_pmu, pmu)
#define counter_of(event) ((struct counter *)(event)->pmu_private)

void core_pmu_setup(struct core_pmu *core);
void counter_update(struct perf_event *event);
void counter_stop(struct perf_event *event, int flags);

/* ---------------------------------------------------------------- overflow.c */

enum hrtimer_restart overflow_expired(struct hrtimer *timer);
u64 overflow_delay(struct perf_event *event);

/* ---------------------------------------------------------------- trace.c */

extern struct pmu trace_pmu;

void trace_pmu_setup(void);

/* ---------------------------------------------------------------- uncore.c */

extern struct pmu uncore_pmu;

/* ---------------------------------------------------------------- trouble.c */

void cause_trouble(void);

#endif
