/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are tracepoint hits counted exactly? System call tracepoints carry the caller's registers and
 * count as user mode, too.
 * Observed: a known number of system calls, at entry, at exit, among all others, and while the
 * event is disabled.
 */
#include "probe.h"
#include "tracepoint.h"
#include <sys/syscall.h>

PROBE(TITLE("counting tracepoint hits")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(system_call, "23 calls of getppid are 23 counts of sys_enter_getppid")
      POINT(system_call_user_only,
	    "with exclude_kernel, 23 calls of getppid are 23 counts of sys_enter_getppid")
      SINCE("5.3")
      POINT(system_call_exit, "23 calls of getppid are 23 counts of sys_exit_getppid")
      POINT(all_system_calls, "raw_syscalls:sys_enter counts 23 calls and the read(2) between them")
      POINT(disabled, "a disabled tracepoint event counts nothing")
      FACT(exclude_user, int, "counts", "counted of 23 calls of getppid with exclude_user"))

static int call(int times)
{
	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
	return times;
}

static int open_counting(struct perf_event_attr attr)
{
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static void want_23(int fd)
{
	call(23);
	expect_count(fd, 23);
}

TEST(system_call)
{
	struct perf_event_attr attr;
	int fd = open_counting(must_call_tracepoint("sys_enter_getppid"));

	want_23(fd);
	attr = must_tracepoint("syscalls", "sys_enter_getppid");
	attr.exclude_kernel = attr.disabled = 0;
	attr.exclude_user = 1;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return;	/* the kernel alone, which not everybody may count */
	call(23);
	fact_int("exclude_user", must_count(fd));
}

/* 0 is an answer about exclude_kernel only where the call is counted without it. */
TEST(system_call_user_only)
{
	static const char event[] = "sys_enter_getppid";
	int fd = open_counting(must_tracepoint("syscalls", event));
	uint64_t count;

	call(23);
	count = must_count(fd);
	if (count == 0) {
		want_23(open_counting(must_call_tracepoint(event)));
		say_no("counted 0 of 23 calls with exclude_kernel, 23 without");
	}
	if (count != 23)
		say_broken("counted=%" PRIu64 " want=23", count);
}

TEST(system_call_exit)
{
	want_23(open_counting(must_call_tracepoint("sys_exit_getppid")));
}

TEST(all_system_calls)
{
	struct perf_event_attr attr = must_tracepoint("raw_syscalls", "sys_enter");
	uint64_t before, count;
	int fd;

	attr.exclude_kernel = 0;	/* a hit has the kernel's registers */
	fd = open_counting(attr);
	before = must_count(fd);
	call(23);
	count = must_count(fd) - before;
	if (count < 23 || count > 26)
		say_broken("counted=%" PRIu64 " want 23 and the read", count);
}

TEST(disabled)
{
	struct perf_event_attr attr = must_call_tracepoint("sys_enter_getppid");
	uint64_t off, on;
	int fd;

	fd = must_open(&attr, 0, -1, -1, 0);
	call(23);
	off = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	call(23);
	on = must_count(fd) - off;
	if (off != 0 || on != 23)
		say_broken("disabled=%" PRIu64 " want=0, enabled=%" PRIu64 " want=23", off, on);
}

PROBE_MAIN
