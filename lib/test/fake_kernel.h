/* SPDX-License-Identifier: MIT */
/*
 * A kernel of our own behind perf_event_open(2): syscall() is defined here, answers that call by
 * script and passes the others on.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	bool on;
	uint32_t attr_size;		/* of this kernel */
	int always_errno;		/* a filter in front of it */
	int exclude_errno;		/* a PMU that counts all modes alike */
	bool silent;			/* E2BIG without writing its size back */
	int policy_errno;		/* said after the flags, before the attr is read */
	int level;			/* of perf_event_paranoid, for those without capability */
	bool vendor;			/* refuses everything from level 3 on, as Debian does */
	bool accepts_anything;
	bool mappable;			/* what it opens can be mapped */
	const struct perf_event_mmap_page *page;	/* and is this, or a page of zeros */
	int sibling_errno;		/* of every open that names a group */
	uint64_t refused_format;	/* EINVAL for inherit with these bits of read_format */
	bool refuses_clockid;		/* as before v4.1 */
	unsigned int software_kinds;	/* how many this kernel knows, 0: all */
	int kernel_errno;		/* unless exclude_kernel is set */
	/* the last call */
	struct perf_event_attr attr;
	pid_t pid;
	int cpu, group_fd;
	unsigned long flags;
	unsigned int calls;
	unsigned int on_exec;		/* calls with enable_on_exec */
} fake_kernel;

/* An event that can be mapped, or the refusals of one that is almost taken. */
static inline int fake_event(const struct perf_event_attr *attr)
{
	const struct perf_event_mmap_page *page = fake_kernel.page;
	int fd;

	if (fake_kernel.sibling_errno && fake_kernel.group_fd >= 0)
		return -fake_kernel.sibling_errno;
	if (fake_kernel.kernel_errno && !attr->exclude_kernel)
		return -fake_kernel.kernel_errno;
	if (attr->inherit && (attr->read_format & fake_kernel.refused_format))
		return -EINVAL;
	fd = memfd_create("event", 0);
	if (fd < 0 || ftruncate(fd, sysconf(_SC_PAGESIZE)) != 0)
		return -ENOMEM;
	if (page != NULL && pwrite(fd, page, sizeof(*page), 0) != (ssize_t)sizeof(*page))
		return -ENOMEM;
	return fd;
}

/* perf_allow_kernel and perf_allow_cpu of mainline, and what vendors add. */
static inline bool fake_level_refuses(const struct perf_event_attr *attr)
{
	return (fake_kernel.vendor && fake_kernel.level > 2) ||
		(fake_kernel.level > 1 && !attr->exclude_kernel) ||
		(fake_kernel.level > 0 && fake_kernel.pid == -1);
}

static inline int fake_perf_event_open(struct perf_event_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)attr;

	if (fake_kernel.always_errno)
		return -fake_kernel.always_errno;
	if (fake_kernel.mappable)
		return fake_event(attr);
	if (fake_kernel.accepts_anything)
		return open("/dev/null", O_RDONLY);
	if (fake_kernel.flags & ~0xful)
		return -EINVAL;
	if (fake_kernel.policy_errno)
		return -fake_kernel.policy_errno;
	if (attr == NULL)
		return -EFAULT;
	if (attr->size >= PERF_ATTR_SIZE_VER0 && fake_level_refuses(attr))
		return -EACCES;
	if (attr->size < PERF_ATTR_SIZE_VER0)
		goto too_big;
	if (fake_kernel.exclude_errno && attr->exclude_kernel)
		return -fake_kernel.exclude_errno;
	if (fake_kernel.software_kinds && attr->type == PERF_TYPE_SOFTWARE &&
	    attr->config >= fake_kernel.software_kinds)
		return -ENOENT;
	if (fake_kernel.refuses_clockid && attr->use_clockid)
		return -EINVAL;
	for (uint32_t i = fake_kernel.attr_size; i < attr->size; i++)
		if (bytes[i])
			goto too_big;
	return open("/dev/null", O_RDONLY);
too_big:
	if (!fake_kernel.silent)
		attr->size = fake_kernel.attr_size;
	return -E2BIG;
}

/* How many arguments the library passes: reading one more would be reading a stranger's stack. */
static inline size_t fake_arguments(long number)
{
	switch (number) {
	case SYS_gettid:		return 0;
	case SYS_capget:		return 2;
	case SYS_sched_getaffinity:	return 3;
	case SYS_exit_group:		return 1;
	case SYS_tgkill:		return 3;
	case SYS_rt_sigaction:		return 4;
	case SYS_openat:		return 4;
	case SYS_perf_event_open:	return 5;
	default:			abort();
	}
}

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	const size_t count = fake_arguments(number);
	long args[5] = { 0 };
	va_list list;
	int ret;

	va_start(list, number);
	for (size_t i = 0; i < count; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number != SYS_perf_event_open || !fake_kernel.on) {
		if (real == NULL)
			*(void **)&real = dlsym(RTLD_NEXT, "syscall");
		return real(number, args[0], args[1], args[2], args[3], args[4]);
	}
	fake_kernel.calls++;
	fake_kernel.pid = (pid_t)args[1];
	fake_kernel.cpu = (int)args[2];
	fake_kernel.group_fd = (int)args[3];
	fake_kernel.flags = (unsigned long)args[4];
	if (args[0] != 0)
		memcpy(&fake_kernel.attr, (const void *)args[0], sizeof(fake_kernel.attr));
	fake_kernel.on_exec += args[0] != 0 && fake_kernel.attr.enable_on_exec;
	ret = fake_perf_event_open((struct perf_event_attr *)args[0]);
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

static inline int fake_kernel_setup(void **state)
{
	(void)state;
	memset(&fake_kernel, 0, sizeof(fake_kernel));
	fake_kernel.on = true;
	fake_kernel.attr_size = PERF_ATTR_SIZE_VER9;
	return 0;
}

#endif
