/* SPDX-License-Identifier: MIT */
/*
 * Watching other processes: libperfmodes-sampler, a static library on top of libperfmodes.a
 * (-lperfmodes-sampler -lperfmodes). The conventions are those of perfmodes.h.
 *
 * A sampler watches processes that targets describe, with all their threads, present and future.
 * Where the privilege allows, it opens events and one ring for each CPU, and drops what is not of a
 * watched process. Elsewhere it opens inheriting events for each thread of the watched processes
 * and each CPU, with one ring a CPU. pm_sampler_explain says which, and why.
 *
 * What this process may not open (EACCES, EPERM) it asks a broker for (PM_SAMPLER_BROKER); a
 * broker without an answer for 2 seconds, or with a senseless one, is asked nothing more: the
 * connection is shut down. A broker opens no groups, and none of a cgroup alone. The socket stays
 * the caller's.
 *
 * Records of all rings are delivered in the order of their times. A process is known by a serial
 * number that no other process gets, also none with the same pid.
 */
#ifndef PERFMODES_SAMPLER_H
#define PERFMODES_SAMPLER_H

#include "perfmodes.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* --------------------------------------------------------------------------------- targets */

/* What a target looks at. (0.1) */
enum pm_target_by {
	PM_BY_ANY,		/* every process, kernel threads excepted */
	PM_BY_PID,		/* number: the process; its descendants with PM_SAMPLER_CHILDREN */
	PM_BY_CMDLINE,		/* text: a pattern of fnmatch(3) */
	PM_BY_CMDLINE_REGEX,	/* text: an extended regular expression of regex(7) */
	PM_BY_CGROUP,		/* text: "/path" below the root of cgroups, and all below it */
	PM_BY_UID,		/* number: the real uid */
	PM_BY_KERNEL		/* kernel threads */
};

/*
 * One kind of process. Command lines are compared as a whole, with blanks between the arguments,
 * and patterns also with the last part of the path in the first argument; up to 4095 bytes. (0.1)
 */
struct pm_target {
	size_t size;		/* sizeof(struct pm_target) */
	enum pm_target_by by;
	bool exclude;		/* leave these out; that goes before all that includes */
	int64_t number;		/* a pid or uid */
	const char *text;	/* a pattern, an expression or a path; up to 1023 bytes */
};

/*
 * The target of that text: "any", "pid:42" or "42", "cmd:PATTERN", "regex:EXPRESSION",
 * "cgroup:/PATH", "uid:1000", "kernel"; with "!" in front it excludes. ret->text points into the
 * text, and `size` is set by the caller. Returns 0; -EINVAL for what is no target, with the
 * diagnosis; -ERANGE for a number that is none of its kind. What is wrong with an expression,
 * pm_sampler_open finds out. (0.1)
 */
int pm_target_parse(const char *text, struct pm_diag *diag, struct pm_target *ret);

/* ---------------------------------------------------------------------------------- events */

enum pm_sampler_event_flags {
	PM_EVENT_EXCLUSIVE = 2	/* alone on the PMU */
};

/*
 * An event of a sampler. A leader is what samples are taken by (its spec has a period or a
 * frequency, and may be a tracepoint; without either it is only counted); the members of its group
 * are counted with it, and each sample of the leader carries the values of all of them. (0.1)
 */
struct pm_sampler_event {
	size_t size;			/* sizeof(struct pm_sampler_event) */
	const struct pm_event_spec *spec;	/* its tid does not count */
	unsigned int leader;		/* 1 + index of its leader, an earlier one; 0: it leads */
	unsigned int flags;		/* enum pm_sampler_event_flags */
	unsigned int precise;		/* attr.precise_ip at most; 0: PM_SPEC_PRECISE says it */
};

enum pm_sampler_flags {
	PM_SAMPLER_CHILDREN = 1,	/* what a watched process forks is watched, too */
	PM_SAMPLER_ONLY_CPUS = 2,	/* by CPU or not at all */
	PM_SAMPLER_ONLY_THREADS = 4,	/* by thread or not at all */
	PM_SAMPLER_SELF = 8,		/* the process of the sampler is no exception */
	PM_SAMPLER_USER_ONLY = 16,	/* user mode only where the kernel may not be watched */
	PM_SAMPLER_NO_WAKEUP = 32,	/* rings are read by the clock: nobody is woken */
	PM_SAMPLER_BROKER = 64		/* option `broker` is asked for what is refused */
};

/*
 * How to go about it. All 0 but for `size`: defaults. Without one of the ONLY flags, a few threads
 * of processes that are named by their pids are watched by their own inherited events; all else is
 * watched by CPU where that is allowed, which interrupts every program. (0.1)
 */
struct pm_sampler_opts {
	size_t size;			/* sizeof(struct pm_sampler_opts) */
	unsigned int flags;		/* enum pm_sampler_flags */
	unsigned int want;		/* enum pm_want */
	unsigned int side;		/* enum pm_side_kind */
	unsigned int shard, shards;	/* only processes with pid % shards == shard; 0: all */
	unsigned int first;		/* so many processes at a time, the others not; 0: all */
	unsigned int processes;		/* known at a time, at most; 0: 65536 */
	unsigned int ring_pages;	/* data pages of a ring, at most; a power of two; 0: 128 */
	unsigned int descriptors_percent;	/* of RLIMIT_NOFILE; 0: 50 */
	unsigned int turn;		/* records that one poll delivers, at most; 0: any number */
	unsigned int frames;		/* of call chains, at most; 0: the kernel's default */
	unsigned int stack;		/* bytes of stack, a multiple of 8 up to 65528; 0: 8192 */
	uint64_t registers;		/* a mask by the kernel's numbers; 0: all of 64-bit code */
	uint64_t branches;		/* attr.branch_sample_type; 0: any, of user mode */
	uint64_t delay;			/* ns for which records wait for older ones; 0: 10 ms */
	int clock;			/* 1 + the clockid_t that stamps records; 0: MONOTONIC */
	const char *cpus;		/* these only, as "0-3,8", up to 255 bytes; NULL: all */
	int broker;			/* of PM_SAMPLER_BROKER: a socket to pm_broker_serve */
};

/* -------------------------------------------------------------------------- what is reported */

/* A process. Texts belong to the sampler; they last as long as the callback. (0.1) */
struct pm_process {
	size_t size;		/* set by the library */
	uint64_t serial;	/* counts from 1, unique in its sampler */
	uint32_t pid, parent;	/* parent: 0 when unknown */
	uint64_t started;	/* clock ticks since boot, as /proc/PID/stat has it; 0: unknown */
	uint64_t begin, end;	/* of the records' clock; 0: before the sampler, not yet */
	uint32_t execs;		/* since it is known */
	uint32_t uid;		/* the real one; UINT32_MAX: unknown */
	int pidfd;		/* -1 where there is none; the sampler's, not to be closed */
	bool watched;
	bool kernel;		/* a kernel thread */
	bool gone;		/* it had ended before it could be looked at */
	char comm[16];		/* terminated; "": unknown */
	const char *cmdline;	/* blanks between arguments; "": unknown, or a kernel thread */
	const char *arguments;	/* as /proc/PID/cmdline has them, each ends with a 0 byte */
	size_t arguments_size;	/* up to 4095; 0: as an empty cmdline */
	uint32_t inner_pids[8];	/* in PID namespaces below ours, outermost first; 0 ends them */
};

/* A sample of a watched process. Arrays are valid during the callback. (0.1) */
struct pm_sampled {
	size_t size;			/* set by the library */
	size_t event;			/* index of the event */
	const struct pm_process *process;
	uint32_t pid, tid;
	uint32_t cpu;
	uint32_t mode;			/* 1 kernel, 2 user, as PERF_RECORD_MISC_* has it */
	bool exact;			/* ip is the instruction that caused the event */
	uint64_t time;			/* ns of the clock that pm_sampler_explain names */
	uint64_t ip, address;
	uint64_t period;		/* as in struct pm_observed */
	const uint64_t *chain;		/* both modes as asked for, context marks included */
	size_t chain_count;
	uint64_t registers_abi;		/* 0: none, 1: 32 bits, 2: 64 bits */
	const uint64_t *registers;	/* one for each bit of registers_mask, lowest first */
	size_t registers_count;
	uint64_t registers_mask;
	const void *stack;		/* from the stack pointer upward */
	size_t stack_size;		/* bytes that the kernel copied; */
	bool stack_cut;			/* there was more */
	const uint64_t *values;		/* of the group, the leader's first: counted on this CPU
					 * since start */
	size_t values_count;
	/*
	 * ns, of the group as PERF_SAMPLE_READ has them: of a thread's event on one CPU, enabled
	 * goes on while the thread runs on another.
	 */
	uint64_t enabled, running;
	const void *branches;		/* struct perf_branch_entry */
	size_t branches_count;
	const void *raw;
	size_t raw_size;
	uint64_t weight, source, cgroup;
};

/* One record of side-band. Fields that its kind does not have are 0. (0.1) */
struct pm_side {
	size_t size;			/* set by the library */
	enum pm_side_kind kind;
	const struct pm_process *process;	/* NULL for CGROUP and KSYMBOL, and of none */
	uint32_t pid, tid, cpu;
	uint64_t time;
	bool exec;			/* COMM: by an exec; MMAP: executable */
	bool end;			/* TASK: an end; SWITCH: off the CPU; KSYMBOL: unloaded */
	bool preempted;			/* SWITCH off the CPU while it could go on */
	uint32_t parent, parent_tid;	/* TASK; SWITCH: the other process and thread, where told */
	uint64_t address, length;	/* MMAP, KSYMBOL */
	uint64_t offset;		/* MMAP: in the file, bytes */
	uint32_t major, minor, protection, map_flags;	/* MMAP */
	uint64_t inode, generation;	/* MMAP without a build id */
	const uint8_t *build_id;	/* MMAP; NULL: not told */
	size_t build_id_size;
	uint64_t id;			/* CGROUP: its id; CHAIN: the cookie */
	const char *text;		/* MMAP: file; COMM, KSYMBOL: name; CGROUP: path; else "" */
	const uint64_t *chain;		/* CHAIN */
	size_t chain_count;
};

/* What became of a process. (0.1) */
enum pm_process_change {
	PM_PROCESS_FOUND,	/* it was there before, or its birth was not told */
	PM_PROCESS_BORN,
	PM_PROCESS_EXEC,	/* another program from here on: command line and watched are new */
	PM_PROCESS_ENDED	/* all its threads have; nothing of this serial follows */
};

/*
 * Callbacks; each may be NULL. They run in the thread that calls start, poll or stop, and must not
 * call those, nor pm_sampler_destroy. (0.1)
 */
struct pm_sampler_listener {
	size_t size;			/* sizeof(struct pm_sampler_listener) */
	void (*sample)(void *context, const struct pm_sampled *sample);
	void (*side)(void *context, const struct pm_side *side);
	void (*process)(void *context, const struct pm_process *process,
			enum pm_process_change change, uint64_t time);
	/* The kernel dropped so many records of that CPU's ring; when is not known. */
	void (*lost)(void *context, uint32_t cpu, uint64_t count);
};

/* What a sampler did since it was opened. (0.1) */
struct pm_sampler_stats {
	size_t size;			/* sizeof(struct pm_sampler_stats) */
	uint64_t records, samples;	/* read; samples delivered */
	uint64_t skipped;		/* samples of processes that are not watched */
	uint64_t duplicates;		/* samples that an inherited event told again */
	uint64_t lost;			/* by the kernel: the sum of LOST records */
	uint64_t lost_samples;		/* the sum of LOST_SAMPLES records (hardware buffers) */
	uint64_t lost_counted;		/* PERF_FORMAT_LOST: a second account of lost */
	uint64_t throttled;
	uint64_t unordered;		/* delivered after a record with a later time */
	uint64_t unknown, corrupt, corrupt_bytes;	/* as in struct pm_stats */
	uint64_t full_rings;		/* how often a ring was so full that it may have lost */
	uint64_t processes, watched;	/* known now */
	uint64_t processes_seen;	/* ever */
	uint64_t pids_reused;		/* a pid came again for another process */
	uint64_t execs;
	uint64_t gone;			/* ended before they could be looked at: see pm_process */
	uint64_t unwatched;		/* processes or threads that a limit left out */
	uint64_t late_threads;		/* noticed by a listing only: their beginning is missing */
	uint64_t rings, descriptors;	/* held now; by thread a ring holds one more descriptor */
	uint64_t mistimed;		/* records with the time of another program's clock */
	uint64_t brokered;		/* descriptors that a broker opened, ever */
	uint64_t broker_refused;	/* those that it did not, or not in time */
	uint64_t late_cpus;		/* came online or back, a second before at most */
	uint64_t unproven_threads;	/* have not run since the start: see pm_sampler_start */
	uint64_t silent_threads;	/* have run, and events of them stood still */
};

/* --------------------------------------------------------------------------------- samplers */

/*
 * A sampler. Not thread-safe. In a process forked from the one that opened it start, poll, stop and
 * read are -ECHILD, and destroy ends the copy alone. exec(2) ends it. (0.1)
 */
struct pm_sampler;

/*
 * Opens the events, all or none; they count from pm_sampler_start on. Targets and opts are copied;
 * without a target that includes (count 0) every process is watched that none excludes. `opts` and
 * `listener` may be NULL. `profile` is read, quick probes add to it, and it must outlive the
 * sampler; NULL stands for pm_profile_load_default. -EINVAL for what makes no sense, -ESRCH when a
 * pid is not there, -EACCES and so on when no way is left; the diagnosis names the gate. -ENOMEM.
 * (0.1)
 */
int pm_sampler_open(const struct pm_sampler_event *events, size_t count,
		    const struct pm_target *targets, size_t target_count,
		    const struct pm_sampler_opts *opts, struct pm_profile *profile,
		    const struct pm_sampler_listener *listener, void *context,
		    struct pm_diag *diag, struct pm_sampler **ret);

/*
 * Enables the events and tells the processes that there are. What is accepted may yet be never
 * enabled: pm_sampler_open is refused where the caller's own events stand still or give no record,
 * and this is where those of a CPU do (-EIO, PM_CAUSE_SILENCE). Events of threads show when their
 * threads run: `silent_threads` tells of those that did not. Of a cgroup nothing is known. Returns
 * 0; -EALREADY, also after stop; -errno. (0.1)
 */
int pm_sampler_start(struct pm_sampler *sampler, struct pm_diag *diag);

/*
 * Waits up to `timeout_ms` (-1: without limit) for records and delivers them, but for those that
 * may yet be preceded by an older one (opts.delay). Returns how many; 0 also after a wake-up that
 * brought nothing to deliver; -ENOTCONN before start and after stop. (0.1)
 */
int pm_sampler_poll(struct pm_sampler *sampler, int timeout_ms);

/*
 * Another rate of an event that samples are taken by (PERF_EVENT_IOC_PERIOD): the period or the
 * frequency, whichever it was asked for; the other is 0. Of a clock it may be either. For threads
 * and CPUs that come, too; threads that have inherited the event already keep theirs. `period` of
 * its samples is what it was when they were taken. -EINVAL; -ENOTSUP for a fixed period that
 * samples do not tell, by thread, and for each occurrence of a software event; -errno of ioctl(2),
 * and then some may have it and some not. (0.1)
 */
int pm_sampler_rate(struct pm_sampler *sampler, size_t event, uint64_t period, uint64_t frequency);

/* Disables the events and delivers what is left. Returns the number of records; -ENOTCONN. (0.1) */
int pm_sampler_stop(struct pm_sampler *sampler);

/*
 * A descriptor that is readable when a poll has something to do, for epoll(7) and event loops. It
 * belongs to the sampler. Also readable by the clock, every 100 ms at least. (0.1)
 */
int pm_sampler_fd(const struct pm_sampler *sampler);

/*
 * Sums of the events in their order since the start, what has ended included: over all that is
 * watched by thread or in a cgroup, or over everybody. By thread the sums hold child processes that
 * are not watched, too, where targets other than pids include, or the kernel does not know
 * attr.inherit_thread (before v5.13), which pm_sampler_explain tells. The share of time is as in
 * struct pm_value, by thread to within 1/64. Returns how many, up to `count`; -EINVAL when the size
 * of the first is not set; -ENOTSUP by CPU with targets, whose events count others as well; -errno
 * of read(2). (0.1)
 */
int pm_sampler_read(struct pm_sampler *sampler, struct pm_value *ret, size_t count);

/* Calls `each` for every process known, until it returns != 0. Returns that, or 0. (0.1) */
int pm_sampler_each(const struct pm_sampler *sampler,
		    int (*each)(const struct pm_process *process, void *context), void *context);

/*
 * The way and why not the others; the clock; one line for each event: what its name became, and
 * what is not as asked for. As snprintf(3): terminated when size > 0, returns the length. (0.1)
 */
int pm_sampler_explain(const struct pm_sampler *sampler, char *buf, size_t size);

/* Copies the statistics, up to ret->size. Returns 0. (0.1) */
int pm_sampler_stats(struct pm_sampler *sampler, struct pm_sampler_stats *ret);

/* Stops if necessary, without delivering anything, closes and frees. NULL is allowed. (0.1) */
void pm_sampler_destroy(struct pm_sampler *sampler);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
