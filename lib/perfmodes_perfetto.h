/* SPDX-License-Identifier: MIT */
/*
 * Samples written as a Perfetto trace, which ui.perfetto.dev and trace_processor read: perf_sample
 * packets, descriptors of processes and threads, call stacks interned once. Written as it comes, in
 * bounded memory. Link with libperfmodes-sampler.a. Conventions are those of perfmodes.h.
 */
#ifndef PERFMODES_PERFETTO_H
#define PERFMODES_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pm_event_spec;		/* of perfmodes.h */

/* What the trace says of itself. All 0 but for `size` and `fd`. (0.1) */
struct pm_perfetto_opts {
	size_t size;		/* sizeof(struct pm_perfetto_opts) */
	int fd;			/* written to from where it stands; stays the caller's */
	int clock;		/* 1 + the clockid_t of all times; 0: CLOCK_MONOTONIC */
	const char *event;	/* what samples are taken by; NULL: unnamed */
	uint64_t period, frequency;	/* of it */
	uint32_t poll_ms;	/* or how often its counter is read */
	uint32_t shard, shards;	/* of processes; 0: all */
	const char *const *followers;	/* events whose counts come with each sample */
	size_t follower_count;	/* up to 32 */
	size_t memory;		/* bytes of interned stacks; beyond them it starts anew; 0: 4 MiB */
	/*
	 * What the events are, for readers that know them by number: the first, and one for each
	 * of the followers, of which [0].size is that of each. A tracepoint is named by its spec's
	 * name, "group:name". `event` is then what the caller calls it, without modes, which
	 * readers add; it, and those of followers, may be NULL.
	 */
	const struct pm_event_spec *spec, *follower_specs;
	/*
	 * Called when it starts anew: a reader that has lost what was in front has to be told of
	 * processes and threads again, from here or before their next samples. May be NULL.
	 */
	void (*anew)(void *context);
	void *context;
};

/* A frame. Texts may be NULL. (0.1) */
struct pm_perfetto_frame {
	size_t size;		/* sizeof(struct pm_perfetto_frame); of an array: in its first */
	const char *function;
	const char *module;		/* the file, or "[kernel]", which Perfetto calls "kernel" */
	uint64_t address;		/* in the module, or absolute without one */
	const uint8_t *build_id;	/* of the module */
	size_t build_id_size;
	uint64_t start, end, offset;	/* of the module's mapping; 0: unknown */
	uint64_t bias;			/* of its code: address - offset in the file */
	const char *source;		/* the source file */
	uint32_t line;			/* from 1; 0: unknown */
};

/* A process. All 0 but for `size` and `pid`. (0.1) */
struct pm_perfetto_who {
	size_t size;		/* sizeof(struct pm_perfetto_who) */
	int pid, parent;	/* parent: 0 when unknown */
	int64_t uid;		/* -1: unknown */
	const char *arguments;	/* as /proc/PID/cmdline has them, each ends with a 0 byte */
	size_t arguments_size;	/* 0: its name is told instead */
	const char *comm;
	uint64_t started;	/* ns since boot (CLOCK_BOOTTIME); 0: unknown */
	unsigned int kernel;	/* 1: it is no kernel thread, 2: it is one; 0: unknown */
	const uint32_t *inner_pids;	/* in PID namespaces below ours, the outermost first */
	size_t inner_count;
};

/* Why a stack is not whole, by the numbers of Profiling.StackUnwindError. (0.1) */
enum pm_perfetto_unwind {
	PM_PERFETTO_WHOLE = 0,		/* not written */
	PM_PERFETTO_UNKNOWN = 99,	/* for some other reason */
	PM_PERFETTO_MEMORY = 2, PM_PERFETTO_INFO = 3, PM_PERFETTO_UNSUPPORTED = 4,
	PM_PERFETTO_MAP = 5, PM_PERFETTO_FRAMES = 6
};

/* Why a sample has no stack, by the numbers of PerfSample.SampleSkipReason. (0.1) */
enum pm_perfetto_skip {
	PM_PERFETTO_SKIP_NONE = 0,
	PM_PERFETTO_SKIP_READ = 1,	/* memory of its process not to be had */
	PM_PERFETTO_SKIP_UNWIND = 2,
	PM_PERFETTO_SKIP_QUEUE = 3,	/* shed: the unwinder's queue was full */
	PM_PERFETTO_SKIP_SCOPE = 4	/* of a process that is not asked for */
};

/* One sample. 0 but for `size`. (0.1) */
struct pm_perfetto_sample {
	size_t size;		/* sizeof(struct pm_perfetto_sample) */
	uint64_t time;		/* ns of opts.clock */
	uint32_t cpu, pid, tid;
	uint32_t mode;		/* as in struct pm_sampled: 1 kernel, 2 user */
	uint64_t count;		/* of the event, since the start; 0: not written */
	const uint64_t *followers;
	size_t follower_count;
	const struct pm_perfetto_frame *frames;	/* innermost first */
	size_t frame_count;
	enum pm_perfetto_unwind unwind;
	enum pm_perfetto_skip skip;
};

struct pm_perfetto;		/* not thread-safe */

/* Writes the head of a trace. -EINVAL, -ENOMEM. (0.1) */
int pm_perfetto_open(const struct pm_perfetto_opts *opts, struct pm_perfetto **ret);

/*
 * Each of these adds packets; once writing has failed, each returns that error and adds nothing
 * (-ENOSPC of a full disk, for example). What is in the file then ends with a whole packet.
 */

/* A process, told before its samples. Arguments are written as they are. Returns 0. (0.1) */
int pm_perfetto_tell(struct pm_perfetto *trace, const struct pm_perfetto_who *who);

/* The same where only a command line is known: blanks are taken for ends of arguments. (0.1) */
int pm_perfetto_process(struct pm_perfetto *trace, int pid, int parent, int64_t uid,
			const char *cmdline);

/* A thread and its name. Returns 0. (0.1) */
int pm_perfetto_thread(struct pm_perfetto *trace, int pid, int tid, const char *name);

/* A sample. Returns 0. (0.1) */
int pm_perfetto_add(struct pm_perfetto *trace, const struct pm_perfetto_sample *sample);

/* The kernel dropped records of a CPU's ring; `time` only sorts the packet. Returns 0. (0.1) */
int pm_perfetto_lost(struct pm_perfetto *trace, uint64_t time, uint32_t cpu, uint64_t count);

/*
 * From here on the event has another rate: a period or a frequency. It is told with what follows.
 * Returns 0. (0.1)
 */
int pm_perfetto_rate(struct pm_perfetto *trace, uint64_t period, uint64_t frequency);

/* From here on samples are missing because a guardrail was hit. Returns 0. (0.1) */
int pm_perfetto_guardrail(struct pm_perfetto *trace, uint64_t time);

/* Writes what is still in memory. Returns 0. (0.1) */
int pm_perfetto_flush(struct pm_perfetto *trace);

/* Flushes and frees. Returns 0 or the first error; NULL is allowed. (0.1) */
int pm_perfetto_destroy(struct pm_perfetto *trace);

#ifdef __cplusplus
}
#endif

#endif
