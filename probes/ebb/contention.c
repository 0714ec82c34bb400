/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: which event gets the counters when one for event-based branches (EBB), which needs all of
 * them, meets an ordinary event of the task or of the CPU? A program that is told nothing waits for
 * ever.
 * Observed: read(2) of the EBB event gives 8 bytes while it is on the counters and none while it is
 * off; the ordinary event's time_running stands still or grows.
 */
#include "probe.h"
#include "ebb.h"

PROBE(TITLE("event-based branches and ordinary events")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(task_event_yields, "an event of the task that is not pinned stops while an EBB event "
			       "has the counters")
      POINT(task_pinned_first, "an EBB event stays off the counters where a pinned event of the "
			       "task was opened before")
      POINT(cpu_event_yields, "an event of the CPU that is not pinned stops while an EBB event has "
			      "the counters")
      NEEDS("root")
      POINT(cpu_pinned_first, "an EBB event stays off the counters where a pinned event of the CPU "
			      "runs already")
      NEEDS("root")
      POINT(cpu_pinned_later, "a pinned event of the CPU enabled later and a running EBB event are "
			      "never both on the counters, and read(2) tells which is")
      NEEDS("root")
      POINT(cpu_event_later, "an event of the CPU that is not pinned does not take the counters "
			     "from an EBB event")
      NEEDS("root")
      POINT(again, "ENABLE brings an EBB event onto the counters once they are free")
      POINT(two_leaders, "of two EBB events in one task exactly one has the counters, whichever is "
			 "enabled first")
      FACT(winner, enum, "-", "of two EBB events of a task, enabled in the order of their opening, "
			      "the one on the counters: first or second opened")
      FACT(winner_reversed, enum, "-", "the same when the one opened second is enabled first")
      FACT(pinned_evicts, bool, "-", "a pinned event of the CPU enabled later takes the counters "
				     "from a running EBB event"))

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

/*
 * Broken when the ordinary one runs while this thread, with ours on the counters, has the CPU. An
 * event of the CPU may also run while other tasks have it.
 */
static void expect_still(int ordinary)
{
	const uint64_t start = now_ns();
	uint64_t used = used_ns(), gained = running(ordinary), gone;

	spin_ns(20000000);
	gained = running(ordinary) - gained;
	used = used_ns() - used;
	gone = now_ns() - start - used;
	if (used < 5000000)
		say_unknown("this thread had the CPU for %" PRIu64 " of 20000000 ns", used);
	if (gained > gone + 1000000)
		say_broken("time_running grew by %" PRIu64 " ns beside ours, while others had the "
			   "CPU for %" PRIu64, gained, gone);
}

/* The ordinary one runs, stands still beside ours, and runs again when ours is closed. */
static void expect_yielding(int ordinary)
{
	int ours = must_lead();
	uint64_t before;

	spin_ns(1000000);
	if (!running(ordinary))
		say_unknown("the ordinary event does not run even alone");
	if (!gets_counters(ours))
		say_broken("an event that is not pinned keeps ours off the counters");
	expect_still(ordinary);
	must_close(ours);
	before = running(ordinary);
	spin_ns(5000000);
	if (running(ordinary) == before)
		say_broken("time_running stands still after ours was closed");
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

/* Whether an event's time_running grows while this thread spins. */
static bool runs(int fd)
{
	const uint64_t before = running(fd);

	spin_ns(5000000);
	return running(fd) > before;
}

TEST(cpu_pinned_later)
{
	int cpu = first_cpu(), ours = must_lead(), pinned;
	bool mine, theirs;
	uint64_t value;

	if (!gets_counters(ours))
		say_unknown("not even alone is it on the counters");
	pinned = open_ordinary(cpu, true);
	spin_ns(5000000);
	mine = read(ours, &value, 8) == 8;
	/* read(2) of a pinned event that could not be scheduled gives nothing. */
	theirs = pm_read_counts(pinned, TIMES, &(struct pm_counts){ 0 }) == 0 && runs(pinned);
	fact_bool("pinned_evicts", !mine);
	if (mine == theirs)
		say_broken("by read(2) %s of them is on the counters", mine ? "each" : "none");
}

TEST(cpu_event_later)
{
	int cpu = first_cpu(), ours = must_lead(), ordinary;
	uint64_t value;

	if (!gets_counters(ours))
		say_unknown("not even alone is it on the counters");
	ordinary = open_ordinary(cpu, false);
	expect_still(ordinary);
	if (read(ours, &value, 8) != 8)
		say_broken("an event of the CPU that is not pinned took the counters away");
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

/* Which of two events has the counters, enabled in that order: "first" or "second" opened. */
static const char *find_winner(bool reversed)
{
	int opened[2] = { must_lead(), must_lead() };
	uint64_t value;
	bool on[2];

	must_ioctl(opened[reversed], PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(opened[!reversed], PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 2; i++)
		on[i] = read(opened[i], &value, 8) == 8;
	for (int i = 0; i < 2; i++)
		must_close(opened[i]);
	if (on[0] == on[1])
		say_broken("read(2) gives a value of %s of them", on[0] ? "both" : "none");
	return on[0] ? "first" : "second";
}

TEST(two_leaders)
{
	fact_str("winner", "%s", find_winner(false));
	fact_str("winner_reversed", "%s", find_winner(true));
}

PROBE_MAIN
