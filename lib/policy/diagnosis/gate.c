/* SPDX-License-Identifier: MIT */
/*
 * Which gate refused a call. The kernel says EACCES or EPERM for most of them alike, and its own
 * settings may be hidden or mean another thing on a vendor's kernel. So the level of
 * perf_event_paranoid that is in force is found by opening a dummy event in ways which take more
 * and more, and the file is only asked what that level is called.
 */
#include "gate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../spec/spec.h"
#include "diag.h"

#define GATE(refusal, who, ...) do { \
	(refusal)->cause = (who); \
	snprintf((refusal)->gate, sizeof((refusal)->gate), __VA_ARGS__); \
} while (0)
#define CHANGE(refusal, ...) \
	snprintf((refusal)->change, sizeof((refusal)->change), __VA_ARGS__)

/* ------------------------------------------------------------------------------------ policy */

/* A clock, which the oldest kernels have. */
static bool opens(bool kernel, pid_t tid, int cpu)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1,
		.exclude_kernel = !kernel, .exclude_hv = !kernel,
	};
	int fd = pm_open(&attr, tid, cpu, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The level that this thread meets, as mainline numbers them; 3: not even its own user mode. */
static int level_met(void)
{
	if (!opens(false, 0, -1))
		return 3;
	if (!opens(true, 0, -1))
		return 2;
	return opens(true, -1, 0) ? 0 : 1;
}

/* The highest level at which the call is allowed without a capability. */
static int level_needed(const struct pm_event_spec *spec, enum pm_reach reach)
{
	if (reach == REACH_TRACE)
		return -1;
	if (reach == REACH_CPU)
		return 0;
	return spec->flags & PM_SPEC_USER_ONLY ? 2 : 1;
}

static const char *capability(const struct pm_env *env)
{
	return env->cap_last >= 0 && env->cap_last < PM_CAP_PERFMON ? "CAP_SYS_ADMIN" :
		"CAP_PERFMON";
}

static bool has_capability(const struct pm_env *env)
{
	return pm_env_has_cap(env, PM_CAP_PERFMON) || pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
}

static bool is_android(void)
{
	return access("/system/build.prop", F_OK) == 0 ||
		access("/system/bin/app_process", F_OK) == 0;
}

/* A vendor's level asks for CAP_SYS_ADMIN, as Debian's 3 does to this day (seen on 5.10 to 7.x). */
static const char *capability_at(const struct pm_env *env, int met)
{
	return met >= 3 ? "CAP_SYS_ADMIN" : capability(env);
}

static void change_level(const struct pm_env *env, int needed, int met, struct pm_refusal *ret)
{
	const char *cap = capability_at(env, met);

	if (is_android())
		CHANGE(ret, "adb shell setprop security.perf_harden 0, or as root: "
		       "sysctl -w kernel.perf_event_paranoid=%d", needed);
	else
		CHANGE(ret, "as root: sysctl -w kernel.perf_event_paranoid=%d; or give the program "
		       "%s: setcap %s=ep PROGRAM, in a container --cap-add %s%s", needed, cap,
		       strcmp(cap, "CAP_PERFMON") == 0 ? "cap_perfmon" : "cap_sys_admin", cap + 4,
		       met <= 2 && needed == 1 ? "; or watch user mode only" : "");
}

static void gate_level(const struct pm_env *env, int needed, int met, struct pm_refusal *ret)
{
	char without[80];

	snprintf(without, sizeof(without), has_capability(env) ?
		 "%s of a user namespace does not count" : "%s is missing",
		 capability_at(env, met));
	if (env->paranoid == INT_MIN)
		GATE(ret, PM_CAUSE_PARANOID, "kernel.perf_event_paranoid (not readable here) acts "
		     "as %s%d, needed is %d or less, and %s", met == 3 ? "a vendor's level " : "",
		     met, needed, without);
	else
		GATE(ret, PM_CAUSE_PARANOID, "kernel.perf_event_paranoid=%d%s, needed is %d or "
		     "less, and %s", env->paranoid, met == 3 ? ", a vendor's level that "
		     "refuses every event" : "", needed, without);
	change_level(env, needed, met, ret);
}

static void gate_module(const struct pm_env *env, struct pm_refusal *ret)
{
	if (strcmp(env->lockdown, "confidentiality") == 0) {
		GATE(ret, PM_CAUSE_LSM, "kernel lockdown is at confidentiality");
		CHANGE(ret, "boot without lockdown=confidentiality");
	} else if (strstr(env->lsm, "selinux") != NULL) {
		GATE(ret, PM_CAUSE_LSM, "a security module, probably SELinux (%.80s)", env->lsm);
		CHANGE(ret, "allow the perf_event class in its policy; ausearch -m avc shows the "
		       "denial");
	} else if (env->lsm[0] != '\0') {
		GATE(ret, PM_CAUSE_LSM, "a security module (%.80s)", env->lsm);
	} else {
		GATE(ret, PM_CAUSE_UNKNOWN, "not kernel.perf_event_paranoid, not a missing "
		     "capability; a security module perhaps (/sys/kernel/security is not "
		     "readable)");
	}
}

/* CAP_PERFMON, which is enough for all that mainline asks for, does not count there. */
static void gate_vendor(const struct pm_env *env, struct pm_refusal *ret)
{
	GATE(ret, PM_CAUSE_PARANOID, "kernel.perf_event_paranoid=%d, a vendor's level that refuses "
	     "every event without CAP_SYS_ADMIN; CAP_PERFMON does not count", env->paranoid);
	CHANGE(ret, "as root: sysctl -w kernel.perf_event_paranoid=2, where CAP_PERFMON counts; or "
	       "give the program CAP_SYS_ADMIN");
}

static void gate_target(const struct pm_env *env, struct pm_refusal *ret)
{
	GATE(ret, PM_CAUSE_LSM, "the target is not ours to trace: another user's, or one that "
	     "changed its privileges, and no %s", capability(env));
	CHANGE(ret, "run as the target's user, or give the program %s", capability(env));
}

static void gate_policy(const struct pm_event_spec *spec, enum pm_reach reach,
			const struct pm_env *env, struct pm_refusal *ret)
{
	bool privileged = has_capability(env) && !pm_in_user_namespace();
	int needed = level_needed(spec, reach), met = level_met();

	/* From 0 downward nothing of the kind can be tried here; the file has the word. */
	if (met <= 0 && !privileged && env->paranoid != INT_MIN)
		met = env->paranoid;
	if (privileged && met == 3 && env->paranoid >= 3 && !pm_env_has_cap(env, PM_CAP_SYS_ADMIN))
		gate_vendor(env, ret);
	else if (!privileged && met > needed)
		gate_level(env, needed, met, ret);
	else if (!privileged && reach == REACH_OTHER)
		gate_target(env, ret);
	else
		gate_module(env, ret);
}

static void gate_permission(const struct pm_event_spec *spec, enum pm_reach reach,
			    struct pm_refusal *ret)
{
	struct pm_env env;
	int gate_errno;

	(void)pm_env_read(&env);
	switch (pm_perf_gate(&env, &gate_errno)) {
	case PM_GATE_NOT_BUILT:
		GATE(ret, PM_CAUSE_NOT_BUILT, "this kernel has no perf events");
		CHANGE(ret, "a kernel with CONFIG_PERF_EVENTS=y");
		return;
	case PM_GATE_FILTERED:
		GATE(ret, PM_CAUSE_FILTER, "a system call filter answers %s%s",
		     pm_errno_name(gate_errno),
		     env.seccomp_mode == 2 ? " (Seccomp: 2 in /proc/self/status)" : "");
		CHANGE(ret, "allow perf_event_open in the filter; for Docker --cap-add PERFMON or "
		       "--security-opt seccomp=PROFILE.json, for systemd SystemCallFilter=");
		return;
	default:
		gate_policy(spec, reach, &env, ret);
	}
}

/* ---------------------------------------------------------------------------- what is not there */

static void gate_missing(const struct pm_event_spec *spec, struct pm_refusal *ret)
{
	char pmu[64];

	if (spec->type == PERF_TYPE_TRACEPOINT) {
		GATE(ret, PM_CAUSE_NO_EVENT, "no tracepoint has that id");
		CHANGE(ret, "read the id anew from events/SYSTEM/NAME/id in tracefs: it differs "
		       "from boot to boot");
	} else if (pm_is_hardware(spec) && pm_pmu_core(pmu, sizeof(pmu)) < 0) {
		GATE(ret, PM_CAUSE_NO_EVENT, "no such event: no CPU PMU in "
		     "/sys/bus/event_source/devices%s",
		     access("/sys/bus/event_source/devices", F_OK) == 0 ? "" : " (hidden here)");
		CHANGE(ret, "in a virtual machine the host has to pass its PMU on (QEMU: -cpu "
		       "host,pmu=on); else the driver of the PMU is not loaded");
	} else if (pm_is_hardware(spec)) {
		GATE(ret, PM_CAUSE_NO_EVENT, "the PMU %s has no such event, or cannot sample it",
		     pmu);
		CHANGE(ret, "count it instead of sampling, or take an event that perf list shows");
	} else {
		GATE(ret, PM_CAUSE_NO_EVENT, "no such event on this machine");
	}
}

static void gate_descriptors(int error, struct pm_refusal *ret)
{
	struct rlimit limit = { 0, 0 };

	if (error == ENFILE) {
		GATE(ret, PM_CAUSE_DESCRIPTORS, "fs.file-max: the whole machine has no descriptor "
		     "left");
		CHANGE(ret, "as root: sysctl -w fs.file-max=1000000");
		return;
	}
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	GATE(ret, PM_CAUSE_DESCRIPTORS, "RLIMIT_NOFILE=%llu is used up (hard limit %llu)",
	     (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	CHANGE(ret, "ulimit -n %llu%s, or PM_ALLOW_RAISE_NOFILE",
	       (unsigned long long)(limit.rlim_max > limit.rlim_cur ? limit.rlim_max : 4096),
	       limit.rlim_max > limit.rlim_cur ? "" : " as root");
}

static void gate_busy(struct pm_refusal *ret)
{
	GATE(ret, PM_CAUSE_NO_EVENT, "somebody else has the counters or breakpoints");
	CHANGE(ret, "end other profilers; as root: sysctl -w kernel.nmi_watchdog=0 frees a "
	       "counter");
}

void pm_gate_open(const struct pm_event_spec *spec, enum pm_reach reach, int error,
		  struct pm_refusal *ret)
{
	ret->error = error;
	ret->gate[0] = ret->change[0] = '\0';
	switch (error) {
	case EACCES: case EPERM: case ENOSYS:
		gate_permission(spec, reach, ret);
		break;
	case EMFILE: case ENFILE:
		gate_descriptors(error, ret);
		break;
	case ENOENT: case ENODEV: case ENXIO: case EOPNOTSUPP:
		gate_missing(spec, ret);
		break;
	case EBUSY: case ENOSPC:
		gate_busy(ret);
		break;
	case EINVAL: case E2BIG: case EOVERFLOW:
		GATE(ret, PM_CAUSE_UNSUPPORTED, "this kernel does not know a field that was set");
		break;
	case ESRCH:
		GATE(ret, PM_CAUSE_NO_TARGET, "the thread has ended");
		break;
	default:
		GATE(ret, PM_CAUSE_UNKNOWN, "%s", strerror(error));
	}
}

/* -------------------------------------------------------------------------- memory and tracefs */

void pm_gate_map(size_t rings, size_t bytes, int error, struct pm_refusal *ret)
{
	struct pm_env env;
	char kb[32] = " (not readable)";

	ret->error = error;
	(void)pm_env_read(&env);
	if (env.mlock_kb >= 0)
		snprintf(kb, sizeof(kb), "=%lld", (long long)env.mlock_kb);
	if (error != EPERM) {
		GATE(ret, PM_CAUSE_UNKNOWN, "%s", strerror(error));
		ret->change[0] = '\0';
		return;
	}
	GATE(ret, PM_CAUSE_LOCKED_MEMORY, "kernel.perf_event_mlock_kb%s for each CPU and user, "
	     "then RLIMIT_MEMLOCK=%llu kB; %zu rings of %zu kB are more", kb,
	     (unsigned long long)(env.memlock_bytes / 1024), rings, bytes / 1024);
	CHANGE(ret, "ulimit -l %zu, or as root: sysctl -w kernel.perf_event_mlock_kb=%zu, or give "
	       "the program CAP_IPC_LOCK", rings * bytes / 1024, bytes / 1024);
}

static bool knows_tracefs(void)
{
	char text[4096];
	int err = pm_read_text("/proc/filesystems", text, sizeof(text));

	/* Not readable: it may be there. */
	return err < 0 || strstr(text, "tracefs") != NULL || strstr(text, "debugfs") != NULL;
}

void pm_gate_tracefs(int error, struct pm_refusal *ret)
{
	struct pm_env env;

	ret->error = error;
	(void)pm_env_read(&env);
	/* EPERM, which pm_tracefs_root and pm_tracepoint_id do not tell from EACCES. */
	if (error == EPERM || (error == EACCES && strcmp(env.lockdown, "confidentiality") == 0)) {
		GATE(ret, PM_CAUSE_LSM, "kernel lockdown is at %s and closes tracefs",
		     env.lockdown[0] ? env.lockdown : "an unknown level");
		CHANGE(ret, "boot without lockdown=confidentiality");
	} else if (error == EACCES) {
		GATE(ret, PM_CAUSE_LSM, "tracefs is mounted, but its files are not readable for "
		     "uid %u", env.euid);
		CHANGE(ret, "as root: mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing; or "
		       "have the id handed over by a privileged program");
	} else if (!knows_tracefs()) {
		GATE(ret, PM_CAUSE_NOT_BUILT, "this kernel has no tracefs");
		CHANGE(ret, "a kernel with CONFIG_FTRACE=y");
	} else {
		GATE(ret, PM_CAUSE_NO_EVENT, "tracefs is not mounted at /sys/kernel/tracing or "
		     "/sys/kernel/debug/tracing, or hidden there");
		CHANGE(ret, "as root: mount -t tracefs tracefs /sys/kernel/tracing");
	}
}
