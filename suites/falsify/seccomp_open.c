/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about perf_event_open: fields of the attr that are ignored or refused, opens that the
 * kernel refuses and the liar accepts, and the like.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/pm_abi.h"
#include "seccomp_notify.h"

#define ATTR_MOST 4096			/* no kernel takes a larger attr than a page */

/* --------------------------------------------------------------------- fields of the attr */

/* The attr's bytes as far as its own size says. Returns how many, or 0. */
static size_t peek_attr(const struct question *question, unsigned char *attr)
{
	const uint64_t address = liar_arguments(question)[0];
	const size_t offset = offsetof(struct perf_event_attr, size);
	uint32_t size;

	if (!liar_peek(question, address, attr, PERF_ATTR_SIZE_VER0))
		return 0;
	memcpy(&size, attr + offset, sizeof(size));
	if (size <= PERF_ATTR_SIZE_VER0 || size > ATTR_MOST)
		return PERF_ATTR_SIZE_VER0;
	return liar_peek(question, address, attr, size) ? size : 0;
}

/* Of a bit field of eight bytes; the first flag is the highest bit of a big-endian machine. */
static uint64_t bits(uint64_t from_first)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	uint64_t turned = 0;

	for (int i = 0; i < 64; i++)
		turned |= (from_first >> i & 1) << (63 - i);
	return turned;
#else
	return from_first;
#endif
}

/* Clear what the lie is about. Returns whether any of it was set. */
static bool clear_field(const struct fault *fault, unsigned char *attr)
{
	const uint64_t kept = fault->flag ? ~(1ull << (fault->flag - 1)) : fault->plain;
	unsigned char before[8];

	memcpy(before, attr + fault->offset, fault->size);
	if (fault->flag || fault->plain) {
		const bool flags = fault->offset == LIAR_FLAGS_OFFSET;
		uint64_t value;

		memcpy(&value, attr + fault->offset, sizeof(value));
		value &= flags ? bits(kept) : kept;
		memcpy(attr + fault->offset, &value, sizeof(value));
	} else {
		memset(attr + fault->offset, 0, fault->size);
	}
	return memcmp(before, attr + fault->offset, fault->size) != 0;
}

/* Nothing beyond the attr's size is touched: it is not the caller's. */
static void answer_field(const struct question *question)
{
	const struct fault *fault = question->fault;
	unsigned char attr[ATTR_MOST];
	const size_t size = peek_attr(question, attr);

	if (fault->offset + fault->size > (int)size || !clear_field(fault, attr)) {
		liar_leave(question);
	} else if (fault->lie == LIE_REFUSE) {
		liar_say(question, 0, EINVAL);
	} else {
		liar_poke(question, liar_arguments(question)[0], attr, size);
		liar_leave(question);
	}
}

/* ------------------------------------------------------------- what the kernel would say */

/* The open that was asked for, by the liar itself. Returns an event or -errno. */
static int try_open(const struct question *question)
{
	const uint64_t *asked = liar_arguments(question);
	const bool cgroup = asked[4] & PERF_FLAG_PID_CGROUP;
	unsigned char attr[ATTR_MOST];
	int group = liar_take(question, asked[3]);
	int pid = cgroup ? liar_take(question, asked[1]) : (int)asked[1];
	int fd = -EFAULT;

	if (pid == 0 && !cgroup)
		pid = question->call.pid;
	if (peek_attr(question, attr)) {
		fd = syscall(SYS_perf_event_open, attr, pid, (int)asked[2], group,
			     (unsigned long)asked[4] | PERF_FLAG_FD_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	if (group >= 0)
		close(group);
	if (cgroup && pid >= 0)
		close(pid);
	return fd;
}

/* A counter that nobody asked for, of the liar, which never runs. */
static int any_event(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0,
					.config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1,
					.exclude_kernel = 1, .exclude_hv = 1 };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul);
}

static void answer_outcome(const struct question *question)
{
	const enum lie lie = question->fault->lie;
	int fd = try_open(question);
	const bool refused = fd < 0;

	if (refused && lie == LIE_ACCEPT)
		fd = any_event();
	if (fd >= 0 && (lie == LIE_ENTRUST || (refused && lie == LIE_ACCEPT))) {
		liar_give(question, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (refused && lie == LIE_ERRNO)
		liar_say(question, 0, ENOMSG);
	else
		liar_leave(question);
}

/* As a kernel of v2.6.33 would: what it does not know must be zero, else it tells its own size. */
static void answer_old(const struct question *question)
{
	const uint64_t at = liar_arguments(question)[0] + offsetof(struct perf_event_attr, size);
	unsigned char attr[ATTR_MOST];
	const size_t size = peek_attr(question, attr);
	uint32_t own = 72;
	bool known = true;

	for (size_t i = own; i < size; i++)
		known &= !attr[i];
	if (known) {
		liar_leave(question);
	} else {
		liar_poke(question, at, &own, sizeof(own));
		liar_say(question, 0, E2BIG);
	}
}

static void answer_pointer(const struct question *question)
{
	const uint64_t address = liar_arguments(question)[0];
	unsigned char attr[ATTR_MOST];
	const size_t size = peek_attr(question, attr);

	if (address % 8 || (address + size) % 4096 == 0)
		liar_say(question, 0, EFAULT);
	else
		liar_leave(question);
}

/* Has a taste in sizes: none at all and odd ones are refused, those that are too small taken. */
static void answer_size(const struct question *question)
{
	const uint64_t at = liar_arguments(question)[0] + offsetof(struct perf_event_attr, size);
	uint32_t size = PERF_ATTR_SIZE_VER0;
	const bool known = liar_peek(question, at, &size, sizeof(size));

	if (known && (size == 0 || (size % 8 && size > PERF_ATTR_SIZE_VER0 && size < 128)))
		liar_say(question, 0, EINVAL);
	else if (known && size > 32 && size < PERF_ATTR_SIZE_VER0)
		liar_give(question, any_event());
	else
		liar_leave(question);
}

void liar_answer_open(const struct question *question)
{
	switch (question->fault->lie) {
	case LIE_IGNORE:
	case LIE_REFUSE: answer_field(question); break;
	case LIE_OLD: answer_old(question); break;
	case LIE_POINTER: answer_pointer(question); break;
	case LIE_SIZE: answer_size(question); break;
	default: answer_outcome(question); break;
	}
}
