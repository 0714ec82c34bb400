/* SPDX-License-Identifier: MIT */
/*
 * libperfmodes: what works of perf_event_open(2) on this kernel, and the way to use it.
 *
 * Conventions
 *   - a call returns >= 0, or -errno; errno itself says nothing; nothing prints or exits;
 *   - out-values come last, are named `ret`, and are untouched on failure;
 *   - *_create returns a new object, NULL when out of memory; what can fail otherwise, as *_open,
 *     *_make, *_load and *_parse do, hands it out as `ret`;
 *   - structures named here without a body are opaque, and *_destroy ends them, however they were
 *     made. All others but pm_branch, which is the kernel's, begin with `size`, so that they can
 *     grow. The caller sets it to sizeof: of what is handed in, fields behind it read as 0, and
 *     what is handed out is filled up to it. The first element of an array tells the size of each.
 *     What a callback gets has its size set by the library;
 *   - `diag`, where a call takes one, may be NULL; otherwise its `size` is set, and on failure it
 *     tells what happened and what to change;
 *   - times are ns, sizes are bytes. Runs on Linux 3.10 and later.
 * Each declaration names the release that brought it.
 */
#ifndef PERFMODES_H
#define PERFMODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)	/* the library is built with all else hidden */
#endif

/* ------------------------------------------------------------------------------- diagnoses */

/* Who decided that a call failed. (0.1) */
enum pm_cause {
	PM_CAUSE_NONE,
	PM_CAUSE_UNKNOWN,	/* an errno for which no gate was found */
	PM_CAUSE_NOT_BUILT,	/* a kernel without perf events */
	PM_CAUSE_FILTER,	/* seccomp or the like stands in front of the system call */
	PM_CAUSE_PARANOID,	/* kernel.perf_event_paranoid and a missing capability */
	PM_CAUSE_LSM,		/* a security module or lockdown */
	PM_CAUSE_DESCRIPTORS,	/* RLIMIT_NOFILE or fs.file-max */
	PM_CAUSE_LOCKED_MEMORY,	/* RLIMIT_MEMLOCK and kernel.perf_event_mlock_kb */
	PM_CAUSE_NO_EVENT,	/* no such event, PMU or tracepoint on this machine */
	PM_CAUSE_UNSUPPORTED,	/* this kernel does not know what was asked for */
	PM_CAUSE_NO_TARGET,	/* the thread or CPU is not there */
	PM_CAUSE_INPUT,		/* what the caller handed in, a profile for example */
	PM_CAUSE_SILENCE	/* everything was accepted and no record came */
};

/* One line about one failure. The caller owns it, and nothing in it needs to be freed. (0.1) */
struct pm_diag {
	size_t size;		/* sizeof(struct pm_diag) */
	int error;		/* a positive errno, 0 when nothing failed */
	enum pm_cause cause;
	char text[480];		/* the line, terminated: call, errno, cause, what to change */
};

/* -------------------------------------------------------------------------------- profiles */

/* A table of facts about a kernel. Not thread-safe while it is changed. (0.1) */
struct pm_profile;

/*
 * PM_YES, PM_NO and so on: a constant for each row of the list, which tells what it means.
 * PM_UNKNOWN is 0. PM_UNKNOWN and PM_ABSENT are never in a profile.
 */
enum pm_verdict {
/* Each column has a name: C++98 has no macros of any number of arguments */
#define PM_VERDICT(name, number, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12) PM_##name = number,
#include "perfmodes_verdicts.def"
	PM_VERDICT_MAX = 0x7fffffff	/* none: the list may grow */
};

enum pm_fact_type { PM_FACT_VERDICT, PM_FACT_BOOL, PM_FACT_INT, PM_FACT_TEXT };

/* How well the machine of a profile, or of one fact, matches the running one; more is better. */
enum pm_rank {
	PM_RANK_NONE,		/* another architecture or series */
	PM_RANK_BUILTIN,	/* same architecture and series, from the library's own table */
	PM_RANK_HINT,		/* same architecture and series (x.y) */
	PM_RANK_RELEASE,	/* same release and version text */
	PM_RANK_BUILD,		/* same kernel build-id */
	PM_RANK_RUNTIME	/* found out in this process */
};

/* One fact. Texts belong to the profile and live as long as the fact is not changed. (0.1) */
struct pm_fact {
	size_t size;			/* sizeof(struct pm_fact) */
	const char *key;		/* "ring.write_backward.newest_first" */
	enum pm_fact_type type;
	enum pm_verdict verdict;	/* of VERDICT; PM_UNKNOWN for other types */
	enum pm_rank rank;
	int64_t number;			/* of INT and BOOL */
	const char *text;		/* of TEXT, else NULL */
};

/* An empty profile, to be filled by set, merge and probe. NULL: no memory. (0.1) */
struct pm_profile *pm_profile_create(void);

/* Frees the profile and every text that came out of it. NULL is allowed. (0.1) */
void pm_profile_destroy(struct pm_profile *profile);

/*
 * Reads the text of a profile.json. The profile is ranked against the running kernel, and all its
 * facts get that rank. The text is not trusted: at most 4 MiB, 65536 facts, 32 personas. -EBADMSG
 * when it is no profile, -E2BIG beyond those bounds, -ENOMEM. (0.1)
 */
int pm_profile_load_text(const char *text, size_t size, struct pm_diag *diag,
			 struct pm_profile **ret);

/* The same from a file. Also -errno of open(2) and read(2). (0.1) */
int pm_profile_load_file(const char *path, struct pm_diag *diag, struct pm_profile **ret);

/*
 * The profile in the directory (*.json, first 4096) that ranks highest for the running kernel;
 * files that cannot be read are skipped. -ENOENT when none ranks above PM_RANK_NONE; -errno of
 * opendir(3). (0.1)
 */
int pm_profile_load_dir(const char *directory, struct pm_diag *diag, struct pm_profile **ret);

/*
 * The profile of this machine: $PERFMODES_PROFILE (a file or a directory), else the best one in
 * /etc/perfmodes, /usr/local/share/perfmodes and /usr/share/perfmodes, else the facts that the
 * library has built in for kernels of this series (PM_RANK_BUILTIN). It is an error when the
 * variable names something unreadable; set-user-id programs do not look at it. When it names a file
 * that holds no profile, `diag` says why, and the call returns 1 with the profile that would have
 * been used without the variable. The persona is set to the caller's. (0.1)
 */
int pm_profile_load_default(struct pm_diag *diag, struct pm_profile **ret);

/* How well the profile's identity matches the running kernel; PM_RANK_NONE without one. (0.1) */
enum pm_rank pm_profile_rank(const struct pm_profile *profile);

/*
 * Lookups answer for this persona ("root", say) from now on: its own facts first, then those of the
 * kernel. NULL stands for the persona of the calling thread, by its capabilities and filters. Until
 * the first call only facts of the kernel are seen. -EINVAL when it is no name (one line, up to 300
 * bytes), -ENOSPC, -ENOMEM. (0.1)
 */
int pm_profile_use_persona(struct pm_profile *profile, const char *persona);

/* The fact of that key, in constant time, without allocation. -ENOENT when it is unknown. (0.1) */
int pm_profile_lookup(const struct pm_profile *profile, const char *key, struct pm_fact *ret);

/* The number of facts, including those of all personas. (0.1) */
size_t pm_profile_count(const struct pm_profile *profile);

/*
 * Adds a fact with the rank it names; its texts are copied. PM_BLOCKED goes to the persona in use.
 * Returns 1 when the fact was added. Returns 0 and changes nothing when PM_BLOCKED would overwrite
 * another verdict of the same persona, or when a hazard would be overwritten by a fact below
 * PM_RANK_BUILD. -EINVAL for what a profile cannot hold: PM_UNKNOWN and PM_ABSENT, a key or text
 * that is not one line, a text that is the name of a verdict. -ENOSPC, -ENOMEM. (0.1)
 */
int pm_profile_set(struct pm_profile *profile, const struct pm_fact *fact);

enum pm_merge {
	PM_MERGE_UNION,		/* what is known of either */
	PM_MERGE_INTERSECTION	/* what holds for both */
};

/*
 * Merges `from` into `into`. Where the two answer differently, a union keeps the answer of higher
 * rank. Of equal rank, and in an intersection, it keeps neither and calls `conflict` (may be NULL).
 * A hazard in either stays, and blocked gives way to any other answer. The result keeps what both
 * say of the identity, and the evidence of either. Returns the number of conflicts; -ENOSPC,
 * -ENOMEM (then `into` is partly merged). (0.1)
 */
int pm_profile_merge(struct pm_profile *into, const struct pm_profile *from, enum pm_merge how,
		     void (*conflict)(const struct pm_fact *into, const struct pm_fact *from,
				      void *context), void *context);

/*
 * Writes canonical JSON (sorted keys, one a line): the same facts give the same bytes.
 * -ENOMEM, -errno of write(2). (0.1)
 */
int pm_profile_save(const struct pm_profile *profile, int fd);

/*
 * Probes the running kernel for those of `keys` (ends with NULL; NULL: all quick ones) that the
 * profile does not know for this very build, and adds the conclusive answers. Starts no probe but
 * the first after `budget_ns` (0: 5 ms). Opens events on the calling thread only and leaves nothing
 * behind. Sets the persona when none is in use. Returns the number of facts added; -ENOMEM. (0.1)
 */
int pm_profile_probe(struct pm_profile *profile, const char *const *keys, uint64_t budget_ns);

/* ------------------------------------------------------------------------ what to observe */

/*
 * Every thread of this process, also later ones, and none of its child processes. Where the kernel
 * does not know attr.inherit_thread (before v5.13) samples are of this process alone, but sums hold
 * its children, too: children_counted of pm_stats and pm_plan_explain say so. With PM_SPEC_EXACT
 * such sums are refused: pm_plan_make of counts and pm_session_read return -ENOTSUP.
 */
#define PM_ALL_THREADS (-1)
#define PM_SYSTEM (-2)		/* every thread of the machine */
#define PM_CGROUP (-3)		/* every thread of a cgroup and of those below it */

enum pm_spec_flags {
	PM_SPEC_USER_ONLY = 1,	/* only what happens in user mode */
	PM_SPEC_EXACT = 2,	/* this very event or none: no substitute, no lower frequency, not
				 * user mode instead */
	PM_SPEC_PINNED = 4,	/* always on the PMU, or readings say -ENODATA */
	PM_SPEC_PRECISE = 8,	/* attr.precise_ip as high as the CPU has it */
	PM_SPEC_NO_USER = 16,	/* not what happens in user mode; */
	PM_SPEC_NO_KERNEL = 32,	/* nor in the kernel, */
	PM_SPEC_NO_HYPERVISOR = 64,	/* nor in a hypervisor; USER_ONLY is both of these */
	PM_SPEC_NO_IDLE = 128,	/* not while a CPU idles */
	PM_SPEC_NO_HOST = 256,	/* in guests of this machine only */
	PM_SPEC_NO_GUEST = 512,	/* not in guests of this machine */
	PM_SPEC_EXCLUSIVE = 1024,	/* alone on the PMU, where it leads its group */
	PM_SPEC_PRECISE_1 = 2048,	/* attr.precise_ip of 1, or less where the CPU has less */
	PM_SPEC_PRECISE_2 = 4096	/* likewise, 2 */
};

/* What each sample has besides its event, pid, tid, cpu, time, ip and period. (0.1) */
enum pm_want {
	PM_WANT_ADDRESS = 1,	/* the data address, of page faults for example */
	PM_WANT_CALLCHAIN = 2,	/* return addresses of user mode, by frame pointers */
	PM_WANT_CPU = 4,	/* counts by CPU, for pm_session_read_parts */
	PM_WANT_RAW = 8,	/* raw data of tracepoints: pm_trace_number reads its fields */
	PM_WANT_KERNEL_FRAMES = 16,	/* the kernel's; of a session with PM_WANT_CALLCHAIN only */
	PM_WANT_BRANCHES = 32,	/* the last branches in user mode, by hardware that keeps them */
	PM_WANT_GROUP = 64,	/* the values of all: of its tid in a session, of its group else */
	/* Of samplers alone (perfmodes_sampler.h): */
	PM_WANT_REGISTERS = 128,	/* of user mode: pm_sampler_opts.registers */
	PM_WANT_STACK = 256,	/* a copy of the user stack: pm_sampler_opts.stack */
	PM_WANT_WEIGHT = 512,
	PM_WANT_SOURCE = 1024,	/* where a memory access was served from */
	PM_WANT_CGROUP = 2048,	/* the id of the cgroup */
	PM_WANT_DEFERRED = 4096	/* user chains at the return to user mode (v6.19) */
};

/* One event to observe. Starts as all 0 but for `size`; pm_event_parse fills in which. (0.1) */
struct pm_event_spec {
	size_t size;		/* sizeof(struct pm_event_spec) */
	uint32_t type;		/* enum pm_event_type, or of another PMU */
	uint64_t config, config1, config2;	/* which event: by its type */
	uint64_t period;	/* events from sample to sample, of each thread on each CPU; 1: each
				 * one; of clocks ns, at least 10,000: less becomes that, is told */
	uint64_t frequency;	/* or samples per second, at most perf_event_max_sample_rate of
				 * them; both 0: a count without samples */
	int tid;		/* PM_ALL_THREADS..., 0 the calling thread, or a thread's id */
	unsigned int flags;	/* enum pm_spec_flags */
	unsigned int want;	/* enum pm_want */
	const char *filter;	/* on a tracepoint's fields, as tracefs takes it; up to 511 bytes */
	const char *name;	/* what the caller calls it, for texts about it; or NULL */
};

/* Ways to observe. Their numbers stay; order of preference: pm_plan_explain. (0.1) */
enum pm_strategy {
	PM_STRATEGY_PER_CPU = 0,	/* inherited events on each CPU, one ring per CPU */
	PM_STRATEGY_OWN_RINGS = 1,	/* the same, each with its ring, descriptors closed: up to
					 * 64 MiB together, or 16 pages each where that is more */
	PM_STRATEGY_PER_THREAD = 2,	/* a ring for each thread; new ones as they are noticed */
	PM_STRATEGY_CPU_WIDE = 3,	/* CPU-wide events; samples of others are dropped */
	PM_STRATEGY_CGROUP = 4,	/* CPU-wide events of a cgroup */
	PM_STRATEGY_BROKER = 5,	/* events that a privileged process opens for this one */
	PM_STRATEGY_SIGNALS = 6,	/* a signal for each sample, without rings */
	PM_STRATEGY_COUNTERS = 7,	/* inherited counters without rings */
	PM_STRATEGY_COUNTERS_PER_CPU = 8,	/* such counters for each thread and CPU */
	PM_STRATEGY_TIMERS = 9,	/* a POSIX CPU-time timer for each thread, without perf; the kernel
				 * looks at it in its ticks: of a thread that always waits again
				 * before the next one no sample comes */
	PM_STRATEGY_PROCESS_TIMER = 10,	/* one such timer for the process, without perf */
	PM_STRATEGY_EBB = 11	/* event-based branches: only on Power, before all others */
};

/* What the library may do to deliver at least something. (0.1) */
enum pm_allow {
	PM_ALLOW_RAISE_NOFILE = 1,	/* raise the soft RLIMIT_NOFILE to the hard one */
	PM_ALLOW_USER_ONLY = 2,		/* watch user mode only where the kernel may not be */
	PM_ALLOW_SUBSTITUTE = 4,	/* a CPU clock in place of a missing hardware event */
	PM_ALLOW_COUNT = 8,		/* counts where samples were asked for */
	PM_ALLOW_TIMERS = 16,		/* signals (SIGPROF) where perf is refused */
	PM_ALLOW_SIGNALS = 32,		/* SIGURG or SIGWINCH for each sample where rings fail */
	PM_ALLOW_ALL = 63,
	PM_ALLOW_BROKER = 256,		/* option `broker` is asked for what is refused */
	/* These two end a program that this one becomes by exec(2) while a session is attached. */
	PM_ALLOW_EBB = 64,	/* branches of Power (perfmodes_ebb.h): the PMU is theirs alone */
	PM_ALLOW_ITIMER = 128	/* ITIMER_PROF where process_timer gets no POSIX timer */
};

/*
 * When an attach shows that records arrive and events count (pm_session_attach). What it causes for
 * that takes time, most of all where a thread has to run on each CPU of a busy machine. (0.1)
 */
enum pm_prove {
	/*
	 * Once in a process for each strategy with these events, options and CPUs; again after a
	 * fork, when a CPU came or a fact changed, and after a session that was found silent. Never
	 * once for PM_CGROUP and a broker: there each time.
	 */
	PM_PROVE_ONCE = 0,
	PM_PROVE_ALWAYS = 1,	/* in each attach */
	PM_PROVE_NEVER = 2	/* unproven_events and unproven_rings tell of all of them */
};

/* How to go about it. All 0 but for `size`: nothing allowed, default limits. (0.1) */
struct pm_session_opts {
	size_t size;		/* sizeof(struct pm_session_opts) */
	unsigned int allow;	/* enum pm_allow */
	unsigned int forbid;	/* 1 << strategy for each that is not to be considered */
	unsigned int rounds;	/* listings of threads before giving up; 0: 8 */
	unsigned int descriptors_percent;	/* of RLIMIT_NOFILE, others' included; 0: 50 */
	unsigned int ring_pages;	/* data pages of a ring, at most; a power of two; 0: 128 */
	unsigned int wakeup;	/* samples after which poll returns; 0: a quarter of a ring */
	int clock;		/* 1 + the clockid_t that stamps records; 0: the best one */
	int cgroup;		/* of PM_CGROUP alone: a descriptor of its directory */
	int broker;		/* of PM_ALLOW_BROKER: a socket connected to pm_broker_serve */
	uint64_t thread_tax;	/* ns by which creating a thread may become slower; 0: any */
	const char *cpus;	/* observe these only, as "0-3,8", up to 255 bytes; NULL: all */
	unsigned int side;	/* enum pm_side_kind: records for listener.other, of rings only */
	unsigned int prove;	/* enum pm_prove */
};

/* ------------------------------------------------------------------------------------ plans */

/* A chosen strategy and the reasons for the choice. (0.1) */
struct pm_plan;

/* What the chosen strategy costs for the threads and CPUs there are now. (0.1) */
struct pm_cost {
	size_t size;		/* sizeof(struct pm_cost) */
	uint64_t threads, cpus;
	uint64_t descriptors;	/* held at a time, at most */
	uint64_t rings;
	/* Of rings. Of these kernel.perf_event_mlock_kb a CPU does not count for RLIMIT_MEMLOCK. */
	uint64_t locked_bytes;
	uint64_t opens;		/* calls of perf_event_open(2), at most; the proof may make more */
};

/*
 * Chooses the first strategy whose needs hold, after one trial open of each event exactly as it
 * will be opened. A fact below PM_RANK_RELEASE rules a strategy out only when it is a hazard;
 * otherwise the strategy is considered after all those without such a fact. `opts` may be NULL
 * (nothing allowed). `profile` is read, quick probes add to it, and it must outlive the plan; NULL
 * stands for pm_profile_load_default, which the plan then owns. -EINVAL for a senseless spec or
 * option, and for other than 1 to 32 specs; -EIO (PM_CAUSE_SILENCE) for breakpoints where one that
 * is hit on purpose counts nothing, -ENOTSUP when no strategy is left (the diagnosis names the
 * gate), -ENOMEM. (0.1)
 */
int pm_plan_make(const struct pm_event_spec *specs, size_t count,
		 const struct pm_session_opts *opts, struct pm_profile *profile,
		 struct pm_diag *diag, struct pm_plan **ret);

/* Frees a plan; its sessions must be gone. NULL is allowed. (0.1) */
void pm_plan_destroy(struct pm_plan *plan);

/* The chosen strategy; after an attach the one in use. (0.1) */
enum pm_strategy pm_plan_strategy(const struct pm_plan *plan);

/* "per_cpu", "own_rings"... as the constants are named; NULL for another number. (0.1) */
const char *pm_strategy_name(enum pm_strategy strategy);

/*
 * One line for the chosen strategy, one for each other strategy with the reason why it was not
 * chosen, and one for each event that is not opened as asked for or has a name of the caller's,
 * with what became of that. As snprintf(3): terminated when size > 0, returns the length without
 * bound. (0.1)
 */
int pm_plan_explain(const struct pm_plan *plan, char *buf, size_t size);

/* Computes the cost; opens nothing. Fills `ret` up to its own ret->size. Returns 0. (0.1) */
int pm_plan_cost(const struct pm_plan *plan, struct pm_cost *ret);

/*
 * Measures by how many ns the chosen strategy's inherited events slow down the creation of a
 * thread. Opens them on the calling thread and creates some dozens of threads, which takes
 * milliseconds. The result is 0 where nothing is inherited. Returns 0; -EAGAIN when no thread can
 * be created; -errno of the open. (0.1)
 */
int pm_plan_thread_tax(const struct pm_plan *plan, uint64_t *ret);

/*
 * Diagnoses a refusal of perf_event_open(2) that the caller got: `error` is the errno (positive or
 * negative), `cpu` the argument of the call. Reads /proc and makes harmless calls. Returns the
 * cause. (0.1)
 */
enum pm_cause pm_diag_open(struct pm_diag *diag, const struct pm_event_spec *spec, int cpu,
			   int error);

/* ----------------------------------------------------------------------------------- broker */

enum pm_broker_allow {
	PM_BROKER_KERNEL = 1,	/* what happens in kernel mode, too */
	PM_BROKER_ANY_PMU = 2,	/* events of other types than hardware, software and cache */
	PM_BROKER_OTHERS = 4,	/* threads of other processes, whoever's they are */
	PM_BROKER_SYSTEM = 8,	/* all that runs on a CPU */
	PM_BROKER_STACKS = 16	/* user registers and copies of user stacks */
};

/* What a process that may open events opens for one that may not. 0 but for `size`. (0.1) */
struct pm_broker_opts {
	size_t size;		/* sizeof(struct pm_broker_opts) */
	unsigned int allow;	/* enum pm_broker_allow */
	unsigned int events;	/* in all; 0: 4096 */
};

/*
 * Serves the process at the other end of a connected SOCK_SEQPACKET socket (session option
 * `broker`, sampler option `broker`) until it hangs up. The peer gets events on its own threads,
 * in the PID namespace of this process, with harmless fields only; what `allow` adds to that tells
 * it of other users' processes. The caller decides whether to serve that process at all
 * (SO_PEERCRED). The worst a peer can do is to end this call. Returns the number of events given;
 * -EBADMSG for a malformed request; -ESRCH, -EPERM when the peer cannot be identified; -errno of
 * getsockopt(2) where there is no socket. (0.1)
 */
int pm_broker_serve(int socket, const struct pm_broker_opts *opts);

/* ---------------------------------------------------------------------- the other parts */

#include "perfmodes_session.h"	/* sessions: samples and counts of threads */
#include "perfmodes_event.h"	/* events: constants, names */
#include "perfmodes_count.h"	/* counters of one thread, clocks */
#include "perfmodes_trace.h"	/* tracepoints */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
