/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do SET_BPF and QUERY_BPF answer on a software event, which has no tracepoint behind it? The
 * errnos changed over the years, so they are facts; that the calls are refused is the rule.
 * Observed: the answers of an event that was seen to count.
 */
#include "probe.h"

PROBE(TITLE("BPF programs on software events")
      SINCE("4.1")
      POINT(bpf_software, "SET_BPF with a descriptor that is no program is refused")
      SINCE("4.1")
      POINT(query_bpf_software, "QUERY_BPF on a software event is EINVAL, EACCES or EPERM")
      SINCE("4.16")
      FACT(bpf_errno, enum, "-", "errno of SET_BPF with a descriptor that is no program")
      FACT(query_errno, enum, "-", "errno of QUERY_BPF on a software event"))

/* An event that was seen to count: only then does an errno of its ioctls say something. */
static int open_alive(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);
	int fd = must_open(&attr, 0, -1, -1, 0);

	if (cause_enabled_faults(fd, 1) != 1)
		say_unknown("ENABLE has no effect: no answer of ioctl can be believed");
	return fd;
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
