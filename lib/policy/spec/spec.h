/* SPDX-License-Identifier: MIT */
/* What a spec asks for, whoever is to do it; not installed. */
#ifndef PM_SPEC_H
#define PM_SPEC_H

#include "../../perfmodes.h"
#include "../../pm_sys.h"

#define SIZE_MOST 4096	/* of a structure of a caller: more is taken for no size at all */

/*
 * Copies a structure of an older or newer caller: what that does not have reads as 0, and what we
 * do not know has to be 0. False when it is not, or for a size below `least`.
 */
bool pm_take(void *to, size_t have, const void *from, size_t least);

/*
 * Copies to a structure of the caller, who may be older or newer than we are: up to its size, and
 * no further than what we have. The size stays the caller's. False for a size below `least`.
 */
bool pm_give(void *to, const void *from, size_t have, size_t least);

/* Element `index` of an array whose first element tells the size of each. */
void *pm_element(void *array, size_t index);

/* Copies to such an element, which gets that size. */
void pm_give_element(void *array, size_t index, const void *from, size_t have);

/* Room for one more behind `count` elements of an array; `list` is the address of its pointer. */
int pm_make_room(void *list, size_t count, size_t *room, size_t size);

/*
 * Copies one of an array of specs, whose stride is the caller's. False also for a flag or want of a
 * later release, which would be passed over in silence.
 */
bool pm_spec_take(const struct pm_event_spec *specs, size_t index, struct pm_event_spec *ret);

/* Events that one may replace by timers of CPU time. */
bool pm_is_time(const struct pm_event_spec *spec);

/* Whether events of that type are of the CPU's own PMU. */
bool pm_is_hardware(uint32_t type);

/* Software events, tracepoints and breakpoints, whose places are given away once. */
bool pm_takes_no_turns(uint32_t type);

/*
 * Events that happen in the kernel: with exclude_kernel they open and count nothing for ever. Of
 * tracepoints those of uprobes and system calls are an exception since v5.3 (9fd2e48b9ae1), which
 * the id does not tell.
 */
bool pm_happens_in_kernel(const struct pm_event_spec *spec);

/*
 * Page faults of any kind, or those without a disk: each is easily caused in user mode, and is
 * counted once where user mode is not left out.
 */
bool pm_is_page_fault(const struct pm_event_spec *spec);

/* A clock of the kernel's, which samples by a timer. */
bool pm_is_clock(const struct perf_event_attr *attr);

/*
 * Whether its samples are to tell their periods (PERF_SAMPLE_PERIOD). With a fixed period and that
 * field the kernel samples each occurrence of a software event, a tracepoint and a breakpoint, with
 * a period of 1 (5d81e5cfb37a, v3.3): then the field is left out, and the period is the one that
 * was asked for. A period of 1 samples each in any case, and some tracepoints count more than one
 * at a time. What is not known here may be a kprobe, whose samples come as those of tracepoints.
 */
bool pm_period_is_told(const struct perf_event_attr *attr);

/*
 * Causes exactly so many page faults, whatever the size of a huge page, and returns how many.
 * Reading maps the page of zeros, which takes half as long as a page of its own. 0 where a filter
 * refuses the memory.
 */
size_t pm_cause_faults(size_t count);

/* Whether `attr` opens for whom the spec is to observe, on that CPU (-1: any, or the first). */
bool pm_spec_opens(const struct pm_event_spec *spec, const struct perf_event_attr *attr, int cpu);

/* attr.precise_ip at most. */
unsigned int pm_spec_precise(const struct pm_event_spec *spec);

/* Which event, and of which modes, host and guests; all else is 0. */
struct perf_event_attr pm_spec_attr(const struct pm_event_spec *spec, bool user_only);

#endif
