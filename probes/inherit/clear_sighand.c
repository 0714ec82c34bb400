/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a sigtrap event kept from a child that was cloned with CLONE_CLEAR_SIGHAND? Such a child has
 * no handler for the trap any more and would die of it.
 * Observed: the parent's sum gains the faults of a plain child, and not those of such a child.
 * Linux 97ba62b27867 ("perf: Add support for SIGTRAP on perf events") (v5.13)
 * Linux b612e5df4587 ("clone3: add CLONE_CLEAR_SIGHAND") (v5.5), the flag itself
 */
#include "probe.h"
#include "finding.h"

#include <sys/syscall.h>

PROBE(TITLE("sigtrap events and cleared signal handlers")
      SINCE("5.13")
      COMMIT("97ba62b27867")
      POINT(plain_child, "a sigtrap event is inherited by a plain clone3 child")
      POINT(cleared_child, "a sigtrap event is not inherited by a child whose signal handlers are "
	    "cleared")
      POINT(without_sigtrap, "an event without sigtrap is inherited by a child whose signal "
	    "handlers are cleared")
      SINCE("5.5")
      COMMIT("b612e5df4587"))

#define FAULTS 400
#define CLONE3 435			/* the same number on every architecture but alpha */
#define CLEAR_SIGHAND 0x100000000ull

struct clone3_arguments {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static struct perf_event_attr counting(bool sigtrap)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = 1;
	attr.remove_on_exec = sigtrap;	/* both are of one release, and sigtrap needs it */
	attr.sigtrap = sigtrap;
	return attr;
}

/* A child that faults and ends: whether its faults are in the sum. */
static bool counts_child(bool sigtrap, uint64_t flags)
{
	const struct perf_event_attr attr = counting(sigtrap), without = counting(false);
	struct clone3_arguments arguments = { .flags = flags, .exit_signal = SIGCHLD };
	int fd = sigtrap ? ask_open(&attr, &without, 0, -1, "sigtrap") :
		 must_open(&without, 0, -1, -1, 0);
	uint64_t before = must_count(fd), gain;
	long child = syscall(CLONE3, &arguments, sizeof(arguments));

	if (child == 0)
		_exit(cause_faults(FAULTS) ? 1 : 0);
	if (child < 0 && errno == EINVAL)
		say_absent("no clone3 with these flags here (%s)", pm_errno_name(errno));
	must_call(child, "clone3");
	ASSERT_EQ(0, wait_child(child));
	gain = must_count(fd) - before;
	/* Forking costs the parent some faults too, but never as many. */
	if (gain >= FAULTS / 2 && gain < FAULTS)
		say_broken("gained=%" PRIu64 ", neither 0 nor %d and more", gain, FAULTS);
	return gain >= FAULTS;
}

TEST(plain_child)
{
	if (!counts_child(true, 0))
		say_broken("the faults of a plain child are not counted");
}

TEST(cleared_child)
{
	if (counts_child(true, CLEAR_SIGHAND))
		say_broken("a child with cleared handlers has inherited the sigtrap event");
	if (!counts_child(true, 0))
		say_unknown("not even a plain child is counted");
}

TEST(without_sigtrap)
{
	if (!counts_child(false, CLEAR_SIGHAND))
		say_broken("the faults of a child with cleared handlers are not counted");
}

PROBE_MAIN
