/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which branch filters (branch_sample_type) does this kernel know, with or without hardware?
 *
 * The kernel checks the bits before it asks any PMU, so a software event tells them apart: a known
 * filter gets as far as the PMU, which answers EOPNOTSUPP; an unknown one is EINVAL before that.
 * Whether a PMU can record branches is asked by sample.branch.
 */
#include "probe.h"
#include "finding.h"

#define DECLARE(bit, NAME, name, since)                                                        \
	FACT(name, verdict, "-", "branch filter " #name " (bit " #bit ") is known") SINCE(since)
PROBE(TITLE("the branch filters, one by one")
      SINCE("3.4")
      PM_BRANCH_FILTERS(DECLARE)
      FACT(top, int, "bit", "highest bit that is known")
      POINT(known, "every filter has been asked, and those of the first release are there")
      POINT(unknown_is_refused, "a bit that no kernel knows is EINVAL")
      POINT(level_alone_is_refused, "privilege levels without a kind of branch are EINVAL"))

static const struct filter {
	unsigned int bit;
	const char *name;
} filters[] = {
#define ROW(bit, NAME, name, since) { bit, #name },
	PM_BRANCH_FILTERS(ROW)
};
#define COUNT (sizeof(filters) / sizeof(*filters))
#define NEVER 40			/* a bit far beyond any that is used */
#define ANY_OF_USER (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY)

/* The answer to a sampling event with that filter: 0 or -errno. */
static int answer(uint64_t filter)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_BRANCH_STACK);

	attr.branch_sample_type = filter;
	return try_open(&attr);
}

/* The plainest filter reaches the PMU. */
static void plain(bool report)
{
	struct perf_event_attr attr = attr_faults(0), with = attr;
	struct finding finding;
	int error = answer(ANY_OF_USER);

	if (error == -EOPNOTSUPP || error == 0)
		return;
	with.sample_type = PERF_SAMPLE_BRANCH_STACK;
	with.branch_sample_type = ANY_OF_USER;
	judge_pair(&with, &attr, 0, -1, "PERF_SAMPLE_BRANCH_STACK", &finding);
	for (size_t i = 0; report && i < COUNT; i++)
		fact_verdict(filters[i].name, finding.verdict, finding.reason);
	if (finding.verdict == YES)
		say_unknown("first %s, then accepted", pm_errno_name(error));
	say(&finding);
}

TEST(known)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_BRANCH_STACK);
	const char *lost = NULL;
	struct finding finding;
	int top = 0;

	plain(true);
	for (size_t i = 0; i < COUNT; i++) {
		int error = answer(ANY_OF_USER | 1ull << filters[i].bit);

		if (error == -EOPNOTSUPP || error == 0)
			finding_set(&finding, YES, "%s", "");
		else
			classify_asked(-error, filters[i].name, &attr, 0, -1, &finding);
		fact_verdict(filters[i].name, finding.verdict, finding.reason);
		if (finding.verdict == YES)
			top = filters[i].bit;
		if (filters[i].bit <= 6 && finding.verdict == NO)
			lost = filters[i].name;
	}
	fact_int("top", top);
	if (lost)
		say_broken("%s is as old as branch stacks, and refused", lost);
}

TEST(unknown_is_refused)
{
	plain(false);
	if (answer(ANY_OF_USER | 1ull << NEVER) != -EINVAL)
		say_broken("bit %d: errno=%s want=EINVAL", NEVER,
			   pm_errno_name(answer(ANY_OF_USER | 1ull << NEVER)));
}

TEST(level_alone_is_refused)
{
	plain(false);
	if (answer(PERF_SAMPLE_BRANCH_USER) != -EINVAL)
		say_broken("only a privilege level: errno=%s want=EINVAL",
			   pm_errno_name(answer(PERF_SAMPLE_BRANCH_USER)));
	if (answer(0) != -EINVAL)
		say_broken("no filter at all: errno=%s want=EINVAL", pm_errno_name(answer(0)));
}

PROBE_MAIN
