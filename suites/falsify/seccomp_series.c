/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel of an older series, as far as answers to calls can play it: what came later is refused
 * as that series refused it. What it knows of the attr follows from lib/abi.def. Rules that are no
 * mere absence stand here, each with the release that changed it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/pm_abi.h"
#include "seccomp_notify.h"

#define SERIES(major, minor) ((major) << 8 | (minor))
#define ENOTSUPP_OF_KERNEL 524		/* no errno of programs; AUX areas before v4.8 */
#define ATTR_MOST 4096
#define OPEN_FLAGS (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | \
		    PERF_FLAG_FD_CLOEXEC)

/* ------------------------------------------------------------------------ what is known */

/* Whether the series has what came with a release, "4.7" or "2.6.31". */
static bool has(const struct fault *fault, const char *since)
{
	char *end;
	const unsigned long major = strtoul(since, &end, 10);

	return SERIES(major, strtoul(end + 1, NULL, 10)) <= fault->series;
}

static uint32_t known_size(const struct fault *fault)
{
	uint32_t size = 0;

#define VERSION(number, bytes, fields, since) size = has(fault, since) ? (bytes) : size;
	PM_ATTR_VERSIONS(VERSION)
	return size;
}

static uint64_t known_flags(const struct fault *fault)
{
	uint64_t known = 0;

#define FLAG(bit, name, beside, since) known |= (uint64_t)has(fault, since) << (bit);
#define PAIR(low, high, name, since) known |= 3ull << (low);
	PM_ATTR_FLAGS(FLAG, PAIR)
	return known;
}

static uint64_t known_samples(const struct fault *fault)
{
	uint64_t known = 0;

#define ROW(bit, NAME, name, since) known |= (uint64_t)has(fault, since) << (bit);
	PM_SAMPLE_FIELDS(ROW)
	return known;
}

static uint64_t known_branches(const struct fault *fault)
{
	uint64_t known = 0;

	PM_BRANCH_FILTERS(ROW)
	return known;
}

static uint64_t known_formats(const struct fault *fault)
{
	return has(fault, "6.0") ? PERF_FORMAT_LOST * 2 - 1 : PERF_FORMAT_LOST - 1;
}

/* ------------------------------------------------------------------------ perf_event_open */

static bool is_unknown_event(const struct fault *fault, const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       ((attr->config == PERF_COUNT_SW_DUMMY && !has(fault, "3.12")) ||
		(attr->config == PERF_COUNT_SW_BPF_OUTPUT && !has(fault, "4.4")) ||
		(attr->config == PERF_COUNT_SW_CGROUP_SWITCHES && !has(fault, "5.13")));
}

static bool breaks_rule(const struct fault *fault, const struct perf_event_attr *attr,
			const uint64_t *asked)
{
	const unsigned long open_flags = asked[4];

	if ((open_flags & PERF_FLAG_FD_CLOEXEC) && !has(fault, "3.14"))
		return true;
	/* ba5213ae6b88 (v4.13), 7e8b255650fc (v6.12) */
	if (attr->inherit && (attr->read_format & PERF_FORMAT_GROUP) && !has(fault, "4.13"))
		return true;
	if (attr->inherit && (attr->sample_type & PERF_SAMPLE_READ) && !has(fault, "6.12"))
		return true;
	/* 24d3ae2f37d8 (v6.3) */
	return (open_flags & PERF_FLAG_FD_OUTPUT) && (int)asked[2] == -1 && (int)asked[3] >= 0 &&
	       !has(fault, "6.3");
}

static int refusal(const struct fault *fault, const struct perf_event_attr *attr,
		   const uint64_t *asked)
{
	if ((attr->flag_bits & ~known_flags(fault)) ||
	    (attr->sample_type & ~known_samples(fault)) ||
	    (attr->read_format & ~known_formats(fault)) ||
	    ((attr->sample_type & PERF_SAMPLE_BRANCH_STACK) &&
	     (attr->branch_sample_type & ~known_branches(fault))) ||
	    breaks_rule(fault, attr, asked))
		return EINVAL;
	return is_unknown_event(fault, attr) ? ENOENT : 0;
}

/* What the series takes unread, or allows although it is refused later. Returns whether the attr
 * was changed. */
static bool forget_unread(const struct fault *fault, struct perf_event_attr *attr)
{
	const struct perf_event_attr before = *attr;
	const bool tracepoint = attr->type == PERF_TYPE_TRACEPOINT;

	if (!has(fault, "4.8"))
		attr->sample_max_stack = 0;
	/* 697d877849d4 */
	if (!has(fault, "5.4"))
		attr->__reserved_2 = 0;
	if (tracepoint && !has(fault, "3.13"))
		attr->config = (uint32_t)attr->config;
	/* cfa77bc4af2c; the function tracer is the first event of all */
	if (tracepoint && attr->config == 1 && !has(fault, "3.15"))
		attr->exclude_callchain_user = 1;
	return memcmp(&before, attr, sizeof(before)) != 0;
}

/* The kernel tells its own size then: 0 stands for the first version. */
static bool is_odd_size(uint32_t size)
{
	return size && (size < PERF_ATTR_SIZE_VER0 || size > ATTR_MOST);
}

static void answer_open(const struct notification *notification)
{
	const struct fault *fault = notification->fault;
	const uint64_t *asked = notify_arguments(notification);
	union {
		struct perf_event_attr attr;
		unsigned char bytes[ATTR_MOST];
	} from = { .bytes = { 0 } };
	uint32_t size = notify_peek_attr(notification, from.bytes), own = known_size(fault);
	bool beyond = size && is_odd_size(from.attr.size);
	int error;

	for (uint32_t i = own; i < size; i++)
		beyond |= from.bytes[i] != 0;
	/* Unknown flags of the call are refused before anybody looks at the attr. */
	if (asked[4] & ~OPEN_FLAGS) {
		notify_continue(notification);
		return;
	}
	if (beyond) {
		notify_poke(notification, asked[0] + offsetof(struct perf_event_attr, size), &own,
			    sizeof(own));
		notify_return(notification, 0, E2BIG);
		return;
	}
	error = size ? refusal(fault, &from.attr, asked) : 0;
	if (error) {
		notify_return(notification, 0, error);
		return;
	}
	if (size && forget_unread(fault, &from.attr))
		notify_poke(notification, asked[0], from.bytes, size);
	notify_continue(notification);
}

/* ------------------------------------------------------------------------ the other calls */

/* A period with its top bit set was taken by v5.2 and before (913a90bc5a3a). */
static bool is_negative_period(const struct notification *notification)
{
	const uint64_t *asked = notify_arguments(notification);
	uint64_t period = 0;

	return (uint32_t)asked[1] == PERF_EVENT_IOC_PERIOD && !has(notification->fault, "5.3") &&
	       notify_peek(notification, asked[2], &period, sizeof(period)) && period >> 63;
}

static void answer_ioctl(const struct notification *notification)
{
	static const char *const since[] = {
		[7] = "3.12", [8] = "4.1", [9] = "4.7", [10] = "4.17", [11] = "4.17",
	};
	const uint32_t command = (uint32_t)notify_arguments(notification)[1];
	const unsigned int number = command & 0xff;

	if ((command >> 8 & 0xff) == '$' && number >= 7 && number <= 11 &&
	    !has(notification->fault, since[number]))
		notify_return(notification, 0, ENOTTY);
	else if (is_negative_period(notification))
		notify_return(notification, 0, 0);
	else
		notify_continue(notification);
}

/* Behind a ring there were no AUX areas before v4.1, and before v4.8 another word for none. */
static void answer_map(const struct notification *notification)
{
	const uint64_t *asked = notify_arguments(notification);
	const struct fault *fault = notification->fault;
	void *area = MAP_FAILED;
	int fd, error = 0;

	fd = asked[5] && !((int)asked[3] & MAP_ANONYMOUS) ?
		notify_event(notification, (int)asked[4]) : -1;
	if (fd >= 0) {
		area = mmap(NULL, asked[1], (int)asked[2], (int)asked[3] & MAP_TYPE, fd,
			    (off_t)asked[5] * MMAP_UNIT);
		error = area == MAP_FAILED ? errno : 0;
		if (!has(fault, "4.1"))
			error = EINVAL;
		else if (error == EOPNOTSUPP && !has(fault, "4.8"))
			error = ENOTSUPP_OF_KERNEL;
		if (area != MAP_FAILED)
			munmap(area, asked[1]);
		close(fd);
	}
	if (error)
		notify_return(notification, 0, error);
	else
		notify_continue(notification);
}

/* The field with the number of a system call was called nr before v4.10. */
static int old_format(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("format", MFD_CLOEXEC);
	char text[4096] = "", *at;
	const ssize_t length = from < 0 ? -1 : read(from, text, sizeof(text) - 1);

	if (from >= 0)
		close(from);
	at = strstr(text, "__syscall_nr");
	if (at)
		memmove(at, at + strlen("__syscall_"), strlen(at + strlen("__syscall_")) + 1);
	if (to >= 0 && length > 0 && pwrite(to, text, strlen(text), 0) == (ssize_t)strlen(text))
		return to;
	close(to);
	return -1;
}

static bool is_missing(const struct fault *fault, const char *path)
{
	static const struct {
		const char *part, *since;
	} files[] = {
		{ "/proc/sys/kernel/perf_event_max_stack", "4.8" },
		{ "/proc/sys/kernel/perf_event_max_contexts_per_stack", "4.8" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strncmp(path, files[i].part, strlen(files[i].part)) &&
		    !has(fault, files[i].since))
			return true;
	return false;
}

static void answer_path(const struct notification *notification)
{
	const struct fault *fault = notification->fault;
	const char *syscalls, *last;
	char path[160];
	int fd = -1;

	if (!notify_peek_path(notification, path, sizeof(path))) {
		notify_continue(notification);
		return;
	}
	if (is_missing(fault, path)) {
		notify_return(notification, 0, ENOENT);
		return;
	}
	syscalls = strstr(path, "/events/syscalls/");
	last = strrchr(path, '/');
	if (syscalls && !strcmp(last, "/format") && !has(fault, "4.10"))
		fd = old_format(path);
	if (fd >= 0)
		notify_return_fd(notification, fd);
	else
		notify_continue(notification);
}

void notify_answer_series(const struct notification *notification)
{
	switch (notification->call.data.nr) {
	case SYS_perf_event_open: answer_open(notification); break;
	case SYS_ioctl: answer_ioctl(notification); break;
	case CALL_MMAP: answer_map(notification); break;
	default: answer_path(notification); break;
	}
}
