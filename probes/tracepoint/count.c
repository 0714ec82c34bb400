/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are tracepoint hits counted exactly, and what is left of them without the right to see the
 * kernel? With exclude_kernel a tracepoint hit in kernel code opens, works and reads 0, without any
 * error; system call tracepoints carry the caller's registers and still count.
 * Observed: a known number of system calls, and sleeps beside the thread's own switch count.
 */
#include "probe.h"
#include <sys/resource.h>
#include <sys/syscall.h>

PROBE(TITLE("counting tracepoint hits")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(system_call, "sys_enter_getppid: 23 calls are 23 counts")
      POINT(system_call_user_only, "the same with exclude_kernel: 23 counts")
      SINCE("5.3")
      POINT(system_call_exit, "sys_exit_getppid: 23 calls are 23 counts")
      POINT(all_system_calls, "raw_syscalls:sys_enter counts at least those 23, and few others")
      POINT(in_kernel, "sched_switch equals the thread's own number in getrusage")
      POINT(in_kernel_user_only, "sched_switch with exclude_kernel opens and reads 0")
      POINT(disabled, "a disabled event counts nothing")
      FACT(exclude_user, int, "counts", "23 calls counted with exclude_user"))

static int call(int times)
{
	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
	return times;
}

static int open_counting(struct __test_metadata *_metadata, const char *system, const char *event,
			 bool user_only)
{
	struct perf_event_attr attr = must_tracepoint(system, event);

	attr.exclude_kernel = user_only;
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static void want_23(struct __test_metadata *_metadata, int fd)
{
	uint64_t count;

	call(23);
	count = must_count(fd);
	if (count != 23)
		broken("counted=%" PRIu64 " want=23", count);
}

TEST(system_call)
{
	struct perf_event_attr attr;
	int fd = open_counting(_metadata, "syscalls", "sys_enter_getppid", false);

	want_23(_metadata, fd);
	attr = must_tracepoint("syscalls", "sys_enter_getppid");
	attr.exclude_kernel = attr.disabled = 0;
	attr.exclude_user = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	call(23);
	fact_int("exclude_user", must_count(fd));
}

TEST(system_call_user_only)
{
	int fd = open_counting(_metadata, "syscalls", "sys_enter_getppid", true);
	uint64_t count;

	call(23);
	count = must_count(fd);
	if (count == 0)
		say_no("counted 0 of 23 calls with exclude_kernel");
	if (count != 23)
		broken("counted=%" PRIu64 " want=23", count);
}

TEST(system_call_exit)
{
	want_23(_metadata, open_counting(_metadata, "syscalls", "sys_exit_getppid", false));
}

TEST(all_system_calls)
{
	int fd = open_counting(_metadata, "raw_syscalls", "sys_enter", false);
	uint64_t before = must_count(fd), count;

	call(23);
	count = must_count(fd) - before;
	if (count < 23 || count > 26)
		broken("counted=%" PRIu64 " want 23 and the read", count);
}

static uint64_t switches_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* How many switches of 10 sleeps were counted, beside how many there were. */
static uint64_t count_sleeps(struct __test_metadata *_metadata, int fd, uint64_t *real)
{
	uint64_t from[2], to[2], counted = 0;

	for (int attempt = 0; attempt < 10; attempt++) {
		from[0] = switches_so_far();
		counted = must_count(fd);
		from[1] = switches_so_far();
		for (int i = 0; i < 10; i++)
			poll(NULL, 0, 1);
		to[0] = switches_so_far();
		counted = must_count(fd) - counted;
		to[1] = switches_so_far();
		*real = to[0] - from[0];
		if (from[0] == from[1] && to[0] == to[1])
			return counted;	/* no switch between the two readings */
	}
	cannot_tell("switched away at every reading");
}

TEST(in_kernel)
{
	int fd = open_counting(_metadata, "sched", "sched_switch", false);
	uint64_t real, count = count_sleeps(_metadata, fd, &real);

	if (count != real || real < 10)
		broken("counted=%" PRIu64 " getrusage=%" PRIu64 " want>=10", count, real);
}

TEST(in_kernel_user_only)
{
	int fd = open_counting(_metadata, "sched", "sched_switch", true);
	uint64_t real, count = count_sleeps(_metadata, fd, &real);

	if (real < 10)
		cannot_tell("only %" PRIu64 " switches", real);
	if (count)
		say_no("counted %" PRIu64 " of %" PRIu64 " in user mode", count, real);
}

TEST(disabled)
{
	struct perf_event_attr attr = must_tracepoint("syscalls", "sys_enter_getppid");
	uint64_t off, on;
	int fd;

	attr.exclude_kernel = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	call(23);
	off = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	call(23);
	on = must_count(fd) - off;
	if (off != 0 || on != 23)
		broken("disabled=%" PRIu64 " want=0, enabled=%" PRIu64 " want=23", off, on);
}

PROBE_MAIN
