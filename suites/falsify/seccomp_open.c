/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about perf_event_open: fields of the attr that are ignored or refused, opens that the
 * kernel refuses and the fault accepts, and the like.
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

size_t notify_peek_attr(const struct notification *notification, unsigned char *attr)
{
	const uint64_t address = notify_arguments(notification)[0];
	const size_t offset = offsetof(struct perf_event_attr, size);
	uint32_t size;

	if (!notify_peek(notification, address, attr, PERF_ATTR_SIZE_VER0))
		return 0;
	memcpy(&size, attr + offset, sizeof(size));
	if (size <= PERF_ATTR_SIZE_VER0 || size > ATTR_MOST)
		return PERF_ATTR_SIZE_VER0;
	return notify_peek(notification, address, attr, size) ? size : 0;
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

/* Clear what the fault is about. Returns whether any of it was set. */
static bool clear_field(const struct fault *fault, unsigned char *attr)
{
	const uint64_t kept = fault->flag ? ~(1ull << (fault->flag - 1)) : fault->plain;
	unsigned char before[8];

	memcpy(before, attr + fault->offset, fault->size);
	if (fault->flag || fault->plain) {
		const bool flags = fault->offset == ATTR_FLAGS_OFFSET;
		uint64_t value;

		memcpy(&value, attr + fault->offset, sizeof(value));
		value &= flags ? bits(kept) : kept;
		memcpy(attr + fault->offset, &value, sizeof(value));
	} else {
		memset(attr + fault->offset, 0, fault->size);
	}
	return memcmp(before, attr + fault->offset, fault->size) != 0;
}

/* Set the flag that the fault is about. Returns whether it was clear. */
static bool set_flag(const struct fault *fault, unsigned char *attr)
{
	const uint64_t flag = bits(1ull << (fault->flag - 1));
	uint64_t value;
	bool clear;

	memcpy(&value, attr + fault->offset, sizeof(value));
	clear = !(value & flag);
	value |= flag;
	memcpy(attr + fault->offset, &value, sizeof(value));
	return clear;
}

static bool change_field(const struct fault *fault, unsigned char *attr)
{
	return fault->kind == FAULT_SET ? set_flag(fault, attr) : clear_field(fault, attr);
}

/* Nothing beyond the attr's size is touched: it is not the caller's. */
static void answer_field(const struct notification *notification)
{
	const struct fault *fault = notification->fault;
	unsigned char attr[ATTR_MOST];
	const size_t size = notify_peek_attr(notification, attr);

	if (fault->offset + fault->size > (int)size || !change_field(fault, attr)) {
		notify_continue(notification);
	} else if (fault->kind == FAULT_REFUSE) {
		notify_return(notification, 0, EINVAL);
	} else {
		notify_poke(notification, notify_arguments(notification)[0], attr, size);
		notify_continue(notification);
	}
}

/* ------------------------------------------------------------- what the kernel would say */

/* The open that was asked for, made here. Returns an event or -errno. */
static int try_open(const struct notification *notification)
{
	const uint64_t *asked = notify_arguments(notification);
	const bool cgroup = asked[4] & PERF_FLAG_PID_CGROUP;
	unsigned char attr[ATTR_MOST];
	int group = notify_fd(notification, asked[3]);
	int pid = cgroup ? notify_fd(notification, asked[1]) : (int)asked[1];
	int fd = -EFAULT;

	if (pid == 0 && !cgroup)
		pid = notification->call.pid;
	if (notify_peek_attr(notification, attr)) {
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

/* A counter that never runs, in place of the event that was asked for. */
static int any_event(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0,
					.config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1,
					.exclude_kernel = 1, .exclude_hv = 1 };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul);
}

static void answer_outcome(const struct notification *notification)
{
	const enum kind kind = notification->fault->kind;
	int fd = try_open(notification);
	const bool refused = fd < 0;

	if (refused && kind == FAULT_ACCEPT)
		fd = any_event();
	if (fd >= 0 && (kind == FAULT_ENTRUST || (refused && kind == FAULT_ACCEPT))) {
		notify_return_fd(notification, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (refused && kind == FAULT_ERRNO)
		notify_return(notification, 0, ENOMSG);
	else
		notify_continue(notification);
}

/* As a kernel of v2.6.33 would: what it does not know must be zero, else it tells its own size. */
static void answer_old(const struct notification *notification)
{
	const uint64_t at =
		notify_arguments(notification)[0] + offsetof(struct perf_event_attr, size);
	unsigned char attr[ATTR_MOST];
	const size_t size = notify_peek_attr(notification, attr);
	uint32_t own = 72;
	bool known = true;

	for (size_t i = own; i < size; i++)
		known &= !attr[i];
	if (known) {
		notify_continue(notification);
	} else {
		notify_poke(notification, at, &own, sizeof(own));
		notify_return(notification, 0, E2BIG);
	}
}

static void answer_pointer(const struct notification *notification)
{
	const uint64_t address = notify_arguments(notification)[0];
	unsigned char attr[ATTR_MOST];
	const size_t size = notify_peek_attr(notification, attr);

	if (address % 8 || (address + size) % 4096 == 0)
		notify_return(notification, 0, EFAULT);
	else
		notify_continue(notification);
}

/* Has a taste in sizes: none at all and odd ones are refused, those that are too small taken. */
static void answer_size(const struct notification *notification)
{
	const uint64_t at =
		notify_arguments(notification)[0] + offsetof(struct perf_event_attr, size);
	uint32_t size = PERF_ATTR_SIZE_VER0;
	const bool known = notify_peek(notification, at, &size, sizeof(size));

	if (known && (size == 0 || (size % 8 && size > PERF_ATTR_SIZE_VER0 && size < 128)))
		notify_return(notification, 0, EINVAL);
	else if (known && size > 32 && size < PERF_ATTR_SIZE_VER0)
		notify_return_fd(notification, any_event());
	else
		notify_continue(notification);
}

void notify_answer_open(const struct notification *notification)
{
	switch (notification->fault->kind) {
	case FAULT_IGNORE:
	case FAULT_REFUSE:
	case FAULT_SET: answer_field(notification); break;
	case FAULT_OLD: answer_old(notification); break;
	case FAULT_POINTER: answer_pointer(notification); break;
	case FAULT_SIZE: answer_size(notification); break;
	default: answer_outcome(notification); break;
	}
}
