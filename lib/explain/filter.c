/* SPDX-License-Identifier: MIT */
/*
 * The filter in front of the program: which calls are handed over. What has nothing to do with
 * perf events passes as far as the numbers alone can tell; BPF sees no memory and no file.
 */
#define _GNU_SOURCE
#include "explain.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#define BPF_PROG_LOAD_CMD 5
#define BPF_LINK_CREATE_CMD 28
#define SEIZE 0x4206		/* PTRACE_SEIZE, an enumerator in some headers */

struct code {
	struct sock_filter *at;
	size_t used, room;
	uint32_t action;
};

static void put(struct code *code, uint16_t op, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (code->used < code->room)
		code->at[code->used] = (struct sock_filter){ op, jt, jf, k };
	code->used++;
}

static void load(struct code *code, size_t offset)
{
	put(code, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The lower half of an argument. */
static void load_arg(struct code *code, size_t arg)
{
	const size_t high = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;

	load(code, offsetof(struct seccomp_data, args) + 8 * arg + high);
}

static void hand_over(struct code *code)
{
	put(code, BPF_RET | BPF_K, code->action, 0, 0);
}

static void allow(struct code *code)
{
	put(code, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* Hands over where what is loaded is `value`. */
static void if_equal(struct code *code, uint32_t value)
{
	put(code, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	hand_over(code);
}

static void if_any(struct code *code, size_t arg, const uint32_t *values, size_t count)
{
	load_arg(code, arg);
	for (size_t i = 0; i < count; i++)
		if_equal(code, values[i]);
	allow(code);
}

static void of_ioctl(struct code *code)
{
	load_arg(code, 1);
	put(code, BPF_ALU | BPF_RSH | BPF_K, 8, 0, 0);
	put(code, BPF_ALU | BPF_AND | BPF_K, 0xff, 0, 0);
	if_equal(code, '$');
	allow(code);
}

static void of_mmap(struct code *code)
{
	load_arg(code, 3);
	put(code, BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 1, 0);
	put(code, BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0);
	allow(code);
	hand_over(code);
}

/* The first three are hardly ever an event. */
static void of_close(struct code *code)
{
	load_arg(code, 0);
	put(code, BPF_JMP | BPF_JGE | BPF_K, 3, 1, 0);
	allow(code);
	hand_over(code);
}

static void of_fcntl(struct code *code)
{
	load_arg(code, 1);
	if_equal(code, F_SETOWN);
	if_equal(code, F_SETSIG);
	if_equal(code, F_SETOWN_EX);
	allow(code);
}

/*
 * A file by its whole path. What walks through folders names files below a descriptor, or what a
 * link is itself, and must not pay for each of them; one that is made is none that is missed.
 */
static void of_file_at(struct code *code, size_t flags, uint32_t pass)
{
	load_arg(code, 0);
	put(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)AT_FDCWD, 1, 0);
	allow(code);
	load_arg(code, flags);
	put(code, BPF_JMP | BPF_JSET | BPF_K, pass, 0, 1);
	allow(code);
	hand_over(code);
}

#define VALUES(...) (const uint32_t[]){ __VA_ARGS__ }, \
	sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

static void of_call(struct code *code, enum which which)
{
	switch (which) {
	case CALL_IOCTL: of_ioctl(code); break;
	case CALL_MMAP: of_mmap(code); break;
	case CALL_CLOSE: of_close(code); break;
	case CALL_FCNTL: of_fcntl(code); break;
	case CALL_FILE_OPEN_AT: of_file_at(code, 2, O_CREAT); break;
	case CALL_FILE_ACCESS_AT:
	case CALL_FILE_ACCESS_AT2: of_file_at(code, 3, 0); break;
	case CALL_FILE_STAT_AT: of_file_at(code, 3, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW); break;
	case CALL_FILE_STATX: of_file_at(code, 2, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW); break;
	case CALL_PRCTL: if_any(code, 0, VALUES(PR_TASK_PERF_EVENTS_DISABLE,
				PR_TASK_PERF_EVENTS_ENABLE, PR_SET_SECCOMP)); break;
	case CALL_BPF: if_any(code, 0, VALUES(BPF_PROG_LOAD_CMD, BPF_LINK_CREATE_CMD)); break;
	case CALL_SECCOMP: if_any(code, 0, VALUES(SECCOMP_SET_MODE_FILTER)); break;
	case CALL_PTRACE: if_any(code, 0, VALUES(PTRACE_TRACEME, PTRACE_ATTACH, SEIZE)); break;
	default: hand_over(code); break;
	}
}

static void of_machine(struct code *code, const struct numbers *numbers)
{
	for (int which = 0; which < CALLS; which++) {
		struct code trial = { .room = 0, .action = code->action };

		if (numbers->nr[which] < 0)
			continue;
		of_call(&trial, (enum which)which);
		put(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers->nr[which], 0,
		    (uint8_t)trial.used);
		of_call(code, (enum which)which);
	}
	allow(code);
}

size_t filter_build(uint32_t action, struct sock_filter *ret, size_t room)
{
	struct code code = { .at = ret, .room = room, .action = action };

	for (size_t i = 0; i < call_number_count; i++) {
		struct code trial = { .room = 0, .action = action };

		if (call_numbers[i].arch == 0)
			continue;
		of_machine(&trial, &call_numbers[i]);
		load(&code, offsetof(struct seccomp_data, arch));
		put(&code, BPF_JMP | BPF_JEQ | BPF_K, call_numbers[i].arch, 0,
		    (uint8_t)(trial.used + 1));
		load(&code, offsetof(struct seccomp_data, nr));
		of_machine(&code, &call_numbers[i]);
	}
	allow(&code);
	return code.used <= room ? code.used : 0;
}
