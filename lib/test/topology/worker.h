/* SPDX-License-Identifier: MIT */
/*
 * A worker that touches a known number of fresh pages on each of two CPUs, and is sent from one to
 * the other. It waits while somebody reads what it did.
 */
#ifndef WORKER_H
#define WORKER_H

#include "machine.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef PM_HAVE_PAPI
#include <papi.h>
#include "papi_software.h"
#endif

static int cpus[2];		/* that this process may use */

struct worker {
	pthread_t thread;
	sem_t go, done;
	pid_t tid;
	int rounds, touched;	/* migrations; pages after each, twice as many on the second CPU */
	uint64_t pages[2];	/* by now, on each CPU */
	bool with_papi;
	int events;		/* PAPI counts them in this thread; PAPI_NULL: it does not */
	long long papi;		/* as it says at the end of the work, since its beginning */
	char *area;
	size_t page, used;
	bool end;
};

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		abort();
}

/* The shadow of AddressSanitizer would cause page faults of its own. */
__attribute__((no_sanitize("address"))) static void work_once(struct worker *worker)
{
	for (int i = 0; i < worker->rounds; i++) {
		int which = i % 2, pages = worker->touched << which;

		go_to(cpus[which]);
		for (int n = 0; n < pages; n++)
			((volatile char *)worker->area)[worker->used++ * worker->page] = 1;
		worker->pages[which] += (uint64_t)pages;
	}
}

#ifdef PM_HAVE_PAPI
/* PAPI attaches to other threads only where there is a PMU of the CPU. */
static int papi_open(void)
{
	int events = PAPI_NULL;

	if (PAPI_create_eventset(&events) != PAPI_OK)
		return PAPI_NULL;
	if (PAPI_add_named_event(events, "perf::PAGE-FAULTS") == PAPI_OK &&
	    PAPI_start(events) == PAPI_OK)
		return events;
	PAPI_destroy_eventset(&events);
	return PAPI_NULL;
}

static void papi_close(int events)
{
	long long unused;

	PAPI_stop(events, &unused);
	PAPI_cleanup_eventset(events);
	PAPI_destroy_eventset(&events);
}

static long long papi_read(const struct worker *worker)
{
	long long value = -1;

	if (worker->events == PAPI_NULL || PAPI_read(worker->events, &value) != PAPI_OK)
		return -1;
	return value;
}
#else
#define PAPI_NULL (-1)
static int papi_open(void) { return PAPI_NULL; }
static void papi_close(int events) { (void)events; }
static long long papi_read(const struct worker *worker) { (void)worker; return -1; }
#endif

static void *work(void *argument)
{
	struct worker *worker = argument;
	long long before;

	worker->tid = (pid_t)gettid();
	worker->events = worker->with_papi ? papi_open() : PAPI_NULL;
	for (;;) {
		sem_post(&worker->done);
		sem_wait(&worker->go);
		if (worker->end)
			break;
		before = papi_read(worker);
		work_once(worker);
		worker->papi = papi_read(worker) - before;
	}
	if (worker->events != PAPI_NULL)
		papi_close(worker->events);
	return NULL;
}

/* Lets it work, and waits until it is done. */
static void let_work(struct worker *worker, int rounds, int touched)
{
	worker->rounds = rounds;
	worker->touched = touched;
	sem_post(&worker->go);
	sem_wait(&worker->done);
}

static void worker_start_with(struct worker *worker, size_t pages, bool papi)
{
	memset(worker, 0, sizeof(*worker));
	worker->with_papi = papi;
	worker->page = (size_t)sysconf(_SC_PAGESIZE);
	worker->area = mmap(NULL, pages * worker->page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(worker->area != MAP_FAILED);
	madvise(worker->area, pages * worker->page, MADV_NOHUGEPAGE);
	sem_init(&worker->go, 0, 0);
	sem_init(&worker->done, 0, 0);
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
	sem_wait(&worker->done);
	let_work(worker, 4, 1);		/* its own stack and code are in memory by now */
	worker->pages[0] = worker->pages[1] = 0;
}

static void worker_start(struct worker *worker, size_t pages)
{
	worker_start_with(worker, pages, false);
}

static void worker_end(struct worker *worker)
{
	worker->end = true;
	sem_post(&worker->go);
	pthread_join(worker->thread, NULL);
	sem_destroy(&worker->go);
	sem_destroy(&worker->done);
}

#endif
