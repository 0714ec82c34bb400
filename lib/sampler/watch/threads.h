/* SPDX-License-Identifier: MIT */
/* Events of threads, which what they create inherits; not installed. */
#ifndef PM_SAMPLER_THREADS_H
#define PM_SAMPLER_THREADS_H

#include "watch.h"

/*
 * Negotiates, maps a ring on each CPU, and opens for all watched processes; where `whole` is set,
 * for each of them or none. 0, or -errno with nothing left open.
 */
int pm_watch_open_threads(struct pm_sampler *sampler, bool whole, struct pm_diag *diag);

/* Opens for watched processes that have no events yet, and enables those. */
void pm_watch_follow_threads(struct pm_sampler *sampler);

/*
 * Maps a ring on a CPU that came online and opens there for all that is watched: what it has
 * inherited is on other CPUs. 0 or -errno.
 */
int pm_watch_open_late(struct pm_sampler *sampler, int cpu);

/* The threads that have events of their own on that CPU. */
struct threads *pm_watch_threads_on(struct pm_sampler *sampler, int cpu);

/* The thread has ended; its number may come again. */
void pm_watch_forget_thread(struct pm_sampler *sampler, uint32_t tid);

void pm_watch_free_threads(struct pm_sampler *sampler);

#endif
