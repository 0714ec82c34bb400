/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a watcher hear that its event was removed at execve(2)? Without a word it would wait for
 * samples of a program that nobody watches any more.
 * Observed: poll of the mapped ring before and after a child executes this program anew.
 * Linux 2e498d0a74e5 ("perf: Add support for event removal on exec") (v5.13)
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("POLLHUP of an event removed at execve")
      SINCE("5.13")
      COMMIT("2e498d0a74e5")
      POINT(hangs_up, "poll of the ring says POLLHUP after execve, and not before"))

TEST(hangs_up)
{
	const struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID);
	struct perf_event_attr attr = without;
	struct worker child;
	struct sampler sampler;
	int before, after;

	attr.remove_on_exec = 1;
	must_start_worker(&child, WORKER_CHILD);
	sampler = ask_sampler(&attr, &without, child.tid, -1, 4, "remove_on_exec");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	before = poll_once(sampler.fd, POLLIN, 0);
	must_exec_worker(&child);
	after = poll_once(sampler.fd, POLLIN, 1000);
	worker_stop(&child);
	if (before & POLLHUP || !(after & POLLHUP))
		say_broken("revents before=%#x after=%#x want POLLHUP", before, after);
}

PROBE_MAIN
