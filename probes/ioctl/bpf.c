/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is answered when a BPF program is put on an event that cannot have one? Errnos changed with
 * the years, so they are facts; that it is refused is the rule.
 * Observed: on an event that was seen to count.
 */
#include "probe.h"
#include "live.h"

PROBE(TITLE("BPF programs on software events")
      SINCE("4.1")
      POINT(bpf_software, "SET_BPF with a descriptor that is no program is refused")
      SINCE("4.1")
      POINT(query_bpf_software, "QUERY_BPF on a software event is refused with a documented errno")
      SINCE("4.16")
      FACT(bpf_errno, enum, "-", "errno of SET_BPF with a descriptor that is no program")
      FACT(query_errno, enum, "-", "errno of QUERY_BPF on a software event"))

/* An errno is only an answer where the event as such works. */
static int open_alive(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);

	return must_live(&attr);
}

TEST(bpf_software)
{
	int answer = pm_ioctl(open_alive(), PERF_EVENT_IOC_SET_BPF, STDIN_FILENO);

	fact_str("bpf_errno", "%s", pm_errno_name(answer));
	if (answer == -ENOTTY)
		say_no("SET_BPF: ENOTTY, while ENABLE works");
	if (answer >= 0)
		say_broken("SET_BPF took descriptor 0 for a program");
}

TEST(query_bpf_software)
{
	struct perf_event_query_bpf query = { .ids_len = 0 };
	int answer = pm_ioctl(open_alive(), PERF_EVENT_IOC_QUERY_BPF, (uintptr_t)&query);

	fact_str("query_errno", "%s", pm_errno_name(answer));
	if (answer == -ENOTTY)
		say_no("QUERY_BPF: ENOTTY, while ENABLE works");
	if (answer != -EINVAL && answer != -EACCES && answer != -EPERM)
		say_broken("QUERY_BPF on a software event: %s", pm_errno_name(answer));
}

PROBE_MAIN
