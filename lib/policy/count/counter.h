/* SPDX-License-Identifier: MIT */
/* Counters as their files share them; not installed. */
#ifndef PM_COUNTER_H
#define PM_COUNTER_H

#include "user_page.h"

#define COUNTERS_MAX 32

struct counter {
	int fd;				/* -1: not open */
	uint32_t leader;		/* index of the first of its group, its own for a leader */
	const struct perf_event_mmap_page *page;	/* NULL: it cannot be read in user space */
	uint64_t config1;		/* of its attr: arm64 asks for user space there */
	struct pm_value base;		/* subtracted since the last reset */
};

struct pm_counters {
	struct counter counters[COUNTERS_MAX];
	struct pm_event_spec specs[COUNTERS_MAX];
	size_t count;
	unsigned int flags;		/* enum pm_counters_flags */
	bool proven;			/* that they count once they are started */
	bool at_once;			/* groups are read by one call: PERF_FORMAT_GROUP */
	bool inherit, inherit_thread, user_only;
	bool pinned;			/* as one of its specs asks for: all */
	const struct pm_registers *registers;
	const void *owner;		/* an address that only the opening thread has */
	const volatile uint32_t *parent;	/* 0 in a forked process, where no page is mapped */
	struct pm_counters_stats stats;
};

/*
 * Whether what the event `leader` leads is read as a group. The last event never gets followers,
 * and is read by itself: of a group, even of one, the kernel takes half as long again.
 */
static inline bool pm_counters_lead_group(const struct pm_counters *counters, size_t leader)
{
	return counters->at_once && leader + 1 < counters->count;
}

struct perf_event_attr pm_counters_attr(const struct pm_counters *counters, size_t index,
					bool leads);

/* pm_counters_open on a machine that has these registers. */
int pm_counters_open_on(const struct pm_registers *registers, const struct pm_event_spec *specs,
			size_t count, unsigned int flags, struct pm_profile *profile,
			struct pm_diag *diag, struct pm_counters **ret);

/* Maps the pages by which a value could be read, as a child has proven that it can. */
void pm_counters_map_pages(struct pm_counters *counters);
void pm_counters_unmap_pages(struct pm_counters *counters);

/* Whether they count the calling thread. */
bool pm_counters_are_own(const struct pm_counters *counters);

/* They have just been started: what is easily caused must be counted. 0 or -EIO. */
int pm_counters_prove(struct pm_counters *counters);

/* An address that differs between living threads. */
const void *pm_counters_thread(void);

#endif
