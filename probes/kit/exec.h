/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers that execute a program and go on as workers. Included behind probe.h.
 */
#ifndef EXEC_H
#define EXEC_H

#include "worker.h"

/* Let a worker, a child, execute this program anew; it goes on as a worker. */
void must_exec_worker(struct worker *worker);

/* Let it execute this very program (path NULL) or a copy of it; it goes on as a worker that only
 * knows worker_faults() and worker_stop(). Returns 0 or -errno. */
int worker_exec(struct worker *worker, const char *path);

#endif
