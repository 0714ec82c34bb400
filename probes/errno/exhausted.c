/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does perf_event_open answer when no descriptor is left, and does it recover?
 *
 * EMFILE is no refusal: a library must raise its limit or give something back, not conclude that
 * a feature is missing. Observed by running out, and by opening again after one has been closed.
 * No breakpoint left: breakpoint.slots. No file left on the machine: errno.enfile.
 */
#include "probe.h"

#include <sys/resource.h>

PROBE(TITLE("errnos of exhaustion")
      SINCE("2.6.31")
      POINT(emfile, "EMFILE: no descriptor left; opens again when one is closed")
      POINT(emfile_first, "EMFILE comes before a task that is none: a descriptor is taken first"))

#define LIMIT 64

static void limit_files(void)
{
	struct rlimit limit = { LIMIT, LIMIT };

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
}

/* Open as many as there can be. Returns the last answer, which is no descriptor. */
static int open_all(const struct perf_event_attr *attr, int max, int *ret_last)
{
	int fd = -1, last = -1;

	for (int i = 0; i < max; i++) {
		fd = pm_open(attr, 0, -1, -1, 0);
		if (fd < 0)
			break;
		last = fd;
	}
	*ret_last = last;
	return fd;
}

TEST(emfile)
{
	struct perf_event_attr attr = must_open_plain();
	int last, answer;

	limit_files();
	expect_refused(open_all(&attr, LIMIT + 1, &last), EMFILE, BROKEN, "no descriptor left");
	close(last);
	answer = pm_open(&attr, 0, -1, -1, 0);
	if (answer < 0)
		say_broken("one closed, but errno=%s", pm_errno_name(answer));
}

TEST(emfile_first)
{
	struct perf_event_attr attr = must_open_plain();
	int last;

	limit_files();
	open_all(&attr, LIMIT + 1, &last);
	expect_refused(pm_open(&attr, 0x3fffffff, -1, -1, 0), EMFILE, BROKEN,
		       "no task, no descriptor");
	close(last);
	expect_refused(pm_open(&attr, 0x3fffffff, -1, -1, 0), ESRCH, BROKEN, "no task");
}

PROBE_MAIN
