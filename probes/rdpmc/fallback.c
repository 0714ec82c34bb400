/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a counter cannot be read from user space, does the user page say so by index 0? Reading a
 * counter that belongs to somebody else would give a number without meaning.
 * Observed: the index in the page of disabled and elsewhere attached hardware events.
 */
#include "probe.h"
#include "core_pmu.h"
#include "waiter.h"

PROBE(TITLE("when user space must not read a counter")
      SINCE("3.4")
      NEEDS("pmu")
      POINT(disabled, "index of a hardware event is 0 while it is disabled")
      NEEDS("pmu")
      POINT(other_process, "index of a hardware event on another task is 0 in our page")
      NEEDS("pmu")
      POINT(other_cpu, "index of a hardware event bound to another CPU is 0 here")
      NEEDS("pmu")
      NEEDS("cpu2"))

static uint32_t index_of(const struct sampler *sampler)
{
	return ((const volatile struct perf_event_mmap_page *)sampler->ring.base)->index;
}

static struct perf_event_attr attr_cycles(void)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);

#ifdef __aarch64__
	attr.config1 = 2;	/* to be read from user space; without it there is no index */
#endif
	return attr;
}

static struct sampler watch_cycles(pid_t pid, int cpu)
{
	struct perf_event_attr attr = attr_cycles();

	return must_sampler(&attr, pid, cpu, 0);
}

TEST(disabled)
{
	struct sampler sampler;

	must_have_counters();
	sampler = watch_cycles(0, -1);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(1000000);
	if (!must_count(sampler.fd))
		say_unknown("the hardware event does not count");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (index_of(&sampler))
		say_broken("index=%u of a disabled event", index_of(&sampler));
}

static int sleep_for_ever(void *gate)
{
	gate_wait(gate);
	return 0;
}

TEST(other_process)
{
	struct sampler sampler;
	struct gate gate;
	pid_t child;

	must_have_counters();
	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(sleep_for_ever, &gate);
	sampler = watch_cycles(child, -1);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	/* Until the child sleeps its event may be on a counter: wait for the effect. */
	for (uint64_t end = now_ns() + 200000000; index_of(&sampler) && now_ns() < end;
	     sched_yield())
		;
	if (index_of(&sampler))
		say_broken("index=%u of an event of a sleeping task", index_of(&sampler));
	gate_open(&gate);
	wait_child(child);
}

TEST(other_cpu)
{
	struct sampler sampler;
	int cpu;

	require(REQUIRE_CPU2 | REQUIRE_CPU_PMU);
	cpu = move_to_nth_cpu(1);
	sampler = watch_cycles(0, cpu);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(1000000);
	if (!must_count(sampler.fd))
		say_unknown("the event does not count even on its CPU");
	ASSERT_LE(0, move_to_nth_cpu(0));
	if (index_of(&sampler))
		say_broken("index=%u of an event bound to CPU %d", index_of(&sampler), cpu);
}

PROBE_MAIN
