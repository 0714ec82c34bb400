/* SPDX-License-Identifier: MIT */
/*
 * Counters of one thread, and the times of records. Part of perfmodes.h, which includes it and
 * tells the conventions.
 */
#ifndef PERFMODES_H
#include "perfmodes.h"	/* includes this, too, at its place */
#endif
#ifndef PERFMODES_COUNT_H
#define PERFMODES_COUNT_H

/* -------------------------------------------------------------------------------- counters */

/*
 * Events counted together on one thread. One thread at a time may use it. After fork(2) the child
 * has descriptors of the same events: it reads what the parent's thread counts, and starts and
 * stops them for both. Each destroys its own. exec(2) closes them. (0.1)
 */
struct pm_counters;

enum pm_counters_flags {
	PM_COUNTERS_INHERIT = 2,	/* also threads and processes that it creates later */
	PM_COUNTERS_TOGETHER = 4,	/* one group or none: all run at the same time */
	PM_COUNTERS_SYSTEM_CALL = 8,	/* never read a counter register in user space */
	PM_COUNTERS_MAY_USER_ONLY = 16	/* user mode only, where kernel mode may not be observed */
};

/* How the values were read. (0.1) */
struct pm_counters_stats {
	size_t size;			/* sizeof(struct pm_counters_stats) */
	uint64_t system_calls;		/* read(2) */
	uint64_t user_reads;		/* readings of a register, without a system call */
	uint64_t fallbacks;		/* readings by pm_counters_read_one that took read(2) */
	uint64_t groups;		/* calls of read(2) that a reading takes; 1: all together */
	/*
	 * Events of which it is not known that they count what they promise: all until the first
	 * start; then those of another thread, those that cannot be caused on purpose, and those
	 * that later threads inherit.
	 */
	uint64_t unproven;
	/*
	 * Values given by read(2) that cannot be true: of an event that ran for longer than it was
	 * enabled (by more than 1/64 and 1 ms), or that counted less than at the last reset.
	 */
	uint64_t doubtful;
};

/*
 * Opens `count` events (1 to 32), stopped. All specs name the same `tid`; period and frequency
 * are 0, and nothing is wanted. Where one is PM_SPEC_PINNED, all are: on the PMU, or -ENODATA. For
 * type 5, breakpoints, config is bp_type, config1 the address and config2 the length.
 * PM_ALL_THREADS stands for the calling thread and every later one, in a process that has no other
 * thread yet. With others it is -EBUSY; a session counts those. Before v5.13 (attr.inherit_thread)
 * processes that it forks are counted, too.
 *
 * Events that the kernel does not take into the first group (-EINVAL, -ENOSPC, -E2BIG: other
 * PMUs, too many) form further ones, unless PM_COUNTERS_TOGETHER forbids it. Where an inheriting
 * group cannot be read at once (kernels before v4.13, ba5213ae6b88, or by the profile's facts of
 * group.*), each event is read by itself. A cpu-clock that by the profile's facts loses counts
 * (sw.clocks.cpu_switched, Linux 6.16) is counted by task-clock, unless it is PM_SPEC_EXACT.
 *
 * -EIO for breakpoints where one that is hit on purpose counts nothing. No thread is made to see
 * whether later ones are counted: `unproven` of the statistics has all events that they inherit.
 *
 * `profile` as in pm_plan_make, needed during the call only. Returns 0; 1 when everything is of
 * user mode only, as PM_COUNTERS_MAY_USER_ONLY allows for events that do happen there; -EINVAL for
 * invalid specs; -ENOMEM; or -errno of perf_event_open(2), whose gate the diagnosis names. A
 * program that opens all events it knows, to see which are here, saves most of the time without a
 * diagnosis, and with a profile of its own. (0.1)
 */
int pm_counters_open(const struct pm_event_spec *specs, size_t count, unsigned int flags,
		     struct pm_profile *profile, struct pm_diag *diag,
		     struct pm_counters **ret);

/* Closes and unmaps everything. NULL is allowed. (0.1) */
void pm_counters_destroy(struct pm_counters *counters);

/*
 * Starts all groups. The times count from here, too; one system call lies between two groups. This
 * also tries again after -ENODATA. Returns 0 or -errno of ioctl(2); -EIO when the kernel takes that
 * and the events of the calling thread stand still, or count less than half of the page faults that
 * are caused: the first start causes what it easily can, and counts begin after that. (0.1)
 */
int pm_counters_start(struct pm_counters *counters);

/* Stops all groups; the values stay. Returns 0 or -errno of ioctl(2). (0.1) */
int pm_counters_stop(struct pm_counters *counters);

/*
 * The values since open or the last reset, in the order of the specs, `count` at most. A group is
 * read by one read(2), so its values are of one instant. Returns how many; -EINVAL when the size of
 * the first of them is not set; -ENODATA when a pinned event lost its place on the PMU: read(2)
 * then gives 0 bytes, as perf_event_open(2) says, and the event is out of action until it is
 * started again; -ECHILD from kernels that found an inherited group incomplete; -errno of read(2);
 * -EBADMSG for an answer of another shape. Where a driver has taken its PMU away (v6.15 and later),
 * values and times stay as they were, and start, stop and reset are -ENODEV. (0.1)
 */
int pm_counters_read(struct pm_counters *counters, struct pm_value *ret, size_t count);

/*
 * One value as above, in user space where that is possible: on x86, arm64 and riscv, since v4.14,
 * for events of the calling thread that opened them without inheritance, when the event's user page
 * permits it at that moment (a non-zero index) and no fact of rdpmc.* in the profile speaks against
 * it. What the page promises is tried once, at open, by a child that shares the memory and ends:
 * where the instruction traps, no child can be had, or the event has no counter then, all readings
 * are by read(2). The page is read again when a migration or an interrupt changed it meanwhile. Any
 * other reading is a read(2), counted as a fallback. Where the page cannot tell the time, `enabled`
 * and `running` are 0 for an event that was never multiplexed; one that was is read by read(2).
 *
 * Do not use it while somebody writes 0 to /sys/bus/event_source/devices/cpu/rdpmc: on x86 the page
 * of an event that is open does not change then, and the instruction raises SIGSEGV. Returns 0;
 * -EINVAL for an invalid index; otherwise as above. (0.1)
 */
int pm_counters_read_one(struct pm_counters *counters, size_t index, struct pm_value *ret);

/*
 * From now on values and times count from 0. The kernel's counters go on: PERF_EVENT_IOC_RESET
 * would leave the times and what ended threads have counted. Errors as pm_counters_read. (0.1)
 */
int pm_counters_reset(struct pm_counters *counters);

/*
 * Adds to `sums` what pm_counters_read would give, and resets by that same reading: nothing is
 * counted twice or left out. Returns and fails as pm_counters_read; then nothing is changed. All
 * events are reset, also those beyond `count`. (0.1)
 */
int pm_counters_accumulate(struct pm_counters *counters, struct pm_value *sums, size_t count);

/* Copies the statistics, up to ret->size. Returns 0. (0.1) */
int pm_counters_stats(const struct pm_counters *counters, struct pm_counters_stats *ret);

/* What an error of a reading means and what to change. Returns the cause. (0.1) */
enum pm_cause pm_counters_diagnose(const struct pm_counters *counters, int error,
				   struct pm_diag *diag);

/*
 * The estimate for the whole time: value * enabled / running, exact in 128 bits and rounded.
 * running / enabled is the share of the time in which the event was on the PMU: 1 means an exact
 * count, and the smaller it is, the more is estimated. Both 0: the value itself. -ENODATA when it
 * never ran although it was enabled: there is nothing to estimate from. -EOVERFLOW beyond 64 bits.
 * (0.1)
 */
int pm_value_scale(const struct pm_value *value, uint64_t *ret);

/* ---------------------------------------------------------------------------------- clocks */

#define PM_CLOCK_DEFAULT (-1)	/* what stamps records without attr.use_clockid: perf's own */
#define PM_CLOCK_ANY_CPU UINT32_MAX

/* Converts stamps of one clock to times of another. One thread at a time. (0.1) */
struct pm_clock_map;

/* Where a map comes from. (0.1) */
enum pm_clock_source {
	PM_CLOCK_SAME,		/* nothing to convert */
	PM_CLOCK_READ,		/* both can be read by clock_gettime(2) */
	PM_CLOCK_PAGE,		/* the user page tells perf's clock (cap_user_time_zero, v3.12) */
	PM_CLOCK_RECORDS	/* records of events caused between two readings, CPU by CPU */
};

/* An instant: the truth lies within ns - error and ns + error. (0.1) */
struct pm_instant {
	size_t size;			/* sizeof(struct pm_instant) */
	uint64_t ns, error;
};

/* What is known of one CPU. (0.1) */
struct pm_clock_state {
	size_t size;			/* sizeof(struct pm_clock_state) */
	enum pm_clock_source source;
	int64_t offset;			/* time - stamp at the latest measurement, ns */
	uint64_t half_width;		/* of that measurement, ns */
	uint64_t measured;		/* its stamp */
	double drift;			/* by how much the time is faster: 1e-6 is 1 us a second */
	bool drift_known;		/* after two measurements at least 10 ms apart */
	uint64_t jumps;			/* measurements that contradicted the one before */
};

/*
 * Which clock to stamp records of this event with (attr.clockid, v4.1): `wanted` if the kernel
 * takes it, else CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW or PM_CLOCK_DEFAULT, in this order. The
 * event is opened and closed for each; clocks against which the profile's facts of clock.clockid.*
 * speak are not tried. Events that overflow in an NMI refuse all but the two monotonic clocks.
 * Returns 0, or -errno of an event that does not even open without a clockid. (0.1)
 */
int pm_clock_choose(const struct pm_event_spec *spec, int wanted,
		    const struct pm_profile *profile, struct pm_diag *diag, int *ret);

/*
 * Measures how stamps of clock `records` (PM_CLOCK_DEFAULT or a clockid_t) become times of clock
 * `wanted`, on each CPU that the calling thread may run on; takes about a millisecond of CPU time
 * for each, and the wait for its turn there.
 * Perf's own clock is read from the user page where it and the profile (may be NULL) let that be
 * trusted, after a test; otherwise page faults of a short-lived thread are caught between two
 * readings. -EINVAL for an unknown clock; -ENOMEM; -EAGAIN when nothing was caught; or -errno of
 * perf_event_open(2) and mmap(2), with the diagnosis. (0.1)
 */
int pm_clock_map_make(int records, int wanted, const struct pm_profile *profile,
		      struct pm_diag *diag, struct pm_clock_map **ret);

/* Frees it. NULL is allowed. (0.1) */
void pm_clock_map_destroy(struct pm_clock_map *map);

/*
 * Measures again: from now on the drift is known, too. Returns 0; 1 when a CPU's clocks have moved
 * against each other by more than their drift explains, as over a suspend or when somebody sets
 * CLOCK_REALTIME: earlier stamps are then no longer converted correctly. Fails as make does, and by
 * -ECHILD in a forked child that has no user page (PM_CLOCK_PAGE); what was known is kept. (0.1)
 */
int pm_clock_map_update(struct pm_clock_map *map, struct pm_diag *diag);

/*
 * Converts a stamp of a record of that CPU. Between two measurements, and beyond them by their
 * drift: the error grows with the distance to the nearest by 20 ppm and the drift's own
 * uncertainty; while no drift is known by 600 ppm, more than NTP may ever slew (500 ppm). With an
 * update each second it is at most 10 us and two half-widths between updates, and 20 us and three
 * half-widths after the last. PM_CLOCK_ANY_CPU, for records without one, leaves all CPUs open.
 * -ENOENT for a CPU that was not measured. (0.1)
 */
int pm_clock_map_time(const struct pm_clock_map *map, uint32_t cpu, uint64_t stamp,
		      struct pm_instant *ret);

/* The reverse: the stamp that a record of that CPU would have had at that time. (0.1) */
int pm_clock_map_stamp(const struct pm_clock_map *map, uint32_t cpu, uint64_t time,
		       struct pm_instant *ret);

/* What is known of a CPU, up to ret->size. -ENOENT as above. (0.1) */
int pm_clock_map_state(const struct pm_clock_map *map, uint32_t cpu, struct pm_clock_state *ret);

#endif
