/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which read formats does this kernel know, in every combination, and does read(2) then give as
 * many bytes as the combination asks for?
 *
 * A reader of a group takes the layout from the bits it asked for; one ignored bit shifts all
 * words behind it. Observed with a lone software event: read(2) into a large buffer and compare
 * the length, and a buffer one byte short must be refused with ENOSPC.
 */
#include "probe.h"
#include "finding.h"

/* bits (enabled 1, running 2, id 4, group 8, lost 16), name */
#define COMBINATIONS(X)                                                                        \
	X(0, none) X(1, enabled) X(2, running) X(3, enabled_running) X(4, id)                  \
	X(5, enabled_id) X(6, running_id) X(7, enabled_running_id) X(8, group)                 \
	X(9, enabled_group) X(10, running_group) X(11, enabled_running_group) X(12, id_group)  \
	X(13, enabled_id_group) X(14, running_id_group) X(15, enabled_running_id_group)
#define WITH_LOST(X)                                                                           \
	X(16, lost) X(17, enabled_lost) X(18, running_lost) X(19, enabled_running_lost)        \
	X(20, id_lost) X(21, enabled_id_lost) X(22, running_id_lost)                           \
	X(23, enabled_running_id_lost) X(24, group_lost) X(25, enabled_group_lost)             \
	X(26, running_group_lost) X(27, enabled_running_group_lost) X(28, id_group_lost)       \
	X(29, enabled_id_group_lost) X(30, running_id_group_lost) X(31, all)

#define DECLARE(bits, name) FACT(name, verdict, "-", "read_format " #bits " gives its length")
#define DECLARE_LOST(bits, name) DECLARE(bits, name) SINCE("6.0")
PROBE(TITLE("read formats in every combination")
      SINCE("2.6.31")
      COMBINATIONS(DECLARE)
      WITH_LOST(DECLARE_LOST)
      POINT(lengths, "every combination that is accepted gives its length, and no less will do"))

static const struct combination {
	uint64_t bits;
	const char *name;
} combinations[] = {
#define ROW(bits, name) { bits, #name },
	COMBINATIONS(ROW)
	WITH_LOST(ROW)
};
#define COUNT (sizeof(combinations) / sizeof(*combinations))

static bool has(uint64_t bits, uint64_t bit)
{
	return bits & bit;
}

/* nr and the times once, value, id and lost for each member: here there is one. */
static ssize_t length_of(uint64_t bits)
{
	return 8 * (1 + has(bits, PERF_FORMAT_GROUP) + has(bits, PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    has(bits, PERF_FORMAT_TOTAL_TIME_RUNNING) + has(bits, PERF_FORMAT_ID) +
		    has(bits, PERF_FORMAT_LOST));
}

/* Read into a buffer of that size. Returns the length or -errno. */
static ssize_t read_into(int fd, size_t size)
{
	uint64_t buffer[16];
	ssize_t length = read(fd, buffer, size);

	return length < 0 ? -errno : length;
}

static void ask(const struct combination *combination, struct finding *ret)
{
	struct perf_event_attr with = attr_software(PERF_COUNT_SW_PAGE_FAULTS), without = with;
	const ssize_t want = length_of(combination->bits);
	ssize_t whole, less;
	int fd;

	with.read_format = combination->bits;
	judge_pair(&with, &without, 0, -1, combination->name, ret);
	if (ret->verdict != YES)
		return;
	fd = pm_open(&with, 0, -1, -1, 0);
	whole = read_into(fd, 128);
	less = read_into(fd, want - 1);
	close(fd);
	if (whole != want)
		finding_set(ret, BROKEN, "length=%zd want=%zd", whole, want);
	else if (less != -ENOSPC)
		finding_set(ret, BROKEN, "one byte short: answer=%zd want=ENOSPC", less);
}

TEST(lengths)
{
	struct finding finding, worst = { .verdict = YES };

	for (size_t i = 0; i < COUNT; i++) {
		ask(&combinations[i], &finding);
		fact_verdict(combinations[i].name, finding.verdict, finding.reason);
		if (finding.verdict == BROKEN)
			worst = finding;
	}
	must_open_plain();
	if (worst.verdict != YES)
		say(&worst);
}

PROBE_MAIN
