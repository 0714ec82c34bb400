/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which members of a group count, for each of the eight ways to open leader and two siblings with
 * or without attr.disabled? A group runs only if its leader does; enabling the leader alone must
 * not wake siblings that are disabled themselves.
 * Observed: exact page-fault counts of all three as opened, and again after ENABLE on the leader.
 */
#include "probe.h"
#include "finding.h"

#define CELL(name) FACT(name, verdict, "-", "leader_sibling_sibling as opened count as they should")

PROBE(TITLE("enabled and disabled members of a group")
      SINCE("2.6.31")
      CELL(on_on_on)
      CELL(on_on_off)
      CELL(on_off_on)
      CELL(on_off_off)
      CELL(off_on_on)
      CELL(off_on_off)
      CELL(off_off_on)
      CELL(off_off_off)
      POINT(walked, "all eight combinations were tried, and none counts wrongly"))

#define FAULTS 6

/* Opens the group; returns 0 or the errno of the member that failed. Bit i disables member i. */
static int open_group(unsigned int disabled, int *fds)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	for (int i = 0; i < 3; i++) {
		attr.disabled = disabled >> i & 1;
		fds[i] = pm_open(&attr, 0, -1, i ? fds[0] : -1, 0);
		if (fds[i] < 0)
			return -fds[i];
	}
	return 0;
}

/* Gains of all three over the same faults against `expected`, a bit for each that is to count. */
static void judge(const int *fds, unsigned int expected, const char *when, struct finding *ret)
{
	uint64_t before[3], after[3];

	for (int i = 0; i < 3; i++)
		if (pm_read_count(fds[i], &before[i]))
			finding_set(ret, UNKNOWN, "read failed");
	if (cause_faults(FAULTS))
		finding_set(ret, UNKNOWN, "no page faults");
	for (int i = 0; i < 3; i++)
		if (pm_read_count(fds[i], &after[i]))
			finding_set(ret, UNKNOWN, "read failed");
	for (int i = 0; i < 3 && ret->verdict == YES; i++) {
		uint64_t want = expected >> i & 1 ? FAULTS : 0;

		if (after[i] - before[i] != want)
			finding_set(ret, BROKEN, "%s: member %d counted=%" PRIu64 " want=%" PRIu64,
				    when, i, after[i] - before[i], want);
	}
}

static void judge_combination(unsigned int disabled, struct finding *ret)
{
	const unsigned int siblings = ~disabled & 6;
	int fds[3], error = open_group(disabled, fds);

	finding_set(ret, YES, "%s", "");
	if (error) {
		classify_setup(error, NULL, 0, -1, ret);
		return;
	}
	if (cause_faults(1))
		finding_set(ret, UNKNOWN, "no page faults");
	judge(fds, disabled & 1 ? 0 : siblings | 1, "as opened", ret);
	if (pm_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0))
		finding_set(ret, UNKNOWN, "ENABLE failed");
	judge(fds, siblings | 1, "leader enabled", ret);
	if (pm_ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0))
		finding_set(ret, UNKNOWN, "DISABLE failed");
	judge(fds, 0, "leader disabled", ret);
	for (int i = 2; i >= 0; i--)
		close(fds[i]);
}

TEST(walked)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct finding finding, worst = { .verdict = YES };
	char name[32];

	for (unsigned int disabled = 0; disabled < 8; disabled++) {
		snprintf(name, sizeof(name), "%s_%s_%s", disabled & 1 ? "off" : "on",
			 disabled & 2 ? "off" : "on", disabled & 4 ? "off" : "on");
		judge_combination(disabled, &finding);
		fact_verdict(name, finding.verdict, finding.reason);
		if (finding.verdict == BROKEN)
			worst = finding;
	}
	if (worst.verdict == BROKEN)
		say(&worst);
	close(must_open(&attr, 0, -1, -1, 0));
}

PROBE_MAIN
