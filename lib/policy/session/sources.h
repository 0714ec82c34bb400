/* SPDX-License-Identifier: MIT */
/*
 * Which source of an occurrence is the right one; not installed.
 *
 * A thread T that appeared while we attached has events of its own and may have inherited those of
 * its maker P, so one occurrence gives two samples. Threads of listings have complete events of
 * their own: any other source is dropped. A later child of T inherits from T and, through T, from
 * P: the source listed last is the complete one.
 */
#ifndef PM_SOURCES_H
#define PM_SOURCES_H

#include "events.h"
#include "threads.h"

/*
 * Whether what `event`, of all threads, tells of thread `tid` is to be delivered. Means something
 * after a second listing only: with one, nobody inherits twice.
 */
bool pm_source_is_right(struct threads *threads, const struct session_event *event, pid_t tid);

#endif
