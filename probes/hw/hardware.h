/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hardware events that count, and how a count is judged. Included behind probe.h.
 */
#ifndef HARDWARE_H
#define HARDWARE_H

#include "core_pmu.h"
#include "finding.h"

/* Cycles of the core's PMU, or instructions where it cannot count cycles. */
static inline struct perf_event_attr attr_hardware(void)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		return attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	close(fd);
	return attr;
}

/* Stay where hardware events run, if they open: those that do not have reasons of their own. */
static inline void stay_where_they_run(void)
{
	struct perf_event_attr attr = attr_hardware();

	if (!try_open(&attr))
		must_have_counters();
}

/* No core does more of anything in a nanosecond: some 6 GHz times ten. */
#define MOST_A_NS 64

/*
 * Let a counter run over some work and judge it: BROKEN when it never runs, when it reads 0
 * although the work `must_count`, or more than any machine could do. Its read_format has both
 * times. ret_value: what it read last.
 */
static inline void judge_counter(int fd, void (*work)(void), bool must_count, uint64_t *ret_value,
		   struct finding *ret)
{
	const uint64_t format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	const uint64_t end = now_ns() + 50000000;
	int error = pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	struct pm_counts counts = { 0 };

	do {
		work();
		if (error >= 0)
			error = pm_read_counts(fd, format, &counts);
	} while (error >= 0 && now_ns() < end &&
		 (!counts.time_running || (must_count && !counts.member[0].value)));
	*ret_value = counts.member[0].value;
	finding_set(ret, YES, "%s", "");
	if (error < 0)
		finding_set(ret, UNKNOWN, "reading: %s", pm_errno_name(error));
	else if (!counts.time_running)
		finding_set(ret, BROKEN, "opens but never runs: enabled=%" PRIu64 " ns, running=0",
			    counts.time_enabled);
	else if (must_count && !*ret_value)
		finding_set(ret, BROKEN, "opens but counts 0 in %" PRIu64 " ns of work",
			    counts.time_running);
	else if (*ret_value / MOST_A_NS > counts.time_running)
		finding_set(ret, BROKEN, "counts %" PRIu64 " in %" PRIu64 " ns: no machine can",
			    *ret_value, counts.time_running);
}

#endif
