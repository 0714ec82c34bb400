/* SPDX-License-Identifier: MIT */
/*
 * libperfmodes-stacks: the call stacks of other processes, and the names of what is in them.
 *
 * An optional library of its own; conventions as in perfmodes.h. It needs no other part of
 * libperfmodes: what goes in are the fields of samples, from whatever reader they come.
 *
 *   unwinder   one process: its mappings, its memory, from registers and a copied stack to frames
 *   symbols    from addresses to names; a cache of files that unwinders share
 *   worker     a thread that unwinds behind a bounded queue
 *   folded, pprof   stacks written to a file as they come
 *
 * An unwinder and its symbols are used by one thread at a time; of those that a worker has, that is
 * the worker's, in its callbacks. Everything that comes from a target (maps, memory, ELF files,
 * files of its JIT) is bounded and held against its bounds; nothing of it is trusted.
 */
#ifndef PERFMODES_STACKS_H
#define PERFMODES_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct pm_symbols;

/* ---------------------------------------------------------------------------------- stacks */

/* What is known of a frame: bits of struct pm_stack's `frames`. (0.1) */
enum pm_frame_bits {
	PM_FRAME_KERNEL = 1,
	PM_FRAME_GUEST = 2,		/* of a virtual machine, user or kernel */
	PM_FRAME_HYPERVISOR = 4,
	PM_FRAME_SIGNAL = 8,		/* a signal interrupted it here: no return address */
	PM_FRAME_CALLER = 16		/* a return address: the call is in front of it */
};

/* Why a stack has no further frames. (0.1) */
enum pm_stack_end {
	PM_END_COMPLETE,	/* the outermost frame was reached */
	PM_END_UNTOLD,		/* a chain of the kernel's, which does not say */
	PM_END_COPY,		/* the copy of the stack ended: more would need a larger one */
	PM_END_NO_MAPPING,	/* code at an address where nothing is mapped */
	PM_END_NO_INFO,		/* code without unwind information, and no frame pointer led on */
	PM_END_MEMORY,		/* memory that cannot be read */
	PM_END_FRAMES,		/* the limit of frames */
	PM_END_TIME,		/* the limit of time */
	PM_END_GONE,		/* the process has ended, or became another by exec */
	PM_END_REGISTERS,	/* no registers, or of an ABI that is not unwound here */
	PM_END_DEFERRED		/* the deferred part of the chain did not come */
};

/* A text for it: "complete", "the copied stack ended"... Never NULL. (0.1) */
const char *pm_stack_end_text(enum pm_stack_end end);

/* A stack, innermost frame first. Arrays live as long as the callback, or until the next stack. */
struct pm_stack {
	size_t size;			/* sizeof(struct pm_stack) */
	pid_t pid, tid;
	uint64_t time;			/* ns, as given with the sample */
	uint64_t weight;		/* as given with the sample, 1 when that was 0 */
	size_t count;			/* of frames */
	const uint64_t *addresses;
	const uint8_t *frames;		/* enum pm_frame_bits of each */
	enum pm_stack_end end;
	void *context;			/* as given with the sample */
};

/*
 * What a sample tells about a stack: a chain of the kernel's, registers with a copy of the stack,
 * or both; then the chain's kernel part is kept, and the user part unwound. (0.1)
 */
struct pm_stack_sample {
	size_t size;			/* sizeof(struct pm_stack_sample) */
	pid_t pid, tid;
	uint64_t time;			/* ns, passed on */
	uint64_t weight;		/* the period, say; passed on */
	uint64_t ip;			/* 0: not known; used where there is no chain */
	const uint64_t *callchain;	/* PERF_SAMPLE_CALLCHAIN with its context marks */
	size_t callchain_count;
	uint64_t regs_abi;		/* PERF_SAMPLE_REGS_USER: its first word */
	uint64_t regs_mask;		/* sample_regs_user of the event */
	const uint64_t *regs;		/* a word for each bit of regs_mask, lowest first */
	const void *stack;		/* PERF_SAMPLE_STACK_USER */
	size_t stack_size;		/* bytes that were asked for (its size) */
	size_t stack_used;		/* bytes that were copied (its dyn_size) */
	void *context;			/* the caller's, passed on */
};

/* ------------------------------------------------------------------------------- unwinders */

struct pm_unwinder;

/* How to reach a process, and limits. All 0 is a good choice. (0.1) */
struct pm_unwinder_opts {
	size_t size;			/* sizeof(struct pm_unwinder_opts) */
	bool descriptors;		/* take maps_fd and mem_fd instead of opening /proc/PID */
	int maps_fd, mem_fd;		/* of /proc/PID; owned by the unwinder from then on, also
					 * when the call fails; mem_fd may be -1, maps_fd where
					 * pm_unwinder_map() tells all: of a process that ended */
	unsigned int frames;		/* limit of frames a stack; 0: 512, at most 8192 */
	uint64_t time_limit;		/* ns of CPU time for a stack; 0: 100 ms */
	struct pm_symbols *symbols;	/* files are shared through it; NULL: a private one. It has
					 * to outlive the unwinder */
};

/*
 * An unwinder of the process. Its maps are read now, its files when a frame is in them. -ESRCH: no
 * such process; -EACCES or -EPERM: it is not ours to read (ptrace(2), access mode READ); -ENOTSUP:
 * an architecture that is not unwound (x86-64, arm64, ppc64le and s390x are); -ENOMEM. Without
 * access to its memory (maps alone) a process is unwound from its samples and files. (0.1)
 */
int pm_unwinder_open(pid_t pid, const struct pm_unwinder_opts *opts, struct pm_unwinder **ret);

/* Closes its descriptors and frees it. NULL is allowed. (0.1) */
void pm_unwinder_destroy(struct pm_unwinder *unwinder);

/* The value of sample_regs_user that unwinding needs on this architecture; 0: none. (0.1) */
uint64_t pm_unwinder_registers(void);

/*
 * The stack of a sample. Returns 0, also when the stack is incomplete: `end` says why. What is in
 * `ret` lives until the next call. A frame where nothing is mapped makes the maps be read again,
 * once a stack, and not more often than takes a tenth of the time. -EINVAL without a size. (0.1)
 */
int pm_unwinder_stack(struct pm_unwinder *unwinder, const struct pm_stack_sample *sample,
		      struct pm_stack *ret);

/* A mapping that side-band told (MMAP, MMAP2). (0.1) */
struct pm_mapping {
	size_t size;			/* sizeof(struct pm_mapping) */
	uint64_t start, length, offset;
	uint32_t prot;			/* PROT_EXEC and so on */
	uint64_t inode;			/* 0: not known */
	const uint8_t *build_id;	/* NULL: not known */
	size_t build_id_size;
	const char *name;
};

/* It replaces what was mapped there. -EINVAL, -ENOSPC beyond a million, -ENOMEM. (0.1) */
int pm_unwinder_map(struct pm_unwinder *unwinder, const struct pm_mapping *mapping);

/* Reads the maps anew, after an exec for example. -ESRCH when the process has ended. (0.1) */
int pm_unwinder_refresh(struct pm_unwinder *unwinder);

/*
 * The descriptor-free part, for chains without an unwinder (a process that cannot be read): kernel
 * and user frames of the sample's chain into the caller's arrays. Returns how many. (0.1)
 */
size_t pm_stack_chain(const struct pm_stack_sample *sample, uint64_t *addresses, uint8_t *frames,
		      size_t room, enum pm_stack_end *end);

/* The cookie of a chain whose user part is deferred (Linux 6.19), or 0. (0.1) */
uint64_t pm_stack_cookie(const struct pm_stack_sample *sample);

/* --------------------------------------------------------------------------------- symbols */

/* Where names come from, and limits. All 0 is a good choice. (0.1) */
struct pm_symbols_opts {
	size_t size;			/* sizeof(struct pm_symbols_opts) */
	uint64_t memory;		/* bytes of tables and names; 0: 256 MiB */
	bool mangled;			/* leave C++ and Rust names as they are */
	bool debuginfod;		/* ask the servers of $DEBUGINFOD_URLS; it may take long */
	const char *debug_root;		/* NULL: /usr/lib/debug; several with ":" between */
	const char *kallsyms;		/* NULL: /proc/kallsyms */
	const char *perf_cache;		/* of perf-buildid-cache(1); NULL: ~/.debug; "": none */
	bool without_lines;		/* read no DWARF: pm_symbols_lines() tells nothing */
};

/* Files and their symbols. NULL: no memory. (0.1) */
struct pm_symbols *pm_symbols_create(const struct pm_symbols_opts *opts);

/* Frees them, after the unwinders that use them. NULL is allowed. (0.1) */
void pm_symbols_destroy(struct pm_symbols *symbols);

/* Where a name was found. (0.1) */
enum pm_symbol_source {
	PM_SYMBOL_NONE,		/* no name: the file, or only the address, is known */
	PM_SYMBOL_FILE,		/* the symbols of the file, or of its debug file */
	PM_SYMBOL_JIT,		/* a perf map or jitdump of the process */
	PM_SYMBOL_KERNEL,	/* kallsyms */
	PM_SYMBOL_HIDDEN	/* the kernel's, which kernel.kptr_restrict hides from us */
};

/* A name for an address. Texts live until the symbols' next pm_symbols_find(). (0.1) */
struct pm_symbol {
	size_t size;			/* sizeof(struct pm_symbol) */
	enum pm_symbol_source source;
	const char *name;		/* NULL when there is none */
	const char *raw_name;		/* before demangling; NULL when there is none */
	const char *module;		/* path, "[vdso]", "[kernel]", "[jit]"...; never NULL */
	uint64_t start;			/* the symbol's first address in the process */
	uint64_t file_address;		/* the address as the file counts; 0 without a file */
	const uint8_t *build_id;	/* of the file, build_id_size bytes; may be NULL */
	size_t build_id_size;
	uint64_t map_start, map_end;	/* what is mapped around it in the process; 0: not known */
	uint64_t map_offset;		/* where that begins in the file */
};

/*
 * The symbol at an address of the unwinder's process, or of the kernel, by the frame's bits; the
 * instruction in front of it when they have PM_FRAME_CALLER. The unwinder was opened with these
 * symbols; it may be NULL for addresses of the kernel. Returns 0, also without a name; -EINVAL when
 * a size is not set. (0.1)
 */
int pm_symbols_find(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		    unsigned int frame, struct pm_symbol *ret);

/*
 * A function at an address: the one that is called there, or one that the compiler put into it
 * (inlined). Texts live until the symbols' next pm_symbols_lines(). (0.1)
 */
struct pm_line {
	size_t size;			/* sizeof(struct pm_line) */
	const char *name;		/* NULL where the compiler wrote none */
	const char *raw_name;		/* before demangling */
	const char *file;		/* of the source, as the compiler had it; NULL: not known */
	unsigned int line;		/* from 1: of the address, or of the call; 0: not known */
};

/*
 * The functions at an address by the DWARF of its file, or of its debug file, innermost first; the
 * last is the one that pm_symbols_find() names, which is called before, with the same arguments.
 * ret[0].size is the size of each element. Returns how many there are, at most 64, of which the
 * first `room` are in ret; 0 where there is no DWARF, or one that takes more than half of the
 * symbols' memory; -EINVAL when a size is not set. (0.1)
 */
int pm_symbols_lines(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		     unsigned int frame, struct pm_line *ret, unsigned int room);

/* ------------------------------------------------------------------------------ the worker */

/*
 * A thread that unwinds what one other thread puts into its queue. That one is never kept waiting:
 * what does not fit is dropped and counted. Unwinders of a worker belong to it. (0.1)
 */
struct pm_stack_worker;

struct pm_stack_worker_opts {
	size_t size;			/* sizeof(struct pm_stack_worker_opts) */
	uint64_t memory;		/* bytes of the queue, made a power of two; 0: 16 MiB */
	/* Called in the worker's thread; the unwinder is NULL when the sample was put without. */
	void (*stack)(void *context, struct pm_unwinder *unwinder, const struct pm_stack *stack);
	void *context;
	unsigned int deferred;		/* samples that wait for their user part; 0: 1024 */
};

/* What became of samples. Bytes are those of the queue. (0.1) */
struct pm_stack_worker_stats {
	size_t size;			/* sizeof(struct pm_stack_worker_stats) */
	uint64_t put;			/* samples taken into the queue */
	uint64_t done;			/* handed to the callback */
	uint64_t dropped;		/* that did not fit */
	uint64_t purged;		/* in the queue when it was stopped at once */
	uint64_t incomplete;		/* done, and `end` is neither COMPLETE nor UNTOLD */
	uint64_t orphans;		/* deferred chains whose sample is not known (any more) */
	uint64_t bytes, bytes_peak;	/* in the queue now, and at most */
	uint64_t cpu_time;		/* ns that the thread has used, until it last slept */
};

/* -EINVAL without a callback or a size; -ENOMEM; -EAGAIN from pthread_create(3). (0.1) */
int pm_stack_worker_start(const struct pm_stack_worker_opts *opts, struct pm_stack_worker **ret);

/*
 * Copies the sample into the queue. The unwinder may be NULL: then its chain is all there is.
 * Returns 0, or -ENOBUFS when it was dropped. -EINVAL without a size. (0.1)
 */
int pm_stack_worker_put(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
			const struct pm_stack_sample *sample);

/*
 * The user part of chains that were put with this cookie (pm_stack_cookie()) by this thread; `ips`
 * as the record CALLCHAIN_DEFERRED has them. -ENOBUFS when it was dropped: its samples are then
 * delivered without it. (0.1)
 */
int pm_stack_worker_deferred(struct pm_stack_worker *worker, pid_t tid, uint64_t cookie,
			     const uint64_t *ips, size_t count);

/*
 * pm_unwinder_map() in its place between the samples. -ENOBUFS where it does not fit: then the maps
 * are read anew before the next stack. -EINVAL. (0.1)
 */
int pm_stack_worker_map(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
			const struct pm_mapping *mapping);

/* Closes the unwinder when what was put before is done. Nothing is put with it any more. (0.1) */
void pm_stack_worker_forget(struct pm_stack_worker *worker, struct pm_unwinder *unwinder);

/* Waits until all that was put is done, at most `timeout` ns. Returns 0 or -ETIMEDOUT. (0.1) */
int pm_stack_worker_flush(struct pm_stack_worker *worker, uint64_t timeout);

/* What became of samples so far. -EINVAL without a size. (0.1) */
int pm_stack_worker_stats(struct pm_stack_worker *worker, struct pm_stack_worker_stats *ret);

/*
 * Ends the thread: `at_once` after the stack that it is at, with what is queued counted as purged;
 * else when the queue is empty. Samples that wait for a deferred part are delivered without it.
 * Unwinders that were not forgotten are the caller's again. `ret` may be NULL. (0.1)
 */
void pm_stack_worker_stop(struct pm_stack_worker *worker, bool at_once,
			  struct pm_stack_worker_stats *ret);

/* ---------------------------------------------------------------------------------- output */

/*
 * Folded stacks, "comm;outermost;...;innermost weight", a line each, as tools for flame graphs read
 * them. Equal stacks are added up as far as memory goes; a line may therefore come twice. (0.1)
 */
struct pm_folded;

struct pm_folded_opts {
	size_t size;			/* sizeof(struct pm_folded_opts) */
	uint64_t memory;		/* bytes; 0: 16 MiB */
	bool addresses;			/* unnamed frames as [file+0x...] and not as [file] */
};

/* Writes to the descriptor, which stays the caller's and open. -ENOMEM. (0.1) */
int pm_folded_open(int fd, const struct pm_folded_opts *opts, struct pm_folded **ret);

/*
 * Adds a stack; the symbols and the unwinder (which may be NULL) as for pm_symbols_find(). Names
 * are written without control characters, ";" as ":". A stack that does not end at its outermost
 * frame begins with "[truncated]". Returns 0, or the first -errno of a write, from then on. (0.1)
 */
int pm_folded_add(struct pm_folded *folded, const char *comm, struct pm_symbols *symbols,
		  struct pm_unwinder *unwinder, const struct pm_stack *stack);

/*
 * Writes what has been added so far, as whole lines: what is in the file is not lost if the program
 * is killed. Returns 0 or the first error of a write. (0.1)
 */
int pm_folded_flush(struct pm_folded *folded);

/* Writes the rest and frees. Returns 0 or the first error of a write. (0.1) */
int pm_folded_destroy(struct pm_folded *folded);

/* The profile.proto of pprof, written as it comes, compressed by gzip. (0.1) */
struct pm_pprof;

struct pm_pprof_opts {
	size_t size;			/* sizeof(struct pm_pprof_opts) */
	uint64_t memory;		/* bytes; 0: 32 MiB */
	const char *type, *unit;	/* of weights; NULL: "cpu", "nanoseconds" */
	uint64_t period;		/* a sample each so many units; 0: not told */
	uint64_t time;			/* ns since 1970 of the begin; 0: not told */
	bool plain;			/* not compressed */
};

/* Writes to the descriptor, which stays the caller's and open. -ENOMEM. (0.1) */
int pm_pprof_open(int fd, const struct pm_pprof_opts *opts, struct pm_pprof **ret);

/*
 * As pm_folded_add(). Labels of each stack are "comm", "pid" and "tid", and "end" when it was cut
 * off. The first mapping of the profile is the program that had the most until it was first
 * flushed. A file that several processes have is where the first of them has it. (0.1)
 */
int pm_pprof_add(struct pm_pprof *pprof, const char *comm, struct pm_symbols *symbols,
		 struct pm_unwinder *unwinder, const struct pm_stack *stack);

/*
 * As pm_folded_flush(): the file is a whole profile each time, of several gzip members behind each
 * other. `duration` in ns so far, 0: not told. (0.1)
 */
int pm_pprof_flush(struct pm_pprof *pprof, uint64_t duration);

/* As pm_folded_destroy(). `duration` in ns, 0: not told. (0.1) */
int pm_pprof_destroy(struct pm_pprof *pprof, uint64_t duration);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
