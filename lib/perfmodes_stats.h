/* SPDX-License-Identifier: MIT */
/* What a session did. Part of perfmodes.h, which includes it and tells the conventions. */
#ifndef PERFMODES_H
#include "perfmodes.h"	/* includes this, too, at its place */
#endif
#ifndef PERFMODES_STATS_H
#define PERFMODES_STATS_H

/* What a session did since it was attached. (0.1) */
struct pm_stats {
	size_t size;			/* sizeof(struct pm_stats) */
	uint64_t records, samples;	/* read; delivered */
	uint64_t lost;			/* records the kernel dropped: the sum of LOST records */
	uint64_t lost_samples;		/* the sum of LOST_SAMPLES records (hardware buffers) */
	/* By us: no room between a signal and the reader, or it came together with another. */
	uint64_t dropped;
	uint64_t duplicates;		/* by us: an inherited event reported the same occurrence */
	uint64_t foreign;		/* by us: from child processes that inherited the events */
	uint64_t unknown;		/* of a type this library does not know; skipped */
	uint64_t corrupt, corrupt_bytes;	/* rings resynchronised; bytes thrown away */
	uint64_t throttled;
	/*
	 * Threads noticed after they began to run: that time is missing, and their children. Who
	 * ends before is told by PM_STRATEGY_PER_THREAD, from records of its parent. With
	 * PM_STRATEGY_SIGNALS and _TIMERS nothing tells of such threads; of a clock cpu_time does.
	 */
	uint64_t late_threads;
	uint64_t leaders_gone;		/* rings read by time because their leader's thread ended */
	/*
	 * Lost records as the events counted them (PERF_FORMAT_LOST, v6.0), read when the events
	 * are closed and only where a ring was full: a second account of `lost`.
	 */
	uint64_t lost_counted;
	/* Threads beyond a limit, or that /proc counts and does not list; later if possible. */
	uint64_t unwatched_threads;
	/*
	 * How often events were opened on a CPU that came online while the session ran: it was
	 * offline before, or took its events with it (PM_STRATEGY_CPU_WIDE, PM_STRATEGY_CGROUP).
	 * What ran there before is missing: at most a second while the session is polled or read.
	 *
	 * Not told of: 3.10.108 frees its list of software events as soon as a CPU begins to go
	 * offline (kernel/events/core.c; 4.4.155 keeps it). Until the threads have moved away from
	 * there they are not counted: seen, 96 to 144 of some 600,000 page faults.
	 */
	uint64_t late_cpus;
	uint64_t unwatched_cpus;	/* such CPUs beyond a limit; opened later if possible */
	/*
	 * Of the first event that samples time (PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
	 * and what timers stand in for): ns of CPU time that the observed process or thread used
	 * while it was attached, and ns that the delivered samples stand for, the sum of their
	 * periods. The difference is CPU time that no sample represents: of threads that end before
	 * their first one, of what came after the last one, of lost samples, of the kernel where
	 * it is not observed, and with timers of threads that run between ticks alone. Both are 0
	 * where there is no such event; cpu_time is also 0 for PM_SYSTEM, for PM_CGROUP and for an
	 * ended thread.
	 */
	uint64_t cpu_time, cpu_time_sampled;
	/*
	 * What the attach could not prove, nor one before it (option `prove`): events that cannot
	 * be caused on purpose, counters of all threads for which it is not known whether new
	 * threads count (any but page faults), rings of CPUs where this thread may not run, and
	 * threads that have not run since (this goes down).
	 */
	uint64_t unproven_events, unproven_rings, unproven_threads;
	/*
	 * Found out in polls and at the end: events of which no sample has come although they have
	 * counted four periods or more, or that stand still, or did for half of the time, and
	 * threads that run while their events stand still. A software clock of user mode alone
	 * counts time in the kernel and takes no sample there: it is silent only where the process,
	 * or the thread that attached and looks, has run for 16 periods and 200 ms in user mode, by
	 * getrusage(2): most kernels split time by ticks, and err where a host takes the CPU. Of
	 * other processes that is not known, and such a clock of theirs is never said to be silent.
	 */
	uint64_t silent_events, silent_threads;
	/*
	 * How often a ring was found so full that records may have been lost. Where `lost` stays 0
	 * all the same, the kernel does not tell.
	 */
	uint64_t full_rings;
	/*
	 * Found out in polls and at the end, of software events, tracepoints and breakpoints: how
	 * many of the events have counted more than their samples and told losses stand for, or
	 * cannot be read. Found out in readings, of any events: those that ran for longer than they
	 * were enabled.
	 */
	uint64_t incomplete_events;
	/*
	 * Samples with a time that the chosen clock did not show: since v6.3 software events share
	 * what one occurrence tells, and the first event's clock may be another program's. Their
	 * time is that of the sample before, or of the poll.
	 */
	uint64_t mistimed;
	/*
	 * Events of PM_ALL_THREADS whose sums hold what child processes do, too, because the kernel
	 * does not know attr.inherit_thread (before v5.13). Their samples are told as `foreign`.
	 */
	uint64_t children_counted;
};

#endif
