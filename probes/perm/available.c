/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is perf_event_open there at all, and does the file that stands for it tell the truth?
 *
 * The existence of perf_event_paranoid is the official sign of perf events. Phones were met
 * without the file, containers hide it, and filters answer in the kernel's stead. The system call
 * is asked in a way that only perf can answer: unknown flags are EINVAL before a bad pointer is
 * EFAULT, and nothing is opened.
 */
#include "probe.h"

PROBE(TITLE("perf_event_open itself")
      SINCE("2.6.31")
      POINT(system_call, "perf itself answers: EINVAL to unknown flags, EFAULT to a bad pointer")
      FACT(gate, enum, "-", "who answers: open (perf), filtered, not_built")
      FACT(gate_errno, string, "-", "errno that decided about the gate")
      POINT(opens, "a counter of one's own opens and counts exactly")
      POINT(file, "/proc/sys/kernel/perf_event_paranoid is there")
      SINCE("2.6.32")
      FACT(file_state, enum, "-", "readable, unreadable, missing, or hidden: no /proc/sys/kernel")
      POINT(file_agrees, "the file is there exactly if the system call is")
      SINCE("2.6.32")
      FACT(combination, enum, "-", "file_and_call, file_only, call_only, neither")
      POINT(level, "the level is a number from -1 to 4")
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

TEST(system_call)
{
	static const char *const names[] = { "open", "filtered", "not_built" };
	int error = 0;
	enum pm_gate gate = pm_perf_gate(probe_env(), &error);

	fact_str("gate", "%s", names[gate]);
	fact_str("gate_errno", "%s", errno_name(error));
	require(REQUIRE_PERF);
}

TEST(opens)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before, after;
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_count(fd);
	cause_faults(1);		/* the pages of this very code are there from now on */
	before = must_count(fd);
	cause_faults(8);
	after = must_count(fd);
	if (after - before != 8)
		broken("counted=%" PRIu64 " want=8", after - before);
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
	enum pm_gate gate = pm_perf_gate(probe_env(), &error);

	if (gate == PM_GATE_FILTERED && !probe_has(REQUIRE_PERF, &finding))
		speak(&finding);
	if (!strcmp(state, "hidden"))
		say_blocked("/proc/sys/kernel is not to be seen here");
	fact_str("combination", "%s",
		 file ? gate == PM_GATE_OPEN ? "file_and_call" : "file_only"
		      : gate == PM_GATE_OPEN ? "call_only" : "neither");
	if (file != (gate == PM_GATE_OPEN))
		broken("the file is %s, the system call is %s", state,
		       gate == PM_GATE_OPEN ? "there" : "not there");
}

TEST(level)
{
	int64_t level;
	int error = pm_read_number(PARANOID, &level);

	if (error == -EACCES || error == -EPERM)
		say_blocked("%s: perf_event_paranoid is not readable", errno_name(error));
	if (error == -ENOENT)
		say_absent("no perf_event_paranoid");
	if (error)
		broken("perf_event_paranoid is no number: %s", errno_name(error));
	fact_int("paranoid", level);
	if (level < -1 || level > 4)
		cannot_tell("level %" PRId64 " has no known meaning", level);
}

PROBE_MAIN
