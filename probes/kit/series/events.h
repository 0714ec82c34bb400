/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of this folder share: events of page faults, which every kernel has and every user
 * may count, their rings, and workers that cause page faults when they are told to.
 *
 * A test ends at once with what it found, wherever it says so: say_broken() fails it, say_no() and
 * say_absent() skip it, and say_unknown() fails it, as nothing was learned.
 */
#ifndef PERF_EVENTS_EVENTS_H
#define PERF_EVENTS_EVENTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"

/* ---------------------------------------------------------------------------------- verdicts */

/* The test that runs: each fixture's set-up writes it down. */
static struct __test_metadata *running;

static inline noreturn void end_test(int status, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (status == KSFT_SKIP)
		snprintf(running->results->reason, sizeof(running->results->reason), "%s", text);
	else
		ksft_print_msg("%s: %s\n", running->name, text);
	fflush(stdout);
	_exit(status);
}

#define say_no(format, ...) end_test(KSFT_SKIP, "no: " format, ##__VA_ARGS__)
#define say_absent(format, ...) end_test(KSFT_SKIP, "absent: " format, ##__VA_ARGS__)
#define say_blocked(format, ...) end_test(KSFT_SKIP, "blocked: " format, ##__VA_ARGS__)
#define say_broken(format, ...) end_test(KSFT_FAIL, format, ##__VA_ARGS__)
#define say_unknown(format, ...) end_test(KSFT_FAIL, "could not tell: " format, ##__VA_ARGS__)

/* What an accepted call means that was to be refused. */
enum verdict { BROKEN, NO };

static inline const char *ev_errno_name(int error)
{
	return strerror(abs(error));
}

static inline void must_succeed(int error)
{
	if (error)
		say_unknown("%s", ev_errno_name(error));
}

/* ------------------------------------------------------------------------------------ events */

static inline pid_t ev_gettid(void)
{
	return (pid_t)syscall(__NR_gettid);
}

static inline int ev_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			  unsigned long flags)
{
	int fd = (int)syscall(__NR_perf_event_open, attr, pid, cpu, group, flags);

	return fd < 0 ? -errno : fd;
}

static inline int ev_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int answer = ioctl(fd, request, arg);

	return answer < 0 ? -errno : answer;
}

static inline struct perf_event_attr attr_software(__u64 config)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

static inline struct perf_event_attr attr_counter(bool inherit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

static inline struct perf_event_attr attr_faults(__u64 sample_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = sample_type;
	return attr;
}

static inline int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			    unsigned long flags)
{
	int fd = ev_open(attr, pid, cpu, group, flags);

	if (fd == -EACCES || fd == -EPERM)
		say_blocked("perf_event_open: %s", ev_errno_name(fd));
	if (fd < 0 && access("/proc/sys/kernel/perf_event_paranoid", F_OK) < 0)
		say_absent("this kernel has no perf events");
	if (fd < 0)
		say_unknown("perf_event_open: %s", ev_errno_name(fd));
	return fd;
}

static inline void must_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int error = ev_ioctl(fd, request, arg);

	if (error < 0)
		say_unknown("ioctl %#lx: %s", request, ev_errno_name(error));
}

static inline void ask_ioctl(int fd, unsigned long request, unsigned long arg, const char *what)
{
	int error = ev_ioctl(fd, request, arg);

	if (error < 0)
		say_no("%s: %s", what, ev_errno_name(error));
}

static inline void must_close(int fd)
{
	if (close(fd) < 0 || fcntl(fd, F_GETFD) >= 0)
		say_unknown("descriptor %d is still open after close()", fd);
}

static inline void expect_refused(int got, int want, enum verdict accepted, const char *what)
{
	if (got >= 0 && want && accepted == NO)
		say_no("%s: accepted", what);
	if (got >= 0 && want)
		say_broken("%s: accepted, want %s", what, ev_errno_name(want));
	if (got < 0 && got != -want)
		say_broken("%s: %s, want %s", what, ev_errno_name(got), ev_errno_name(want));
}

/* ---------------------------------------------------------------------------------- counting */

struct ev_counts {
	__u64 nr, time_enabled, time_running;
	struct {
		__u64 value, id;
	} member[8];
};

static inline int ev_read_count(int fd, __u64 *ret)
{
	ssize_t size = read(fd, ret, sizeof(*ret));

	return size < 0 ? -errno : size == sizeof(*ret) ? 0 : -EBADMSG;
}

static inline int ev_read_counts(int fd, __u64 format, struct ev_counts *ret)
{
	const bool group = format & PERF_FORMAT_GROUP;
	__u64 words[32], *at = words;
	ssize_t size = read(fd, words, sizeof(words)), got = size / 8;

	memset(ret, 0, sizeof(*ret));
	if (size < 0)
		return -errno;
	ret->nr = group ? *at++ : 1;
	if (!group)
		ret->member[0].value = *at++;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		ret->time_enabled = *at++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		ret->time_running = *at++;
	if (ret->nr > 8)
		return -EBADMSG;
	for (unsigned int i = 0; i < ret->nr; i++) {
		if (group)
			ret->member[i].value = *at++;
		if (format & PERF_FORMAT_ID)
			ret->member[i].id = *at++;
	}
	return at - words == got ? 0 : -EBADMSG;
}

static inline __u64 must_count(int fd)
{
	__u64 value = 0;
	int error = ev_read_count(fd, &value);

	if (error)
		say_unknown("read of a counter: %s", ev_errno_name(error));
	return value;
}

static inline void expect_count(int fd, __u64 want)
{
	const __u64 count = must_count(fd);

	if (count != want)
		say_broken("counted=%llu want=%llu", count, want);
}

static inline struct ev_counts must_counts(int fd, __u64 format)
{
	struct ev_counts counts;
	int error = ev_read_counts(fd, format, &counts);

	if (error == -EBADMSG)
		say_broken("read_format %#llx: the bytes do not match it", format);
	if (error)
		say_unknown("read: %s", ev_errno_name(error));
	return counts;
}

/* ---------------------------------------------------------------------------------- workload */

#define PAGES_AT_ONCE 64

/* Cause exactly that many minor page faults in this thread, also where huge pages are the rule. */
static inline int cause_faults(unsigned int count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES_AT_ONCE * page;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = 0;

	if (area == MAP_FAILED)
		return -errno;
	madvise(area, size, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < count && !error; i++) {
		if (i && i % PAGES_AT_ONCE == 0 && madvise(area, size, MADV_DONTNEED))
			error = -errno;
		else
			__atomic_store_n(&area[i % PAGES_AT_ONCE * page], 1, __ATOMIC_RELAXED);
	}
	munmap(area, size);
	return error;
}

static inline int ev_clock_ns(clockid_t clock, __u64 *ret)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return -errno;
	*ret = (__u64)now.tv_sec * 1000000000 + (__u64)now.tv_nsec;
	return 0;
}

static inline __u64 now_ns(void)
{
	__u64 now = 0;

	ev_clock_ns(CLOCK_MONOTONIC, &now);
	return now;
}

static inline void spin_ns(__u64 ns)
{
	const __u64 end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* A thread that wakes up has had a tick, so the clock that times events goes on. */
static inline int wake_and_spin(void *unused)
{
	(void)unused;
	poll(NULL, 0, 1);
	spin_ns(2000000);
	return 0;
}

static inline __u64 count_switches(void)
{
	struct rusage usage = { .ru_nvcsw = 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return (__u64)usage.ru_nvcsw + (__u64)usage.ru_nivcsw;
}

static inline int move_to_nth_cpu(unsigned int nth)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -errno;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || nth-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one) < 0 ? -errno : cpu;
	}
	return -ENODEV;
}

static inline void cause_faults_on(int fd, unsigned int faults)
{
	must_succeed(cause_faults(1));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_succeed(cause_faults(faults));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

static inline __u64 cause_enabled_faults(int fd, unsigned int faults)
{
	const __u64 before = must_count(fd);

	cause_faults_on(fd, faults);
	return must_count(fd) - before;
}

#endif /* PERF_EVENTS_EVENTS_H */
