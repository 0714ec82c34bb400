/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread and a child that come and go. Included behind probe.h.
 */
#ifndef COME_AND_GO_H
#define COME_AND_GO_H

#include "fork_exec.h"

/* As a job of another worker: a thread of its own comes and goes, then a child. */
static inline int worker_come_and_go(void *unused)
{
	struct worker other;

	(void)unused;
	return worker_start(&other, WORKER_THREAD) ?: worker_stop(&other) ?:
	       worker_start(&other, WORKER_CHILD) ?: worker_stop(&other);
}

#endif
