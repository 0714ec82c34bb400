/* SPDX-License-Identifier: MIT */
/*
 * Sessions: events attached to threads, what they deliver and what they count. Part of perfmodes.h,
 * which includes it and tells the conventions.
 */
#ifndef PERFMODES_H
#include "perfmodes.h"	/* includes this, too, at its place */
#endif
#ifndef PERFMODES_SESSION_H
#define PERFMODES_SESSION_H

#include "perfmodes_sample.h"	/* struct pm_observed: a sample; struct pm_listener */
#include "perfmodes_stats.h"	/* struct pm_stats: what a session did */

/*
 * The sum of one event over its threads and CPUs. running / enabled is the share of time that it
 * was on the PMU, by each strategy: 1 where nothing was multiplexed, as software events never are,
 * and below 1 where it was; pm_value_scale estimates the full count. Of threads both times are CPU
 * time, of PM_SYSTEM and PM_CGROUP the time of each CPU. Both are 0 where the share is not known:
 * of threads' hardware events on some CPUs only (option `cpus`, an event of one kind of cores)
 * that are not PM_SPEC_PINNED, for the kernel does not tell how long a thread ran there. (0.1)
 */
struct pm_value {
	size_t size;			/* sizeof(struct pm_value); of an array: in its first */
	uint64_t value;			/* as counted */
	uint64_t enabled, running;	/* ns: in which it was to count, and did */
};

/*
 * Events attached to threads. Not thread-safe, except for pm_session_interrupt. (0.1)
 *
 * What becomes of an attached session. vfork(2), posix_spawn(3), and fork(2) with exec(2) leave it
 * as it is. So does fork(2), but the child has no session: poll, read, run and pm_session_fd are
 * -ECHILD there, and detach and destroy end the copy alone. By strategy, when this program calls
 * exec(2), and when it sets the handler of the strategy's signal to its own or to SIG_DFL:
 *
 *                      exec(2)                        own handler   SIG_DFL
 *   per_cpu            all of it ends                 -             -
 *   own_rings          all of it ends                 -             -
 *   per_thread         all of it ends                 -             -
 *   cpu_wide           all of it ends                 -             -
 *   cgroup             all of it ends                 -             -
 *   broker             all of it ends                 -             -
 *   signals            all of it ends                 stays         is ignored
 *   counters           all of it ends                 -             -
 *   counters_per_cpu   all of it ends                 -             -
 *   timers             all of it ends                 stays         SIGPROF ends the program
 *   process_timer      all of it ends                 stays         SIGPROF ends the program
 *   by ITIMER_PROF     SIGPROF ends the new program   stays         SIGPROF ends the program
 *   ebb                SIGSEGV ends the new program   -             -
 *
 * The last two only where PM_ALLOW_ITIMER and PM_ALLOW_EBB allow them. Before dlclose(3) detach:
 * then nothing is left.
 *
 * Where a driver takes its PMU away (v6.15 and later, da916e96e2de), nothing more comes of that
 * PMU's events: values and times stay as they were, and polls wait. A session that is made when
 * the PMU is back has new events.
 */
struct pm_session;

/*
 * A session of the plan. The plan must outlive it and belongs to one session at a time. The
 * listener is copied and may be NULL; `context` is passed to its callbacks. NULL: no memory. (0.1)
 */
struct pm_session *pm_session_create(struct pm_plan *plan, const struct pm_listener *listener,
				     void *context);

/*
 * All of it in one call: parses the names (pm_event_parse) of up to 32 events, which blanks
 * separate, makes a plan of them for PM_ALL_THREADS, a session of that, and attaches it. Without a
 * callback for samples they are counted. With one they are sampled by the rate that a name tells;
 * else clocks and events of PMUs 1000 times a second, and of all others each occurrence. `opts`
 * NULL stands for PM_ALLOW_ALL. pm_session_destroy ends all of it. Returns the strategy in use;
 * errors as pm_event_parse, pm_plan_make and pm_session_attach. (0.1)
 */
int pm_session_open(const char *events, const struct pm_session_opts *opts,
		    const struct pm_listener *listener, void *context, struct pm_diag *diag,
		    struct pm_session **ret);

/* The plan of a session, for pm_plan_explain and pm_plan_cost. It stays the session's. (0.1) */
const struct pm_plan *pm_session_plan(const struct pm_session *session);

/* Detaches if necessary, and frees, also the plan of pm_session_open. NULL is allowed. (0.1) */
void pm_session_destroy(struct pm_session *session);

/*
 * Opens and enables all events or none, then causes records and events to verify that they arrive,
 * unless that was verified before in this process (option `prove`): then it waits for nobody. What
 * cannot be verified is in pm_stats. Where they do not arrive, it tries the plan's next strategy.
 * Returns the strategy in use; -EALREADY; -ENOTSUP when no strategy is left; else the errno of the
 * last strategy. (0.1)
 */
int pm_session_attach(struct pm_session *session, struct pm_diag *diag);

/*
 * Waits up to `timeout_ms` (-1: without limit) for records and delivers them. Returns the number of
 * records; -ECANCELED once after pm_session_interrupt; -ENOTCONN when not attached; -ECHILD in a
 * process forked from the one that attached. (0.1)
 */
int pm_session_poll(struct pm_session *session, int timeout_ms);

/*
 * A descriptor for epoll(7) and event loops: readable when a poll has something to do. Rings are
 * read by the clock, too, every 100 ms, and every 20 ms where nobody tells of samples or of new
 * threads (per_thread, own_rings, signals, timers). After half a second without a record, and there
 * without CPU time of other threads, that becomes 250 ms, or 1 ms a KiB of an own ring; and never
 * where nothing is sampled, nor in pm_session_poll with a timeout where each sample wakes (option
 * `wakeup` 1) and neither tasks nor other records are listened for. CPUs that may come are looked
 * for each second. When it is readable, call pm_session_poll with a timeout of 0. It belongs to the
 * session and is closed by detach. Returns it; -ENOTCONN, -ECHILD as poll; -errno of
 * epoll_create1(2) and timerfd_create(2). (0.1)
 */
int pm_session_fd(struct pm_session *session);

/*
 * Polls until pm_session_interrupt, then delivers what is left. Returns 0, or -errno as poll. (0.1)
 */
int pm_session_run(struct pm_session *session);

/*
 * Ends run, or the next poll, from any thread or callback. Waits until run has returned, unless it
 * is called from within. When called before run, that run returns at once. Returns 0. (0.1)
 */
int pm_session_interrupt(struct pm_session *session);

/*
 * The sums of all events in the order of the specs, `count` at most. Returns how many; -EINVAL when
 * the size is not set; -ENOTSUP when the strategy has no counters to read, or they count more than
 * was asked for; -ENODATA for a pinned event that lost its place; -ENOTCONN, -ECHILD as poll;
 * -ENOMEM; -errno of read(2). (0.1)
 */
int pm_session_read(struct pm_session *session, struct pm_value *ret, size_t count);

/* A part of an event's sum. (0.1) */
struct pm_part {
	size_t size;			/* sizeof(struct pm_part); of an array: in its first */
	size_t event;			/* index of the spec */
	int tid;			/* of the thread it was opened for; -1: of all */
	int cpu;			/* -1: of any CPU */
	uint64_t value, enabled, running;	/* as in struct pm_value, for this CPU */
};

/*
 * The sums by thread and CPU, in no order, `count` at most. Threads created after the attach count
 * for the thread that they descend from. Parts of a thread have its share of time; where it did not
 * run on a CPU, both times are 0. Returns how many parts there are; errors as pm_session_read.
 * (0.1)
 */
int pm_session_read_parts(struct pm_session *session, struct pm_part *ret, size_t count);

/* Copies the statistics, up to ret->size. They outlive detach. Returns 0. (0.1) */
int pm_session_stats(const struct pm_session *session, struct pm_stats *ret);

/*
 * Disables, delivers what is left, unmaps and closes: nothing stays behind. Returns 0; -ENOTCONN
 * when not attached. In a forked child it closes the descriptors there and delivers nothing. (0.1)
 */
int pm_session_detach(struct pm_session *session);

#endif
