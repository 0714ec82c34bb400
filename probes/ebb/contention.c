/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: who gets the counters, when an event of event-based branches, which wants them all, meets
 * an ordinary event of the task or of the CPU? A program that is told nothing waits for ever.
 * Observed: read(2) of the former, which gives 8 bytes on the counters and none off them; the
 * latter's time_running.
 */
#include "probe.h"
#include "ebb.h"

PROBE(TITLE("event-based branches and ordinary events")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(task_event_yields, "an ordinary event of the task stops while it has the counters")
      POINT(task_pinned_first, "it stays off where a pinned event of the task is enabled first")
      POINT(cpu_event_yields, "an ordinary event of the CPU stops while it has the counters")
      NEEDS("root")
      POINT(cpu_pinned_first, "it stays off where a pinned event of the CPU is enabled first")
      NEEDS("root")
      POINT(cpu_event_later, "an ordinary event of the CPU enabled later does not take them away")
      NEEDS("root")
      POINT(again, "off the counters, ENABLE brings it there once they are free")
      POINT(two_leaders, "of two in one task exactly one has the counters")
      FACT(winner, enum, "-", "of two in one task: first or second to be opened"))

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* An ordinary event on counter 1, running: of this task, or (cpu >= 0) of that CPU. */
static int open_ordinary(int cpu, bool pinned)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_1);

	attr.disabled = 0;
	attr.pinned = pinned;
	attr.read_format = TIMES;
	return must_open(&attr, cpu < 0 ? 0 : -1, cpu, -1, 0);
}

/* Enabled, is it on the counters? */
static bool gets_counters(int fd)
{
	uint64_t value;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return read(fd, &value, 8) == 8;
}

static uint64_t running(int fd)
{
	return must_counts(fd, TIMES).time_running;
}

/* The ordinary one runs, stands still beside ours, and runs again when ours is closed. */
static void expect_yielding(int ordinary)
{
	int ours = must_lead();
	uint64_t before, during, after;

	spin_ns(1000000);
	if (!running(ordinary))
		say_unknown("the ordinary event does not run even alone");
	if (!gets_counters(ours))
		say_broken("an event that is not pinned keeps ours off the counters");
	before = running(ordinary);
	spin_ns(5000000);
	during = running(ordinary);
	must_close(ours);
	spin_ns(5000000);
	after = running(ordinary);
	if (during != before || after <= during)
		say_broken("time_running before=%" PRIu64 " during=%" PRIu64 " after=%" PRIu64,
			   before, during, after);
}

static int first_cpu(void)
{
	int cpu;

	require_ebb();
	require(REQUIRE_PERFMON);
	cpu = move_to_nth_cpu(0);
	ASSERT_LE(0, cpu);
	return cpu;
}

TEST(task_event_yields)
{
	require_ebb();
	expect_yielding(open_ordinary(-1, false));
}

TEST(cpu_event_yields)
{
	expect_yielding(open_ordinary(first_cpu(), false));
}

static void expect_off(int pinned)
{
	spin_ns(1000000);
	if (!running(pinned))
		say_unknown("the pinned event does not run even alone");
	if (gets_counters(must_lead()))
		say_broken("both are on the counters, by what read(2) says");
}

TEST(task_pinned_first)
{
	require_ebb();
	expect_off(open_ordinary(-1, true));
}

TEST(cpu_pinned_first)
{
	expect_off(open_ordinary(first_cpu(), true));
}

TEST(cpu_event_later)
{
	int cpu = first_cpu(), ours = must_lead(), ordinary;
	uint64_t value;

	if (!gets_counters(ours))
		say_unknown("not even alone is it on the counters");
	ordinary = open_ordinary(cpu, false);
	spin_ns(5000000);
	if (read(ours, &value, 8) != 8)
		say_broken("an event of the CPU that is not pinned took the counters away");
	if (running(ordinary))
		say_broken("time_running=%" PRIu64 " of an event that cannot be on a counter",
			   running(ordinary));
}

TEST(again)
{
	int pinned, ours;

	require_ebb();
	pinned = open_ordinary(-1, true);
	ours = must_lead();
	if (gets_counters(ours))
		say_unknown("the pinned event did not keep it off");
	must_close(pinned);
	if (!gets_counters(ours))
		say_broken("the counters are free, and ENABLE does not bring it there");
}

TEST(two_leaders)
{
	int first = must_lead(), second = must_lead();
	uint64_t value;
	bool one, two;

	must_ioctl(first, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(second, PERF_EVENT_IOC_ENABLE, 0);
	one = read(first, &value, 8) == 8;
	two = read(second, &value, 8) == 8;
	if (one == two)
		say_broken("read(2) gives a value of %s of them", one ? "both" : "none");
	fact_str("winner", "%s", one ? "first" : "second");
}

PROBE_MAIN
