/* SPDX-License-Identifier: MIT */
/*
 * Stands between the library and the kernel of this machine. A test says what its kernel answers in
 * on_open and, with BETWEEN_IOCTL defined, in on_ioctl: by calling `real`, or by setting errno and
 * returning -1, or by a lie.
 */
#ifndef BETWEEN_H
#define BETWEEN_H

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../pm_abi.h"

typedef long (*syscall_fn)(long number, ...);
typedef int (*ioctl_fn)(int fd, unsigned long request, ...);

/* perf_event_open(2) with its five arguments; attr, the first of them, may be NULL. */
static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args);

static inline long refuse_with(int error)
{
	errno = error;
	return -1;
}

/* The kernel's own answer. */
static inline long open_really(syscall_fn real, const long *args)
{
	return real(SYS_perf_event_open, args[0], args[1], args[2], args[3], args[4]);
}

long syscall(long number, ...)
{
	static syscall_fn real;
	long args[5];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 5; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open)
		return on_open(real, (struct perf_event_attr *)args[0], args);
	return real(number, args[0], args[1], args[2], args[3], args[4]);
}

#ifdef BETWEEN_IOCTL
static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument);

int ioctl(int fd, unsigned long request, ...)
{
	static ioctl_fn real;
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	return on_ioctl(real, fd, request, argument);
}
#endif

#endif
