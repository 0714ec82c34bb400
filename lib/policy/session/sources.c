/* SPDX-License-Identifier: MIT */
/* Which source of an occurrence is the right one. */
#include "sources.h"

bool pm_source_is_right(struct threads *threads, const struct session_event *event, pid_t tid)
{
	struct thread_mark *mark;

	if (event->tid == tid)
		return true;
	mark = pm_threads_mark(threads, tid, true);
	if (mark == NULL)
		return true;
	if (mark->listed || event->round < mark->round)
		return false;
	mark->round = event->round;
	return true;
}
