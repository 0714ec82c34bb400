/* SPDX-License-Identifier: MIT */
/* Opens, starts and stops the counters of one thread, in as few groups as the kernel takes. */
#define _GNU_SOURCE
#include "counter.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../plan/breakpoint.h"
#include "../plan/limits.h"
#include "../plan/task_clock.h"
#include "../profile/facts.h"
#include "../profile/deny.h"

#define FLAGS_ALL (PM_COUNTERS_INHERIT | PM_COUNTERS_TOGETHER | \
		   PM_COUNTERS_SYSTEM_CALL | PM_COUNTERS_MAY_USER_ONLY)

/* ----------------------------------------------------------------------------------- the events */

static pid_t target(const struct pm_event_spec *spec)
{
	return spec->tid == PM_ALL_THREADS ? 0 : spec->tid;
}

bool pm_counters_are_own(const struct pm_counters *counters)
{
	const pid_t tid = target(&counters->specs[0]);

	return tid == 0 || tid == pm_gettid();
}

struct perf_event_attr pm_counters_attr(const struct pm_counters *counters, size_t index,
					bool leads)
{
	struct perf_event_attr attr = pm_spec_attr(&counters->specs[index], counters->user_only);

	attr.disabled = leads;
	/*
	 * arm64 leaves a leader that is merely disabled out when it looks whether the next event
	 * still fits into the group, takes one too many, and never counts any (seen on v6.1 and
	 * v6.12). exec(2) closes the events of the calling thread.
	 */
	attr.enable_on_exec = leads && !counters->inherit && pm_counters_are_own(counters) &&
		index + 1 < counters->count;
	attr.inherit = counters->inherit;
	attr.inherit_thread = counters->inherit_thread;
	/* Only a leader may be pinned, and its siblings go where it goes. */
	attr.pinned = leads && counters->pinned;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (leads ? pm_counters_lead_group(counters, index) : counters->at_once)
		attr.read_format |= PERF_FORMAT_GROUP;
	return attr;
}

static int open_plain(struct pm_counters *counters, size_t index, int group_fd)
{
	const struct pm_event_spec *spec = &counters->specs[index];
	struct perf_event_attr attr = pm_counters_attr(counters, index, group_fd < 0);

#ifdef __aarch64__
	/*
	 * Only an event that asks for it may be read in user space: bit 1 of config1
	 * (83a7a4d643d3, v5.17). Bit 0, a counter of 64 bits, is left alone: the page does not
	 * need it, and where only the cycle counter is that wide, two such events take turns.
	 */
	if (pm_is_hardware(spec->type) && spec->config1 == 0 && !counters->inherit &&
	    !(counters->flags & PM_COUNTERS_SYSTEM_CALL)) {
		int fd;

		attr.config1 = 2;
		fd = pm_open(&attr, target(spec), -1, group_fd, 0);
		if (fd >= 0) {
			counters->counters[index].config1 = attr.config1;
			return fd;
		}
	}
	attr.config1 = spec->config1;
#endif
	counters->counters[index].config1 = attr.config1;
	return pm_open(&attr, target(spec), -1, group_fd, 0);
}

static int open_event(struct pm_counters *counters, size_t index, int group_fd)
{
	const char *filter = counters->specs[index].filter;
	int fd = open_plain(counters, index, group_fd), err;

	if (fd < 0 || filter == NULL)
		return fd;
	err = pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)(uintptr_t)filter);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

static void close_all(struct pm_counters *counters)
{
	pm_counters_unmap_pages(counters);
	for (size_t i = counters->count; i-- > 0;) {
		struct counter *counter = &counters->counters[i];

		if (counter->fd >= 0)
			close(counter->fd);
		*counter = (struct counter){ .fd = -1 };
	}
}

static bool may_lead_another(const struct pm_counters *counters, int err)
{
	return !(counters->flags & PM_COUNTERS_TOGETHER) &&
		(err == -EINVAL || err == -ENOSPC || err == -E2BIG);
}

/* Opens all or none. On failure *failed is the event that was refused. */
static int open_all(struct pm_counters *counters, size_t *failed)
{
	uint32_t leader = 0;

	counters->stats.groups = 0;
	for (size_t i = 0; i < counters->count; i++) {
		struct counter *counter = &counters->counters[i];

		counter->fd = -EINVAL;
		if (i > 0)
			counter->fd = open_event(counters, i, counters->counters[leader].fd);
		if (i == 0 || (counter->fd < 0 && may_lead_another(counters, counter->fd))) {
			leader = (uint32_t)i;
			counter->fd = open_event(counters, i, -1);
			counters->stats.groups++;
		}
		if (counter->fd < 0) {
			int err = counter->fd;

			counter->fd = -1;
			*failed = i;
			close_all(counters);
			return err;
		}
		counter->leader = leader;
	}
	if (!counters->at_once)
		counters->stats.groups = counters->count;
	return 0;
}

static bool may_user_only(const struct pm_counters *counters)
{
	if (!(counters->flags & PM_COUNTERS_MAY_USER_ONLY) || counters->user_only)
		return false;
	for (size_t i = 0; i < counters->count; i++)
		if ((counters->specs[i].flags & (PM_SPEC_EXACT | PM_SPEC_NO_USER)) ||
		    pm_happens_in_kernel(&counters->specs[i]))
			return false;
	return true;
}

/* What else to try: true when something was changed. */
static bool give_way(struct pm_counters *counters, int err)
{
	if (err == -EACCES || err == -EPERM) {
		if (!may_user_only(counters))
			return false;
		return counters->user_only = true;
	}
	if ((err != -EINVAL && err != -E2BIG) || !counters->inherit)
		return false;
	/* Newest first: v5.13, v4.13. */
	if (counters->inherit_thread)
		counters->inherit_thread = false;
	else if (counters->at_once)
		counters->at_once = false;
	else
		return false;
	return true;
}

static int open_somehow(struct pm_counters *counters, struct pm_diag *diag)
{
	size_t failed = 0;
	int err;

	do
		err = open_all(counters, &failed);
	while (err < 0 && give_way(counters, err));
	if (err == 0)
		return counters->user_only;
	/* That takes tries and files by the dozen. */
	if (diag != NULL)
		(void)pm_diag_open(diag, &counters->specs[failed], -1, err);
	return err;
}

/* ------------------------------------------------------------------------------- the user pages */

const void *pm_counters_thread(void)
{
	static __thread char here;

	return &here;
}

#define USER_READ_FACTS(X) \
	X("rdpmc.value.supported") \
	X("rdpmc.value.between_reads") \
	X("rdpmc.value.grows") \
	X("rdpmc.value_scope.own_thread") \
	X("rdpmc.value_scope.after_disable") \
	X("rdpmc.fallback.disabled") \
	X("rdpmc.allowed.on_reads") \
	X("rdpmc.allowed.off_says_so")
PM_FACTS(user_reads, USER_READ_FACTS);

#define GROUP_SUM_FACTS(X) \
	X("group.inherit_read.alive") \
	X("group.inherit_read.ended")
PM_FACTS(group_sums, GROUP_SUM_FACTS);

static bool any_denied(const struct pm_profile *profile, const char *const *keys)
{
	for (; *keys != NULL; keys++)
		if (pm_denies(profile, *keys))
			return true;
	return false;
}

static bool may_read_registers(const struct pm_counters *counters,
			       const struct pm_profile *profile)
{
	static const char *const keys[] = { USER_READ_FACTS(PM_FACT_KEY) NULL };

	/* The page of an inheriting event holds its own thread's part only. */
	return !(counters->flags & PM_COUNTERS_SYSTEM_CALL) && !counters->inherit &&
		pm_counters_are_own(counters) && !any_denied(profile, keys);
}

/* -------------------------------------------------------------------------------------- open */

static bool is_counter(const struct pm_event_spec *spec, int tid)
{
	/* Precision is of samples; a thread's counters share the PMU. */
	return spec->period == 0 && spec->frequency == 0 && spec->want == 0 &&
		pm_spec_precise(spec) == 0 && !(spec->flags & PM_SPEC_EXCLUSIVE) &&
		spec->tid >= PM_ALL_THREADS && spec->tid == tid &&
		(spec->filter == NULL || spec->type == PERF_TYPE_TRACEPOINT);
}

static int take_specs(struct pm_counters *counters, const struct pm_event_spec *specs,
		      size_t count, struct pm_diag *diag)
{
	if (count == 0 || count > COUNTERS_MAX || (counters->flags & ~(unsigned int)FLAGS_ALL))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT,
				   "1 to %d events and known flags, please", COUNTERS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (!pm_spec_take(specs, i, &counters->specs[i]) ||
		    !is_counter(&counters->specs[i], counters->specs[0].tid))
			return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "event %zu: counters have "
					   "a size, one thread in common, and no period, "
					   "frequency or wants", i);
		counters->pinned |= !!(counters->specs[i].flags & PM_SPEC_PINNED);
	}
	counters->count = counters->stats.unproven = count;
	if (counters->specs[0].tid != PM_ALL_THREADS)
		return 0;
	if (pm_thread_count() != 1)
		return pm_diag_say(diag, EBUSY, PM_CAUSE_INPUT, "other threads run already, and "
				   "only later ones inherit counters; use a session");
	counters->inherit = counters->inherit_thread = true;
	return 0;
}

static int settle(struct pm_counters *counters, struct pm_profile *profile, struct pm_diag *diag)
{
	static const char *const sums[] = { GROUP_SUM_FACTS(PM_FACT_KEY) NULL };
	int err;

	for (size_t i = 0; i < counters->count; i++) {
		struct pm_event_spec *spec = &counters->specs[i];

		if (!(spec->flags & PM_SPEC_EXACT) && pm_needs_task_clock(profile, spec))
			spec->config = PERF_COUNT_SW_TASK_CLOCK;
	}
	counters->at_once = !counters->inherit || !any_denied(profile, sums);
	err = open_somehow(counters, diag);
	if (err >= 0 && may_read_registers(counters, profile))
		pm_counters_map_pages(counters);
	return err;
}

static struct pm_counters *create(unsigned int flags)
{
	struct pm_counters *counters = calloc(1, sizeof(*counters));

	if (counters == NULL)
		return NULL;
	counters->flags = flags;
	counters->inherit = !!(flags & PM_COUNTERS_INHERIT);
	counters->owner = pm_counters_thread();
	for (size_t i = 0; i < COUNTERS_MAX; i++)
		counters->counters[i].fd = -1;
	return counters;
}

int pm_counters_open_on(const struct pm_registers *registers, const struct pm_event_spec *specs,
			size_t count, unsigned int flags, struct pm_profile *profile,
			struct pm_diag *diag, struct pm_counters **ret)
{
	struct pm_counters *counters = create(flags);
	struct pm_profile *own = NULL;
	int err;

	if (counters == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_UNKNOWN, "no memory");
	counters->registers = registers;
	err = take_specs(counters, specs, count, diag);
	for (size_t i = 0; err == 0 && i < count; i++)
		err = pm_breakpoint_try(&counters->specs[i], diag);
	if (err == 0 && profile == NULL) {
		err = pm_profile_load_default(diag, &own);
		profile = own;
	}
	if (err >= 0)
		err = settle(counters, profile, diag);
	pm_profile_destroy(own);
	if (err < 0) {
		pm_counters_destroy(counters);
		return err;
	}
	*ret = counters;
	return err;
}

int pm_counters_open(const struct pm_event_spec *specs, size_t count, unsigned int flags,
		     struct pm_profile *profile, struct pm_diag *diag,
		     struct pm_counters **ret)
{
	return pm_counters_open_on(&pm_registers, specs, count, flags, profile, diag, ret);
}

void pm_counters_destroy(struct pm_counters *counters)
{
	if (counters == NULL)
		return;
	close_all(counters);
	free(counters);
}

/* ------------------------------------------------------------------------------- start and stop */

/* Leaders only: their siblings are never disabled themselves, and run when the leader does. */
static int switch_groups(struct pm_counters *counters, unsigned long request)
{
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *counter = &counters->counters[i];
		int err;

		if (counter->leader != i)
			continue;
		err = pm_ioctl(counter->fd, request, 0);
		if (err < 0)
			return err;
	}
	return 0;
}

int pm_counters_start(struct pm_counters *counters)
{
	int err = switch_groups(counters, PERF_EVENT_IOC_ENABLE);

	if (err == 0 && !counters->proven)
		err = pm_counters_prove(counters);
	if (err == -EIO)
		(void)switch_groups(counters, PERF_EVENT_IOC_DISABLE);
	return err;
}

int pm_counters_stop(struct pm_counters *counters)
{
	return switch_groups(counters, PERF_EVENT_IOC_DISABLE);
}
