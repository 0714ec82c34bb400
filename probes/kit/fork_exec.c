/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See fork_exec.h.
 */
#define _GNU_SOURCE

#include "fork_exec.h"
#include "say.h"
#include "worker.h"

void must_exec_worker(struct worker *worker)
{
	int error = worker_exec(worker, NULL);

	if (error)
		say_unknown("the child could not execute this program: %s", pm_errno_name(error));
}
