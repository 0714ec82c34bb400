/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kprobes are refused as events? A tracer must learn that a function is not there, and nobody
 * without privilege may place one. Observed: the answers to wrong names and offsets after a right
 * one, and to a child without privilege.
 */
#include "probe.h"
#include "pmu.h"
#include "privilege.h"

PROBE(TITLE("kprobes that are refused")
      SINCE("4.17")
      COMMIT("e12f03d7031a")
      NEEDS("kprobe")
      POINT(unknown_symbol, "a function that is not there is refused with ENOENT or EINVAL")
      POINT(inside_instruction, "an offset far beyond every function is refused")
      POINT(unprivileged, "without privilege it is refused with EACCES or EPERM"))

static struct perf_event_attr kprobe(void)
{
	struct perf_event_attr attr = must_pmu("kprobe");

	attr.kprobe_func = (uintptr_t)"vfs_write";
	attr.exclude_kernel = attr.disabled = 0;
	return attr;
}

TEST(unknown_symbol)
{
	struct perf_event_attr attr = kprobe();
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.kprobe_func = (uintptr_t)"perfmodes_has_no_such_function";
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -ENOENT && fd != -EINVAL)
		say_broken("answer=%s want=ENOENT or EINVAL", pm_errno_name(fd < 0 ? fd : 0));
}

TEST(inside_instruction)
{
	struct perf_event_attr attr = kprobe();
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.probe_offset = 0x10000001;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		say_broken("offset 0x10000001 is accepted");
}

TEST(unprivileged)
{
	struct perf_event_attr attr = kprobe();
	int answer;

	attr.exclude_kernel = 1;
	answer = ask_unprivileged(&attr, 0, -1);
	if (answer != -EACCES && answer != -EPERM)
		say_broken("answer=%s want=EACCES or EPERM", answer ? pm_errno_name(answer) : "ok");
}

PROBE_MAIN
