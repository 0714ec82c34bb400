/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does inherit_stat write each child's own count into the ring as it ends (PERF_RECORD_READ)?
 * It is the only way to know how much each inherited task contributed.
 * Observed: children cause page faults and end, while their parent sleeps and while it spins: on
 * some kernels it depends on that whether the record is written. The child's EXIT in the same ring
 * shows that the record could have come.
 */
#include "probe.h"
#include "breakpoint.h"
#include <sys/wait.h>

PROBE(TITLE("counts of ended children in the ring")
      SINCE("2.6.31")
      POINT(sum, "with inherit_stat the sum that read(2) gives has an ended child's count in it")
      POINT(needs_its_bit, "inherit without inherit_stat gives no READ")
      POINT(none_too_many, "no child leaves two READs, and each has its pid, its count and the id")
      POINT(exact, "a child's READ carries exactly the 7 watched writes that the child did")
      POINT(written_each, "each child leaves a READ, whether its parent sleeps or spins"))

#define CHILDREN 10
#define MANY_CHILDREN 40

struct ended {
	struct sampler sampler;
	pid_t pid;
	uint64_t sum;		/* what read(2) gained by the child */
};

static int fault_a_hundred(void *unused)
{
	(void)unused;
	return cause_faults(100);
}

/* Wait for a child, asleep or busy. */
static void must_end(pid_t child, bool asleep)
{
	siginfo_t info;

	do
		info.si_pid = 0;
	while (!asleep && !waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid);
	ASSERT_EQ(0, wait_child(child));
}

static struct ended end_child(bool stat, bool asleep)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = move_to_nth_cpu(0);
	struct ended ret;

	ASSERT_LE(0, cpu);
	attr.inherit = attr.task = 1;
	attr.inherit_stat = stat;
	attr.read_format = PERF_FORMAT_ID;
	ret.sampler = must_run_sampler(&attr, 0, cpu, 2);
	ret.pid = start_child(fault_a_hundred, NULL);
	must_end(ret.pid, asleep);
	ret.sum = must_counts(ret.sampler.fd, PERF_FORMAT_ID).member[0].value;
	return ret;
}

/* READ records of a child that ended; each must be true. */
static int count_reads(bool asleep)
{
	struct ended child = end_child(true, asleep);
	const uint64_t id = must_counts(child.sampler.fd, PERF_FORMAT_ID).member[0].id;
	struct pm_record record;
	int reads = 0, exits = 0;

	while (find_record(&child.sampler, 0, &record)) {
		const uint64_t count = record.read.counts.member[0].value;

		exits += record.type == PERF_RECORD_EXIT;
		if (record.type != PERF_RECORD_READ)
			continue;
		reads++;

		if (record.read.pid != (uint32_t)child.pid ||
		    record.read.counts.member[0].id != id || count < 100 || count > child.sum)
			say_broken("pid=%u want=%d id=%" PRIu64 " want=%" PRIu64 " count=%" PRIu64
				   " want=100..%" PRIu64, record.read.pid, child.pid,
				   record.read.counts.member[0].id, id, count, child.sum);
	}
	if (!exits)
		say_broken("not even the child's EXIT came");
	pm_ring_close(&child.sampler.ring);
	must_close(child.sampler.fd);
	return reads;
}

TEST(sum)
{
	uint64_t sum = end_child(true, true).sum;

	if (sum < 100 || sum > 1000)
		say_broken("count=%" PRIu64 " after a child that touched 100 pages", sum);
}

TEST(needs_its_bit)
{
	struct ended child = end_child(false, true);
	struct pm_record record;
	bool ended = false;

	while (find_record(&child.sampler, 0, &record)) {
		if (record.type == PERF_RECORD_READ)
			say_broken("a READ although inherit_stat is clear");
		ended |= record.type == PERF_RECORD_EXIT;
	}
	if (!ended)
		say_broken("not even the child's EXIT came");
}

TEST(none_too_many)
{
	for (int i = 0; i < 5; i++) {
		int reads = count_reads(i % 2);

		if (reads > 1)
			say_broken("one child left %d READs", reads);
	}
}

static volatile uint64_t watched;

static int write_seven(void *unused)
{
	(void)unused;
	for (int i = 0; i < 7; i++)
		watched = i;
	return 0;
}

/* Nobody but the child writes there: the sum and the record have one true value. */
TEST(exact)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, 4);
	int cpu = move_to_nth_cpu(0);
	struct pm_record record;
	struct sampler sampler;
	struct pm_counts sum;

	require(REQUIRE_BREAKPOINT);
	ASSERT_LE(0, cpu);
	attr.inherit = attr.inherit_stat = 1;
	attr.read_format = PERF_FORMAT_ID;
	sampler = must_run_sampler(&attr, 0, cpu, 2);
	for (int i = 1; i <= CHILDREN; i++) {
		const pid_t child = start_child(write_seven, NULL);

		must_end(child, false);
		sum = must_counts(sampler.fd, PERF_FORMAT_ID);
		if (sum.member[0].value != 7 * (uint64_t)i)
			say_broken("sum=%" PRIu64 " after %d children", sum.member[0].value, i);
		if (!find_record(&sampler, PERF_RECORD_READ, &record))
			continue;
		if (record.read.pid != (uint32_t)child || record.read.tid != (uint32_t)child ||
		    record.read.counts.member[0].value != 7 ||
		    record.read.counts.member[0].id != sum.member[0].id)
			say_broken("pid=%u tid=%u want=%d, count=%" PRIu64 " want=7",
				   record.read.pid, record.read.tid, child,
				   record.read.counts.member[0].value);
		return;
	}
	say_absent("none of %d children left a READ to compare: see written_each", CHILDREN);
}

/*
 * Where a sleeping parent loses a READ, it does only if its CPU goes on with the child directly:
 * on a busy machine somebody else often comes first, so more children are tried until one has none.
 */
TEST(written_each)
{
	int asleep = 0, busy = 0;

	while (asleep < MANY_CHILDREN && count_reads(true) > 0)
		asleep++;
	while (busy < CHILDREN && count_reads(false) > 0)
		busy++;
	if (asleep < MANY_CHILDREN)
		say_broken("a child of a sleeping parent left no READ, %d before it did", asleep);
	if (busy < CHILDREN)
		say_broken("a child of a busy parent left no READ, %d before it did", busy);
}

PROBE_MAIN
