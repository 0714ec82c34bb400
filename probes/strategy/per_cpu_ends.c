/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may the per-CPU strategy close, and what must it poll? It redirects each inheriting event to
 * the ring of its CPU's leader; a library wants to keep few descriptors, and to end an event by
 * closing it. A mapping keeps an event alive; an event that is redirected has none.
 * Observed: on each CPU in turn, samples of a new thread in the leader's ring before and after the
 * close; poll of the leader before and after a sample of the source.
 */
#include "probe.h"

PROBE(TITLE("descriptors of the per-CPU strategy")
      SINCE("2.6.35")
      POINT(poll_leaders, "polling the leader wakes for a sample of an event redirected to it")
      POINT(close_leaders,
	    "samples go on arriving after the leader is closed while its ring is mapped")
      POINT(close_sources, "an event redirected to the leader stops delivering when it is closed"))

#define FAULTS 20

/* An inheriting event of this task on one CPU, forwarded to the ring of another one. */
struct pair {
	struct sampler leader;
	int source;
};

static struct pair open_pair(unsigned int nth_cpu)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int cpu = move_to_nth_cpu(nth_cpu);
	struct pair pair;

	ASSERT_LE(0, cpu);
	attr.inherit = 1;
	attr.wakeup_events = 1;
	pair.leader = must_sampler(&attr, 0, cpu, 8);
	pair.source = must_open(&attr, 0, cpu, -1, 0);
	must_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, pair.leader.fd);
	must_ioctl(pair.source, PERF_EVENT_IOC_ENABLE, 0);
	return pair;
}

TEST(poll_leaders)
{
	struct pair pair = open_pair(0);
	struct worker worker;
	int before, after;

	must_start_worker(&worker, WORKER_THREAD);
	while (count_samples(&pair.leader, worker.tid) ||
	       poll_once(pair.leader.fd, POLLIN, 0) > 0)
		;
	before = poll_once(pair.leader.fd, POLLIN, 0);
	ASSERT_EQ(0, worker_faults(&worker, FAULTS));
	after = poll_once(pair.leader.fd, POLLIN, 1000);
	if (before || !(after & POLLIN))
		say_broken("poll before=%#x after=%#x want=0,POLLIN", before, after);
}

/* Samples of a thread made after the close of one of the two, on each CPU in turn. */
static void close_and_count(bool leader, int want)
{
	const int cpus = count_cpus() < 16 ? count_cpus() : 16;

	for (int i = 0; i < cpus; i++) {
		struct pair pair = open_pair(i);
		struct worker worker;
		int seen = samples_of_faults(&pair.leader, NULL, FAULTS);

		if (seen != FAULTS)
			say_broken("CPU %d of %d: samples=%d want=%d with both open", i, cpus, seen,
				   FAULTS);
		must_close(leader ? pair.leader.fd : pair.source);
		must_start_worker(&worker, WORKER_THREAD);
		seen = samples_of_faults(&pair.leader, &worker, FAULTS);
		ASSERT_EQ(0, worker_stop(&worker));
		if (seen != want)
			say_broken("CPU %d of %d: samples=%d want=%d after the close", i, cpus,
				   seen, want);
	}
}

TEST(close_leaders)
{
	close_and_count(true, FAULTS);
}

TEST(close_sources)
{
	close_and_count(false, 0);
}

PROBE_MAIN
