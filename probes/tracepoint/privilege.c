/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may a task without privilege do with tracepoints, once it knows their ids? Apps get them
 * from a helper or a build-time table.
 * Observed: a child gives up all privileges and opens events on itself: counting, raw data of
 * system calls (which the kernel marks as harmless), raw data of the scheduler; and on a whole CPU.
 */
#include "probe.h"
#include "privilege.h"
#include "tracepoint.h"

PROBE(TITLE("tracepoints without privilege")
      SINCE("2.6.38")
      NEEDS("tracefs")
      POINT(count_opens, "without privilege a scheduler tracepoint on one's own task opens")
      POINT(raw_system_call,
	    "without privilege raw data of a system call tracepoint on one's own task opens")
      POINT(raw_other, "EPERM or EACCES for raw data of a scheduler tracepoint without privilege")
      POINT(whole_cpu, "EACCES for a tracepoint for all tasks of a CPU without privilege")
      FACT(raw_error, enum, "-", "errno for raw data of the scheduler without privilege"))

static int stranger_opens(const char *system, const char *event, bool raw, bool whole_cpu)
{
	struct perf_event_attr attr = must_tracepoint(system, event);

	if (raw) {
		attr.sample_type = PERF_SAMPLE_RAW;
		attr.sample_period = 1;
	}
	return ask_unprivileged(&attr, whole_cpu ? -1 : 0, whole_cpu ? move_to_nth_cpu(0) : -1);
}

/* Levels below 0 let everybody in, as the manual says. */
static void need_paranoid(int level)
{
	if (probe_env()->paranoid < level)
		say_absent("perf_event_paranoid=%d refuses nobody", probe_env()->paranoid);
}

TEST(count_opens)
{
	int answer = stranger_opens("sched", "sched_switch", false, false);

	if (answer)
		say_broken("errno=%s", pm_errno_name(answer));
}

TEST(raw_system_call)
{
	int answer = stranger_opens("syscalls", "sys_enter_getppid", true, false);

	if (answer == -EPERM || answer == -EACCES)
		say_no("%s without privilege, ok with", pm_errno_name(answer));
	if (answer)
		say_broken("errno=%s", pm_errno_name(answer));
}

TEST(raw_other)
{
	int answer = stranger_opens("sched", "sched_switch", true, false);

	fact_str("raw_error", "%s", !answer ? "none" : pm_errno_name(answer));
	if (answer == -EPERM || answer == -EACCES)
		return;
	need_paranoid(0);
	say_broken("answer=%s want=EPERM or EACCES", !answer ? "ok" : pm_errno_name(answer));
}

TEST(whole_cpu)
{
	int answer = stranger_opens("sched", "sched_switch", false, true);

	if (answer == -EACCES)
		return;
	need_paranoid(1);
	say_broken("answer=%s want=EACCES", !answer ? "ok" : pm_errno_name(answer));
}

PROBE_MAIN
