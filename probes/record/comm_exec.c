/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring tell a new program from a new name? What is known about a process's addresses ends
 * with execve(2), not with prctl(2).
 * Observed: a child takes a name and becomes this very program, printing its declaration.
 * Linux 82b897782d10 ("perf: Differentiate exec() and non-exec() comm events") (v3.16)
 */
#include "probe.h"
#include "waiter.h"
#include <libgen.h>
#include <stdio.h>
#include <sys/prctl.h>

PROBE(TITLE("task names after execve in the ring")
      SINCE("2.6.31")
      POINT(exec, "execve gives one COMM with the program's name")
      POINT(exec_flag, "with comm_exec, execve is marked MISC_COMM_EXEC and prctl is not")
      SINCE("3.16")
      COMMIT("82b897782d10")
      POINT(needs_its_bit, "without attr.comm there is no COMM"))

static struct sampler watch_names(pid_t pid, bool comm, bool comm_exec)
{
	struct perf_event_attr attr = attr_sideband(), without;

	attr.comm = comm;
	attr.task = 1;
	without = attr;
	attr.comm_exec = comm_exec;
	return ask_run_sampler(&attr, &without, pid, -1, 2, "comm_exec");
}

/* Waits until it is watched, takes a name, and becomes this program, printing its declaration. */
static int exec_self(void *context)
{
	char *const arguments[] = { (char *)PROBE_ID, "--describe", NULL };
	int null = open("/dev/null", O_WRONLY);

	gate_wait(context);
	prctl(PR_SET_NAME, "not yet");
	dup2(null, STDOUT_FILENO);
	execv("/proc/self/exe", arguments);
	return 126;
}

static struct sampler watch_exec(bool comm, bool comm_exec)
{
	struct sampler sampler;
	struct gate gate;
	pid_t child;

	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(exec_self, &gate);
	ASSERT_LT(0, child);
	sampler = watch_names(child, comm, comm_exec);
	gate_open(&gate);
	if (wait_child(child) != 0)
		say_unknown("the child could not execute /proc/self/exe");
	return sampler;
}

TEST(exec)
{
	struct sampler sampler = watch_exec(true, false);
	char path[512] = "", program[16];	/* a name is cut to 15 letters */
	struct pm_record record;

	if (!find_record(&sampler, PERF_RECORD_COMM, &record) ||
	    strcmp(record.comm.comm, "not yet"))
		say_broken("no COMM of the child's prctl");
	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM after execve");
	/* The name is the last part of the path: "exe", or the link's target since v6.14. */
	readlink("/proc/self/exe", path, sizeof(path) - 1);
	snprintf(program, sizeof(program), "%s", basename(path));
	if (strcmp(record.comm.comm, "exe") && strcmp(record.comm.comm, program))
		say_broken("comm=%.40s want=%s or exe", record.comm.comm, program);
	if (find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("a second COMM for one execve");
}

TEST(exec_flag)
{
	struct sampler sampler = watch_exec(true, true);
	struct pm_record record;

	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM of the child's prctl");
	if (record.misc & PERF_RECORD_MISC_COMM_EXEC)
		say_broken("prctl is marked as execve: misc=%#x", record.misc);
	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM after execve");
	if (!(record.misc & PERF_RECORD_MISC_COMM_EXEC))
		say_broken("execve is not marked: misc=%#x", record.misc);
}

TEST(needs_its_bit)
{
	struct sampler sampler = watch_exec(false, false);
	struct pm_record record;
	bool lived = false;

	while (find_record(&sampler, 0, &record)) {
		if (record.type == PERF_RECORD_COMM)
			say_broken("a COMM although attr.comm is clear");
		lived |= record.type == PERF_RECORD_EXIT;
	}
	if (!lived)
		say_broken("not even the EXIT that attr.task asks for came");
}

PROBE_MAIN
