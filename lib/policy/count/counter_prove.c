/* SPDX-License-Identifier: MIT */
/*
 * That counters count. A page fault is counted once, and getrusage(2) tells without perf how many
 * a thread has had: that bounds a count on both sides. A clock must go on. Nothing else can be
 * caused at no cost.
 */
#define _GNU_SOURCE
#include "counter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 20000000	/* longer than the tick of any kernel */
#define LOOKS 1000000		/* where the clock stands still */
#define TRIES 3			/* what else the thread does may come between once */
#define FAULTS 8
#define SLACK 3			/* half and twice of FAULTS are beyond it */
#define CHILD_FAULTS 32
#define CHILD_SLACK 8
#define WAIT_TURNS 10000	/* of sched_yield(2) */

static bool counts_faults(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && (spec->config == PERF_COUNT_SW_PAGE_FAULTS ||
		spec->config == PERF_COUNT_SW_PAGE_FAULTS_MIN);
}

static bool is_clock(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && spec->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* ---------------------------------------------------------------------------------- page faults */

/* Page faults of the calling thread so far; false: not known. */
static bool faults_of_thread(uint64_t *ret)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) != 0)
		return false;
	*ret = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	return true;
}

/* Reads, which the page of zeros answers. False: there is no memory for it. */
static bool cause_faults(size_t count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const volatile char *area = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return false;
	for (size_t i = 0; i < count; i++)
		(void)area[i * page];
	(void)munmap((void *)(uintptr_t)area, count * page);
	return true;
}

enum answer { RIGHT, WRONG, NOT_KNOWN };

/* Around all that the threads have had: those in the kernel may be left out. */
static enum answer judge(uint64_t counted, uint64_t least, uint64_t most)
{
	return counted >= least && counted <= most ? RIGHT : WRONG;
}

static enum answer try_own(struct pm_counters *counters, size_t index)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	uint64_t begin, end;

	if (!faults_of_thread(&begin) || pm_counters_read_one(counters, index, &before) < 0 ||
	    !cause_faults(FAULTS) || pm_counters_read_one(counters, index, &after) < 0 ||
	    !faults_of_thread(&end))
		return NOT_KNOWN;
	/* Threads that it has made meanwhile may count as well. */
	return judge(after.value - before.value, end - begin - SLACK,
		     counters->inherit ? UINT64_MAX : end - begin + SLACK);
}

/* ------------------------------------------------------------------------------------- children */

struct child {
	pid_t tid;
	uint64_t faults;
	bool known;
};

static void *run_child(void *context)
{
	struct child *child = context;

	child->tid = pm_gettid();
	child->known = cause_faults(CHILD_FAULTS) && faults_of_thread(&child->faults);
	return NULL;
}

/* A joined thread may not have left the kernel; then /proc and PM_ALL_THREADS would find it. */
static bool have_child(struct child *child)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_child, child) != 0)
		return false;
	(void)pthread_join(thread, NULL);
	for (int i = 0; i < WAIT_TURNS && syscall(SYS_tgkill, getpid(), child->tid, 0) == 0; i++)
		(void)sched_yield();
	return child->known;
}

static enum answer try_child(struct pm_counters *counters, size_t index)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct child child = { .known = false };
	uint64_t begin, end, all;

	if (!faults_of_thread(&begin) || pm_counters_read_one(counters, index, &before) < 0 ||
	    !have_child(&child) || pm_counters_read_one(counters, index, &after) < 0 ||
	    !faults_of_thread(&end))
		return NOT_KNOWN;
	all = end - begin + child.faults;
	return judge(after.value - before.value, all - CHILD_SLACK, all + CHILD_SLACK);
}

static enum answer try_often(struct pm_counters *counters, size_t index,
			     enum answer (*try)(struct pm_counters *counters, size_t index))
{
	enum answer answer = WRONG;

	for (int i = 0; i < TRIES && answer == WRONG; i++)
		answer = try(counters, index);
	return answer;
}

int pm_counters_prove_children(struct pm_counters *counters)
{
	const struct pm_counters_stats stats = counters->stats;
	enum answer answer = NOT_KNOWN;

	if (!counters->inherit || !pm_counters_are_own(counters))
		return 0;
	for (size_t i = 0; i < counters->count && answer == NOT_KNOWN; i++) {
		if (!counts_faults(&counters->specs[i]) ||
		    pm_counters_switch(counters, PERF_EVENT_IOC_ENABLE) < 0)
			continue;
		answer = try_often(counters, i, try_child);
		(void)pm_counters_switch(counters, PERF_EVENT_IOC_DISABLE);
		(void)pm_counters_reset(counters);
	}
	counters->stats = stats;
	counters->children_proven = answer == RIGHT;
	return answer == WRONG ? -EIO : 0;
}

/* ---------------------------------------------------------------------------------------- start */

/* A kernel whose clock goes by ticks shows that an event is enabled after one of them. */
static bool is_enabled(const struct counter *leader)
{
	uint64_t begin = 0, now = 0, words[3 + COUNTERS_MAX];
	int looks = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &begin);
	do {
		/* Alone: value, enabled, running. A group: members, enabled, running, values. */
		if (read(leader->fd, words, sizeof(words)) < (ssize_t)(3 * sizeof(*words)) ||
		    words[1] != 0)
			return true;
		(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	} while (++looks < LOOKS && now - begin < TICK_NS);
	return false;
}

static enum answer try_clock(struct pm_counters *counters, size_t index)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;

	if (pm_counters_read_one(counters, index, &before) < 0 || !cause_faults(1) ||
	    pm_counters_read_one(counters, index, &after) < 0)
		return NOT_KNOWN;
	return after.value != before.value ? RIGHT : WRONG;
}

static enum answer try_event(struct pm_counters *counters, size_t index)
{
	if (counts_faults(&counters->specs[index]))
		return try_often(counters, index, try_own);
	if (is_clock(&counters->specs[index]))
		return try_often(counters, index, try_clock);
	return NOT_KNOWN;
}

/* The events of another thread stand still while it does; these must go on. */
int pm_counters_prove(struct pm_counters *counters)
{
	struct pm_counters_stats stats = counters->stats;

	if (!pm_counters_are_own(counters) || counters->owner != pm_counters_thread())
		return 0;
	for (size_t i = 0; i < counters->count; i++) {
		const enum answer answer = try_event(counters, i);

		if (answer == WRONG || (counters->counters[i].leader == i &&
					!is_enabled(&counters->counters[i])))
			return -EIO;
		stats.unproven -= answer == RIGHT &&
			(!counters->inherit || (counts_faults(&counters->specs[i]) &&
						counters->children_proven));
	}
	counters->proven = true;
	/* This was our own work. */
	(void)pm_counters_reset(counters);
	counters->stats = stats;
	return 0;
}
