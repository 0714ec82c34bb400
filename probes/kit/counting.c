/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What events count while page faults are caused. See counting.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "counting.h"
#include "fork_exec.h"
#include "open.h"
#include "pages.h"
#include "say.h"
#include "task.h"
#include "timed.h"
#include "workload.h"

uint64_t must_count(int fd)
{
	uint64_t value = 0;
	int error = pm_read_count(fd, &value);

	if (error)
		say_unknown("read of a counter: %s", pm_errno_name(error));
	return value;
}

void expect_count(int fd, uint64_t want)
{
	const uint64_t count = must_count(fd);

	if (count != want)
		say_broken("counted=%" PRIu64 " want=%" PRIu64, count, want);
}

struct pm_counts must_counts(int fd, uint64_t read_format)
{
	struct pm_counts counts = { .nr = 0 };
	int error = pm_read_counts(fd, read_format, &counts);

	if (error == -EBADMSG)
		say_broken("read with read_format %#" PRIx64 ": the bytes do not match it",
			   read_format);
	if (error)
		say_unknown("read with read_format %#" PRIx64 ": %s", read_format,
			    pm_errno_name(error));
	return counts;
}

static uint64_t gain_once(int fd, struct worker *worker, unsigned int faults)
{
	uint64_t before;
	int error = worker ? worker_faults(worker, 1) : cause_faults(1);

	before = must_count(fd);
	if (!error)
		error = worker ? worker_faults(worker, faults) : cause_faults(faults);
	if (error)
		say_unknown("page faults could not be caused: %s", pm_errno_name(error));
	return must_count(fd) - before;
}

/* A few too many are counted again, as in samples_of_faults(): a wrong count is so each time. */
uint64_t gain_of_faults(int fd, struct worker *worker, unsigned int faults)
{
	uint64_t gain = gain_once(fd, worker, faults);

	for (int again = 0; again < 2 && gain > faults && gain - faults < faults; again++)
		gain = gain_once(fd, worker, faults);
	return gain;
}

void expect_gain(int fd, struct worker *worker, unsigned int faults, uint64_t want)
{
	uint64_t gain = gain_of_faults(fd, worker, faults);

	for (int again = 0; again < 2 && gain > want && gain - want < faults; again++)
		gain = gain_once(fd, worker, faults);
	if (gain != want)
		say_broken("gained=%" PRIu64 " want=%" PRIu64 " of %u faults", gain, want, faults);
}

void cause_faults_on(int fd, unsigned int faults)
{
	int error = cause_faults(1);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!error)
		error = cause_faults(faults);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (error)
		say_unknown("page faults could not be caused: %s", pm_errno_name(error));
}

char *fresh_page(void)
{
	char *page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		say_unknown("mmap of a page: %s", pm_errno_name(errno));
	return page;
}

uint64_t cause_enabled_faults(int fd, unsigned int faults)
{
	const uint64_t before = must_count(fd);

	cause_faults_on(fd, faults);
	return must_count(fd) - before;
}

void must_start_worker(struct worker *worker, enum worker_kind kind)
{
	int error = worker_start(worker, kind);

	if (error)
		say_unknown("cannot start a %s: %s", kind == WORKER_THREAD ? "thread" : "child",
			    pm_errno_name(error));
}

struct pm_counts spin_until_timed(int fd, struct worker *worker)
{
	const uint64_t format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct pm_counts counts = { .nr = 0 };

	for (int tries = 0; tries < 50 && !counts.time_enabled; tries++) {
		if (worker)
			worker_do(worker, wake_and_spin, NULL);
		else
			wake_and_spin(NULL);
		counts = must_counts(fd, format);
	}
	return counts;
}
