/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are filters refused that make no sense, or on events that have no fields?
 * Observed: the errno; calls are counted as before.
 */
#include "probe.h"
#include "tp_filter.h"
#include "tracepoint.h"

PROBE(TITLE("tracepoint filters that are refused")
      SINCE("2.6.33")
      COMMIT("6fb2915df7f0")
      POINT(second_refused,
	    "EEXIST for a second filter on a tracepoint event, which keeps the first one")
      NEEDS("tracefs")
      POINT(unknown_field, "EINVAL for a filter on a field that the tracepoint does not have")
      NEEDS("tracefs")
      POINT(bad_syntax, "a filter that is no expression is refused, and nothing is filtered")
      NEEDS("tracefs")
      POINT(other_event, "EINVAL for a filter on an event that is no tracepoint")
      FACT(bad_syntax_error, enum, "-", "errno for a filter that is no expression"))

TEST(second_refused)
{
	int fd = open_closes(), error;
	uint64_t before, count;

	must_filter(fd, "fd == 1000003");
	error = set_filter(fd, "fd < 2000000");
	before = must_count(fd);
	cause_closes(1000000, 20);
	count = must_count(fd) - before;
	if (error != -EEXIST || count != 1)
		say_broken("errno=%s want=EEXIST, counted=%" PRIu64 " want=1", pm_errno_name(error),
			   count);
}

static void refused(int fd, const char *text)
{
	int error = set_filter(fd, text);

	if (error != -EINVAL)
		say_broken("filter \"%s\": errno=%s want=EINVAL", text, pm_errno_name(error));
}

TEST(unknown_field)
{
	refused(open_closes(), "perfmodes_has_no_such_field == 1");
}

TEST(bad_syntax)
{
	int fd = open_closes(), error = set_filter(fd, "fd == == ((");
	uint64_t count;

	fact_str("bad_syntax_error", "%s", pm_errno_name(error));
	cause_closes(1000000, 20);
	count = must_count(fd);
	if (error >= 0 || count != 20)
		say_broken("errno=%s, counted=%" PRIu64 " want=20", pm_errno_name(error), count);
}

TEST(other_event)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	refused(must_open(&attr, 0, -1, -1, 0), "fd == 3");
}

PROBE_MAIN
