/* SPDX-License-Identifier: MIT */
/* The inside of struct pm_stack_worker, for its two halves. Not installed. */
#ifndef PM_STACKS_WORKER_H
#define PM_STACKS_WORKER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "../perfmodes_stacks.h"
#include "queue.h"
#include "unwinder.h"

enum item_kind { ITEM_SAMPLE, ITEM_DEFERRED, ITEM_MAP };

/* An item of the queue: what is behind it are arrays, each aligned to 8. */
struct item {
	enum item_kind kind;
	struct pm_unwinder *unwinder;
	struct pm_stack_sample sample;	/* of a deferred part: tid, chain */
	uint64_t cookie;
	struct pm_mapping mapping;
};

/* A sample whose user part is still to come. */
struct waiting {
	struct pm_unwinder *unwinder;
	struct pm_stack_sample sample;	/* its chain is malloc'ed */
	uint64_t cookie;
};

struct pm_stack_worker {
	struct pm_stack_worker_opts opts;
	struct queue queue;
	pthread_t thread;
	sem_t wake;
	atomic_bool asleep, stop, at_once;
	_Atomic(struct pm_unwinder *) forgotten;	/* a list: pushed by one, taken whole */
	_Atomic uint64_t put, finished;			/* items of any kind */
	_Atomic uint64_t samples, done, dropped, purged, incomplete, orphans, cpu_time;
	struct waiting *waiting;
	unsigned int waiting_count;
	uint64_t *addresses;				/* of stacks without an unwinder */
	uint8_t *frames;
};

/* What the thread runs. */
void *worker_main(void *context);

#endif
