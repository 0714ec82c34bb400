/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is side-band (MMAP, COMM) of a process or of a thread? An event attached to one thread could see
 * what any thread of the address space does; it sees what its own thread does.
 * Observed: threads map a page and take a name; the ring of each event is searched for the page's
 * address and the name.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("side-band is per thread")
      SINCE("2.6.36")
      POINT(other_thread, "an event on one thread has no record of what another thread does")
      POINT(watched_thread, "an event opened on another thread has what that thread does")
      POINT(new_thread_inherited, "with inherit per CPU, a thread made later is in the ring")
      POINT(old_thread_not_inherited, "with inherit, a thread older than the event is not"))

enum { NOTHING, MAPPING, NAME, BOTH };

static int map_and_name(void *ret_area)
{
	*(void **)ret_area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return prctl(PR_SET_NAME, "deed");
}

/* A running event on a thread (0: this one), or on this one and its heirs on this CPU. */
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

/* Let a worker (NULL: this thread) map and take a name; what of it is in the ring. */
static int seen_of(struct worker *worker, struct sampler *sampler)
{
	struct pm_record record;
	void *area = NULL;
	int found = NOTHING;

	ASSERT_EQ(0, worker ? worker_do(worker, map_and_name, &area) : map_and_name(&area));
	while (find_record(sampler, 0, &record)) {
		if (record.type == PERF_RECORD_MMAP && record.mmap.addr == (uintptr_t)area)
			found |= MAPPING;
		if (record.type == PERF_RECORD_COMM && !strcmp(record.comm.comm, "deed"))
			found |= NAME;
	}
	return found;
}

static void hold(int found, int want, const char *whose)
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
	hold(seen_of(&other, &sampler), NOTHING, "another thread");
	hold(seen_of(NULL, &sampler), BOTH, "this thread");
}

TEST(watched_thread)
{
	struct worker other;
	struct sampler sampler;

	must_start_worker(&other, WORKER_THREAD);
	sampler = watch_names(other.tid, false);
	hold(seen_of(&other, &sampler), BOTH, "the watched thread");
}

TEST(new_thread_inherited)
{
	struct sampler sampler = watch_names(0, true);
	struct worker new;

	must_start_worker(&new, WORKER_THREAD);
	hold(seen_of(&new, &sampler), BOTH, "a new thread");
}

TEST(old_thread_not_inherited)
{
	struct worker old, new;
	struct sampler sampler;

	ASSERT_LE(0, move_to_nth_cpu(0));
	must_start_worker(&old, WORKER_THREAD);
	sampler = watch_names(0, true);
	hold(seen_of(&old, &sampler), NOTHING, "a thread older than the event");
	must_start_worker(&new, WORKER_THREAD);
	hold(seen_of(&new, &sampler), BOTH, "a new thread");
}

PROBE_MAIN
