/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs of a few instructions, made by hand: what the probes of programs on events share.
 * Included behind probe.h. One map of one number tells how often a program has run.
 */
#ifndef BPF_H
#define BPF_H

#include "finding.h"
#include "tracepoint.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/bpf.h>

#define BPF_ORDER_SIZE 48		/* of union bpf_attr in v4.1: all that is used of it here */

/* One instruction; the two registers share a byte, in an order of the machine's. */
#define INSN(c, d, s, o, i) ((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), \
						.off = (o), .imm = (i) })

/* Call bpf(2). Up to v5.10 programs and maps are memory locked by the user, and what is gone is
 * only given back after a while; so the limit is lifted where that is allowed. */
static inline int bpf_order(int command, union bpf_attr *order)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	int fd;

	setrlimit(RLIMIT_MEMLOCK, &none);
	fd = syscall(SYS_bpf, command, order, BPF_ORDER_SIZE);

	return fd < 0 ? -errno : fd;
}

/* What a call of bpf(2) answered that the test needs. */
static inline int bpf_needed(int answer, const char *what)
{
	errno = -answer;
	if (answer == -ENOSYS)
		must_call(-1, "bpf");
	if (answer == -EPERM || answer == -EACCES)
		say_blocked("%s: %s, needs CAP_BPF or CAP_SYS_ADMIN", what, pm_errno_name(answer));
	if (answer < 0)
		say_unknown("%s: %s", what, pm_errno_name(answer));
	return answer;
}

/* Load a program. EINVAL for a type that is younger than the kernel's bpf(2). */
static inline int bpf_load(uint32_t type, const struct bpf_insn *code, uint32_t length)
{
	union bpf_attr order = { .prog_type = type, .insn_cnt = length };

	order.insns = (uintptr_t)code;
	order.license = (uintptr_t)"GPL";
	return bpf_order(BPF_PROG_LOAD, &order);
}

/* r0 = 0; exit. As a socket filter it drops everything, attached to nothing. */
static inline int bpf_load_empty(uint32_t type)
{
	const struct bpf_insn code[] = { INSN(0xb7, 0, 0, 0, 0), INSN(0x95, 0, 0, 0, 0) };

	return bpf_load(type, code, 2);
}

/* A map of one number, or -errno. */
static inline int bpf_map(uint32_t type)
{
	union bpf_attr order = { .map_type = type, .key_size = 4, .value_size = 8,
				 .max_entries = 1 };

	return bpf_order(BPF_MAP_CREATE, &order);
}

/*
 * v3.18 has the call, and no kind of map or program: it refuses the oldest of both. A filter of
 * system calls could say the same.
 */
static inline void must_have_kinds(void)
{
	if (probe_env()->seccomp_mode == 0 &&
	    bpf_map(BPF_MAP_TYPE_ARRAY) == -EINVAL && bpf_map(BPF_MAP_TYPE_HASH) == -EINVAL &&
	    bpf_load_empty(BPF_PROG_TYPE_SOCKET_FILTER) == -EINVAL)
		say_absent("bpf(2) makes no arrays and no hashes and loads no socket filters: "
			   "EINVAL");
}

/* The same for a type that the test needs. */
static inline int must_load_empty(uint32_t type)
{
	int fd = bpf_load_empty(type);

	if (fd == -EINVAL)
		must_have_kinds();
	return bpf_needed(fd, "BPF_PROG_LOAD");
}

/* A map with a number that programs count up. */
static inline int must_counter(void)
{
	int fd = bpf_map(BPF_MAP_TYPE_ARRAY);

	if (fd == -EINVAL)
		must_have_kinds();
	return bpf_needed(fd, "BPF_MAP_CREATE");
}

/* Read the number that programs count up. */
static inline uint64_t counter_read(int map)
{
	uint64_t value = 0;
	uint32_t key = 0;
	union bpf_attr order = { .map_fd = map };

	order.key = (uintptr_t)&key;
	order.value = (uintptr_t)&value;
	bpf_needed(bpf_order(BPF_MAP_LOOKUP_ELEM, &order), "BPF_MAP_LOOKUP_ELEM");
	return value;
}

/*
 * A program that counts up the map's number and returns `answer`: 0 keeps the event from what it
 * would do. With `first`, at the tracepoint of close(2): only for the 64 descriptors from there on,
 * so that other processes that close something do not count.
 */
static inline int load_counting(uint32_t type, int map, int first, int answer)
{
	const bool wide = sizeof(long) == 8;	/* the argument lies behind the call's number */
	const struct bpf_insn code[] = {
		wide && first ? INSN(0x79, 2, 1, 16, 0) :
			first ? INSN(0x61, 2, 1, 12, 0) : INSN(0xb7, 2, 0, 0, 0),
		INSN(0x17, 2, 0, 0, first),		/* r2 -= first */
		INSN(0x25, 2, 0, 9, 63),		/* if r2 > 63: out */
		INSN(0x18, 1, 1, 0, map),		/* r1 = map */
		INSN(0x00, 0, 0, 0, 0),
		INSN(0xbf, 2, 10, 0, 0),		/* r2 = frame - 4 */
		INSN(0x07, 2, 0, 0, -4),
		INSN(0x62, 2, 0, 0, 0),			/* the key 0 */
		INSN(0x85, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(0x15, 0, 0, 2, 0),			/* none: out */
		INSN(0xb7, 1, 0, 0, 1),
		INSN(0xdb, 0, 1, 0, 0),			/* count up */
		INSN(0xb7, 0, 0, 0, answer),		/* out */
		INSN(0x95, 0, 0, 0, 0),
	};

	return bpf_load(type, code, sizeof(code) / sizeof(*code));
}

/* Descriptors that are none: 64 numbers that no other process closes at this time. */
static inline int own_numbers(void)
{
	return 0x40000000 + (getpid() & 0xfffff) * 64;
}

/*
 * Hold the tracepoint of close(2) from before the first test to the end: the first event of a
 * system call and the last cost the kernel a tenth of a second each.
 */
#define HOLD_CLOSE_TRACEPOINT                                                                  \
	static void __attribute__((constructor)) hold_close_tracepoint(void)                   \
	{                                                                                      \
		const int id = tracepoint_id("syscalls", "sys_enter_close");                   \
		const struct perf_event_attr attr = attr_of(PERF_TYPE_TRACEPOINT, id);         \
                                                                                               \
		if (id > 0)                                                                    \
			pm_open(&attr, 0, -1, -1, 0);                                          \
	}

/* An event of the entry into close(2), not running. */
static inline int must_close_event(void)
{
	const struct perf_event_attr attr = must_call_tracepoint("sys_enter_close");

	return must_open(&attr, 0, -1, -1, 0);
}

/* Load a counting program for tracepoints and put it on an event. */
static inline int must_attach(int fd, int map, int answer)
{
	int program = load_counting(BPF_PROG_TYPE_TRACEPOINT, map, own_numbers(), answer);

	if (program == -EINVAL && must_load_empty(BPF_PROG_TYPE_SOCKET_FILTER) >= 0)
		say_no("no BPF programs of type tracepoint: EINVAL, while socket filters load");
	bpf_needed(program, "BPF_PROG_LOAD");
	ask_ioctl(fd, PERF_EVENT_IOC_SET_BPF, program, "SET_BPF");
	return program;
}

#endif
