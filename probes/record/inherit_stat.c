/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does inherit_stat write each child's own count into the ring as it ends (PERF_RECORD_READ)?
 * It is the only way to know how much each inherited thread contributed.
 * Observed: a child causes an exact number of page faults and ends. Kernels that mark the dying
 * task's context dead before they fold its counts (6.1 and 6.18 do) never write the record.
 */
#include "probe.h"

PROBE(TITLE("counts of ended children in the ring")
      SINCE("2.6.31")
      POINT(each_child, "the end of each child gives one READ with its pid, its count and the id")
      POINT(needs_its_bit, "inherit without inherit_stat gives no READ")
      FACT(children_with_read, int, "of 20", "ended children that left a READ"))

#define CHILDREN 20

static int fault_and_end(void *argument)
{
	return cause_faults(*(unsigned int *)argument);
}

static struct watch run_child(struct __test_metadata *_metadata, unsigned int *faults, bool stat)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = move_to_nth_cpu(0);
	struct watch watch;
	pid_t child;

	ASSERT_LE(0, cpu);
	attr.inherit = 1;
	attr.inherit_stat = stat;
	attr.task = 1;
	attr.read_format = PERF_FORMAT_ID;
	watch = must_run(&attr, 0, cpu, 2);
	child = start_child(fault_and_end, faults);
	ASSERT_EQ(0, wait_child(child));
	*faults = child;
	return watch;
}

/* READ records after one child's end, and what the last of them counts. */
static int count_reads(struct __test_metadata *_metadata, unsigned int faults, uint64_t *ret)
{
	struct watch watch = run_child(_metadata, &faults, true);
	struct pm_record record;
	struct pm_counts own;
	int reads = 0;

	ASSERT_EQ(0, pm_read_counts(watch.fd, PERF_FORMAT_ID, &own));
	for (; seek(&watch, PERF_RECORD_READ, &record); reads++) {
		if (record.read.pid != faults || record.read.tid != faults)
			broken("pid=%u tid=%u want=%u", record.read.pid, record.read.tid, faults);
		if (record.read.counts.member[0].id != own.member[0].id)
			broken("id=%" PRIu64 " want=%" PRIu64, record.read.counts.member[0].id,
			       own.member[0].id);
		*ret = record.read.counts.member[0].value;
	}
	pm_ring_close(&watch.ring);
	close(watch.fd);
	return reads;
}

/* A child's copy-on-write faults count too: its pages are a lower bound. */
TEST(each_child)
{
	int with = 0, more = 0;

	for (int i = 0; i < CHILDREN; i++) {
		uint64_t count = 0;
		int reads = count_reads(_metadata, 100, &count);

		with += reads == 1;
		more += reads > 1;
		if (reads && (count < 100 || count >= 200))
			broken("a child that touched 100 pages counts %" PRIu64, count);
	}
	fact_int("children_with_read", with);
	if (with != CHILDREN || more)
		broken("of %d children %d left one READ, %d more than one", CHILDREN, with, more);
}

TEST(needs_its_bit)
{
	unsigned int faults = 10;
	struct watch watch = run_child(_metadata, &faults, false);
	struct pm_record record;
	bool ended = false;

	while (seek(&watch, 0, &record)) {
		if (record.type == PERF_RECORD_READ)
			broken("a READ although inherit_stat is clear");
		ended |= record.type == PERF_RECORD_EXIT;
	}
	if (!ended)
		broken("not even the child's EXIT came");
}

PROBE_MAIN
