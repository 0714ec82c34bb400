/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about what perf_event_open(2) refuses. The kernel is asked first, except where the lie is
 * about what it never gets to see.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/capability.h>

#include "../../../lib/pm_sys.h"
#include "event.h"
#include "lies.h"

long __real_syscall(long number, ...);

#define IMPOSSIBLE_FLAG (1ul << 30)	/* with it is asked whether perf is there at all */

static bool full;	/* an open has found no descriptor */

/* Whether the memory of an attr may be written: it is, with what is there. */
static bool is_writable(void *attr)
{
	unsigned char byte = *(unsigned char *)attr;
	const struct iovec from = { &byte, 1 }, to = { attr, 1 };

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 1;
}

static int refuse_version(const struct perf_event_attr *attr, uint32_t size)
{
	const unsigned char *bytes = (const unsigned char *)attr;

	if (size >= PERF_ATTR_SIZE_VER0 && bytes[PERF_ATTR_SIZE_VER0 - 1] && lie(LIE_open_no_ver0))
		return E2BIG;
	if (size >= PERF_ATTR_SIZE_VER1 && bytes[PERF_ATTR_SIZE_VER1 - 1] && lie(LIE_open_no_ver1))
		return E2BIG;
	return 0;
}

static int refuse_event(const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE)
		return 0;
	if (attr->config == PERF_COUNT_SW_CPU_CLOCK && lie(LIE_open_no_cpu_clock))
		return ENOENT;
	if (attr->config == PERF_COUNT_SW_PAGE_FAULTS && lie(LIE_open_no_page_faults))
		return ENOENT;
	return 0;
}

bool lies_have_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	return !__real_syscall(SYS_capget, &header, data) &&
	       (data[0].effective | data[1].effective);
}

/* What a level of perf_event_paranoid allows to those without capabilities. */
static int refuse_allowed(const struct perf_event_attr *attr, long pid)
{
	if (lies_have_capability())
		return 0;
	if (!attr->exclude_kernel && lie(LIE_open_kernel_shut))
		return EACCES;
	if (pid == -1 && lie(LIE_open_cpu_shut))
		return EACCES;
	if (attr->type == PERF_TYPE_TRACEPOINT && attr->sample_type & PERF_SAMPLE_RAW &&
	    lie(LIE_open_payload_shut))
		return EPERM;
	return 0;
}

static bool is_offline(long cpu)
{
	char path[64], state[4] = "";

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/online", cpu);
	return pm_read_text(path, state, sizeof(state)) > 0 && *state == '0';
}

int lies_refuse(const struct perf_event_attr *attr, void *asked, long pid, long cpu,
		unsigned long flags)
{
	int error = refuse_version(attr, attr->size);

	if (!error)
		error = refuse_event(attr);
	if (!error)
		error = refuse_allowed(attr, pid);
	if (!error && pid >= 0 && cpu >= 0 && is_offline(cpu) && lie(LIE_open_offline_shut))
		error = ENODEV;
	if (flags & ~PERF_FLAG_FD_CLOEXEC && lie(LIE_open_no_call_flags))
		error = EINVAL;
	if (flags & IMPOSSIBLE_FLAG && lie(LIE_open_flags_first))
		error = EINVAL;
	if (lie(LIE_open_needs_writable) && !is_writable(asked))
		error = EFAULT;
	if (full && lie(LIE_open_stays_full))
		error = EMFILE;
	return error;
}

static long any_event(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0,
					.config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1,
					.exclude_kernel = 1, .exclude_hv = 1 };

	return __real_syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul);
}

/* What the answer becomes: `fd` with errno, as the kernel gave it. */
long lies_answer(long fd, const struct perf_event_attr *attr, long pid, unsigned long flags)
{
	const int error = errno;

	if (fd >= 0 || flags & IMPOSSIBLE_FLAG)
		return fd;
	full |= error == EMFILE;
	if (error == ENOSPC && attr->type == PERF_TYPE_BREAKPOINT && pid == -1 &&
	    lie(LIE_open_bp_crowded))
		return any_event();
	if (error == EACCES && lie(LIE_open_userns) && lies_have_capability())
		return any_event();
	if (error == ESRCH && lie(LIE_open_dead_task))
		return any_event();
	if (error != EMFILE && lie(LIE_open_takes_all))
		return any_event();
	errno = lie(LIE_open_eio) ? EIO : error;
	if ((error == EINVAL || error == EOPNOTSUPP) && lie(LIE_open_other_errno))
		errno = error == EINVAL ? EOPNOTSUPP : EINVAL;
	return fd;
}
