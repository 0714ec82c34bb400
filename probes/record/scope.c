/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event report the side-band (MMAP, COMM) of its thread or of the process? It could report
 * what any thread of the address space does; it reports what its own thread does.
 * Observed: threads map a page and take a name; the ring of each event is searched for the page's
 * address and the name.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("side-band is per thread")
      SINCE("2.6.36")
      POINT(other_thread, "an event on one thread gets no MMAP and COMM of another thread")
      POINT(watched_thread, "an event opened on another thread gets that thread's MMAP and COMM")
      POINT(new_thread_inherited,
	    "with inherit per CPU, an event gets MMAP and COMM of a thread made later")
      POINT(old_thread_not_inherited,
	    "with inherit, an event gets no MMAP and COMM of a thread older than it"))

enum { NOTHING, MAPPING, NAME, BOTH };

static int map_and_name(void *ret_area)
{
	*(void **)ret_area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return prctl(PR_SET_NAME, "worker");
}

/* A running event on a thread (0: this one), or on this one and its new threads on this CPU. */
static struct sampler watch_names(pid_t tid, bool inherit)
{
	struct perf_event_attr attr = attr_sideband();
	int cpu = move_to_nth_cpu(0);

	ASSERT_LE(0, cpu);
	attr.comm = 1;
	attr.mmap_data = 1;
	attr.inherit = inherit;
	return must_run_sampler(&attr, tid, inherit ? cpu : -1, 4);
}

/* Let a worker (NULL: this thread) map memory and take a name; what the ring has of it. */
static int seen_of(struct worker *worker, struct sampler *sampler)
{
	struct pm_record record;
	void *area = NULL;
	int found = NOTHING;

	ASSERT_EQ(0, worker ? worker_do(worker, map_and_name, &area) : map_and_name(&area));
	while (find_record(sampler, 0, &record)) {
		if (record.type == PERF_RECORD_MMAP && record.mmap.addr == (uintptr_t)area)
			found |= MAPPING;
		if (record.type == PERF_RECORD_COMM && !strcmp(record.comm.comm, "worker"))
			found |= NAME;
	}
	return found;
}

static void expect_found(int found, int want, const char *whose)
{
	if (found != want)
		say_broken("%s: mapping=%d name=%d want=%d,%d", whose, !!(found & MAPPING),
			   !!(found & NAME), !!(want & MAPPING), !!(want & NAME));
}

TEST(other_thread)
{
	struct worker other;
	struct sampler sampler;

	must_start_worker(&other, WORKER_THREAD);
	sampler = watch_names(0, false);
	expect_found(seen_of(&other, &sampler), NOTHING, "another thread");
	expect_found(seen_of(NULL, &sampler), BOTH, "this thread");
}

TEST(watched_thread)
{
	struct worker other;
	struct sampler sampler;

	must_start_worker(&other, WORKER_THREAD);
	sampler = watch_names(other.tid, false);
	expect_found(seen_of(&other, &sampler), BOTH, "the watched thread");
}

TEST(new_thread_inherited)
{
	struct sampler sampler = watch_names(0, true);
	struct worker new;

	must_start_worker(&new, WORKER_THREAD);
	expect_found(seen_of(&new, &sampler), BOTH, "a new thread");
}

TEST(old_thread_not_inherited)
{
	struct worker old, new;
	struct sampler sampler;

	ASSERT_LE(0, move_to_nth_cpu(0));
	must_start_worker(&old, WORKER_THREAD);
	sampler = watch_names(0, true);
	expect_found(seen_of(&old, &sampler), NOTHING, "a thread older than the event");
	must_start_worker(&new, WORKER_THREAD);
	expect_found(seen_of(&new, &sampler), BOTH, "a new thread");
}

PROBE_MAIN
