/* SPDX-License-Identifier: MIT */
/* The gates of perf_event_open(2) behind policy: limits, and what is not there or not known. */
#include "gate_advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static const char *error_name(const struct pm_refused *refused)
{
	return pm_errno_name(refused->error);
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

/* ----------------------------------------------------------------------------------- resources */

#define LEAST_NOFILE 4096

static bool is_file_max(const struct pm_refused *refused)
{
	return refused->error == ENFILE;
}

static void say_file_max(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "%s: out of descriptors (RLIMIT_NOFILE %"PRIu64 ")", error_name(refused),
	       refused->env->nofile);
	PM_SAY(ret->gate, "fs.file-max: the whole machine has no descriptor left");
	if (refused->place != NULL && refused->place->file_max > 0 &&
	    refused->place->file_max < INT64_MAX / 2)
		pm_advise_sysctl(refused, "fs.file-max", 2 * refused->place->file_max, ret);
	else
		pm_advise(ret, "end processes that hold many files: lsof counts them");
}

static bool is_nofile(const struct pm_refused *refused)
{
	return refused->error == EMFILE;
}

static void say_nofile(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const uint64_t soft = refused->env->nofile;
	const uint64_t hard = refused->place ? refused->place->nofile_hard : soft;

	PM_SAY(ret->brief, "%s: out of descriptors (RLIMIT_NOFILE %"PRIu64 ")", error_name(refused),
	       soft);
	PM_SAY(ret->gate, "RLIMIT_NOFILE=%" PRIu64 " is used up (hard limit %" PRIu64 ")", soft,
	       hard);
	if (hard > soft && hard < UINT64_MAX)
		pm_advise(ret, "ulimit -n %" PRIu64, hard);
	else if (hard > soft)
		pm_advise(ret, "ulimit -n unlimited");
	else
		pm_advise_hard_limit(refused, "nofile",
				     soft < LEAST_NOFILE ? LEAST_NOFILE : 2 * soft, ret);
}

static bool is_taken(const struct pm_refused *refused)
{
	return refused->error == EBUSY || refused->error == ENOSPC;
}

static void say_taken(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "no counter or breakpoint is free (%s)", error_name(refused));
	PM_SAY(ret->gate, "no counter or breakpoint is free");
	pm_advise(ret, "end other profilers, or ask for fewer events at a time");
	if (is_hardware(refused))
		pm_advise_sysctl(refused, "kernel.nmi_watchdog", 0, ret);
}

/* --------------------------------------------------------------------------- what is not there */

struct cpu_sought {
	unsigned int cpu;
	bool found;
};

static void compare_cpu(unsigned int cpu, void *context)
{
	struct cpu_sought *sought = context;

	sought->found |= cpu == sought->cpu;
}

/* Whether a list of sysfs has no such CPU; a list that cannot be read tells nothing. */
static bool lacks_cpu(const char *path, int cpu)
{
	struct cpu_sought sought = { (unsigned int)cpu, false };
	char list[4096];

	return cpu >= 0 && pm_read_text(path, list, sizeof(list)) > 0 &&
		pm_cpulist_each(list, compare_cpu, &sought) > 0 && !sought.found;
}

/* A number beyond all that there may ever be is EINVAL. */
static bool is_no_cpu(const struct pm_refused *refused)
{
	if (refused->error == ENODEV)
		return lacks_cpu("/sys/devices/system/cpu/online", refused->cpu);
	return refused->error == EINVAL &&
		lacks_cpu("/sys/devices/system/cpu/possible", refused->cpu);
}

static void say_no_cpu(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	char online[64] = "";

	if (pm_read_text("/sys/devices/system/cpu/online", online, sizeof(online)) > 0)
		online[strcspn(online, "\n")] = '\0';
	PM_SAY(ret->brief, "no CPU %d is online (%s)", refused->cpu, error_name(refused));
	PM_SAY(ret->gate, "no CPU %d is online; those that are: %s", refused->cpu, online);
	PM_SAY(ret->change, "name one of these");
}

static bool is_no_cgroup(const struct pm_refused *refused)
{
	return refused->error == EBADF && refused->cgroup;
}

static void say_no_cgroup(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	PM_SAY(ret->brief, "no descriptor of a cgroup (%s)", error_name(refused));
	PM_SAY(ret->gate, "the descriptor is not of the directory of a cgroup that perf events "
	       "know");
	PM_SAY(ret->change, "open the directory of the cgroup: below the mount of perf_event where "
	       "/proc/self/cgroup has such a line, else below that of cgroup2");
}

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
		if (hidden)
			pm_advise(ret, "mount sysfs on /sys to see what there is");
		pm_advise_pmu(refused, ret);
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
	PM_SAY(ret->change, "a breakpoint on reads and writes together");
}

/* For everybody: no capability counts. */
static bool is_too_often(const struct pm_refused *refused)
{
	return refused->error == EINVAL && refused->attr != NULL && refused->attr->freq &&
		refused->env->max_sample_rate > 0 &&
		refused->attr->sample_freq > (uint64_t)refused->env->max_sample_rate;
}

static void say_too_often(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const long long asked = (long long)refused->attr->sample_freq;
	const long long most = (long long)refused->env->max_sample_rate;

	PM_SAY(ret->brief, "EINVAL: %lld samples a second, perf_event_max_sample_rate=%lld", asked,
	       most);
	PM_SAY(ret->gate, "kernel.perf_event_max_sample_rate=%lld, which the kernel lowers by "
	       "itself where samples take long; %lld a second are more", most, asked);
	pm_advise(ret, "ask for %lld samples a second, or fewer", most);
	pm_advise_sysctl(refused, "kernel.perf_event_max_sample_rate", asked, ret);
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
	else if (refused->error == E2BIG)
		PM_SAY(ret->gate, "this kernel does not know a field that was set, or so few bytes "
		       "of them were handed in that they are no event");
	else
		PM_SAY(ret->gate, "call chains of more frames were asked for than "
		       "kernel.perf_event_max_stack allows");
}

static bool is_ended(const struct pm_refused *refused)
{
	return refused->error == ESRCH;
}

static void say_ended(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_setup(refused, ret);
	PM_SAY(ret->gate, "there is no such thread, or it has ended");
}

static void say_any_open(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	brief_setup(refused, ret);
	PM_SAY(ret->gate, "%s", strerror(refused->error));
}

const struct pm_gate pm_gates_open[] = {
	PM_GATE_ROW(file_max, DESCRIPTORS, BLOCKED, is_file_max),
	PM_GATE_ROW(nofile, DESCRIPTORS, BLOCKED, is_nofile),
	PM_GATE_ROW(no_cpu, NO_TARGET, ABSENT, is_no_cpu),
	PM_GATE_ROW(no_cgroup, NO_TARGET, UNTOLD, is_no_cgroup),
	PM_GATE_ROW(no_tracepoint, NO_EVENT, ABSENT, is_no_tracepoint),
	PM_GATE_ROW(hardware_missing, NO_EVENT, ABSENT, is_hardware_missing),
	PM_GATE_ROW(missing, NO_EVENT, ABSENT, is_missing),
	PM_GATE_ROW(taken, NO_EVENT, UNTOLD, is_taken),
	PM_GATE_ROW(single_access, UNSUPPORTED, ABSENT, is_single_access),
	PM_GATE_ROW(too_often, UNSUPPORTED, BLOCKED, is_too_often),
	PM_GATE_ROW(unsupported, UNSUPPORTED, UNTOLD, is_unsupported),
	PM_GATE_ROW(ended, NO_TARGET, UNTOLD, is_ended),
	PM_GATE_ROW(any_open, UNKNOWN, UNTOLD, pm_gate_any),
	PM_GATE_END
};
