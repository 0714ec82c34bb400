/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to a task's events bound to a CPU when that CPU goes offline and comes back? A
 * per-CPU design opens one for each thread and CPU and does not look again.
 * Observed: the test pins itself to the CPU that will toggle, and causes page faults before, during
 * (elsewhere) and after. The CPU is put back whatever happens.
 */
#include "probe.h"
#include "hotplug.h"

PROBE(TITLE("a task's events and a CPU that comes and goes")
      SINCE("2.6.31")
      DISTURBS("CPU hotplug")
      NEEDS("cpu2")
      NEEDS("hotplug")
      POINT(resumes, "an event on this task and that CPU counts before, not during, and after")
      POINT(any_cpu, "an event on this task and any CPU counts before, during and after")
      POINT(ring_survives, "the ring of such an event keeps its samples, and those of after follow")
      POINT(other_cpu_unaffected, "an event of the task on another CPU counts all the time"))

/* Count ten faults before on the CPU, during on the first one, and after on the CPU again. */
static void toggle(int fd, uint64_t counts[3])
{
	counts[0] = count_ten(fd, target_nth);
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(false);
	counts[1] = count_ten(fd, 0);
	must_switch(true);
	counts[2] = count_ten(fd, target_nth);
}

static void expect(const uint64_t *got, uint64_t during)
{
	if (got[0] != 10 || got[1] != during || got[2] != 10)
		say_broken("before=%" PRIu64 " during=%" PRIu64 " after=%" PRIu64
			   " want=10,%" PRIu64 ",10",
			   got[0], got[1], got[2], during);
}

TEST(resumes)
{
	uint64_t counts[3];

	require_hotplug();
	toggle(open_faults(target), counts);
	expect(counts, 0);
}

TEST(any_cpu)
{
	uint64_t counts[3];

	require_hotplug();
	toggle(open_faults(-1), counts);
	expect(counts, 10);
}

TEST(other_cpu_unaffected)
{
	uint64_t counts[3];
	int fd;

	require_hotplug();
	fd = open_faults(move_to_nth_cpu(0));
	counts[0] = count_ten(fd, 0);
	must_switch(false);
	counts[1] = count_ten(fd, 0);
	must_switch(true);
	counts[2] = count_ten(fd, 0);
	expect(counts, 10);
}

TEST(ring_survives)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CPU);
	struct sampler sampler;
	int before, after;

	require_hotplug();
	ASSERT_EQ(target, move_to_nth_cpu(target_nth));
	sampler = must_run_sampler(&attr, 0, target, 4);
	ASSERT_EQ(0, cause_faults(10));
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(false);
	before = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	must_switch(true);
	ASSERT_EQ(target, move_to_nth_cpu(target_nth));
	ASSERT_EQ(0, cause_faults(10));
	after = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (before < 10 || after < 10)
		say_broken("samples read while offline=%d after=%d want=10,10", before, after);
}

PROBE_MAIN
