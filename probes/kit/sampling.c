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
#include "sampler.h"
#include "workload.h"

struct sampler must_run_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu,
				size_t pages)
{
	struct sampler sampler = must_sampler(attr, pid, cpu, pages);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

struct sampler ask_run_sampler(const struct perf_event_attr *with,
			       const struct perf_event_attr *without, pid_t pid, int cpu,
			       size_t pages, const char *what)
{
	struct sampler sampler = ask_sampler(with, without, pid, cpu, pages, what);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
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
		say_unknown("ENABLE has no effect: no answer of ioctl can be believed");
	return fd;
}

void expect_answer(int answer, int want, const char *what)
{
	if (answer == -ENOTTY && want != ENOTTY)
		say_no("%s: ENOTTY, while ENABLE works", what);
	if (answer != -want)
		say_broken("%s: %s want=%s", what, pm_errno_name(answer), pm_errno_name(want));
}

char *fresh_page(void)
{
	char *page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		say_unknown("mmap of a page: %s", pm_errno_name(errno));
	return page;
}

void *map_program(int flags, int prot)
{
	const size_t page = probe_env()->page_size;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *area = mmap(NULL, page, prot, flags, fd, page);

	if (fd < 0 || area == MAP_FAILED)
		say_unknown("cannot map /proc/self/exe: %s", pm_errno_name(errno));
	close(fd);
	return area;
}

struct pm_sample sample_fault(struct sampler *sampler)
{
	struct pm_record record;

	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	must_fault(1);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	return record.sample;
}

static uint64_t read_clock(int clock)
{
	uint64_t now;
	int error = pm_clock_ns(clock, &now);

	if (error)
		say_unknown("clock %d cannot be read: %s", clock, pm_errno_name(error));
	return now;
}

void stamp_faults(struct sampler *sampler, int clock, struct pm_clock_bracket *brackets, int count)
{
	struct pm_record record;

	/* What the first reading of a clock faults in must not pass for the deed. */
	brackets[0].before = read_clock(clock);
	must_fault(1);
	for (int i = 0; i < count; i++) {
		while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
			;
		brackets[i].before = read_clock(clock);
		must_fault(1);
		brackets[i].after = read_clock(clock);
		if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of page fault %d", i);
		brackets[i].at = record.sample.sid.time;
	}
}
