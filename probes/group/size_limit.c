/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a group refused that has become too large to be read? The size of a group read once
 * overflowed 16 bits (closed in v4.3, and in v6.7 by a limit of 16 KiB), so a kernel without the
 * check is a kernel with a hole. On 4.4.155 the growing group ends in a NULL dereference in
 * perf_event_ctx_lock_nested(), as any user, so this never runs by default.
 * Observed: siblings with ids join one by one until E2BIG; the group as it then is reads whole.
 */
#include "probe.h"
#include "finding.h"

#include <sys/resource.h>

PROBE(TITLE("largest group that can be read")
      SINCE("4.3")
      HAZARD("growing a group until it is refused oopses 4.4")
      POINT(refused, "the sibling that would make a group too large to read is refused with E2BIG")
      SINCE("6.7")
      POINT(reads_whole, "the largest group reads every member")
      FACT(members, int, "events", "members of the largest group with PERF_FORMAT_ID"))

/* 16 KiB hold 1022 or 1023 members with a value and an id each, depending on whether the kernel
 * adds a record's header. The limit of older kernels is out of reach. */
#define ENOUGH 1200
#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID)

struct limit {
	int leader, members, error;
};

static struct limit grow(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_DUMMY);
	struct limit limit = { .members = 1 };
	struct rlimit files;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	attr.config = attr_sideband().config;
	attr.read_format = FORMAT;
	limit.leader = must_open(&attr, 0, -1, -1, 0);
	while (limit.members < ENOUGH) {
		fd = pm_open(&attr, 0, -1, limit.leader, 0);
		if (fd < 0) {
			limit.error = -fd;
			break;
		}
		limit.members++;
	}
	return limit;
}

TEST(refused)
{
	struct limit limit = grow();
	struct finding finding;

	fact_int("members", limit.members);
	if (limit.error == E2BIG)
		return;
	if (!limit.error)
		say_no("%d members joined, a read of %zu bytes, without E2BIG", limit.members,
		       sizeof(uint64_t) * (1 + 2 * (size_t)limit.members));
	classify_setup(limit.error, NULL, 0, -1, &finding);
	say(&finding);
}

TEST(reads_whole)
{
	static uint64_t buffer[2 + 2 * ENOUGH];
	struct limit limit = grow();
	const ssize_t want = sizeof(uint64_t) * (1 + 2 * limit.members);
	ssize_t got = read(limit.leader, buffer, sizeof(buffer));

	if (limit.error && limit.error != E2BIG)
		say_unknown("growing ended with %s", pm_errno_name(limit.error));
	if (got != want || buffer[0] != (uint64_t)limit.members)
		say_broken("bytes=%zd want=%zd, nr=%" PRIu64 " want=%d", got, want, buffer[0],
			   limit.members);
}

PROBE_MAIN
