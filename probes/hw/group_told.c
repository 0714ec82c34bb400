/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a group that can never run refused? One that is accepted waits for counters that will never be
 * free together, and reads 0. x86 refuses it with EINVAL (ENOSPC before v3.3); drivers that do not
 * look accept it. Observed: groups of one event more each, until one is refused or gets no time.
 * A counter that the kernel's own watchdog holds is missing to a group that fits: then nothing is
 * shown.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("a group that can never run")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(refused, "a group that is larger than the largest that runs is refused"))

#define MOST 32

enum outcome { RUNS, NEVER_RUNS, REFUSED };

static struct perf_event_attr attr_of_member(void)
{
	return attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static enum outcome try_group(int members)
{
	const uint64_t format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct perf_event_attr attr = attr_of_member();
	struct pm_counts counts = { 0 };
	enum outcome outcome = RUNS;
	int fds[MOST], opened = 0;

	attr.read_format = format;
	while (opened < members && outcome == RUNS) {
		attr.disabled = opened == 0;
		fds[opened] = pm_open(&attr, 0, -1, opened ? fds[0] : -1, 0);
		if (fds[opened] < 0)
			outcome = REFUSED;
		else
			opened++;
	}
	if (outcome == RUNS) {
		pm_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
		/* A scheduler clock may tick every 10 ms only. */
		for (int tries = 0; tries < 20 && !counts.time_running; tries++) {
			wake_and_spin(NULL);
			pm_read_counts(fds[0], format, &counts);
		}
		outcome = counts.time_running ? RUNS : NEVER_RUNS;
	}
	while (opened-- > 0)
		close(fds[opened]);
	return outcome;
}

TEST(refused)
{
	const struct perf_event_attr attr = attr_of_member();
	enum outcome outcome = RUNS;
	int64_t watchdog = 0;
	int members = 0;

	must_have_counters();
	close(must_open(&attr, 0, -1, -1, 0));	/* a PMU may count cycles and no instructions */
	while (members < MOST && outcome == RUNS)
		outcome = try_group(++members);
	if (outcome == REFUSED && members > 1)
		return;
	if (outcome == RUNS)
		say_absent("%d events run at once here", MOST);
	if (members == 1)
		say_unknown("not even one event ran");
	pm_read_number("/proc/sys/kernel/nmi_watchdog", &watchdog);
	if (watchdog)
		say_unknown("a group of %d never runs: the NMI watchdog may hold a counter",
			    members);
	say_no("a group of %d is accepted and never runs, one of %d runs", members, members - 1);
}

PROBE_MAIN
