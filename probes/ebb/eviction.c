/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: what does a program see whose running event for event-based branches (EBB) is taken off
 * the counters by a pinned event, and what does the ordinary event see that finds an EBB event
 * there? Neither gets an error: a program that does not look waits for ever.
 * Observed: branches are counted before, meanwhile and after; read(2) tells who has the counters.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"

PROBE(TITLE("event-based branches that lose the counters")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(told, "read(2) of an EBB event that a pinned event of the task has driven off gives "
		  "nothing")
      POINT(stops, "meanwhile it takes no branch, and writing its counter is SIGILL")
      POINT(comes_back, "once that event is closed, ENABLE brings back the counters and branches")
      POINT(by_cpu, "the same where a pinned event of the CPU drives it off")
      NEEDS("root")
      POINT(ordinary_is_told, "an ordinary event beside an EBB event opens, and its time_running "
			      "is 0")
      POINT(pinned_is_told, "a pinned event enabled beside an EBB event that was opened before it"
			    " is in error: read(2) gives nothing")
      FACT(opened_first_evicts, bool, "-", "a pinned event of the task that was opened before the"
					   " EBB event and is enabled after it takes the counters")
      FACT(opened_last_evicts, bool, "-", "so does one that was opened after the EBB event"))

static int open_pinned(int cpu)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_1);

	attr.pinned = 1;
	return must_open(&attr, cpu < 0 ? 0 : -1, cpu, -1, 0);
}

static bool on_counters(int fd)
{
	uint64_t value;

	return read(fd, &value, 8) == 8;
}

/* Enable an event, and let the scheduler look at all of them again. */
static void enable(int fd)
{
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	cause_switches(1);
}

struct pair {
	int ours, theirs;
};

/* Ours takes branches, and is driven off by a pinned event, which was opened first. */
static struct pair must_be_driven_off(int cpu)
{
	struct pair pair;
	unsigned long taken;

	require_ebb();
	pair.theirs = open_pinned(cpu);
	pair.ours = must_schedule();
	arm(PERIOD);
	taken = take_branches(3);
	expect_branches(taken, 3);
	enable(pair.theirs);
	if (on_counters(pair.ours) && !on_counters(pair.theirs))
		say_absent("the pinned event does not drive off ours: it is in error itself");
	return pair;
}

/* The two tests of what ours can do then; each ends as broken when it is wrong. */
static void expect_stopped(void)
{
	const unsigned long before = branches_taken();

	spin_ns(20000000);
	spr_write(SPR_PMC1, OVERFLOWN - PERIOD);
	if (branches_taken() != before)
		say_broken("branches=%lu, then %lu", before, branches_taken());
	if (!traps_taken())
		say_broken("PMC1 can be written while another event has it");
}

static void expect_back(struct pair pair)
{
	unsigned long taken;

	must_close(pair.theirs);
	enable(pair.ours);
	if (!on_counters(pair.ours))
		say_broken("the counters are free, and ENABLE does not bring ours there");
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	expect_branches(taken, 10);
}

TEST(told)
{
	struct pair pair = must_be_driven_off(-1);

	if (on_counters(pair.ours))
		say_broken("by read(2) each of them is on the counters");
}

TEST(stops)
{
	must_be_driven_off(-1);
	expect_stopped();
}

TEST(comes_back)
{
	expect_back(must_be_driven_off(-1));
}

TEST(by_cpu)
{
	struct pair pair;
	int cpu;

	require_ebb();
	require(REQUIRE_PERFMON);
	cpu = move_to_nth_cpu(0);
	ASSERT_LE(0, cpu);
	pair = must_be_driven_off(cpu);
	if (on_counters(pair.ours))
		say_broken("by read(2) each of them is on the counters");
	expect_stopped();
	expect_back(pair);
}

TEST(ordinary_is_told)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_2);
	struct pm_counts counts;
	int ordinary;

	must_schedule();
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	ordinary = must_open(&attr, 0, -1, -1, 0);
	enable(ordinary);
	spin_ns(5000000);
	counts = must_counts(ordinary, attr.read_format);
	if (!counts.time_enabled || counts.time_running || counts.member[0].value)
		say_broken("time_enabled=%" PRIu64 " time_running=%" PRIu64 " value=%" PRIu64,
			   counts.time_enabled, counts.time_running, counts.member[0].value);
}

/* Of ours and a pinned event of the task, enabled in this order: does the later one evict? */
static bool evicts(bool opened_first)
{
	int early = opened_first ? open_pinned(-1) : -1, ours = must_schedule();
	int theirs = opened_first ? early : open_pinned(-1);
	bool mine, others;

	enable(theirs);
	mine = on_counters(ours);
	others = on_counters(theirs);
	must_close(ours);
	must_close(theirs);
	if (mine == others)
		say_broken("by read(2) %s of them is on the counters", mine ? "each" : "none");
	return others;
}

TEST(pinned_is_told)
{
	require_ebb();
	fact_bool("opened_first_evicts", evicts(true));
	fact_bool("opened_last_evicts", evicts(false));
}

PROBE_MAIN
