/* SPDX-License-Identifier: MIT */
/*
 * The mechanism of libperfmodes: thin and exact; it makes no choices.
 *
 * What is here: the raw system call, ring mapping and walking, record decoding, sysfs and
 * tracefs reading, the environment, clocks. What is not: fallbacks, caches, JSON, printing.
 * Probes use this floor and nothing above it, so that a verdict is about the kernel and never about
 * one of the library's workarounds.
 *
 * Conventions
 *   - every call returns >= 0 on success and -errno on failure; errno itself is not a channel;
 *   - out-values come last, are named `ret`, and are untouched on failure;
 *   - nothing allocates unless its comment says so; nothing prints; nothing exits;
 *   - everything runs on Linux 3.10 and later; a newer system call or flag is used only to find out
 *     whether the kernel has it.
 */
#ifndef PM_SYS_H
#define PM_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pm_abi.h"

/* ------------------------------------------------------------------ the system call: sys.c */

/*
 * perf_event_open(2) exactly as given: attr->size is passed on, no flag is added.
 * Returns the descriptor or -errno. attr->size may be written by the kernel (E2BIG).
 * -EPROTO when the answer is 0, 1 or 2 and that is no event: seccomp(2) can make a call say 0.
 */
int pm_open_raw(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		unsigned long flags);

/*
 * perf_event_open(2) with attr->size negotiated: the smallest published size that still holds
 * every non-zero field, so that an older kernel answers E2BIG only when it really lacks a field
 * that was asked for. The descriptor is made close-on-exec with fcntl(2), because
 * PERF_FLAG_FD_CLOEXEC is newer (v3.14) than the oldest kernel served.
 * The caller's attr is not modified. Returns the descriptor or -errno.
 */
int pm_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	    unsigned long flags);

/* Whether an event opens, which is closed at once: 0 or -errno. */
int pm_open_try(const struct perf_event_attr *attr, pid_t pid, int cpu);

/* Whether a descriptor that was opened just now is one of an event; yes where ioctl is refused. */
bool pm_is_event(int fd);

/* The smallest published attr size (PERF_ATTR_SIZE_VER0...) that holds every non-zero byte. */
uint32_t pm_attr_size_needed(const struct perf_event_attr *attr);

/*
 * sizeof(struct perf_event_attr) of the running kernel in bytes, from the E2BIG write-back of
 * a call with an impossible size (64 on the oldest kernels, 144 since v6.19).
 * Returns the size or -errno: -ENOSYS without perf events, -EPERM under a system call filter,
 * -EACCES where policy refuses before the attr is read, -EPROTO when the answer was not a kernel's.
 */
int pm_attr_size_kernel(void);

/* ioctl(2) on an event. `arg` is unsigned long: SET_OUTPUT wants a sign-extended -1. */
int pm_ioctl(int fd, unsigned long request, unsigned long arg);

/* read(2) of a plain (ungrouped) counter with read_format 0. Returns 0 or -errno; -ENODATA when
 * the kernel reports end-of-file, that is, a pinned event in error state. */
int pm_read_count(int fd, uint64_t *ret);

/* The counters of one event or group as read_format lays them out. */
struct pm_counts {
	uint64_t nr;			/* members present, <= PM_COUNTS_MAX */
	uint64_t dropped;		/* members of the group that had no room below */
	uint64_t time_enabled;		/* ns, 0 unless asked for */
	uint64_t time_running;		/* ns, 0 unless asked for */
	struct {
		uint64_t value;
		uint64_t id;		/* 0 unless PERF_FORMAT_ID */
		uint64_t lost;		/* 0 unless PERF_FORMAT_LOST (v6.0) */
	} member[32];
};
#define PM_COUNTS_MAX 32

/*
 * read(2) and decode by read_format. -EBADMSG when the size does not match the format, -ENOSPC
 * from the kernel for a group of more than PM_COUNTS_MAX, -ENODATA as above.
 */
int pm_read_counts(int fd, uint64_t read_format, struct pm_counts *ret);

/*
 * Decode a read(2) buffer or a PERF_SAMPLE_READ body of `size` bytes. Returns bytes consumed;
 * -EBADMSG when the bytes end too early; -ENOTSUP for a read_format bit without a known place.
 */
int pm_counts_decode(const void *data, size_t size, uint64_t read_format, struct pm_counts *ret);

pid_t pm_gettid(void);

/* --------------------------------------------------------------------- ring buffers: ring.c */

struct pm_ring {
	void *base;			/* the user page, NULL when closed */
	size_t map_size;		/* bytes mapped, header page included */
	size_t data_offset;		/* bytes from base to the data area */
	size_t data_size;		/* bytes, a power of two */
	uint64_t tail;			/* the read position, published by pm_ring_release */
	bool writable;			/* mapped PROT_WRITE: the kernel honours the tail */
	bool borrowed;			/* the memory is the caller's (tests) */
	bool narrow;			/* a 32-bit program: data_head may count modulo 2^32 */
	unsigned char *scratch;		/* 64 KiB for a record that wraps, allocated on first use */
};

/*
 * Map `fd` with 2^n data pages (data_pages may be 0: header only). prot is PROT_READ or
 * PROT_READ|PROT_WRITE; read-only makes the kernel overwrite old records.
 * Reading starts at the tail that the user page holds, or at 0 when mapped read-only.
 * Returns 0 or -errno from mmap(2); -EINVAL for a page count that is no power of two, or a prot
 * without PROT_READ.
 */
int pm_ring_open(int fd, size_t data_pages, int prot, struct pm_ring *ret);
void pm_ring_close(struct pm_ring *ring);

/*
 * A ring over memory that the caller owns: a user page followed by data. For tests and replay.
 * -EINVAL when base is not aligned to 8 or the data area would be no power of two.
 */
int pm_ring_borrow(void *base, size_t size, struct pm_ring *ret);

/* data_head with acquire semantics: everything before it is complete. */
uint64_t pm_ring_head(const struct pm_ring *ring);

/* Bytes written and not yet read; more than data_size means that records were overwritten. */
uint64_t pm_ring_pending(const struct pm_ring *ring);

/*
 * The next unread record. Returns 1 and the record, 0 when the ring is empty, -EBADMSG when the
 * header cannot be true (size below 8, no multiple of 8, beyond head) or when unread records
 * were overwritten; then nothing in the ring can be trusted up to head, and pm_ring_skip_all
 * resynchronises. -ENOMEM when a record wraps and there is no memory to join it.
 * The pointer is valid until the next call of pm_ring_next, _release or _close.
 */
int pm_ring_next(struct pm_ring *ring, const struct perf_event_header **ret);

/* Publish the read position (release semantics): the kernel may reuse the space. */
void pm_ring_release(struct pm_ring *ring);

/* Drop everything unread. Returns the number of bytes dropped. */
uint64_t pm_ring_skip_all(struct pm_ring *ring);

/*
 * Walk a ring written backward (attr.write_backward): call with *cursor = pm_ring_head() while
 * output is paused; newest record first. Returns as pm_ring_next; 0 also where the oldest record
 * was partly overwritten, which is the normal end of a ring that has wrapped.
 */
int pm_ring_next_backward(struct pm_ring *ring, uint64_t *cursor,
			  const struct perf_event_header **ret);

/* -------------------------------------------------------------------------- records: record.c */

/* How an event was opened, as far as its records depend on it. */
struct pm_format {
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint64_t sample_regs_intr;
	bool sample_id_all;
};

void pm_format_of(const struct perf_event_attr *attr, struct pm_format *ret);

/* The sample_id trailer of non-sample records, and the same fields of samples. 0 when absent. */
struct pm_sample_id {
	uint32_t pid, tid;
	uint64_t time;			/* ns of the event's clock */
	uint64_t id, stream_id;
	uint32_t cpu, cpu_reserved;
};

/*
 * A decoded PERF_RECORD_SAMPLE. Pointers lead into the record and live as long as it does; what
 * was not asked for is 0.
 */
struct pm_sample {
	struct pm_sample_id sid;
	uint64_t ip, addr, period;
	const uint64_t *callchain;  uint64_t callchain_nr;
	const void *raw;            uint32_t raw_size;		/* bytes, padding included */
	const void *branches;       uint64_t branch_nr;		/* struct perf_branch_entry */
	uint64_t branch_hw_idx;
	const uint64_t *branch_counters;			/* branch_nr of them, or NULL */
	uint64_t regs_user_abi;     const uint64_t *regs_user;  unsigned int regs_user_nr;
	const void *stack_user;     uint64_t stack_user_size, stack_user_dyn_size;
	uint64_t weight;			/* or the three packed parts of WEIGHT_STRUCT */
	uint64_t data_src, transaction;
	uint64_t regs_intr_abi;     const uint64_t *regs_intr;  unsigned int regs_intr_nr;
	uint64_t phys_addr;
	const void *aux;            uint64_t aux_size;
	uint64_t cgroup, data_page_size, code_page_size;
	struct pm_counts read;			/* PERF_SAMPLE_READ; last, because it is large */
};

/* Any record, decoded. `type`, `misc` and `size` are the header's. */
struct pm_record {
	uint32_t type;
	uint16_t misc, size;
	uint16_t trailing;		/* bytes behind the last known field: a newer kernel's */
	struct pm_sample_id sid;	/* of other types than SAMPLE with sample_id_all only */
	union {
		struct pm_sample sample;
		struct { uint32_t pid, tid; uint64_t addr, len, pgoff;
			 uint32_t maj, min; uint64_t ino, ino_generation; uint32_t prot, flags;
			 const uint8_t *build_id; uint8_t build_id_size;
			 const char *filename; } mmap;		/* MMAP and MMAP2 */
		struct { uint64_t id, lost; } lost;
		struct { uint32_t pid, tid; const char *comm; } comm;
		struct { uint32_t pid, ppid, tid, ptid; uint64_t time; } task; /* FORK and EXIT */
		struct { uint64_t time, id, stream_id; } throttle;	/* and UNTHROTTLE */
		struct { uint32_t pid, tid; struct pm_counts counts; } read;
		struct { uint64_t offset, size, flags; } aux;
		struct { uint32_t pid, tid; } itrace_start;
		struct { uint64_t lost; } lost_samples;
		struct { uint32_t next_prev_pid, next_prev_tid; } switch_cpu_wide;
		struct { uint32_t pid, tid; uint64_t nr; const void *entries; } namespaces;
		struct { uint64_t addr; uint32_t len; uint16_t ksym_type, flags;
			 const char *name; } ksymbol;
		struct { uint16_t bpf_type, flags; uint32_t id; const uint8_t *tag; } bpf_event;
		struct { uint64_t id; const char *path; } cgroup;
		struct { uint64_t addr; uint16_t old_len, new_len;
			 const uint8_t *bytes; } text_poke;
		struct { uint32_t pid, tid; uint64_t hw_id; } aux_output_hw_id;
		struct { uint64_t cookie, nr; const uint64_t *ips; } callchain_deferred;
	};
};

/*
 * Decode one record of `format`, aligned to 8 as it is in a ring. The record is hostile input:
 * every length is held against header->size, every string against its terminator.
 * Returns 0; -EBADMSG when the bytes do not fit the format (*ret then means nothing); -ENOTSUP
 * for a type this library does not know, with type, misc, size and the trailer still filled in;
 * -ENOTSUP also for a sample whose sample_type has an unknown bit.
 */
int pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
		     struct pm_record *ret);

/*
 * The event id of a record from a ring that several events share, without knowing its format:
 * needs PERF_SAMPLE_IDENTIFIER on all of them (first word of a sample, last of any other record)
 * and sample_id_all. -EBADMSG when there is no room for it.
 */
int pm_record_identifier(const struct perf_event_header *record, uint64_t *ret);

/* -------------------------------------------- sysfs and tracefs: text.c, pmu.c, tracefs.c */

/*
 * Read a small text file into buf (always terminated, trailing newline cut). Returns its length;
 * -EFBIG when there is more than fits, with the beginning in buf.
 */
int pm_read_text(const char *path, char *buf, size_t size);

/* Read a decimal (or, with 0x, hexadecimal) number that is all a file holds. -EINVAL, -ERANGE. */
int pm_read_number(const char *path, int64_t *ret);

/* perf type of a PMU by its sysfs name ("breakpoint", "armv8_pmuv3"). -ENOENT when missing. */
int pm_pmu_type(const char *name);

/*
 * Call `each` for the name of each PMU in /sys/bus/event_source/devices, in no order, until it
 * returns != 0. Returns what `each` returned last, or -errno. Allocates while it runs.
 */
int pm_pmu_each(int (*each)(const char *name, void *context), void *context);

/*
 * The name of the hardware PMU of the CPU's cores, if any; the first by alphabet where they differ.
 * Returns 0 or -ENOENT.
 */
int pm_pmu_core(char *buf, size_t size);

/*
 * Parse a sysfs format specification ("config:0-7,32-35", "config1:0") and place `value` into
 * attr. Returns 0, -EINVAL for a malformed specification, -ERANGE when the value does not fit.
 */
int pm_pmu_place(const char *format, uint64_t value, struct perf_event_attr *attr);

/* Where tracefs is mounted and readable: one of its two customary roots. Returns 0 or -ENOENT
 * (not mounted), -EACCES (mounted, not readable by this thread). */
int pm_tracefs_root(char *buf, size_t size);

/* Id of a tracepoint, for perf_event_attr.config. -ENOENT, -EACCES. */
int pm_tracepoint_id(const char *system, const char *event);

/* One field of a tracepoint's format file, found in the text of that file. -ENOENT, -EINVAL. */
struct pm_trace_field { uint32_t offset, size; bool is_signed; };
int pm_tracepoint_field(const char *format_text, const char *name, struct pm_trace_field *ret);

/*
 * CPU list syntax of sysfs ("0-3,8"). Calls back for each number (`each` may be NULL); returns how
 * many, or -EINVAL before the first call.
 */
int pm_cpulist_each(const char *list, void (*each)(unsigned int cpu, void *context), void *context);

/* How many CPUs are online, from sysfs. */
int pm_cpus_online(void);

/* ------------------------------------------------------------ environment: env.c, identity.c */

/* The capabilities that matter to perf, with their numbers. */
enum pm_cap { PM_CAP_IPC_LOCK = 14, PM_CAP_SYS_PTRACE = 19, PM_CAP_SYS_ADMIN = 21,
	      PM_CAP_SYSLOG = 34, PM_CAP_BPF = 39, PM_CAP_PERFMON = 38 };

/* What distinguishes a refusal by policy from one by the kernel. Allocates nothing. */
struct pm_env {
	bool paranoid_present;		/* the file that is the official sign of perf events */
	int paranoid;			/* its value; INT_MIN when absent or unreadable */
	int kptr_restrict;		/* INT_MIN when unreadable */
	int64_t mlock_kb;		/* perf_event_mlock_kb, -1 when unreadable */
	int64_t max_sample_rate;	/* Hz, -1 when unreadable */
	uint64_t caps_effective;
	int cap_last;			/* highest capability the kernel knows, -1 unknown */
	unsigned int uid, euid;
	int seccomp_mode;		/* 0 none, 1 strict, 2 filter, -1 unknown */
	bool no_new_privs;
	uint64_t memlock_bytes;		/* RLIMIT_MEMLOCK, soft; UINT64_MAX unlimited */
	uint64_t nofile;		/* RLIMIT_NOFILE, soft */
	int cpus_online, cpus_possible, cpus_allowed;
	size_t page_size;
	char lockdown[24];		/* "none", "integrity", "confidentiality", "" unknown */
	char lsm[96];			/* active list, "" unknown */
};
int pm_env_read(struct pm_env *ret);

/*
 * Parts of it, in a fraction of the time; the other fields are 0. What the calling thread may, from
 * system calls alone: uid, euid, caps_effective, seccomp_mode. And besides, what decides how much
 * memory rings may lock: paranoid, mlock_kb, memlock_bytes.
 */
void pm_env_read_thread(struct pm_env *ret);
void pm_env_read_locked(struct pm_env *ret);
bool pm_env_has_cap(const struct pm_env *env, enum pm_cap cap);
/* What the calling thread may put into effect. */
uint64_t pm_caps_permitted(void);
/* True in any user namespace but the first, whose capabilities alone count for perf. */
bool pm_in_user_namespace(void);

/*
 * Who says ENOSYS to a system call, named as in "bpf". Without a filter on this thread it is the
 * kernel. Behind one ENOSYS proves nothing: the kernel has the call where /proc/kallsyms lists its
 * function, and where that is not so, it cannot be told. Reads a large file behind a filter only.
 */
enum pm_enosys { PM_ENOSYS_KERNEL, PM_ENOSYS_FILTER, PM_ENOSYS_UNTOLD };
enum pm_enosys pm_enosys_ask(const struct pm_env *env, const char *call);

/*
 * The hypervisor below, as pm_identity_each names it: "kvm", "hyper-v", or its own name. Returns
 * the name's length, cut to fit, or 0 and "" where nothing tells of one, which is no proof.
 */
size_t pm_hypervisor(char *buf, size_t size);

/*
 * How the kernel answers an impossible call, which tells a filter in front of the system call
 * from the system call itself: perf checks unknown flags first (EINVAL) and the attr's size next
 * (E2BIG, and writes its own there). Any other errno was not said by perf. ENODEV is gVisor's word
 * for ENOSYS. UNTOLD is ENOSYS behind a filter, which may be the kernel's. KILLED, by a filter
 * that answers with SIGSYS, cannot be the answer to who asks: a caller learns it from a child.
 */
enum pm_perf_answer { PM_PERF_ANSWERS, PM_PERF_FILTERED, PM_PERF_NOT_BUILT, PM_PERF_UNTOLD,
		      PM_PERF_KILLED };
/* *ret_errno gets the errno that decided, 0 when perf answers. */
enum pm_perf_answer pm_perf_ask(const struct pm_env *env, int *ret_errno);

/*
 * Identity of kernel and machine: calls `each` with key and value pairs ("arch", "release",
 * "version", "build_id", "cpu_model", "cpu_midr", "board", "hypervisor", "lsm", "page_size",
 * "cpus_online", "cpus_possible"). Keys may repeat. A value is one line without control
 * characters; it holds no host name, no serial number, no path. Unreadable facts are left out.
 * Returns 0.
 */
int pm_identity_each(void (*each)(const char *key, const char *value, void *context),
		     void *context);

/* The first four of them, which tell one kernel from another; a tenth of the time. Returns 0. */
int pm_identity_kernel(void (*each)(const char *key, const char *value, void *context),
		       void *context);

/* ------------------------------------------------------------------------------ names: errno.c */

/*
 * "EINVAL" of EINVAL or -EINVAL, "success" of 0. A number that errnos.def does not name becomes
 * "errno 133", in a buffer of the calling thread that the next such number overwrites.
 */
const char *pm_errno_name(int error);

/* ----------------------------------------------------------------------------- clocks: clock.c */

/* clock_gettime as nanoseconds; -errno when the kernel does not know the clock. */
int pm_clock_ns(int clock_id, uint64_t *ret);

/* The clock_id of a thread's CPU time as the kernel numbers it: the id inverted, over three bits of
 * kind. */
int pm_thread_clock(pid_t tid);

/* An instant of another clock caught between two readings of a reference clock. */
struct pm_clock_bracket { uint64_t before, at, after; };

/*
 * Offset of the caught clock against the reference from `count` brackets: the tightest one wins.
 * ret->offset = at - middle, ret->half_width = (after - before) / 2; both ns.
 * -EINVAL for count 0 or a bracket that runs backward.
 */
struct pm_clock_offset { int64_t offset; uint64_t half_width; };
int pm_clock_offset(const struct pm_clock_bracket *brackets, size_t count,
		    struct pm_clock_offset *ret);

/* Convert a CPU time stamp counter value with a user page's mult, shift and zero (v3.12). */
uint64_t pm_clock_from_tsc(uint64_t tsc, uint64_t zero, uint32_t mult, uint16_t shift);

#endif
