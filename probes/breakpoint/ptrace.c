/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do a debugger's breakpoints and perf's share the debug registers? A profiler of a debugged
 * program must expect fewer. Observed on x86: slots of a stopped child before and after ptrace(2)
 * has put an address into one of its debug registers.
 */
#include "probe.h"
#include "breakpoint.h"
#include "write_slots.h"
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

PROBE(TITLE("breakpoints of a debugger")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      NEEDS("arch:x86")
      POINT(takes_slot, "a debug register that ptrace has set leaves one slot less to perf")
      POINT(refused, "ptrace is refused a debug register while perf holds all slots")
      FACT(kept, bool, "-", "a register that ptrace cleared still takes its slot"))

static volatile int64_t cell __attribute__((aligned(8)));

#if defined(__x86_64__) || defined(__i386__)

static int be_traced(void *unused)
{
	(void)unused;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		return 1;
	raise(SIGSTOP);
	return 0;
}

static pid_t start_traced(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);
	pid_t child;
	int status;

	close(must_open(&attr, 0, -1, -1, 0));
	child = start_child(be_traced, NULL);
	ASSERT_LT(0, child);
	ASSERT_EQ(child, waitpid(child, &status, WUNTRACED));
	if (!WIFSTOPPED(status))
		say_blocked("ptrace is not allowed here");
	return child;
}

static long set_register(pid_t child, int number, unsigned long value)
{
	const size_t offset = offsetof(struct user, u_debugreg) + number * sizeof(long);

	return ptrace(PTRACE_POKEUSER, child, (void *)offset, (void *)value) < 0 ? -errno : 0;
}

/* Register 0: 4 bytes, writes, enabled for this task. */
static long watch_by_ptrace(pid_t child)
{
	long error = set_register(child, 0, (uintptr_t)&cell);

	return error ? error : set_register(child, 7, 0xd0001);
}

TEST(takes_slot)
{
	pid_t child = start_traced();
	int before = count_free_breakpoints(child), after;
	long error = watch_by_ptrace(child);

	if (error)
		say_unknown("PTRACE_POKEUSER: %s", pm_errno_name(error));
	after = count_free_breakpoints(child);
	if (!set_register(child, 7, 0) && !set_register(child, 0, 0))
		fact_bool("kept", count_free_breakpoints(child) != before);
	kill(child, SIGKILL);
	if (after != before - 1)
		say_broken("slots=%d want=%d", after, before - 1);
}

TEST(refused)
{
	pid_t child = start_traced();
	static struct slots slots;
	long error;

	slots_fill(&slots, child);
	if (slots.error != ENOSPC)
		say_unknown("the slots cannot be filled: %s", pm_errno_name(slots.error));
	error = watch_by_ptrace(child);
	kill(child, SIGKILL);
	if (!error)
		say_broken("ptrace got a debug register although perf has them all");
}

#else

static void refuse(void)
{
	(void)cell;
	say_absent("this probe knows the debug registers of x86 only");
}

TEST(takes_slot)
{
	refuse();
}

TEST(refused)
{
	refuse();
}

#endif

PROBE_MAIN
