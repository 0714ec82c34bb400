/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May members of an inherited group read in different formats? A library that adds its event to
 * somebody's group need not know the leader's read_format.
 * Observed: a leader that reads the group, a sibling that reads itself and its id; both count a
 * thread.
 */
#include "probe.h"
#include "finding.h"

PROBE(TITLE("read formats in an inherited group")
      SINCE("4.13")
      POINT(mixed_formats, "a sibling of another read_format may join an inherit group"))

#define FAULTS 13

TEST(mixed_formats)
{
	struct perf_event_attr attr = attr_counter(true), lone, alone;
	struct pm_counts before, after, group;
	struct finding finding;
	struct worker worker;
	int leader, sibling;

	attr.read_format = PERF_FORMAT_ID;
	lone = attr;
	close(must_open(&lone, 0, -1, -1, 0));
	attr.read_format = PERF_FORMAT_GROUP;
	alone = attr;
	alone.inherit = 0;
	leader = ask_open(&attr, &alone, 0, -1, "inherit with PERF_FORMAT_GROUP");
	close(must_open(&attr, 0, -1, leader, 0));
	sibling = pm_open(&lone, 0, -1, leader, 0);
	if (sibling == -EINVAL)
		say_no("EINVAL, while it opens alone and one of the leader's format joins");
	if (sibling < 0) {
		classify_asked(-sibling, "another read_format", &lone, 0, -1, &finding);
		say(&finding);
	}
	must_start_worker(&worker, WORKER_THREAD);
	before = must_counts(sibling, PERF_FORMAT_ID);
	ASSERT_EQ(0, worker_faults(&worker, FAULTS));
	after = must_counts(sibling, PERF_FORMAT_ID);
	if (after.nr != 1 || after.member[0].value < before.member[0].value + FAULTS)
		say_broken("sibling: %" PRIu64 " then %" PRIu64 " want %d more",
			   before.member[0].value, after.member[0].value, FAULTS);
	group = must_counts(leader, PERF_FORMAT_GROUP);
	if (group.nr != 2 || group.member[1].value < after.member[0].value)
		say_broken("leader: nr=%" PRIu64 " want=2, sibling=%" PRIu64 " want>=%" PRIu64,
			   group.nr, group.member[1].value, after.member[0].value);
}

PROBE_MAIN
