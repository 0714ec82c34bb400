/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does inherit_stat write each child's own count into the ring as it ends (PERF_RECORD_READ)?
 * It is the only way to know how much each inherited task contributed.
 * Observed: children cause page faults and end. The sum that read(2) gives is right everywhere.
 * Kernels that mark the dying task's context dead before they fold its counts (6.1 and 6.18 do)
 * never write the record: written_each says so, and it alone.
 */
#include "probe.h"

PROBE(TITLE("counts of ended children in the ring")
      SINCE("2.6.31")
      POINT(sum, "with inherit_stat, the count of an ended child is in the sum that read(2) gives")
      POINT(needs_its_bit, "inherit without inherit_stat gives no READ")
      POINT(none_too_many, "no child leaves two READs, and each has its pid, its count and the id")
      POINT(written_each, "the end of each child leaves a READ")
      FACT(children_with_read, int, "of 20", "ended children that left a READ"))

#define CHILDREN 20

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

static struct ended end_child(bool stat)
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
	ASSERT_EQ(0, wait_child(ret.pid));
	ret.sum = must_counts(ret.sampler.fd, PERF_FORMAT_ID).member[0].value;
	return ret;
}

/* READ records of a child that ended; each must tell the truth. */
static int count_reads(void)
{
	struct ended child = end_child(true);
	const uint64_t id = must_counts(child.sampler.fd, PERF_FORMAT_ID).member[0].id;
	struct pm_record record;
	int reads = 0;

	for (; find_record(&child.sampler, PERF_RECORD_READ, &record); reads++) {
		const uint64_t count = record.read.counts.member[0].value;

		if (record.read.pid != (uint32_t)child.pid ||
		    record.read.counts.member[0].id != id || count < 100 || count > child.sum)
			say_broken("pid=%u want=%d id=%" PRIu64 " want=%" PRIu64 " count=%" PRIu64
				   " want=100..%" PRIu64, record.read.pid, child.pid,
				   record.read.counts.member[0].id, id, count, child.sum);
	}
	pm_ring_close(&child.sampler.ring);
	must_close(child.sampler.fd);
	return reads;
}

TEST(sum)
{
	uint64_t sum = end_child(true).sum;

	if (sum < 100 || sum > 1000)
		say_broken("count=%" PRIu64 " after a child that touched 100 pages", sum);
}

TEST(needs_its_bit)
{
	struct ended child = end_child(false);
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
		int reads = count_reads();

		if (reads > 1)
			say_broken("one child left %d READs", reads);
	}
}

TEST(written_each)
{
	int with = 0;

	for (int i = 0; i < CHILDREN; i++)
		with += count_reads() > 0;
	fact_int("children_with_read", with);
	if (with != CHILDREN)
		say_broken("of %d children %d left a READ", CHILDREN, with);
}

PROBE_MAIN
