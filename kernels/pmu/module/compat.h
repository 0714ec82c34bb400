/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels this module is built for, and nothing else. Where the headers
 * can be asked, they are; a version number is the last resort.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/version.h>

/* v6.13 (9d7a1fd1a4e6): one call sets up a timer and its function; v6.15 removed the other way. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define timer_setup_hard(timer, function)						\
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD)
#else
#define timer_setup_hard(timer, fn)							\
	do {										\
		hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);	\
		(timer)->function = fn;							\
	} while (0)
#endif

/*
 * v6.2 (bd2756811766): a context for each PMU. Until then a machine has one PMU of hardware
 * counters, unless it says that its cores differ; and the core asks per event, with the opposite
 * answer.
 */
#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS
#define CAP_MIXED_CORES PERF_PMU_CAP_HETEROGENEOUS_CPUS
#define FILTER_BY_EVENT 1
#else
#define CAP_MIXED_CORES 0
#define FILTER_BY_EVENT 0
#endif

/* v5.13 (55bcf6ef314a): config[63:32] of a generic event may name a PMU. */
#ifndef PERF_PMU_CAP_EXTENDED_HW_TYPE
#define PERF_PMU_CAP_EXTENDED_HW_TYPE 0
#endif
#ifndef PERF_PMU_TYPE_SHIFT
#define PERF_PMU_TYPE_SHIFT 32
#endif

/* v6.13 (18d92bb57c39): a member of a group pauses and resumes the trace of its leader. */
#ifdef PERF_PMU_CAP_AUX_PAUSE
#define starts_paused(event) ((event)->attr.aux_start_paused)
#else
#define PERF_PMU_CAP_AUX_PAUSE 0
#define PERF_EF_PAUSE 0
#define PERF_EF_RESUME 0
#define starts_paused(event) false
#endif

/* v6.8 and later fill the sample's fields in by functions that also set its flags. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define save_branches(data, event, stack) perf_sample_save_brstack(data, event, stack, NULL)
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
#define save_branches(data, event, stack)						\
	do {										\
		(data)->br_stack = stack;						\
		(data)->sample_flags |= PERF_SAMPLE_BRANCH_STACK;			\
	} while (0)
#else
#define save_branches(data, event, stack) ((data)->br_stack = stack)
#endif

/*
 * v6.15 (da916e96e2de): a PMU may go while events are open, and may refuse to. Before, such events
 * are used after they are freed, so the module does not offer it there.
 */
#define UNREGISTER_IS_SAFE \
	__builtin_types_compatible_p(typeof(&perf_pmu_unregister), int (*)(struct pmu *))

#endif
