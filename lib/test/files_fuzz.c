/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the content of each file in /proc and /sys that describes the machine and the
 * thread: status, cpuinfo, notes, lists of CPUs. The first byte chooses the reader. What is told
 * must be printable and short.
 */
#define _GNU_SOURCE
#include "../pm_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOLD_MAX 4096

#define FIRST_FD 4096	/* above what the process has open */
#define FILES_MAX 16	/* that a reader has open at once */

static const uint8_t *content;	/* of each file; NULL: the machine's own */
static size_t content_size;
static struct {
	bool is_open;
	size_t at;
} files[FILES_MAX];
static volatile unsigned char sink;

/* The three calls take the place of libc's for the whole program: no file is opened in truth. */
int open(const char *path, int flags, ...)
{
	unsigned int mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, unsigned int);
	va_end(args);
	if (content == NULL || (strncmp(path, "/sys", 4) != 0 && strncmp(path, "/proc", 5) != 0))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (flags & O_DIRECTORY) {
		errno = ENOTDIR;
		return -1;
	}
	for (int i = 0; i < FILES_MAX; i++)
		if (!files[i].is_open) {
			files[i].is_open = true;
			files[i].at = 0;
			return FIRST_FD + i;
		}
	abort();
}

static bool is_ours(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + FILES_MAX && files[fd - FIRST_FD].is_open;
}

ssize_t read(int fd, void *buf, size_t size)
{
	size_t *at;

	if (!is_ours(fd))
		return syscall(SYS_read, fd, buf, size);
	at = &files[fd - FIRST_FD].at;
	if (size > content_size - *at)
		size = content_size - *at;
	memcpy(buf, content + *at, size);
	*at += size;
	return (ssize_t)size;
}

int close(int fd)
{
	if (!is_ours(fd))
		return (int)syscall(SYS_close, fd);
	files[fd - FIRST_FD].is_open = false;
	return 0;
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

/* One of the readers. */
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
		(void)pm_enosys_ask(&(struct pm_env){ .seccomp_mode = 2 }, "bpf");
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
	if (size < 1)
		return 0;
	content = data + 1;
	content_size = size - 1;
	read_one(data[0]);
	content = NULL;
	for (int i = 0; i < FILES_MAX; i++)
		if (files[i].is_open)
			abort();	/* a reader left it open */
	return 0;
}
