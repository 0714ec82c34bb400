/* SPDX-License-Identifier: MIT */
/* What stands in front of perf_event_open(2): filters of system calls, and kernels without perf. */
#include "gate_advice.h"

#include <errno.h>
#include <stdio.h>

static bool is_not_built(const struct pm_refused *refused)
{
	return refused->perf == PM_PERF_NOT_BUILT;
}

static void say_not_built(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "this kernel has no perf_event_open (%s)",
	       pm_errno_name(refused->perf_errno));
	if (refused->perf_errno == ENODEV)
		PM_SAY(ret->gate, "what stands in for a kernel here has no perf events: it says "
		       "ENODEV to every call, as gVisor does");
	else
		PM_SAY(ret->gate, "this kernel has no perf events");
	pm_advise_kernel(refused, ret);
}

static bool is_untold(const struct pm_refused *refused)
{
	return refused->perf == PM_PERF_UNTOLD;
}

static void say_untold(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s to perf_event_open, from this kernel or a system call filter: "
	       "neither perf_event_paranoid nor /proc/kallsyms tells",
	       pm_errno_name(refused->perf_errno));
	PM_SAY(ret->gate, "this kernel has no perf events, or a system call filter answers in "
	       "their place (nothing in /proc tells)");
	PM_SAY(ret->change, "allow perf_event_open in the filter, and let "
	       "/proc/sys/kernel/perf_event_paranoid be seen");
}

static bool is_filtered(const struct pm_refused *refused)
{
	return refused->perf == PM_PERF_FILTERED;
}

static void say_filtered(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "seccomp or container filter answers %s to perf_event_open",
	       pm_errno_name(refused->perf_errno));
	PM_SAY(ret->gate, "a system call filter answers %s%s", pm_errno_name(refused->perf_errno),
	       refused->env->seccomp_mode == 2 ? " (Seccomp: 2 in /proc/self/status)" : "");
	pm_advise_filter(refused, ret);
}

static bool is_killed(const struct pm_refused *refused)
{
	return refused->perf == PM_PERF_KILLED;
}

static void say_killed(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "seccomp or container filter answers perf_event_open with SIGSYS");
	PM_SAY(ret->gate, "a system call filter ends a process that calls perf_event_open "
	       "(SIGSYS)");
	pm_advise_filter(refused, ret);
	pm_advise(ret, "or have it answer an errno, so that programs can do without: for systemd "
		  "SystemCallErrorNumber=EPERM");
}

/* Of this library: the call said yes, and what it gave is no event. */
static bool is_no_event(const struct pm_refused *refused)
{
	return refused->error == EPROTO;
}

static void say_no_event(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, "seccomp or container filter says yes to perf_event_open, and opens "
	       "nothing");
	PM_SAY(ret->gate, "something in front of the system call says yes, and opens no event");
	PM_SAY(ret->change, "allow perf_event_open in the filter, or have it answer an errno");
}

const struct pm_gate pm_gates_filter[] = {
	PM_GATE_ROW(killed, FILTER, BLOCKED, is_killed),
	PM_GATE_ROW(not_built, NOT_BUILT, ABSENT, is_not_built),
	PM_GATE_ROW(untold, UNKNOWN, UNTOLD, is_untold),
	PM_GATE_ROW(filtered, FILTER, BLOCKED, is_filtered),
	PM_GATE_ROW(no_event, FILTER, BLOCKED, is_no_event),
	PM_GATE_END
};
