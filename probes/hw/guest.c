/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host or guest: whose work does a hardware event count? exclude_host on a machine that runs no
 * guests must give 0; a hypervisor that lends its PMU to a guest may refuse events for both.
 * Observed: instructions of a busy loop with each of the two bits and with none.
 * Linux a240f76165e6 ("perf, core: Introduce attrs to count in either host or guest mode") (v3.2)
 */
#include "probe.h"
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

static uint64_t count_loop(int fd)
{
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(2000000);
	return must_count(fd);
}

static int open_with(bool no_host, bool no_guest, const char *what)
{
	struct perf_event_attr plain = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr attr = plain;

	if (!plain.exclude_kernel && try_open(&plain) == 0)
		say_absent("this PMU cannot leave anything out");
	attr.exclude_host = no_host;
	attr.exclude_guest = no_guest;
	return ask_open(&attr, &plain, 0, -1, what);
}

TEST(both)
{
	struct perf_event_attr plain = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr host = plain;
	int fd;

	host.exclude_guest = 1;
	fd = ask_open(&plain, &host, 0, -1, "exclude_guest cleared");
	if (!count_loop(fd))
		say_broken("opens but counts 0");
}

TEST(exclude_guest)
{
	if (!count_loop(open_with(false, true, "exclude_guest")))
		say_broken("opens but counts 0");
}

TEST(exclude_host)
{
	uint64_t count = count_loop(open_with(true, false, "exclude_host"));

	if (count)
		say_broken("counted=%" PRIu64 " want=0", count);
}

TEST(exclude_both)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t count;
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.exclude_host = attr.exclude_guest = 1;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EINVAL || fd == -EOPNOTSUPP)
		return;
	ASSERT_LE(0, fd);
	count = count_loop(fd);
	if (count)
		say_broken("counted=%" PRIu64 " want=0", count);
}

PROBE_MAIN
