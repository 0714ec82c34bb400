/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running events and their samples, in tests. See sampling.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counting.h"
#include "open.h"
#include "sampling.h"
#include "say.h"
#include "watch.h"
#include "workload.h"

struct watch must_run(const struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages)
{
	struct watch watch = must_watch(attr, pid, cpu, pages);

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

struct watch ask_run(const struct perf_event_attr *with, const struct perf_event_attr *without,
		     pid_t pid, int cpu, size_t pages, const char *what)
{
	struct watch watch = ask_watch(with, without, pid, cpu, pages, what);

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

uint64_t must_id(int fd)
{
	return must_counts(fd, PERF_FORMAT_ID).member[0].id;
}

int must_live(const struct perf_event_attr *attr)
{
	int fd = must_open(attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_fault(1);
	if (!must_count(fd))
		cannot_tell("ENABLE has no effect: no answer of ioctl can be believed");
	return fd;
}

void hold_answer(int answer, int want, const char *what)
{
	if (answer == -ENOTTY && want != ENOTTY)
		say_no("%s: ENOTTY, while ENABLE works", what);
	if (answer != -want)
		broken("%s: %s want=%s", what, errno_name(answer), errno_name(want));
}

char *fresh_page(void)
{
	char *page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		cannot_tell("mmap of a page: %s", errno_name(errno));
	return page;
}

void *map_program(int flags, int prot)
{
	const size_t page = probe_env()->page_size;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *area = mmap(NULL, page, prot, flags, fd, page);

	if (fd < 0 || area == MAP_FAILED)
		cannot_tell("cannot map /proc/self/exe: %s", errno_name(errno));
	close(fd);
	return area;
}

struct pm_sample sample_fault(struct watch *watch)
{
	struct pm_record record;

	must_ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0);
	must_fault(1);
	must_ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!seek(watch, PERF_RECORD_SAMPLE, &record))
		broken("no sample of a page fault");
	return record.sample;
}

static uint64_t read_clock(int clock)
{
	uint64_t now;
	int error = pm_clock_ns(clock, &now);

	if (error)
		cannot_tell("clock %d cannot be read: %s", clock, errno_name(error));
	return now;
}

void stamp_faults(struct watch *watch, int clock, struct pm_clock_bracket *brackets, int count)
{
	struct pm_record record;

	/* What the first reading of a clock faults in must not pass for the deed. */
	brackets[0].before = read_clock(clock);
	must_fault(1);
	for (int i = 0; i < count; i++) {
		while (seek(watch, PERF_RECORD_SAMPLE, &record))
			;
		brackets[i].before = read_clock(clock);
		must_fault(1);
		brackets[i].after = read_clock(clock);
		if (!seek(watch, PERF_RECORD_SAMPLE, &record))
			broken("no sample of page fault %d", i);
		brackets[i].at = record.sample.sid.time;
	}
}
