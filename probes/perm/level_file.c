/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the file perf_event_paranoid tell the truth about perf events?
 *
 * Its existence is the documented sign that the kernel has perf events. Some phones lack the file,
 * and containers hide it. Observed: the file beside the system call, and its level beside what that
 * level refuses.
 */
#include "probe.h"
#include "finding.h"
#include "privilege.h"
#include "waiter.h"

PROBE(TITLE("perf_event_paranoid as a sign of perf events")
      SINCE("2.6.32")
      POINT(file, "/proc/sys/kernel/perf_event_paranoid is there")
      FACT(file_state, enum, "-", "readable, unreadable, missing, or hidden: no /proc/sys/kernel")
      POINT(file_agrees, "the file is there exactly if the system call is")
      FACT(combination, enum, "-", "file_and_call, file_only, call_only, neither")
      POINT(level, "the level is a number from -1 to 4, and one above 1 shuts the kernel")
      FACT(paranoid, int, "-", "perf_event_paranoid"))

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

static const char *file_state(void)
{
	int64_t level;
	int error = pm_read_number(PARANOID, &level);

	if (access("/proc/sys/kernel/ostype", F_OK) < 0)
		return "hidden";
	if (error == -ENOENT)
		return "missing";
	return error ? "unreadable" : "readable";
}

TEST(file)
{
	const char *state = file_state();

	fact_str("file_state", "%s", state);
	if (!strcmp(state, "hidden"))
		say_blocked("/proc/sys/kernel is not to be seen here");
	if (!strcmp(state, "missing"))
		say_no("ENOENT, while other files of /proc/sys/kernel are there");
}

TEST(file_agrees)
{
	const char *state = file_state();
	const bool file = strcmp(state, "missing") != 0;
	struct finding finding;
	int error = 0;
	enum pm_perf_answer gate = pm_perf_ask(probe_env(), &error);

	if ((gate == PM_PERF_FILTERED || gate == PM_PERF_UNTOLD) &&
	    !has_all(REQUIRE_PERF, &finding))
		say(&finding);
	if (!strcmp(state, "hidden"))
		say_blocked("/proc/sys/kernel is not to be seen here");
	fact_str("combination", "%s",
		 file ? gate == PM_PERF_ANSWERS ? "file_and_call" : "file_only"
		      : gate == PM_PERF_ANSWERS ? "call_only" : "neither");
	if (file != (gate == PM_PERF_ANSWERS))
		say_broken("the file is %s, the system call is %s", state,
			   gate == PM_PERF_ANSWERS ? "there" : "not there");
}

TEST(level)
{
	struct perf_event_attr attr;
	int64_t level;
	int error = pm_read_number(PARANOID, &level);

	if (error == -EACCES || error == -EPERM)
		say_blocked("%s: perf_event_paranoid is not readable", pm_errno_name(error));
	if (error == -ENOENT)
		say_absent("no perf_event_paranoid");
	if (error)
		say_broken("perf_event_paranoid is no number: %s", pm_errno_name(error));
	fact_int("paranoid", level);
	if (level < -1 || level > 4)
		say_unknown("level %" PRId64 " has no known meaning", level);
	attr = must_open_plain();
	if (drop_to(0) < 0)
		say_unknown("capabilities cannot be dropped");
	attr.exclude_kernel = 0;
	if (level > 1)
		expect_refused(pm_open(&attr, 0, -1, -1, 0), EACCES, BROKEN, "counting the kernel");
}

PROBE_MAIN
