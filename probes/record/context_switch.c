/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.context_switch report each time a task leaves and gets a CPU? It is the only scheduling
 * record that an unprivileged process may have.
 * Observed: a task gives orders to a child and waits for its answers. The records are compared with
 * the kernel's own count of switches, getrusage(RUSAGE_THREAD), read inside and outside of the
 * enabled span: the true number lies between the two.
 * Linux 45ac1403f564 ("perf: Add PERF_RECORD_SWITCH to indicate context switches") (v4.3)
 */
#include "probe.h"

PROBE(TITLE("context switches in the ring")
      SINCE("4.3")
      COMMIT("45ac1403f564")
      NEEDS("cpu2")
      POINT(out_exact, "there are as many SWITCH_OUT records as getrusage counts switches")
      POINT(alternate, "SWITCH records out and in alternate, beginning with out"))

/* Twenty round trips to a child; how often this task was switched away from, at least and most. */
static struct sampler trip(long *ret_least, long *ret_most)
{
	struct perf_event_attr attr = attr_sideband(), without;
	long outer, inner;
	struct sampler sampler;
	struct worker worker;

	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	without = attr;
	attr.context_switch = 1;
	sampler = ask_sampler(&attr, &without, 0, -1, 8, "context_switch");
	must_start_worker(&worker, WORKER_CHILD);
	outer = count_switches();
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	inner = count_switches();
	for (int i = 0; i < 20; i++)
		ASSERT_EQ(0, worker_faults(&worker, 1));
	*ret_least = count_switches() - inner;
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	*ret_most = count_switches() - outer;
	worker_stop(&worker);
	if (!*ret_most)
		say_unknown("20 round trips without a single switch");
	return sampler;
}

TEST(out_exact)
{
	long least, most, out = 0;
	struct sampler sampler = trip(&least, &most);
	struct pm_record record;

	while (find_record(&sampler, PERF_RECORD_SWITCH, &record))
		out += !!(record.misc & PERF_RECORD_MISC_SWITCH_OUT);
	if (out < least || out > most)
		say_broken("records out=%ld, switches=%ld..%ld", out, least, most);
}

TEST(alternate)
{
	long least, most;
	struct sampler sampler = trip(&least, &most);
	struct pm_record record;
	int seen = 0;

	for (; find_record(&sampler, PERF_RECORD_SWITCH, &record); seen++) {
		const int in = !(record.misc & PERF_RECORD_MISC_SWITCH_OUT);

		if (in != seen % 2)
			say_broken("record %d: misc=%#x", seen, record.misc);
		if (record.sid.tid != (uint32_t)pm_gettid())
			say_broken("record %d: tid=%u want=%d", seen, record.sid.tid, pm_gettid());
	}
	if (seen < 2 || seen % 2)
		say_broken("records=%d, want an even number", seen);
}

PROBE_MAIN
