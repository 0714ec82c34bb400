/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events with a ring, in tests. See sampler.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attrs.h"
#include "counting.h"
#include "finding.h"
#include "open.h"
#include "sampler.h"
#include "say.h"
#include "task.h"
#include "workload.h"

static struct sampler watch_open(int fd, const struct perf_event_attr *attr, size_t pages)
{
	struct sampler sampler = { .fd = fd };

	pm_format_of(attr, &sampler.format);
	must_map(fd, pages, &sampler.ring);
	return sampler;
}

struct sampler must_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages)
{
	return watch_open(must_open(attr, pid, cpu, -1, 0), attr, pages);
}

struct sampler ask_sampler(const struct perf_event_attr *with,
			   const struct perf_event_attr *without, pid_t pid, int cpu, size_t pages,
			   const char *what)
{
	return watch_open(ask_open(with, without, pid, cpu, what), with, pages);
}

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

static int next_record(struct pm_ring *ring, const struct pm_format *format, struct pm_record *ret)
{
	const struct perf_event_header *header;
	int more = pm_ring_next(ring, &header);

	if (more != 1)
		return more;
	more = pm_record_decode(header, format, ret);
	return more == 0 || more == -ENOTSUP ? 1 : more;
}

bool find_record(struct sampler *sampler, uint32_t type, struct pm_record *ret)
{
	int more;

	ret->type = ret->size = 0;
	while ((more = next_record(&sampler->ring, &sampler->format, ret)) == 1)
		if (!type || ret->type == type)
			return true;
	if (more < 0)
		say_broken("a record does not parse (%s): type %u size %u", pm_errno_name(more),
			   ret->type, ret->size);
	pm_ring_release(&sampler->ring);
	return false;
}

int count_records(struct pm_ring *ring, uint32_t type)
{
	const struct perf_event_header *header;
	int count = 0, more;

	while ((more = pm_ring_next(ring, &header)) == 1)
		count += header->type == type;
	pm_ring_release(ring);
	return more < 0 ? more : count;
}

int count_samples(struct sampler *sampler, pid_t tid)
{
	struct pm_record record;
	int count = 0;

	while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
		count += record.sample.sid.tid == (uint32_t)tid;
	return count;
}

/*
 * A thread may fault once more on a page that it has had: the kernel takes pages away at any time,
 * and ages them where no hardware sets the accessed bit. It is counted and sampled like the others.
 * That is asked again; what is wrong is so each time.
 */
#define ASKED_AGAIN 2

static int samples_once(struct sampler *sampler, struct worker *worker, unsigned int faults)
{
	int error = worker ? worker_faults(worker, 1) : cause_faults(1);

	count_samples(sampler, 0);
	if (!error)
		error = worker ? worker_faults(worker, faults) : cause_faults(faults);
	if (error)
		say_unknown("page faults could not be caused: %s", pm_errno_name(error));
	return count_samples(sampler, worker ? worker->tid : pm_gettid());
}

int samples_of_faults(struct sampler *sampler, struct worker *worker, unsigned int faults)
{
	int found = samples_once(sampler, worker, faults);

	for (int again = 0; again < ASKED_AGAIN && found > (int)faults; again++)
		found = samples_once(sampler, worker, faults);
	return found;
}

static void compare_samples(int fd, struct pm_ring *ring, unsigned int faults,
			    enum verdict otherwise, const char *what)
{
	struct finding finding;
	uint64_t counted;
	int found;

	for (int again = 0; again <= ASKED_AGAIN; again++) {
		counted = cause_enabled_faults(fd, faults);
		found = count_records(ring, PERF_RECORD_SAMPLE);
		if (counted == faults && found == (int)faults)
			return;
		if (counted < faults || found != (int)counted)
			break;
	}
	finding_set(&finding, otherwise, "%s: counted=%" PRIu64 " samples=%d want=%u", what,
		    counted, found, faults);
	say(&finding);
}

void expect_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what)
{
	compare_samples(fd, ring, faults, BROKEN, what);
}

void must_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what)
{
	compare_samples(fd, ring, faults, UNKNOWN, what);
}

