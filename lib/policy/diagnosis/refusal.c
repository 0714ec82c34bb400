/* SPDX-License-Identifier: MIT */
/*
 * Gathers what the table of gates (gate.h) decides by. The kernel says EACCES or EPERM for most
 * gates alike, and its settings may be hidden or mean another thing on a vendor's kernel. So the
 * level of perf_event_paranoid that is in force is found by opening an event in ways which take
 * more and more, and the file is only asked what that level is called.
 */
#include "refusal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "../spec/spec.h"

/* A clock, which the oldest kernels have. */
static bool opens(bool kernel, pid_t tid, int cpu)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1,
		.exclude_kernel = !kernel, .exclude_hv = !kernel,
	};

	return pm_open_try(&attr, tid, cpu) == 0;
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

static bool is_privileged(const struct pm_env *env)
{
	return !pm_in_user_namespace() &&
		(pm_env_has_cap(env, PM_CAP_PERFMON) || pm_env_has_cap(env, PM_CAP_SYS_ADMIN));
}

/* Why it is a refusal of policy, where the errno says that it is one. */
static void look_at_policy(struct pm_refused *refused)
{
	const struct pm_env *env = refused->env;

	refused->perf = pm_perf_ask(env, &refused->perf_errno);
	if (refused->perf != PM_PERF_ANSWERS)
		return;
	refused->privileged = is_privileged(env);
	refused->level = level_met();
	refused->needs_user_chains = refused->error == EACCES &&
		pm_needs_user_chains(refused->attr);
	/* Without /proc a capability may be of a user namespace: what it opens tells. */
	if (access("/proc/self/uid_map", R_OK) != 0)
		refused->privileged &= refused->level <= 0;
	/* From 0 downward nothing of the kind can be tried here; the file has the word. */
	if (refused->level <= 0 && !refused->privileged && env->paranoid != INT_MIN)
		refused->level = env->paranoid;
}

static void put_words(const struct pm_gate *gate, const struct pm_gate_words *words,
		      struct pm_refusal *ret)
{
	static const enum pm_cause causes[PM_GATE_KINDS] = {
		[PM_GATE_NOT_BUILT] = PM_CAUSE_NOT_BUILT,
		[PM_GATE_FILTER] = PM_CAUSE_FILTER,
		[PM_GATE_PARANOID] = PM_CAUSE_PARANOID,
		[PM_GATE_LSM] = PM_CAUSE_LSM,
		[PM_GATE_DESCRIPTORS] = PM_CAUSE_DESCRIPTORS,
		[PM_GATE_LOCKED_MEMORY] = PM_CAUSE_LOCKED_MEMORY,
		[PM_GATE_NO_EVENT] = PM_CAUSE_NO_EVENT,
		[PM_GATE_UNSUPPORTED] = PM_CAUSE_UNSUPPORTED,
		[PM_GATE_NO_TARGET] = PM_CAUSE_NO_TARGET,
		[PM_GATE_UNKNOWN] = PM_CAUSE_UNKNOWN,
	};

	ret->name = gate->name;
	ret->level = words->level;
	ret->cause = causes[gate->kind];
	PM_SAY(ret->gate, "%s", words->gate);
	PM_SAY(ret->change, "%s", words->change);
}

static void explain(struct pm_refused *refused, struct pm_refusal *ret)
{
	struct pm_gate_words words;
	struct pm_place place;
	struct pm_env env;

	(void)pm_env_read(&env);
	pm_place_read(&place);
	refused->env = &env;
	refused->place = &place;
	/* Else the numbers alone explain it. */
	if (refused->call == PM_CALL_MAP && refused->error == EPERM && pm_rings_fit(refused))
		place.rings_kb = pm_rings_of_others(&place.ring_holder);
	if (refused->call == PM_CALL_OPEN && refused->perf == PM_PERF_ANSWERS &&
	    refused->level == INT_MIN && (refused->error == EACCES || refused->error == EPERM ||
	     refused->error == ENOSYS))
		look_at_policy(refused);
	else if (refused->call == PM_CALL_OPEN && refused->error == ENODEV)
		refused->perf = pm_perf_ask(&env, &refused->perf_errno);
	ret->error = refused->error;
	ret->of_open = refused->call == PM_CALL_OPEN && refused->attr != NULL;
	if (ret->of_open) {
		ret->attr = *refused->attr;
		ret->reach = refused->reach;
	}
	put_words(pm_gate_find(refused, &words), &words, ret);
}

void pm_refusal_of_open(const struct pm_event_spec *spec, enum pm_reach reach, int cpu, int error,
			struct pm_refusal *ret)
{
	struct perf_event_attr attr = pm_spec_attr(spec, false);

	attr.freq = spec->frequency != 0;
	attr.sample_period = spec->frequency ? spec->frequency : spec->period;
	pm_refusal_of_attr(&attr, reach, cpu, spec->tid == PM_CGROUP, error, ret);
}

void pm_refusal_of_attr(const struct perf_event_attr *attr, enum pm_reach reach, int cpu,
			bool cgroup, int error, struct pm_refusal *ret)
{
	struct pm_refused refused = {
		.call = PM_CALL_OPEN, .error = error, .attr = attr, .reach = reach, .cpu = cpu,
		.level = INT_MIN, .cgroup = cgroup,
	};

	explain(&refused, ret);
}

bool pm_refusal_by_level(const struct perf_event_attr *attr, enum pm_reach reach, int cpu,
			 bool cgroup, struct pm_refusal *ret)
{
	struct pm_refused refused = {
		.call = PM_CALL_OPEN, .error = EACCES, .attr = attr, .reach = reach, .cpu = cpu,
		.cgroup = cgroup, .perf = PM_PERF_ANSWERS,
	};
	struct pm_refusal found = { .cause = PM_CAUSE_NONE };
	struct pm_env env;

	(void)pm_env_read(&env);
	refused.level = env.paranoid;
	refused.privileged = is_privileged(&env);
	if (env.paranoid == INT_MIN)
		return false;
	explain(&refused, &found);
	if (found.cause == PM_CAUSE_PARANOID)
		*ret = found;
	return found.cause == PM_CAUSE_PARANOID;
}

void pm_refusal_of_signal(struct pm_refusal *ret)
{
	struct pm_refused refused = {
		.call = PM_CALL_OPEN, .perf = PM_PERF_KILLED, .level = INT_MIN,
	};

	explain(&refused, ret);
	snprintf(ret->call, sizeof(ret->call), "perf_event_open");
}

void pm_refusal_of_map(size_t rings, size_t bytes, int error, struct pm_refusal *ret)
{
	struct pm_refused refused = {
		.call = PM_CALL_MAP, .error = error, .rings = rings, .bytes = bytes,
	};

	explain(&refused, ret);
}

void pm_refusal_of_tracefs(int error, struct pm_refusal *ret)
{
	struct pm_refused refused = { .call = PM_CALL_TRACEFS, .error = error };

	explain(&refused, ret);
}

void pm_refusal_of_call(const char *name, int error, struct pm_refusal *ret)
{
	struct pm_refused refused = { .call = PM_CALL_OTHER, .error = error, .name = name };
	struct pm_env env;

	if (error == ENOSYS && pm_env_read(&env) == 0)
		refused.enosys = pm_enosys_ask(&env, name);
	explain(&refused, ret);
}
