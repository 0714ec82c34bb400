/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that comes and goes. Included behind probe.h.
 */
#ifndef SHORT_THREAD_H
#define SHORT_THREAD_H

/* Run a thread that causes page faults from its start to its end. Returns its tid. */
static inline pid_t must_run_thread(unsigned int faults)
{
	struct worker worker;
	pid_t tid;
	int error;

	must_start_worker(&worker, WORKER_THREAD);
	tid = worker.tid;
	error = worker_faults(&worker, faults) ?: worker_stop(&worker);
	if (error)
		say_unknown("a thread that faults and ends: %s", pm_errno_name(error));
	return tid;
}

#endif
