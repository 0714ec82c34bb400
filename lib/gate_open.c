/* SPDX-License-Identifier: MIT */
/* The gates of perf_event_open(2). A new gate is a row of the table, its test and its words. */
#include "gate.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ what the tests share */

static bool is_denied(const struct pm_refused *refused)
{
	return refused->error == EACCES || refused->error == EPERM;
}

static bool is_missing(const struct pm_refused *refused)
{
	return refused->error == ENOENT || refused->error == EOPNOTSUPP ||
		refused->error == ENXIO || refused->error == ENODEV;
}

static bool is_tracepoint(const struct pm_refused *refused)
{
	return refused->attr != NULL && refused->attr->type == PERF_TYPE_TRACEPOINT;
}

/* Whether the event is of the CPU's own PMU. */
static bool is_hardware(const struct pm_refused *refused)
{
	return refused->attr != NULL && (refused->attr->type == PERF_TYPE_HARDWARE ||
		refused->attr->type == PERF_TYPE_HW_CACHE || refused->attr->type == PERF_TYPE_RAW);
}

static bool holds_capability(const struct pm_env *env)
{
	return pm_env_has_cap(env, PM_CAP_PERFMON) || pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
}

/* The highest level of perf_event_paranoid at which the call takes no capability. */
static int level_needed(const struct pm_refused *refused)
{
	if (refused->reach == PM_REACH_TRACE)
		return -1;
	if (refused->reach == PM_REACH_CPU)
		return 0;
	return refused->attr != NULL && refused->attr->exclude_kernel ? 2 : 1;
}

/* ------------------------------------------------------------------------ words that rows share */

static const char *error_name(const struct pm_refused *refused)
{
	return pm_errno_name(refused->error);
}

static const char *capability(const struct pm_env *env)
{
	return env->cap_last >= 0 && env->cap_last < PM_CAP_PERFMON ? "CAP_SYS_ADMIN" :
		"CAP_PERFMON";
}

/* A vendor's level asks for CAP_SYS_ADMIN, as Debian's 3 does to this day (seen on 5.10 to 7.x). */
static const char *capability_at(const struct pm_env *env, int level)
{
	return level >= 3 ? "CAP_SYS_ADMIN" : capability(env);
}

/* "perf_event_paranoid=2" */
static void put_level(const struct pm_env *env, char *buf, size_t size)
{
	if (env->paranoid_present)
		snprintf(buf, size, "perf_event_paranoid=%d", env->paranoid);
	else
		snprintf(buf, size, "perf_event_paranoid unreadable");
}

/* All that is known of a refusal that no level explains. */
static void brief_denial(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const struct pm_env *env = refused->env;
	const char *held = holds_capability(env) ? "CAP_PERFMON held" : "no CAP_PERFMON";
	char level[48];

	put_level(env, level, sizeof(level));
	if (refused->reach == PM_REACH_OTHER)
		PM_SAY(ret->brief, "%s: no right to watch that task (%s, %s)", error_name(refused),
		       level, held);
	else
		PM_SAY(ret->brief, "%s (%s, %s%s)", error_name(refused), level, held,
		       env->lockdown[0] && strcmp(env->lockdown, "none") ? ", lockdown" : "");
}

static void brief_missing(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	if (refused->error == ENODEV)
		PM_SAY(ret->brief, "CPU %d or its PMU is not there (ENODEV)", refused->cpu);
	else
		PM_SAY(ret->brief, "no such event here: type %u config %#llx (%s)",
		       refused->attr ? refused->attr->type : 0,
		       refused->attr ? (unsigned long long)refused->attr->config : 0,
		       error_name(refused));
}

static void brief_setup(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "set-up refused: type %u config %#llx: %s",
	       refused->attr ? refused->attr->type : 0,
	       refused->attr ? (unsigned long long)refused->attr->config : 0, error_name(refused));
}

/* ------------------------------------------------------------------ in front of the system call */

static bool is_not_built(const struct pm_refused *refused)
{
	return refused->perf == PM_PERF_NOT_BUILT;
}

static void say_not_built(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "this kernel has no perf_event_open (%s)",
	       pm_errno_name(refused->perf_errno));
	PM_SAY(ret->gate, "this kernel has no perf events");
	PM_SAY(ret->change, "a kernel with CONFIG_PERF_EVENTS=y");
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
	PM_SAY(ret->change, "allow perf_event_open in the filter; for Docker --cap-add PERFMON or "
	       "--security-opt seccomp=PROFILE.json, for systemd SystemCallFilter=");
}

static bool is_killed(const struct pm_refused *refused)
{
	return refused->perf == PM_PERF_KILLED;
}

static void say_killed(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, "seccomp or container filter answers perf_event_open with SIGSYS");
	PM_SAY(ret->gate, "a system call filter ends a process that calls perf_event_open "
	       "(SIGSYS)");
	PM_SAY(ret->change, "allow perf_event_open in the filter, for systemd SystemCallFilter=; "
	       "or have it answer an errno, so that programs can do without: "
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

/* ---------------------------------------------------------------------------------- permission */

/* CAP_PERFMON, which is enough for everything in mainline, does not count there. */
static bool is_vendors_level(const struct pm_refused *refused)
{
	return is_denied(refused) && refused->privileged && refused->level >= 3 &&
		refused->env->paranoid >= 3 && !pm_env_has_cap(refused->env, PM_CAP_SYS_ADMIN);
}

static void say_vendors_level(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "kernel.perf_event_paranoid=%d, a vendor's level that refuses every "
	       "event without CAP_SYS_ADMIN; CAP_PERFMON does not count", refused->env->paranoid);
	PM_SAY(ret->change, "as root: sysctl -w kernel.perf_event_paranoid=2, where CAP_PERFMON "
	       "counts; or give the program CAP_SYS_ADMIN");
}

static bool is_level(const struct pm_refused *refused)
{
	return is_denied(refused) && refused->attr != NULL && !refused->privileged &&
		refused->level != INT_MIN && refused->level > level_needed(refused);
}

static bool is_android(void)
{
	return access("/system/build.prop", F_OK) == 0 ||
		access("/system/bin/app_process", F_OK) == 0;
}

static void change_level(const struct pm_refused *refused, int needed, struct pm_gate_words *ret)
{
	const char *cap = capability_at(refused->env, refused->level);

	if (is_android())
		PM_SAY(ret->change, "adb shell setprop security.perf_harden 0, or as root: "
		       "sysctl -w kernel.perf_event_paranoid=%d", needed);
	else
		PM_SAY(ret->change, "as root: sysctl -w kernel.perf_event_paranoid=%d; or give "
		       "the program %s: setcap %s=ep PROGRAM, in a container --cap-add %s%s",
		       needed, cap,
		       strcmp(cap, "CAP_PERFMON") == 0 ? "cap_perfmon" : "cap_sys_admin", cap + 4,
		       refused->level <= 2 && needed == 1 ? "; or watch user mode only" : "");
}

static void brief_level(const struct pm_refused *refused, int needed, struct pm_gate_words *ret)
{
	const char *wish = "raw data of a tracepoint";
	char level[48];

	put_level(refused->env, level, sizeof(level));
	if (refused->level > 2) {
		wish = "any event of an unprivileged task";
		needed = 2;
	} else if (needed == 0) {
		wish = "a cpu-wide event";
	} else if (needed == 1) {
		wish = "an event that counts the kernel";
	}
	PM_SAY(ret->brief, "%s: %s refuses %s; needs <= %d or CAP_PERFMON", error_name(refused),
	       level, wish, needed);
}

static void say_level(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const struct pm_env *env = refused->env;
	const int needed = level_needed(refused), level = refused->level;
	char without[80];

	snprintf(without, sizeof(without), holds_capability(env) ?
		 "%s of a user namespace does not count" : "%s is missing",
		 capability_at(env, level));
	if (env->paranoid == INT_MIN)
		PM_SAY(ret->gate, "kernel.perf_event_paranoid (not readable here) acts as %s%d, "
		       "%d or less is needed, and %s", level == 3 ? "a vendor's level " : "",
		       level, needed, without);
	else
		PM_SAY(ret->gate, "kernel.perf_event_paranoid=%d%s, %d or less is needed, and %s",
		     env->paranoid, level == 3 ? ", a vendor's level that refuses every event" : "",
		       needed, without);
	change_level(refused, needed, ret);
	brief_level(refused, needed, ret);
}

static bool is_target(const struct pm_refused *refused)
{
	return is_denied(refused) && !refused->privileged && refused->reach == PM_REACH_OTHER;
}

static void say_target(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "the target may not be traced: it is another user's or has changed its "
	       "privileges, and %s is missing", capability(refused->env));
	PM_SAY(ret->change, "run as the target's user, or give the program %s",
	       capability(refused->env));
}

static bool is_locked_down(const struct pm_refused *refused)
{
	return is_denied(refused) && strcmp(refused->env->lockdown, "confidentiality") == 0;
}

static void say_locked_down(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "kernel lockdown is at confidentiality");
	PM_SAY(ret->change, "boot without lockdown=confidentiality");
}

static bool is_selinux(const struct pm_refused *refused)
{
	return is_denied(refused) && strstr(refused->env->lsm, "selinux") != NULL;
}

static void say_selinux(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "a security module, probably SELinux (%.80s)", refused->env->lsm);
	PM_SAY(ret->change, "allow the perf_event class in its policy; ausearch -m avc shows the "
	       "denial");
}

static bool is_module(const struct pm_refused *refused)
{
	return is_denied(refused) && refused->env->lsm[0] != '\0';
}

static void say_module(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "a security module (%.80s)", refused->env->lsm);
}

static void say_denied(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "not kernel.perf_event_paranoid, not a missing capability; a security "
	       "module perhaps (/sys/kernel/security is not readable)");
}

/* ----------------------------------------------------------------------------------- resources */

static bool is_file_max(const struct pm_refused *refused)
{
	return refused->error == ENFILE;
}

static void say_file_max(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s: out of descriptors (RLIMIT_NOFILE %"PRIu64 ")", error_name(refused),
	       refused->env->nofile);
	PM_SAY(ret->gate, "fs.file-max: the whole machine has no descriptor left");
	PM_SAY(ret->change, "as root: sysctl -w fs.file-max=1000000");
}

static bool is_nofile(const struct pm_refused *refused)
{
	return refused->error == EMFILE;
}

static void say_nofile(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	struct rlimit limit = { 0, 0 };

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		limit.rlim_cur = limit.rlim_max = refused->env->nofile;
	PM_SAY(ret->brief, "%s: out of descriptors (RLIMIT_NOFILE %"PRIu64 ")", error_name(refused),
	       refused->env->nofile);
	PM_SAY(ret->gate, "RLIMIT_NOFILE=%llu is used up (hard limit %llu)",
	       (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	PM_SAY(ret->change, "ulimit -n %llu%s, or PM_ALLOW_RAISE_NOFILE",
	       (unsigned long long)(limit.rlim_max > limit.rlim_cur ? limit.rlim_max : 4096),
	       limit.rlim_max > limit.rlim_cur ? "" : " as root");
}

static bool is_taken(const struct pm_refused *refused)
{
	return refused->error == EBUSY || refused->error == ENOSPC;
}

static void say_taken(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "others hold the counters (%s)", error_name(refused));
	PM_SAY(ret->gate, "others hold the counters or breakpoints");
	PM_SAY(ret->change, "end other profilers; as root: sysctl -w kernel.nmi_watchdog=0 frees "
	       "a counter");
}

/* --------------------------------------------------------------------------- what is not there */

static bool is_no_tracepoint(const struct pm_refused *refused)
{
	return is_missing(refused) && is_tracepoint(refused);
}

static void say_no_tracepoint(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_missing(refused, ret);
	PM_SAY(ret->gate, "no tracepoint has that id");
	PM_SAY(ret->change, "read the id again from events/SYSTEM/NAME/id in tracefs: it differs "
	       "from boot to boot");
}

static bool is_hardware_missing(const struct pm_refused *refused)
{
	return is_missing(refused) && is_hardware(refused);
}

static void say_hardware_missing(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	static const char devices[] = "/sys/bus/event_source/devices";
	char pmu[64];

	brief_missing(refused, ret);
	if (pm_pmu_core(pmu, sizeof(pmu)) < 0) {
		const bool hidden = access(devices, F_OK) != 0;

		PM_SAY(ret->gate, "hardware events are missing: no CPU PMU in %s%s", devices,
		       hidden ? " (hidden here)" : "");
		PM_SAY(ret->change, "%sin a virtual machine the host has to pass its PMU "
		       "through (QEMU: -cpu host,pmu=on); else the PMU's driver is not loaded",
		       hidden ? "mount sysfs on /sys to see what there is; " : "");
	} else {
		PM_SAY(ret->gate, "the PMU %s has no such event, or cannot sample it", pmu);
		PM_SAY(ret->change, "count it instead of sampling, or take an event that perf "
		       "list shows");
	}
}

static void say_missing(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_missing(refused, ret);
	PM_SAY(ret->gate, "no such event on this machine");
}

/* ARMv7's debug unit does not report whether it was a read or a write. */
static bool is_single_access(const struct pm_refused *refused)
{
	return refused->error == EINVAL && refused->needs_both_accesses;
}

static void say_single_access(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, "breakpoints on reads or on writes alone");
	PM_SAY(ret->gate, "this machine has no breakpoints on reads or on writes alone");
	PM_SAY(ret->change, "a breakpoint on reads and writes (HW_BREAKPOINT_RW)");
}

static bool is_unsupported(const struct pm_refused *refused)
{
	return refused->error == EINVAL || refused->error == E2BIG || refused->error == EOVERFLOW;
}

static void say_unsupported(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_setup(refused, ret);
	if (refused->error == EINVAL)
		PM_SAY(ret->gate, "this kernel does not know a field that was set, or does not "
		       "take these fields together");
	else
		PM_SAY(ret->gate, "this kernel does not know a field that was set");
}

static bool is_ended(const struct pm_refused *refused)
{
	return refused->error == ESRCH;
}

static void say_ended(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_setup(refused, ret);
	PM_SAY(ret->gate, "the thread has ended");
}

static void say_any_open(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_setup(refused, ret);
	PM_SAY(ret->gate, "%s", strerror(refused->error));
}

/* --------------------------------------------------------------------------------- the table */

const struct pm_gate pm_gates_open[] = {
	PM_GATE_ROW(killed, FILTER, BLOCKED, is_killed),
	PM_GATE_ROW(not_built, NOT_BUILT, ABSENT, is_not_built),
	PM_GATE_ROW(untold, UNKNOWN, UNTOLD, is_untold),
	PM_GATE_ROW(filtered, FILTER, BLOCKED, is_filtered),
	PM_GATE_ROW(no_event, FILTER, BLOCKED, is_no_event),
	PM_GATE_ROW(vendors_level, PARANOID, BLOCKED, is_vendors_level),
	PM_GATE_ROW(level, PARANOID, BLOCKED, is_level),
	PM_GATE_ROW(target, LSM, BLOCKED, is_target),
	PM_GATE_ROW(locked_down, LSM, BLOCKED, is_locked_down),
	PM_GATE_ROW(selinux, LSM, BLOCKED, is_selinux),
	PM_GATE_ROW(module, LSM, BLOCKED, is_module),
	PM_GATE_ROW(denied, UNKNOWN, BLOCKED, is_denied),
	PM_GATE_ROW(file_max, DESCRIPTORS, BLOCKED, is_file_max),
	PM_GATE_ROW(nofile, DESCRIPTORS, BLOCKED, is_nofile),
	PM_GATE_ROW(no_tracepoint, NO_EVENT, ABSENT, is_no_tracepoint),
	PM_GATE_ROW(hardware_missing, NO_EVENT, ABSENT, is_hardware_missing),
	PM_GATE_ROW(missing, NO_EVENT, ABSENT, is_missing),
	PM_GATE_ROW(taken, NO_EVENT, UNTOLD, is_taken),
	PM_GATE_ROW(single_access, UNSUPPORTED, ABSENT, is_single_access),
	PM_GATE_ROW(unsupported, UNSUPPORTED, UNTOLD, is_unsupported),
	PM_GATE_ROW(ended, NO_TARGET, UNTOLD, is_ended),
	PM_GATE_ROW(any_open, UNKNOWN, UNTOLD, pm_gate_any),
};
