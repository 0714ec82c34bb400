/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opening, mapping and ordering events in tests. See open.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attrs.h"
#include "cgroup.h"
#include "finding.h"
#include "internal.h"
#include "open.h"
#include "own_text.h"
#include "privilege.h"
#include "say.h"
#include "verdict.h"

int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	      unsigned long flags)
{
	struct finding finding;
	int fd;

	map_own_text();
	fd = pm_open(attr, pid, cpu, group, flags);
	if (fd >= 0)
		return fd;
	classify_setup(-fd, attr, pid, cpu, &finding);
	say(&finding);
}

struct perf_event_attr must_open_plain(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	return attr;
}

/* Without a look at its release: the patches for PREEMPT_RT were there for decades before it. */
static bool is_realtime(void)
{
	struct utsname kernel;
	int64_t value;

	return (!pm_read_number("/sys/kernel/realtime", &value) && value == 1) ||
		(uname(&kernel) == 0 && (strstr(kernel.version, "PREEMPT_RT") != NULL ||
					 strstr(kernel.version, "PREEMPT RT") != NULL));
}

/*
 * Linux 6.1.192 with PREEMPT_RT sends SIGTRAP with preemption disabled (perf_pending_task in
 * kernel/events/core.c), where the lock of the signals sleeps: threads that are trapped at once end
 * in "scheduling while atomic", an oops and a machine that stands still. Linux 6.12 does not.
 */
static void must_be_harmless(const struct perf_event_attr *attr)
{
	struct finding finding;

	if (!attr->sigtrap || !attr->sample_period || getenv("PERFMODES_HAZARDS") || !is_realtime())
		return;
	finding_set(&finding, HAZARD, "SIGTRAP of events crashes some PREEMPT_RT kernels (6.1, "
		    "not 6.12); runs only with --hazards");
	say(&finding);
}

int ask_open(const struct perf_event_attr *with, const struct perf_event_attr *without, pid_t pid,
	     int cpu, const char *what)
{
	struct finding finding;
	int fd = pm_open(with, pid, cpu, -1, 0);

	if (fd >= 0) {
		must_be_harmless(with);
		return fd;
	}
	judge_pair(with, without, pid, cpu, what, &finding);
	if (finding.verdict == YES)
		say_unknown("%s: refused once (%s), then accepted", what, pm_errno_name(fd));
	say(&finding);
}

void expect_refused(int got, int want, enum verdict accepted, const char *what)
{
	struct finding finding;

	judge_refused(got, want, accepted, what, &finding);
	if (finding.verdict != YES)
		say(&finding);
}

void expect_answer(int answer, int want, const char *what)
{
	if (answer == -ENOTTY && want != ENOTTY)
		say_no("%s: ENOTTY, while ENABLE works", what);
	if (answer != -want)
		say_broken("%s: %s want=%s", what, pm_errno_name(answer), pm_errno_name(want));
}

/* Touch each page, and the tail for writing: using the ring later is no page fault of ours. */
static void touch_ring(struct pm_ring *ring)
{
	const volatile char *base = ring->base;

	for (size_t at = 0; at < ring->map_size; at += 4096)
		(void)base[at];
	if (ring->writable)
		pm_ring_release(ring);
}

void must_map(int fd, size_t pages, struct pm_ring *ring)
{
	struct finding finding;
	int error = pm_ring_open(fd, pages, PROT_READ | PROT_WRITE, ring);

	if (error) {
		classify_map(-error, pages, &finding);
		say(&finding);
	}
	touch_ring(ring);
}

void must_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int error = pm_ioctl(fd, request, arg);

	if (error < 0)
		say_unknown("ioctl %#lx: %s", request, pm_errno_name(error));
}

void ask_ioctl(int fd, unsigned long request, unsigned long arg, const char *what)
{
	struct finding finding;
	int error = pm_ioctl(fd, request, arg);

	if (error >= 0)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	classify_asked(-error, what, NULL, 0, -1, &finding);
	say(&finding);
}

void must_close(int fd)
{
	if (close(fd) < 0 || fcntl(fd, F_GETFD) >= 0)
		say_unknown("descriptor %d is still open after close()", fd);
}

