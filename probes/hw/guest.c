/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host or guest: whose work does a hardware event count? exclude_host on a machine that runs no
 * guests must give 0; a hypervisor that lends its PMU to a guest may refuse events for both.
 * Observed: instructions of a busy loop with each of the two bits and with none.
 * Linux a240f76165e6 ("perf, core: Introduce attrs to count in either host or guest mode") (v3.2)
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"

PROBE(TITLE("hardware events of host and guest")
      SINCE("3.2")
      COMMIT("a240f76165e6")
      NEEDS("pmu")
      POINT(both, "with neither bit an event opens and counts this thread")
      SINCE("2.6.31")
      POINT(exclude_guest, "with exclude_guest it counts this thread")
      POINT(exclude_host, "with exclude_host it opens and counts nothing here")
      POINT(exclude_both, "with both bits it counts nothing, or is refused"))

/* What an event counts, and one without the bits counts beside it. */
static void count_both(int fd, int control, uint64_t counts[2])
{
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(control, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(2000000);
	counts[0] = must_count(fd);
	counts[1] = must_count(control);
}

static struct perf_event_attr attr_plain(void)
{
	struct perf_event_attr plain = attr_core(PERF_COUNT_HW_INSTRUCTIONS);

	must_have_counters();
	if (!plain.exclude_kernel && try_open(&plain) == 0)
		say_absent("this PMU cannot leave anything out");
	return plain;
}

/* Ask for an event with a bit, or both; `must_run` tells what is right for it to count here. */
static void ask_bits(bool no_host, bool no_guest, bool must_run, const char *what)
{
	struct perf_event_attr plain = attr_plain(), attr = plain;
	uint64_t counts[2];

	attr.exclude_host = no_host;
	attr.exclude_guest = no_guest;
	count_both(ask_open(&attr, &plain, 0, -1, what), must_open(&plain, 0, -1, -1, 0), counts);
	if (must_run && !counts[0]) {
		must_have_run();
		say_broken("opens but counts 0");
	}
	if (!must_run && !counts[1])
		say_unknown("the event without %s counts nothing either", what);
	if (!must_run && counts[0])
		say_broken("counted=%" PRIu64 " want=0", counts[0]);
}

TEST(both)
{
	struct perf_event_attr plain = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr host;
	uint64_t counts[2];

	must_have_counters();
	plain.exclude_guest = 0;
	host = plain;
	host.exclude_guest = 1;
	count_both(ask_open(&plain, &host, 0, -1, "exclude_guest cleared"),
		   must_open(&plain, 0, -1, -1, 0), counts);
	if (counts[0])
		return;
	must_have_run();
	say_broken("opens but counts 0");
}

TEST(exclude_guest)
{
	ask_bits(false, true, true, "exclude_guest");
}

TEST(exclude_host)
{
	ask_bits(true, false, false, "exclude_host");
}

TEST(exclude_both)
{
	struct perf_event_attr attr = attr_plain();
	int answer;

	attr.exclude_host = attr.exclude_guest = 1;
	answer = try_open(&attr);
	if (answer == -EINVAL || answer == -EOPNOTSUPP)
		return;
	ask_bits(true, true, false, "both bits");
}

PROBE_MAIN
