/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses: which gate refused a call, and what to change. The kernel says EACCES or EPERM for
 * most gates alike, so the decision is made from what this thread may do.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../pm_sys.h"
#include "diag.h"
#include "profile.h"

int pm_diag_say(struct pm_diag *diag, int error, enum pm_cause cause, const char *format, ...)
{
	va_list list;

	if (diag == NULL || diag->size < sizeof(*diag))
		return -error;
	diag->error = error;
	diag->cause = cause;
	va_start(list, format);
	vsnprintf(diag->text, sizeof(diag->text), format, list);
	va_end(list);
	return -error;
}

/* ----------------------------------------------------------------------------- names of things */

static const struct { int error; const char *name; } names[] = {
	{ EPERM, "EPERM" }, { ENOENT, "ENOENT" }, { ESRCH, "ESRCH" }, { E2BIG, "E2BIG" },
	{ EBADF, "EBADF" }, { EAGAIN, "EAGAIN" }, { ENOMEM, "ENOMEM" }, { EACCES, "EACCES" },
	{ EBUSY, "EBUSY" }, { ENODEV, "ENODEV" }, { EINVAL, "EINVAL" }, { ENFILE, "ENFILE" },
	{ EMFILE, "EMFILE" }, { ENOSPC, "ENOSPC" }, { ENOSYS, "ENOSYS" }, { ENXIO, "ENXIO" },
	{ EOPNOTSUPP, "EOPNOTSUPP" }, { EOVERFLOW, "EOVERFLOW" }, { ENODATA, "ENODATA" },
};

const char *pm_errno_name(int error)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			return names[i].name;
	return "an unusual errno";
}

static const char *const software[] = {
	"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
	"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
	"bpf-output", "cgroup-switches",
};

static const char *const hardware[] = {
	"cycles", "instructions", "cache-references", "cache-misses", "branches",
	"branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
	"ref-cycles",
};

void pm_event_name(const struct pm_event_spec *spec, char *buf, size_t size)
{
	if (spec->type == PERF_TYPE_SOFTWARE &&
	    spec->config < sizeof(software) / sizeof(software[0]))
		snprintf(buf, size, "%s", software[spec->config]);
	else if (spec->type == PERF_TYPE_HARDWARE &&
		 spec->config < sizeof(hardware) / sizeof(hardware[0]))
		snprintf(buf, size, "%s", hardware[spec->config]);
	else
		snprintf(buf, size, "event %u:0x%llx", spec->type,
			 (unsigned long long)spec->config);
}

/* --------------------------------------------------------------------------------- refusals */

struct finding {
	enum pm_cause cause;
	char why[200];
};

#define FOUND(finding, what, ...) do { \
	(finding)->cause = (what); \
	snprintf((finding)->why, sizeof((finding)->why), __VA_ARGS__); \
} while (0)

/* The level above which the kernel refuses such an event without CAP_PERFMON. */
static int level_allowed(const struct pm_event_spec *spec, int cpu)
{
	if (cpu >= 0 && spec->tid == PM_ALL_THREADS)
		return 0;
	return spec->flags & PM_SPEC_USER_ONLY ? 2 : 1;
}

static void find_policy(const struct pm_event_spec *spec, int cpu, const struct pm_env *env,
			struct finding *ret)
{
	bool privileged = pm_env_has_cap(env, PM_CAP_PERFMON) ||
		pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
	int allowed = level_allowed(spec, cpu);

	if (!privileged && env->paranoid != INT_MIN && env->paranoid > allowed)
		FOUND(ret, PM_CAUSE_PARANOID, "kernel.perf_event_paranoid=%d%s and no CAP_PERFMON; "
		      "set it to %d, or grant the capability%s", env->paranoid,
		      env->paranoid > 2 ? " (a vendor's level that refuses every event)" : "",
		      allowed, allowed == 1 ? ", or watch user mode only" : "");
	else if (strcmp(env->lockdown, "confidentiality") == 0)
		FOUND(ret, PM_CAUSE_LSM, "kernel lockdown is at confidentiality");
	else if (env->lsm[0] != '\0' && !privileged)
		FOUND(ret, PM_CAUSE_LSM, "the target is not ours to trace, or a security module "
		      "(%.80s) refuses", env->lsm);
	else
		FOUND(ret, PM_CAUSE_UNKNOWN, "not paranoid (%d), not a missing capability",
		      env->paranoid);
}

static void find_permission(const struct pm_event_spec *spec, int cpu, struct finding *ret)
{
	struct pm_env env;
	int gate_errno;

	(void)pm_env_read(&env);
	switch (pm_perf_gate(&env, &gate_errno)) {
	case PM_GATE_NOT_BUILT:
		FOUND(ret, PM_CAUSE_NOT_BUILT, "this kernel has no perf events "
		      "(CONFIG_PERF_EVENTS)");
		return;
	case PM_GATE_FILTERED:
		FOUND(ret, PM_CAUSE_FILTER, "a system call filter answers %s%s; allow "
		      "perf_event_open in the container's seccomp profile",
		      pm_errno_name(gate_errno),
		      env.seccomp_mode == 2 ? " (Seccomp: 2)" : "");
		return;
	default:
		find_policy(spec, cpu, &env, ret);
	}
}

static void find_cause(const struct pm_event_spec *spec, int cpu, int error, struct finding *ret)
{
	switch (error) {
	case EACCES: case EPERM: case ENOSYS:
		find_permission(spec, cpu, ret);
		break;
	case EMFILE:
		FOUND(ret, PM_CAUSE_DESCRIPTORS, "RLIMIT_NOFILE is used up; raise it");
		break;
	case ENFILE:
		FOUND(ret, PM_CAUSE_DESCRIPTORS, "fs.file-max is used up; raise it");
		break;
	case ENOENT: case ENODEV: case ENXIO: case EOPNOTSUPP:
		FOUND(ret, PM_CAUSE_NO_EVENT, "no such event on this machine%s",
		      spec->type == PERF_TYPE_HARDWARE || spec->type == PERF_TYPE_HW_CACHE ?
		      " (a virtual machine without a PMU?)" : "");
		break;
	case EINVAL: case E2BIG: case EOVERFLOW:
		FOUND(ret, PM_CAUSE_UNSUPPORTED, "this kernel does not know a field that was set");
		break;
	case ESRCH:
		FOUND(ret, PM_CAUSE_NO_TARGET, "the thread has ended");
		break;
	default:
		FOUND(ret, PM_CAUSE_UNKNOWN, "%s", strerror(error));
	}
}

enum pm_cause pm_diag_open(struct pm_diag *diag, const struct pm_event_spec *spec, int cpu,
			   int error)
{
	struct finding found = { PM_CAUSE_NONE, "" };
	char event[64];

	error = error < 0 ? -error : error;
	pm_event_name(spec, event, sizeof(event));
	find_cause(spec, cpu, error, &found);
	(void)pm_diag_say(diag, error, found.cause, "perf_event_open(%s%s, tid %d, cpu %d): %s: %s",
			  event, spec->flags & PM_SPEC_USER_ONLY ? ":u" : "", spec->tid, cpu,
			  pm_errno_name(error), found.why);
	return found.cause;
}

int pm_diag_map(struct pm_diag *diag, size_t rings, size_t bytes, int error)
{
	struct pm_env env;

	(void)pm_env_read(&env);
	return pm_diag_say(diag, error, PM_CAUSE_LOCKED_MEMORY, "mmap of %zu rings of %zu bytes: "
			   "%s: kernel.perf_event_mlock_kb=%lld a CPU and RLIMIT_MEMLOCK=%llu; "
			   "raise one of them, or grant CAP_IPC_LOCK", rings, bytes,
			   pm_errno_name(error), (long long)env.mlock_kb,
			   (unsigned long long)env.memlock_bytes);
}
