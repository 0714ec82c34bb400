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
#include "open.h"
#include "ring.h"
#include "say.h"
#include "task.h"
#include "sampler.h"
#include "workload.h"

struct perf_event_attr attr_waking(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.wakeup_events = 1;
	return attr;
}

static struct sampler watch_open(int fd, const struct perf_event_attr *attr, size_t pages)
{
	struct sampler sampler = { .fd = fd };

	pm_format_of(attr, &sampler.format);
	must_map(fd, pages, &sampler.ring);
	/* Touch the mapping now, or reading it would cause the very page faults to be counted. */
	pm_ring_release(&sampler.ring);
	for (size_t at = 0; at < sampler.ring.map_size; at += 4096)
		(void)*((volatile char *)sampler.ring.base + at);
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

int count_samples(struct sampler *sampler, pid_t tid)
{
	struct pm_record record;
	int count = 0;

	while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
		count += record.sample.sid.tid == (uint32_t)tid;
	return count;
}

int samples_of_faults(struct sampler *sampler, struct worker *worker, unsigned int faults)
{
	int error = worker ? worker_faults(worker, 1) : cause_faults(1);

	count_samples(sampler, 0);
	if (!error)
		error = worker ? worker_faults(worker, faults) : cause_faults(faults);
	if (error)
		say_unknown("page faults could not be caused: %s", pm_errno_name(error));
	return count_samples(sampler, worker ? worker->tid : pm_gettid());
}

static void compare_samples(int fd, struct pm_ring *ring, unsigned int faults,
			    enum verdict otherwise, const char *what)
{
	const uint64_t counted = cause_enabled_faults(fd, faults);
	const int found = count_records(ring, PERF_RECORD_SAMPLE);

	if (counted != faults || found != (int)faults)
		say_as(otherwise, "%s: counted=%" PRIu64 " samples=%d want=%u", what, counted,
		       found, faults);
}

void expect_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what)
{
	compare_samples(fd, ring, faults, BROKEN, what);
}

void must_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what)
{
	compare_samples(fd, ring, faults, UNKNOWN, what);
}

struct redirection must_redirect(const struct perf_event_attr *attr)
{
	struct redirection pair;

	pair.target = must_sampler(attr, 0, -1, 1);
	pair.source = must_open(attr, 0, -1, -1, 0);
	must_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd);
	return pair;
}

struct redirection must_redirect_faults(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);

	must_samples(pair.source, &pair.target.ring, 5, "redirected");
	return pair;
}

void must_get_signals(int fd, int number, pid_t tid)
{
	int error = ask_for_signals(fd, number, tid);

	if (error)
		say_unknown("F_SETOWN_EX, F_SETSIG or O_ASYNC: %s", pm_errno_name(error));
}

void must_wait(struct waiter *waiter, int fd, int time_out_ms)
{
	int error = waiter_start(waiter, fd, time_out_ms);

	if (error)
		say_unknown("no waiting thread: %s", pm_errno_name(error));
}

/* The witness needs no less time to wake than the waiter would, however busy the machine. */
void expect_asleep(struct waiter *waiter, const char *when)
{
	const struct perf_event_attr attr = attr_waking();
	struct waiter witness;
	struct sampler sampler;
	int revents;

	sampler = must_sampler(&attr, 0, -1, 1);
	must_wait(&witness, sampler.fd, 5000);
	cause_enabled_faults(sampler.fd, 1);
	revents = waiter_woke(&witness, 2000);
	if (revents != POLLIN)
		say_unknown("a sample does not wake a witness: revents=%#x", revents);
	revents = waiter_woke(waiter, 2);
	if (revents != -EAGAIN)
		say_broken("%s: woken with revents=%#x", when, revents);
	pm_ring_close(&sampler.ring);
	close(sampler.fd);
}

void expect_hang_up(int revents, const char *when)
{
	if (!revents || revents == -EAGAIN)
		say_no("%s: nothing is reported", when);
	if (!(revents & POLLHUP))
		say_broken("%s: revents=%#x want=%#x", when, revents, POLLHUP);
}

/* Known names, because opening every PMU there is would meet many that are none of our business. */
static int is_trace_unit(const char *name, void *context)
{
	static const char *const names[] = { "intel_pt", "intel_bts", "arm_spe_", "cs_etm",
					     "hisi_ptt", "arm_trbe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i]))) {
			snprintf(context, 64, "%s", name);
			return 1;
		}
	return 0;
}

struct perf_event_attr must_trace(char name[64])
{
	struct perf_event_attr attr;

	require(REQUIRE_PERF);
	if (pm_pmu_each(is_trace_unit, name) != 1)
		say_absent("no PMU with AUX data (intel_pt, intel_bts, arm_spe, cs_etm, hisi_ptt)");
	attr = attr_of(pm_pmu_type(name), 0);
	attr.sample_type = PERF_SAMPLE_TID;
	attr.sample_period = 1;
	attr.sample_id_all = 1;
	return attr;
}

void ask_aux(struct sampler *sampler, size_t pages, int prot)
{
	volatile struct perf_event_mmap_page *page = sampler->ring.base;
	const size_t size = pages * probe_env()->page_size;

	page->aux_offset = sampler->ring.map_size;
	page->aux_size = size;
	if (mmap(NULL, size, prot, MAP_SHARED, sampler->fd, sampler->ring.map_size) != MAP_FAILED)
		return;
	if (errno == EINVAL)
		say_no("EINVAL for the AUX area of a trace unit");
	if (errno == EPERM)
		say_blocked("EPERM: no locked memory left for %zu pages", pages);
	say_unknown("mmap of an AUX area: %s", pm_errno_name(errno));
}
