/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers that start other workers, and that execute a program and go on as workers. Included
 * behind probe.h.
 */
#ifndef FORK_EXEC_H
#define FORK_EXEC_H

#include "worker.h"

/* Let a worker, a child, execute this program anew. It goes on as a worker. */
void must_exec_worker(struct worker *worker);

/* Let a worker execute this program (path NULL) or a copy of it. It goes on as a worker that
 * knows only worker_faults() and worker_stop(). Returns 0 or -errno. */
int worker_exec(struct worker *worker, const char *path);

/* Start a worker. Returns 0 or -errno. */
int worker_start(struct worker *worker, enum worker_kind kind);
/* The first of two steps where another worker is to start it: make what connects it to the test.
 * Comes before the other worker is started. Returns 0 or -errno. */
int worker_prepare(struct worker *worker, enum worker_kind kind);
/* The second step: worker_do(&other, worker_launch, &worker). Returns 0 or -errno. */
int worker_launch(void *worker);

#endif
