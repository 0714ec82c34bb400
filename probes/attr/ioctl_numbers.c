/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the ioctls whose argument is a pointer known under this program's own numbers?
 *
 * The numbers of some ioctls hold the size of a pointer, which the kernel translates for a 32-bit
 * program. Observed by asking with a nonsensical argument: ENOTTY would mean "never heard of".
 */
#include "probe.h"
#include "finding.h"

PROBE(TITLE("the numbers of ioctls with a pointer")
      SINCE("2.6.33")
      POINT(id, "IOC_ID is known under this program's number and gives an id")
      SINCE("3.12")
      POINT(set_filter, "IOC_SET_FILTER is known under this program's number")
      POINT(query_bpf, "IOC_QUERY_BPF is known under this program's number")
      SINCE("4.16")
      POINT(modify_attributes, "IOC_MODIFY_ATTRIBUTES is known under this program's number")
      SINCE("4.17"))

/* A refusal other than ENOTTY shows that the number is known: the argument is nonsense. */
static void known(unsigned long request, void *nonsense, const char *name)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct finding finding;
	int fd = must_open(&attr, 0, -1, -1, 0);
	int answer = pm_ioctl(fd, request, (unsigned long)nonsense);

	if (answer >= 0)
		say_broken("%s accepted a nonsensical argument", name);
	if (answer != -ENOTTY)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	classify_asked(ENOTTY, name, &attr, 0, -1, &finding);
	say(&finding);
}

TEST(id)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t id = 0;
	int error;

	known(PERF_EVENT_IOC_ID, NULL, "PERF_EVENT_IOC_ID");
	error = pm_ioctl(must_open(&attr, 0, -1, -1, 0), PERF_EVENT_IOC_ID, (unsigned long)&id);
	if (error || !id)
		say_broken("errno=%s id=%" PRIu64, pm_errno_name(error), id);
}

TEST(set_filter)
{
	known(PERF_EVENT_IOC_SET_FILTER, "x", "PERF_EVENT_IOC_SET_FILTER");
}

TEST(query_bpf)
{
	known(PERF_EVENT_IOC_QUERY_BPF, NULL, "PERF_EVENT_IOC_QUERY_BPF");
}

TEST(modify_attributes)
{
	known(PERF_EVENT_IOC_MODIFY_ATTRIBUTES, NULL, "PERF_EVENT_IOC_MODIFY_ATTRIBUTES");
}

PROBE_MAIN
