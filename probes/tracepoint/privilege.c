/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may a task without privilege do with tracepoints, once it knows their ids? Apps get them
 * from a helper or a build-time table. Observed by a child that gives up all privileges, on its own
 * task: counting, raw data of system calls (which are marked as harmless), raw data of the
 * scheduler, and watching a whole CPU.
 */
#include "probe.h"
#include <sys/syscall.h>

PROBE(TITLE("tracepoints without privilege")
      SINCE("2.6.38")
      NEEDS("tracefs")
      POINT(count_opens, "a scheduler tracepoint of one's own task opens for user mode")
      POINT(raw_system_call, "raw data of a system call tracepoint is allowed on one's own task")
      POINT(raw_other, "raw data of a scheduler tracepoint is refused with EPERM or EACCES")
      POINT(whole_cpu, "a tracepoint for all tasks of a CPU is refused with EACCES")
      FACT(raw_error, enum, "-", "errno for raw data of the scheduler without privilege"))

struct asked {
	struct perf_event_attr attr;
	pid_t pid;
	int cpu;
};

#define ACCEPTED 200
#define NOT_EVEN_ITSELF 201

static int open_as_stranger(void *argument)
{
	const struct perf_event_attr faults = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct asked *asked = argument;
	int fd;

	if (drop_privileges(65531) || pm_open(&faults, 0, -1, -1, 0) < 0)
		return NOT_EVEN_ITSELF;
	fd = pm_open(&asked->attr, asked->pid, asked->cpu, -1, 0);
	return fd < 0 ? -fd : ACCEPTED;
}

static int answer_to(struct __test_metadata *_metadata, const char *system, const char *event,
		     bool raw, bool whole_cpu)
{
	struct asked asked = { .attr = must_tracepoint(system, event), .cpu = -1 };
	int answer;

	if (raw) {
		asked.attr.sample_type = PERF_SAMPLE_RAW;
		asked.attr.sample_period = 1;
	}
	if (whole_cpu) {
		asked.pid = -1;
		asked.cpu = move_to_nth_cpu(0);
	}
	require(REQUIRE_PERF);
	answer = wait_child(start_child(open_as_stranger, &asked));
	if (answer == NOT_EVEN_ITSELF)
		say_blocked("without privilege there are no events at all (perf_event_paranoid=%d)",
			    probe_env()->paranoid);
	return answer;
}

/* Levels below 0 let everybody in, as the manual says. */
static void need_paranoid(struct __test_metadata *_metadata, int level)
{
	if (probe_env()->paranoid < level)
		say_absent("perf_event_paranoid=%d refuses nobody", probe_env()->paranoid);
}

TEST(count_opens)
{
	int answer = answer_to(_metadata, "sched", "sched_switch", false, false);

	if (answer != ACCEPTED)
		broken("errno=%s", errno_name(answer));
}

TEST(raw_system_call)
{
	int answer = answer_to(_metadata, "syscalls", "sys_enter_getppid", true, false);

	if (answer == EPERM || answer == EACCES)
		say_no("%s without privilege, ok with", errno_name(answer));
	if (answer != ACCEPTED)
		broken("errno=%s", errno_name(answer));
}

TEST(raw_other)
{
	int answer = answer_to(_metadata, "sched", "sched_switch", true, false);

	fact_str("raw_error", "%s", answer == ACCEPTED ? "none" : errno_name(answer));
	if (answer == EPERM || answer == EACCES)
		return;
	need_paranoid(_metadata, 0);
	broken("answer=%s want=EPERM or EACCES", answer == ACCEPTED ? "ok" : errno_name(answer));
}

TEST(whole_cpu)
{
	int answer = answer_to(_metadata, "sched", "sched_switch", false, true);

	if (answer == EACCES)
		return;
	need_paranoid(_metadata, 1);
	broken("answer=%s want=EACCES", answer == ACCEPTED ? "ok" : errno_name(answer));
}

PROBE_MAIN
