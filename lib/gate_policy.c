/* SPDX-License-Identifier: MIT */
/* Permission to open events: perf_event_paranoid, capabilities, targets and security modules. */
#include "gate_advice.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_denied(const struct pm_refused *refused)
{
	return refused->error == EACCES || refused->error == EPERM;
}

static bool holds_capability(const struct pm_env *env)
{
	return pm_env_has_cap(env, PM_CAP_PERFMON) || pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
}

/*
 * Samples of user mode that tell of the kernel all the same (kernel/events/core.c,
 * perf_copy_attr): branches, whose filter is that of the event where it names no mode, and
 * physical addresses.
 */
static bool tells_of_kernel(const struct perf_event_attr *attr)
{
	const uint64_t modes = attr->branch_sample_type & (PERF_SAMPLE_BRANCH_USER |
		PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV);

	if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR)
		return true;
	if (!(attr->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return false;
	return modes ? modes & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV) :
		!attr->exclude_hv;
}

int pm_level_needed(const struct pm_refused *refused)
{
	if (refused->reach == PM_REACH_TRACE)
		return -1;
	if (refused->reach == PM_REACH_CPU)
		return 0;
	return refused->attr != NULL && refused->attr->exclude_kernel &&
		!tells_of_kernel(refused->attr) ? 2 : 1;
}

static const char *error_name(const struct pm_refused *refused)
{
	return pm_errno_name(refused->error);
}

/* Before v5.8 there was no CAP_PERFMON. */
static enum pm_cap capability_of(const struct pm_env *env)
{
	return env->cap_last >= 0 && env->cap_last < PM_CAP_PERFMON ? PM_CAP_SYS_ADMIN :
		PM_CAP_PERFMON;
}

static const char *capability(const struct pm_env *env)
{
	return capability_of(env) == PM_CAP_PERFMON ? "CAP_PERFMON" : "CAP_SYS_ADMIN";
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
	pm_advise_sysctl(refused, "kernel.perf_event_paranoid", 2, ret);
	pm_advise(ret, "at 2 CAP_PERFMON counts");
}

static bool is_level(const struct pm_refused *refused)
{
	return is_denied(refused) && refused->attr != NULL && !refused->privileged &&
		refused->level != INT_MIN && refused->level > pm_level_needed(refused);
}

static bool is_android(void)
{
	return access("/system/build.prop", F_OK) == 0 ||
		access("/system/bin/app_process", F_OK) == 0;
}

/* What happens in the kernel alone: to watch user mode only counts nothing. */
static bool has_user_mode(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return false;
	return attr->type != PERF_TYPE_SOFTWARE ||
		(attr->config != PERF_COUNT_SW_CONTEXT_SWITCHES &&
		 attr->config != PERF_COUNT_SW_CPU_MIGRATIONS &&
		 attr->config != PERF_COUNT_SW_CGROUP_SWITCHES);
}

/* Least privilege first. A vendor's level has to go down before CAP_PERFMON counts. */
static void change_level(const struct pm_refused *refused, int needed, struct pm_gate_words *ret)
{
	const bool vendor = refused->level >= 3;

	if (needed == 1 && refused->attr->exclude_kernel && !vendor)
		pm_advise(ret, refused->attr->sample_type & PERF_SAMPLE_PHYS_ADDR ?
			  "leave physical addresses out" : "take branches of user mode only");
	else if (needed == 1 && has_user_mode(refused->attr) && !vendor)
		pm_advise(ret, "watch user mode only, which takes no privilege");
	if (is_android()) {
		pm_advise(ret, "for all programs of this device: adb shell setprop "
			  "security.perf_harden 0, or as root until the next boot: sysctl -w "
			  "kernel.perf_event_paranoid=%d", needed);
		return;
	}
	if (vendor) {
		pm_advise_sysctl(refused, "kernel.perf_event_paranoid", 2, ret);
		if (needed == 2)
			return;
		pm_advise(ret, "then CAP_PERFMON counts, which a level of %d does not look at",
			  refused->level);
	}
	pm_advise_capability(refused, capability_of(refused->env), ret);
	if (!vendor)
		pm_advise_sysctl(refused, "kernel.perf_event_paranoid", needed, ret);
}

static void brief_level(const struct pm_refused *refused, int needed, struct pm_gate_words *ret)
{
	const char *wish = "raw data of a tracepoint", *or = capability(refused->env);
	char level[48];

	put_level(refused->env, level, sizeof(level));
	if (refused->level > 2) {
		wish = "any event of an unprivileged task";
		needed = 2;
		or = "CAP_SYS_ADMIN";
	} else if (needed == 0) {
		wish = "a cpu-wide event";
	} else if (needed == 1) {
		wish = "an event that counts the kernel";
	}
	PM_SAY(ret->brief, "%s: %s refuses %s; needs <= %d or %s", error_name(refused), level, wish,
	       needed, or);
}

static void say_level(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const struct pm_env *env = refused->env;
	const int needed = pm_level_needed(refused), level = refused->level;
	char without[80];

	/* A vendor's level asks for CAP_SYS_ADMIN, as Debian's 3 does (seen on 5.10 to 7.x). */
	snprintf(without, sizeof(without), holds_capability(env) ?
		 "%s of a user namespace does not count" : "%s is missing",
		 level >= 3 ? "CAP_SYS_ADMIN" : capability(env));
	if (env->paranoid == INT_MIN)
		PM_SAY(ret->gate, "kernel.perf_event_paranoid (not readable here) acts as %s%d, "
		       "%d or less is needed, and %s", level == 3 ? "a vendor's level " : "",
		       level, needed, without);
	else
		PM_SAY(ret->gate, "kernel.perf_event_paranoid=%d%s, %d or less is needed, and %s",
		     env->paranoid, level == 3 ? ", a vendor's level that refuses every event" : "",
		       needed, without);
	ret->level = needed;
	change_level(refused, needed, ret);
	brief_level(refused, needed, ret);
}

/*
 * Code planted at a function takes a capability at any level: a kprobe CAP_PERFMON, a uprobe
 * CAP_SYS_ADMIN (kernel/events/core.c, perf_kprobe_event_init and perf_uprobe_event_init).
 */
static bool is_probe(const struct pm_refused *refused, const char *pmu, enum pm_cap cap)
{
	return is_denied(refused) && refused->attr != NULL && refused->level < 3 &&
		refused->attr->type >= PERF_TYPE_MAX &&
		(int64_t)refused->attr->type == pm_pmu_type(pmu) &&
		(!refused->privileged || !pm_env_has_cap(refused->env, cap));
}

static bool is_kprobe(const struct pm_refused *refused)
{
	return !refused->privileged && is_probe(refused, "kprobe", capability_of(refused->env));
}

static void say_kprobe(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s: a probe in the kernel needs CAP_PERFMON or CAP_SYS_ADMIN",
	       error_name(refused));
	PM_SAY(ret->gate, "a probe in the kernel takes %s at any level of "
	       "kernel.perf_event_paranoid", capability(refused->env));
	pm_advise_capability(refused, capability_of(refused->env), ret);
}

static bool is_uprobe(const struct pm_refused *refused)
{
	return is_probe(refused, "uprobe", PM_CAP_SYS_ADMIN);
}

static void say_uprobe(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s: a probe in a program needs to hold capability CAP_SYS_ADMIN",
	       error_name(refused));
	PM_SAY(ret->gate, "a probe in a program's function takes CAP_SYS_ADMIN at any level of "
	       "kernel.perf_event_paranoid; CAP_PERFMON does not do");
	if (refused->env->euid != 0)
		pm_advise(ret, "run the program as root");
	pm_advise_capability(refused, PM_CAP_SYS_ADMIN, ret);
}

/*
 * The kernel's part of call chains is, since some releases (6.12.117 has it, 6.18.44 has not), not
 * for everybody, although the event leaves the kernel out.
 */
static bool is_chain(const struct pm_refused *refused)
{
	return is_denied(refused) && !refused->privileged && refused->needs_user_chains;
}

static void say_chain(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	char level[48];

	put_level(refused->env, level, sizeof(level));
	PM_SAY(ret->brief, "%s: %s refuses call chains with the kernel's part; needs <= 1 or %s",
	       error_name(refused), level, capability(refused->env));
	PM_SAY(ret->gate, "kernel.%s: call chains have the kernel's part, for which 1 or less is "
	       "needed, and %s is missing", level, capability(refused->env));
	ret->level = 1;
	pm_advise(ret, "take call chains of user mode only");
	pm_advise_capability(refused, capability_of(refused->env), ret);
	pm_advise_sysctl(refused, "kernel.perf_event_paranoid", 1, ret);
}

bool pm_needs_user_chains(const struct perf_event_attr *attr)
{
	struct perf_event_attr less;
	int all, user;

	if (attr == NULL || (attr->sample_type & PERF_SAMPLE_CALLCHAIN) == 0 ||
	    attr->exclude_callchain_kernel)
		return false;
	/* Of an event that everybody may have: which one it was does not matter. */
	less = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1, .sample_period = 1 << 20,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
	};
	all = pm_open(&less, 0, -1, -1, 0);
	less.exclude_callchain_kernel = 1;
	user = pm_open(&less, 0, -1, -1, 0);
	if (all >= 0)
		(void)close(all);
	if (user >= 0)
		(void)close(user);
	return all == -EACCES && user >= 0;
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
	pm_advise(ret, "run as the target's user");
	pm_advise_capability(refused, capability_of(refused->env), ret);
}

static bool is_locked_down(const struct pm_refused *refused)
{
	return is_denied(refused) && strcmp(refused->env->lockdown, "confidentiality") == 0;
}

static void say_locked_down(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "kernel lockdown is at confidentiality");
	PM_SAY(ret->change, "for the whole machine: boot without lockdown=confidentiality");
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

/* It may let the call pass with one argument and refuse it with another. */
static const char *or_filter(const struct pm_refused *refused)
{
	return refused->env->seccomp_mode == 2 ? ", or the system call filter of this process, by "
		"the arguments" : "";
}

/* armpmu_event_init of 32-bit Arm: a counter that cannot tell modes apart. */
static const char *or_driver(const struct pm_refused *refused)
{
	const struct perf_event_attr *attr = refused->attr;

	return refused->error == EPERM && attr != NULL && attr->exclude_kernel &&
		attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT &&
		attr->type != PERF_TYPE_BREAKPOINT ? ", or the PMU's driver, as some old ones "
		"cannot leave the kernel out" : "";
}

static bool is_module(const struct pm_refused *refused)
{
	return is_denied(refused) && refused->env->lsm[0] != '\0';
}

static void say_module(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "a security module (%.80s)%s%s", refused->env->lsm, or_driver(refused),
	       or_filter(refused));
}

static void say_denied(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_denial(refused, ret);
	PM_SAY(ret->gate, "not kernel.perf_event_paranoid, not a missing capability; a security "
	       "module perhaps (/sys/kernel/security is not readable)%s%s", or_driver(refused),
	       or_filter(refused));
}

const struct pm_gate pm_gates_policy[] = {
	PM_GATE_ROW(vendors_level, PARANOID, BLOCKED, is_vendors_level),
	PM_GATE_ROW(kprobe, PARANOID, BLOCKED, is_kprobe),
	PM_GATE_ROW(uprobe, PARANOID, BLOCKED, is_uprobe),
	PM_GATE_ROW(level, PARANOID, BLOCKED, is_level),
	PM_GATE_ROW(chain, PARANOID, BLOCKED, is_chain),
	PM_GATE_ROW(target, LSM, BLOCKED, is_target),
	PM_GATE_ROW(locked_down, LSM, BLOCKED, is_locked_down),
	PM_GATE_ROW(selinux, LSM, BLOCKED, is_selinux),
	PM_GATE_ROW(module, LSM, BLOCKED, is_module),
	PM_GATE_ROW(denied, UNKNOWN, BLOCKED, is_denied),
	PM_GATE_END
};
