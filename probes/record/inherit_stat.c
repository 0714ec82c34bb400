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
      POINT(count_of_child, "a child's end gives one READ with its pid, exact count and the id")
      POINT(needs_its_bit, "inherit without inherit_stat gives no READ"))

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
	watch = must_watch(&attr, 0, cpu, 2);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	child = start_child(fault_and_end, faults);
	ASSERT_EQ(0, wait_child(child));
	*faults = child;
	return watch;
}

/*
 * The child's copy-on-write and stack faults count too, so its count is found by a pair: a child
 * that touches 100 pages more counts 100 more.
 */
static uint64_t child_count(struct __test_metadata *_metadata, unsigned int faults)
{
	struct watch watch = run_child(_metadata, &faults, true);
	struct pm_record record;
	struct pm_counts own;
	uint64_t count;

	if (!seek(&watch, PERF_RECORD_READ, &record))
		broken("no READ after the child's end");
	if (record.read.pid != faults || record.read.tid != faults)
		broken("pid=%u tid=%u want=%u", record.read.pid, record.read.tid, faults);
	ASSERT_EQ(0, pm_read_counts(watch.fd, PERF_FORMAT_ID, &own));
	if (record.read.counts.member[0].id != own.member[0].id)
		broken("id=%" PRIu64 " want=%" PRIu64, record.read.counts.member[0].id,
		       own.member[0].id);
	count = record.read.counts.member[0].value;
	if (seek(&watch, PERF_RECORD_READ, &record))
		broken("a second READ for one child");
	return count;
}

TEST(count_of_child)
{
	uint64_t few = 0, many = 0;

	/* Another task's memory pressure may make a child fault once more: the pair is repeated. */
	for (int round = 0; round < 5; round++) {
		few = child_count(_metadata, 100);
		many = child_count(_metadata, 200);
		if (few >= 100 && many - few == 100)
			return;
	}
	broken("100 faults counted=%" PRIu64 " 200 faults counted=%" PRIu64, few, many);
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
