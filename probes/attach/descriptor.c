/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kind of file is an event? Tools that look through /proc/PID/fd, and libraries that wrap
 * descriptors, meet it. Observed: its name, what fstat(2) says, and that epoll takes it.
 */
#include "probe.h"
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>

PROBE(TITLE("the descriptor of an event")
      SINCE("2.6.31")
      POINT(name, "/proc/self/fd tells an anonymous inode named perf_event")
      POINT(status, "fstat works and tells no regular file")
      POINT(epoll, "epoll takes the descriptor")
      FACT(link, string, "-", "what the link in /proc/self/fd says"))

static int open_event(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	return must_open(&attr, 0, -1, -1, 0);
}

TEST(name)
{
	char path[64], text[128];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open_event());
	length = readlink(path, text, sizeof(text) - 1);
	if (length < 0)
		say_unknown("readlink: %s", pm_errno_name(errno));
	text[length] = '\0';
	fact_str("link", "%s", text);
	if (!strstr(text, "anon_inode") || !strstr(text, "perf_event"))
		say_broken("link=%s", text);
}

TEST(status)
{
	struct stat entry;

	if (fstat(open_event(), &entry) < 0)
		say_broken("fstat: %s", pm_errno_name(errno));
	if (S_ISREG(entry.st_mode) || S_ISDIR(entry.st_mode))
		say_broken("mode=%o", (unsigned int)entry.st_mode);
}

TEST(epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = open_event(), set = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_LE(0, set);
	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0)
		say_broken("EPOLL_CTL_ADD: %s", pm_errno_name(errno));
	if (epoll_wait(set, &event, 1, 0) != 1 || !(event.events & EPOLLHUP))
		say_broken("an event without a ring is not EPOLLHUP, as poll(2) has it");
}

PROBE_MAIN
