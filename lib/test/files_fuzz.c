/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the content of each file in /proc and /sys that describes the machine and the
 * thread: status, cpuinfo, notes, lists of CPUs. The first byte chooses the reader. What is told
 * must be printable and short.
 */
#define _GNU_SOURCE
#include "../pm_sys.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOLD_MAX 4096

static int content = -1;		/* stands in for each file; -1: the machine's own */
static volatile unsigned char sink;

/* Takes the place of libc's for the whole program. */
int open(const char *path, int flags, ...)
{
	unsigned int mode = 0;
	char own[32];
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, unsigned int);
	va_end(args);
	/* Opened anew, so that each reader begins at the start. */
	if (content >= 0 && (strncmp(path, "/sys", 4) == 0 || strncmp(path, "/proc", 5) == 0)) {
		snprintf(own, sizeof(own), "/proc/self/fd/%d", content);
		path = own;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void note(const char *key, const char *value, void *context)
{
	(void)context;
	if (key[0] == '\0' || strlen(key) + strlen(value) > TOLD_MAX)
		abort();
	for (const char *at = value; *at; at++)
		if (*at == '\n' || *at == '\r' || *at == '\x1b')
			abort();
	sink ^= (unsigned char)value[0];
}

/* One of the readers; the file descriptors and the list of CPUs cost more than they do. */
static void read_one(uint8_t which)
{
	char text[256];
	struct pm_env env;
	int64_t number;

	switch (which % 6) {
	case 0:
		if (pm_env_read(&env) == 0 && env.cpus_online > 1 << 20)
			abort();
		break;
	case 1: (void)pm_identity_kernel(note, NULL); break;
	case 2: (void)pm_identity_each(note, NULL); break;
	case 3:
		(void)pm_in_user_namespace();
		(void)pm_cpus_online();
		break;
	case 4:
		(void)pm_pmu_type("cpu");
		(void)pm_tracepoint_id("sched", "sched_switch");
		break;
	default:
		(void)pm_read_number("/proc/sys/kernel/perf_event_paranoid", &number);
		if (pm_read_text("/proc/filesystems", text, sizeof(text)) >= (int)sizeof(text))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;

	if (size < 1)
		return 0;
	if (file < 0)
		file = memfd_create("file", MFD_CLOEXEC);
	if (ftruncate(file, 0) < 0 || pwrite(file, data + 1, size - 1, 0) != (ssize_t)size - 1)
		abort();
	content = file;
	read_one(data[0]);
	content = -1;
	return 0;
}
