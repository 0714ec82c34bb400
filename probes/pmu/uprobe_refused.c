/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which uprobes are refused as events? A tracer must learn that a file is not there, and nobody
 * without privilege may place one. Observed: the answers to paths that cannot be, after a right
 * one, and to a child without privilege.
 */
#include "probe.h"
#include "privilege.h"
#include "uprobe_target.h"

PROBE(TITLE("uprobes that are refused")
      SINCE("4.17")
      COMMIT("33ea4b24277b")
      NEEDS("uprobe")
      POINT(no_file, "a path that is not there is refused with ENOENT")
      POINT(no_pointer, "an unreadable path is refused with EFAULT or EINVAL")
      POINT(unprivileged, "without privilege it is refused with EACCES or EPERM"))

#define NO_FILE "/perfmodes/has/no/such/file"

TEST(no_file)
{
	struct perf_event_attr attr = must_uprobe(watched_function);

	close(open_uprobe(&attr));
	attr.uprobe_path = (uintptr_t)NO_FILE;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), ENOENT, BROKEN, "a path that is not there");
}

TEST(no_pointer)
{
	struct perf_event_attr attr = must_uprobe(watched_function);
	int fd;

	attr.uprobe_path = (uintptr_t)NO_FILE;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -ENOENT) {	/* cheaper than to place one */
		attr = must_uprobe(watched_function);
		close(open_uprobe(&attr));
		if (fd >= 0)
			say_unknown("no path is looked at");
	}
	attr.uprobe_path = 8;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -EFAULT && fd != -EINVAL)
		say_broken("answer=%s want=EFAULT or EINVAL", pm_errno_name(fd < 0 ? fd : 0));
}

TEST(unprivileged)
{
	struct perf_event_attr attr = must_uprobe(watched_function);
	int answer;

	attr.exclude_kernel = 1;
	answer = ask_unprivileged(&attr, 0, -1);
	if (answer == -EINVAL || answer == -E2BIG)
		say_unknown("%s, before anybody asks for permission", pm_errno_name(answer));
	if (answer != -EACCES && answer != -EPERM)
		say_broken("answer=%s want=EACCES or EPERM", answer ? pm_errno_name(answer) : "ok");
}

PROBE_MAIN
