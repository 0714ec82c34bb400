/* SPDX-License-Identifier: MIT */
/* Events that are made to show that they deliver, and threads that show it when they run. */
#define _GNU_SOURCE
#include "prove.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/proof/canary_thread.h"
#include "../../policy/spec/now.h"
#include "rings.h"

#define WORK_NS 100000		/* in which an event's time goes on by any clock but ticks */
#define PATIENCE_NS 50000000	/* longer than ticks */
#define TRIES 8			/* of a name, while the thread moves to another CPU */
#define RAN_NS 20000000		/* schedstat may be late by a tick at both ends */
#define NOTED_MAX 1024		/* threads; each is a file that is read */

/* ------------------------------------------------------------------------- before the beginning */

/* Takes its own name again, which is a record. The CPU; -1: not known, or it may not. */
static int rename_self(void)
{
	for (int i = 0; i < TRIES; i++) {
		const int cpu = sched_getcpu();

		if (!pm_canary_rename())
			return -1;
		if (cpu == sched_getcpu())
			return cpu;
	}
	return -1;
}

/* One for each ring, writing there. Returns how many there are: all, or an event is refused. */
static size_t open_own(const struct pm_sampler *sampler, int *fds)
{
	struct perf_event_attr attr;

	pm_watch_no_side(sampler, &attr);
	attr.comm = 1;
	attr.disabled = 1;
	for (size_t i = 0; i < sampler->rings.count; i++) {
		fds[i] = pm_open(&attr, 0, sampler->rings.list[i].cpu, -1, 0);
		if (fds[i] < 0)
			return i;
		if (pm_ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT,
			     (unsigned long)sampler->rings.list[i].fd) < 0 ||
		    pm_ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0) {
			close(fds[i]);
			return i;
		}
	}
	return sampler->rings.count;
}

static uint64_t enabled_of(int fd, uint64_t read_format)
{
	struct pm_counts counts;
	int err = pm_read_counts(fd, read_format, &counts);

	/* What cannot be read stands for nothing. */
	return err < 0 ? 1 : counts.time_enabled;
}

/* A thread's event on one CPU is enabled while the thread runs anywhere: the first one tells. */
static bool goes_on(const struct pm_sampler *sampler, int fd)
{
	const uint64_t format = pm_watch_side(sampler)->attr.read_format;
	const uint64_t begin = pm_now_by(CLOCK_THREAD_CPUTIME_ID);
	uint64_t used = 0;

	/* Without such a clock nothing can be told. */
	while (begin != 0 && used < PATIENCE_NS) {
		if (used >= WORK_NS && enabled_of(fd, format) > 0)
			return true;
		used = pm_now_by(CLOCK_THREAD_CPUTIME_ID) - begin;
	}
	return begin == 0;
}

/* Nothing else writes there yet. */
static void empty_rings(struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->rings.count; i++) {
		struct session_ring *ring = &sampler->rings.list[i];

		(void)pm_ring_skip_all(&ring->ring);
		pm_ring_release(&ring->ring);
		ring->released = ring->ring.tail;
	}
}

static int judge_own(struct pm_sampler *sampler, const int *fds, struct pm_diag *diag)
{
	const int cpu = rename_self();

	if (!goes_on(sampler, fds[0]))
		return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "sampler: all opened, but an event "
				   "of this very thread stands still while it runs");
	for (size_t i = 0; cpu >= 0 && i < sampler->rings.count; i++) {
		const struct session_ring *ring = &sampler->rings.list[i];

		if (ring->cpu == cpu && pm_ring_pending(&ring->ring) == 0)
			return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "sampler: all opened, but "
					   "a deliberate event on cpu %d gave no record", cpu);
	}
	return 0;
}

int pm_watch_prove_opened(struct pm_sampler *sampler, struct pm_diag *diag)
{
	int *fds = malloc((sampler->rings.count + 1) * sizeof(*fds)), err = 0;
	size_t count;

	if (fds == NULL)
		return -ENOMEM;
	count = open_own(sampler, fds);
	if (count > 0 && count == sampler->rings.count)
		err = judge_own(sampler, fds, diag);
	while (count > 0)
		close(fds[--count]);
	free(fds);
	empty_rings(sampler);
	return err;
}

/* ------------------------------------------------------------------------------- at the start */

static bool is_online(const struct pm_sampler *sampler, int cpu)
{
	struct pm_cpus online;
	bool found;

	if (pm_cpus_list(sampler->plan->cpus, NULL, &online) < 0)
		return false;
	found = pm_cpus_hold(&online, cpu);
	free(online.list);
	return found;
}

static int prove_cpus(const struct pm_sampler *sampler, struct pm_diag *diag)
{
	for (size_t i = 0; i < sampler->open.count; i++)
		if (pm_standstill_event(&sampler->open, &sampler->open.list[i]) &&
		    is_online(sampler, sampler->open.list[i].cpu))
			return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "sampler: all opened, but "
					   "the events on cpu %d stand still",
					   sampler->open.list[i].cpu);
	return 0;
}

/* ns of CPU time of a thread of anybody. False: it has ended, or this kernel does not tell. */
static bool used_by(uint32_t tid, uint64_t *ret)
{
	char path[40], text[80];

	snprintf(path, sizeof(path), "/proc/%u/schedstat", tid);
	if (pm_proc_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

static int note_threads(struct pm_sampler *sampler)
{
	struct watch_proof *proof = &sampler->proof;
	uint32_t last = 0;

	proof->threads = malloc(NOTED_MAX * sizeof(*proof->threads));
	if (proof->threads == NULL)
		return -ENOMEM;
	/* All events of a thread were opened one after the other. */
	for (size_t i = 0; i < sampler->open.count; i++) {
		const uint32_t tid = (uint32_t)sampler->open.list[i].tid;

		if (tid == last)
			continue;
		last = tid;
		if (proof->count == NOTED_MAX)
			proof->others++;
		else if (used_by(tid, &proof->threads[proof->count].used))
			proof->threads[proof->count++].tid = tid;
	}
	return 0;
}

int pm_watch_prove_started(struct pm_sampler *sampler, struct pm_diag *diag)
{
	/* A cgroup's events stand still while no task of it runs. */
	if (sampler->way == WAY_CPUS)
		return prove_cpus(sampler, diag);
	return sampler->way == WAY_THREADS ? note_threads(sampler) : 0;
}

/* ------------------------------------------------------------------------------------- later */

/* Whether some event of the thread has not been enabled on any CPU. */
static bool is_silent(const struct pm_sampler *sampler, uint32_t tid)
{
	uint64_t there = 0, enabled = 0;

	for (size_t i = 0; i < sampler->open.count; i++) {
		const struct session_event *opened = &sampler->open.list[i];
		const uint64_t format = sampler->open.read_format[opened->spec];

		if (opened->tid != (pid_t)tid)
			continue;
		there |= UINT64_C(1) << opened->spec;
		if (enabled_of(opened->fd, format) > 0)
			enabled |= UINT64_C(1) << opened->spec;
	}
	return there & ~enabled;
}

void pm_watch_prove_threads(struct pm_sampler *sampler)
{
	struct watch_proof *proof = &sampler->proof;
	size_t kept = 0;

	for (size_t i = 0; i < proof->count; i++) {
		const struct proof_of *thread = &proof->threads[i];
		uint64_t used;

		if (!used_by(thread->tid, &used) || used < thread->used)
			continue;
		if (used - thread->used < RAN_NS)
			proof->threads[kept++] = *thread;
		else
			sampler->stats.silent_threads += is_silent(sampler, thread->tid);
	}
	proof->count = kept;
}
