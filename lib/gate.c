/* SPDX-License-Identifier: MIT */
/* The gates of mmap(2), of tracefs and of other calls, and the search in every table of gates. */
#include "gate_advice.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

bool pm_gate_any(const struct pm_refused *refused)
{
	(void)refused;
	return true;
}

/* -------------------------------------------------------------------------------- mmap of rings */

static bool is_locked_memory(const struct pm_refused *refused)
{
	return refused->error == EPERM;
}

static uint64_t cpus_of(const struct pm_env *env)
{
	return env->cpus_online > 0 ? (uint64_t)env->cpus_online : 1;
}

/* What the rings of this call are allowed to take, where nothing else is locked. */
static uint64_t lockable_kb(const struct pm_env *env)
{
	return env->mlock_kb * cpus_of(env) + env->memlock_bytes / 1024;
}

bool pm_rings_fit(const struct pm_refused *refused)
{
	return refused->env->mlock_kb >= 0 &&
		refused->rings * refused->bytes / 1024 <= lockable_kb(refused->env);
}

/* Enough whatever is locked already: on top of the present limits, in which that is. */
static void change_locked_memory(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const uint64_t need = (refused->rings * refused->bytes + 1023) / 1024;
	const uint64_t soft = refused->env->memlock_bytes / 1024;
	const uint64_t enough = need > soft ? need : soft + need;
	const uint64_t hard = refused->place ? refused->place->memlock_hard / 1024 : UINT64_MAX;
	const uint64_t cpus = cpus_of(refused->env);
	const long long more = (long long)((need + cpus - 1) / cpus);

	if (enough <= hard)
		pm_advise(ret, "ulimit -l %llu", (unsigned long long)enough);
	else
		pm_advise_hard_limit(refused, "memlock", enough, ret);
	pm_advise_capability(refused, PM_CAP_IPC_LOCK, ret);
	if (refused->env->mlock_kb >= 0)
		pm_advise_sysctl(refused, "kernel.perf_event_mlock_kb",
				 refused->env->mlock_kb + more, ret);
}

static void say_locked_memory(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const struct pm_env *env = refused->env;
	const struct pm_place *place = refused->place;
	char kb[32] = " (not readable)", others[120] = "";
	const char *are = "more";

	if (env->mlock_kb >= 0)
		snprintf(kb, sizeof(kb), "=%lld", (long long)env->mlock_kb);
	PM_SAY(ret->brief, "EPERM (perf_event_mlock_kb=%" PRId64 " used up; RLIMIT_MEMLOCK %" PRIu64
	       " bytes)", env->mlock_kb, env->memlock_bytes);
	if (place != NULL && place->rings_kb > 0)
		snprintf(others, sizeof(others), ", and rings of other processes of this user hold "
			 "%llu kB (process %d)", (unsigned long long)place->rings_kb,
			 place->ring_holder);
	if (pm_rings_fit(refused))
		are = others[0] ? "not that much" : "more than others of this user have left";
	PM_SAY(ret->gate, "kernel.perf_event_mlock_kb%s for each CPU and user, then "
	       "RLIMIT_MEMLOCK=%llu kB: %zu ring%s of %zu kB %s %s%s", kb,
	       (unsigned long long)(env->memlock_bytes / 1024), refused->rings,
	       refused->rings == 1 ? "" : "s", refused->bytes / 1024,
	       refused->rings == 1 ? "is" : "are", are, others);
	change_locked_memory(refused, ret);
}

/* A page for the kernel's words, and a power of two of pages behind it. */
static bool is_odd_ring(const struct pm_refused *refused)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), behind = refused->bytes / page - 1;

	return refused->error == EINVAL && refused->bytes >= page && (behind & (behind - 1)) != 0;
}

static void say_odd_ring(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const size_t behind = refused->bytes / (size_t)sysconf(_SC_PAGESIZE) - 1;
	size_t fits = 1;

	while (fits * 2 < behind)
		fits *= 2;
	PM_SAY(ret->brief, "EINVAL (1 + %zu pages)", behind);
	PM_SAY(ret->gate, "a ring is one page and a power of two of pages: 1 + %zu are not",
	       behind);
	pm_advise(ret, "map %zu pages, or %zu", 1 + fits, 1 + 2 * fits);
}

static void say_any(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s", pm_errno_name(refused->error));
	PM_SAY(ret->gate, "%s", strerror(refused->error));
}

static const struct pm_gate map_gates[] = {
	PM_GATE_ROW(locked_memory, LOCKED_MEMORY, BLOCKED, is_locked_memory),
	PM_GATE_ROW(odd_ring, UNSUPPORTED, UNTOLD, is_odd_ring),
	PM_GATE_ROW(any, UNKNOWN, UNTOLD, pm_gate_any),
};

/* ------------------------------------------------------------------------------------- tracefs */

#define UNREADABLE "tracefs is mounted but not readable (root, or its gid= option)"
#define HAND_OVER "or have the id handed over by a privileged program"
#define TRACEFS_KIND 0x74726163		/* TRACEFS_MAGIC, which older headers lack */
#define UNMOUNTED "tracefs is not mounted (/sys/kernel/tracing)"

/*
 * EPERM, which pm_tracefs_root and pm_tracepoint_id do not tell from EACCES; or nothing there: a
 * kernel that is locked down at boot leaves tracefs empty.
 */
static bool is_trace_locked(const struct pm_refused *refused)
{
	return refused->error == EPERM ||
		((refused->error == EACCES || refused->error == ENOENT) &&
		 strcmp(refused->env->lockdown, "confidentiality") == 0);
}

static void say_trace_locked(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const char *level = refused->env->lockdown;

	if (refused->error == ENOENT)
		PM_SAY(ret->brief, "tracefs is empty: lockdown=confidentiality");
	else
		PM_SAY(ret->brief, UNREADABLE);
	PM_SAY(ret->gate, "kernel lockdown is at %s and %s tracefs", level[0] ? level :
	       "an unknown level", refused->error == ENOENT ? "empties" : "closes");
	PM_SAY(ret->change, "for the whole machine: boot without lockdown=confidentiality");
}

/* Where the level of lockdown is not readable: securityfs is not mounted. */
static bool is_trace_empty(const struct pm_refused *refused)
{
	struct statfs info;

	return refused->error == ENOENT && statfs("/sys/kernel/tracing", &info) == 0 &&
		(unsigned long)info.f_type == TRACEFS_KIND &&
		access("/sys/kernel/tracing/events", F_OK) != 0 && errno == ENOENT;
}

static void say_trace_empty(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, "tracefs is mounted and empty: lockdown perhaps");
	PM_SAY(ret->gate, "tracefs is mounted and has no events, as kernel lockdown leaves it, or "
	       "a kernel without CONFIG_EVENT_TRACING");
	PM_SAY(ret->change, "for the whole machine: boot without lockdown=confidentiality, if that "
	       "is in /proc/cmdline");
}

static void say_trace_unreadable(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, UNREADABLE);
	PM_SAY(ret->gate, "tracefs is mounted, but its files are not readable for uid %u",
	       refused->env->euid);
	if (pm_advise_tracefs(refused, true, ret))
		return;
	/* Before v4.1 it was a directory of debugfs. */
	if (access("/sys/kernel/tracing", F_OK) == 0)
		PM_SAY(ret->change, "as root: mount -o remount,gid=GROUP,mode=750 "
		       "/sys/kernel/tracing; " HAND_OVER);
	else
		PM_SAY(ret->change, "as root: mount -o remount,gid=GROUP,mode=750 "
		       "/sys/kernel/debug; " HAND_OVER);
}

static bool is_trace_not_built(const struct pm_refused *refused)
{
	char text[4096];
	int err = pm_read_text("/proc/filesystems", text, sizeof(text));

	(void)refused;
	/* Not readable: it may be there. */
	return err >= 0 && strstr(text, "tracefs") == NULL && strstr(text, "debugfs") == NULL;
}

static void say_trace_not_built(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, UNMOUNTED);
	PM_SAY(ret->gate, "this kernel has no tracefs");
	PM_SAY(ret->change, "a kernel with CONFIG_FTRACE=y");
}

static void say_trace_unmounted(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, UNMOUNTED);
	PM_SAY(ret->gate, "tracefs is not mounted at /sys/kernel/tracing or "
	       "/sys/kernel/debug/tracing, or is hidden there");
	if (pm_advise_tracefs(refused, false, ret))
		return;
	if (access("/sys/kernel/tracing", F_OK) == 0)
		PM_SAY(ret->change, "as root: mount -t tracefs tracefs /sys/kernel/tracing");
	else if (access("/sys/kernel", F_OK) != 0)
		PM_SAY(ret->change, "as root: mount -t sysfs sysfs /sys, then mount -t tracefs "
		       "tracefs /sys/kernel/tracing");
	else
		PM_SAY(ret->change, "as root: mount -t debugfs debugfs /sys/kernel/debug, where "
		       "it is the directory tracing");
}

static bool is_trace_denied(const struct pm_refused *refused)
{
	return refused->error == EACCES;
}

static const struct pm_gate tracefs_gates[] = {
	PM_GATE_ROW(trace_locked, LSM, BLOCKED, is_trace_locked),
	PM_GATE_ROW(trace_empty, LSM, BLOCKED, is_trace_empty),
	PM_GATE_ROW(trace_unreadable, LSM, BLOCKED, is_trace_denied),
	PM_GATE_ROW(trace_not_built, NOT_BUILT, ABSENT, is_trace_not_built),
	PM_GATE_ROW(trace_unmounted, NO_EVENT, ABSENT, pm_gate_any),
};

/* -------------------------------------------------------------------------- other system calls */

static bool is_call_filtered(const struct pm_refused *refused)
{
	return refused->error == ENOSYS && refused->enosys == PM_ENOSYS_FILTER;
}

static void say_call_filtered(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "seccomp or container filter answers ENOSYS to %s", refused->name);
	PM_SAY(ret->gate, "a system call filter answers ENOSYS to %s, which this kernel has",
	       refused->name);
	PM_SAY(ret->change, "allow %s in the filter", refused->name);
}

static bool is_call_untold(const struct pm_refused *refused)
{
	return refused->error == ENOSYS && refused->enosys == PM_ENOSYS_UNTOLD;
}

static void say_call_untold(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "ENOSYS to %s, from this kernel or a system call filter: "
	       "/proc/kallsyms does not tell", refused->name);
	PM_SAY(ret->gate, "this kernel has no %s, or a system call filter answers in its place",
	       refused->name);
	PM_SAY(ret->change, "allow %s in the filter, or let /proc/kallsyms be read to learn which",
	       refused->name);
}

static bool is_call_not_built(const struct pm_refused *refused)
{
	return refused->error == ENOSYS;
}

static void say_call_not_built(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "this kernel has no %s (ENOSYS)", refused->name);
	PM_SAY(ret->gate, "this kernel has no %s", refused->name);
}

/* What programs of BPF on events take, since v5.8; before, and still enough, CAP_SYS_ADMIN. */
static bool holds_for_bpf(const struct pm_env *env)
{
	return pm_env_has_cap(env, PM_CAP_SYS_ADMIN) ||
		(pm_env_has_cap(env, PM_CAP_BPF) && pm_env_has_cap(env, PM_CAP_PERFMON));
}

/* Without /proc a user namespace shows by what is refused alone. */
static bool may_be_of_namespace(void)
{
	return pm_in_user_namespace() || access("/proc/self/uid_map", R_OK) != 0;
}

static bool is_bpf(const struct pm_refused *refused)
{
	return (refused->error == EPERM || refused->error == EACCES) &&
		strcmp(refused->name, "bpf") == 0 &&
		(may_be_of_namespace() || !holds_for_bpf(refused->env));
}

static void say_bpf(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const bool old = refused->env->cap_last >= 0 && refused->env->cap_last < PM_CAP_BPF;
	const char *caps = old ? "CAP_SYS_ADMIN" : "CAP_BPF and CAP_PERFMON";
	const bool held = holds_for_bpf(refused->env);

	PM_SAY(ret->brief, "%s to bpf: needs CAP_BPF or CAP_SYS_ADMIN",
	       pm_errno_name(refused->error));
	PM_SAY(ret->gate, "BPF programs for events take %s%s", caps, held ? ", and those held here "
	       "do not count, as in a user namespace" : "");
	if (held && !pm_in_user_namespace())
		pm_advise(ret, "start the program outside of the user namespace");
	else
		pm_advise_capability(refused, old ? PM_CAP_SYS_ADMIN : PM_CAP_BPF, ret);
}

/* With all that it takes held. */
static bool is_bpf_filtered(const struct pm_refused *refused)
{
	return refused->error == EPERM && strcmp(refused->name, "bpf") == 0 &&
		refused->env->seccomp_mode == 2;
}

static void say_bpf_filtered(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	(void)refused;
	PM_SAY(ret->brief, "EPERM to bpf: a system call filter perhaps, the capabilities are held");
	PM_SAY(ret->gate, "a system call filter answers EPERM to bpf, for which the capabilities "
	       "are held (Seccomp: 2 in /proc/self/status)");
	PM_SAY(ret->change, "allow bpf in the filter, which who started the program has set");
}

static bool is_call_denied(const struct pm_refused *refused)
{
	return refused->error == EPERM || refused->error == EACCES;
}

static void say_call_denied(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s to %s: a missing capability, a security module%s",
	       pm_errno_name(refused->error), refused->name,
	       refused->env->seccomp_mode == 0 ? "" : " or a system call filter");
	PM_SAY(ret->gate, "a missing capability, a security module or a filter refuses %s",
	       refused->name);
}

static void say_any_call(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s: %s", refused->name, pm_errno_name(refused->error));
	PM_SAY(ret->gate, "%s", strerror(refused->error));
}

static const struct pm_gate call_gates[] = {
	PM_GATE_ROW(call_filtered, FILTER, BLOCKED, is_call_filtered),
	PM_GATE_ROW(call_untold, UNKNOWN, UNTOLD, is_call_untold),
	PM_GATE_ROW(call_not_built, NOT_BUILT, ABSENT, is_call_not_built),
	PM_GATE_ROW(bpf, PARANOID, BLOCKED, is_bpf),
	PM_GATE_ROW(bpf_filtered, FILTER, BLOCKED, is_bpf_filtered),
	PM_GATE_ROW(call_denied, LSM, BLOCKED, is_call_denied),
	PM_GATE_ROW(any_call, UNKNOWN, UNTOLD, pm_gate_any),
};

/* ---------------------------------------------------------------------------------- the search */

enum pm_reach pm_reach_of(const struct perf_event_attr *attr, pid_t pid)
{
	if (attr != NULL && attr->type == PERF_TYPE_TRACEPOINT &&
	    (attr->sample_type & PERF_SAMPLE_RAW))
		return PM_REACH_TRACE;
	if (pid < 0)
		return PM_REACH_CPU;
	return pid == 0 ? PM_REACH_OWN : PM_REACH_OTHER;
}

/* The first row that stands in the tables of a call. */
static const struct pm_gate *search(const struct pm_gate *const *tables,
				    const struct pm_refused *refused)
{
	for (; tables[1] != NULL; tables++)
		for (const struct pm_gate *gate = *tables; gate->name != NULL; gate++)
			if (gate->stands(refused))
				return gate;
	for (const struct pm_gate *gate = *tables;; gate++)
		if (gate->stands(refused))
			return gate;
}

const struct pm_gate *pm_gate_find(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	static const struct pm_gate *const tables[][4] = {
		[PM_CALL_OPEN] = { pm_gates_filter, pm_gates_policy, pm_gates_open },
		[PM_CALL_MAP] = { map_gates },
		[PM_CALL_TRACEFS] = { tracefs_gates },
		[PM_CALL_OTHER] = { call_gates },
	};
	const struct pm_gate *gate = search(tables[refused->call], refused);

	ret->brief[0] = ret->gate[0] = ret->change[0] = '\0';
	ret->level = INT_MIN;
	gate->say(refused, ret);
	return gate;
}
