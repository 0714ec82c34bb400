/* SPDX-License-Identifier: MIT */
/* The worker's thread: out of the queue, in order. */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chain.h"

/* --------------------------------------------------------------------------------------- stacks */

static void deliver(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
		    const struct pm_stack *stack)
{
	worker->opts.stack(worker->opts.context, unwinder, stack);
	if (stack->end != PM_END_COMPLETE && stack->end != PM_END_UNTOLD)
		atomic_fetch_add(&worker->incomplete, 1);
	atomic_fetch_add(&worker->done, 1);
}

static void deliver_chain(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
			  const struct pm_stack_sample *sample, const struct pm_stack_sample *user)
{
	struct chain_frames chain = { worker->addresses, worker->frames, 0, FRAMES_DEFAULT };
	struct pm_stack stack = {
		.size = sizeof(stack), .pid = sample->pid, .tid = sample->tid,
		.time = sample->time, .weight = sample->weight ? sample->weight : 1,
		.addresses = worker->addresses, .frames = worker->frames,
		.context = sample->context,
	};

	if (user == NULL) {
		stack.count = pm_stack_chain(sample, worker->addresses, worker->frames,
					     FRAMES_DEFAULT, &stack.end);
	} else {
		chain_take(sample, false, &chain);
		stack.count = chain_take(user, true, &chain);
		stack.end = stack.count == FRAMES_DEFAULT ? PM_END_FRAMES : PM_END_UNTOLD;
	}
	deliver(worker, unwinder, &stack);
}

/* ----------------------------------------------------------------------------- deferred chains */

static void give_up(struct pm_stack_worker *worker, unsigned int i)
{
	struct waiting *one = &worker->waiting[i];

	deliver_chain(worker, one->unwinder, &one->sample, NULL);
	free((void *)one->sample.callchain);
	memmove(one, one + 1, (worker->waiting_count - i - 1) * sizeof(*one));
	worker->waiting_count--;
}

/* Keeps the sample until its user part comes; without memory it is delivered as it is. */
static void wait_for_rest(struct pm_stack_worker *worker, const struct item *item, uint64_t cookie)
{
	const size_t size = item->sample.callchain_count * sizeof(uint64_t);
	struct waiting *one;
	void *chain = malloc(size);

	if (chain == NULL) {
		deliver_chain(worker, item->unwinder, &item->sample, NULL);
		return;
	}
	if (worker->waiting_count == worker->opts.deferred)
		give_up(worker, 0);
	memcpy(chain, item->sample.callchain, size);
	one = &worker->waiting[worker->waiting_count++];
	*one = (struct waiting){ item->unwinder, item->sample, cookie };
	one->sample.callchain = chain;
	one->sample.regs = NULL;
	one->sample.stack = NULL;
}

/* Several samples of one stay in the kernel have one cookie, and so one user part. */
static void join(struct pm_stack_worker *worker, const struct item *item)
{
	unsigned int kept = 0, joined;

	for (unsigned int i = 0; i < worker->waiting_count; i++) {
		struct waiting *one = &worker->waiting[i];

		if (one->cookie != item->cookie || one->sample.tid != item->sample.tid) {
			worker->waiting[kept++] = *one;
			continue;
		}
		deliver_chain(worker, one->unwinder, &one->sample, &item->sample);
		free((void *)one->sample.callchain);
	}
	joined = worker->waiting_count - kept;
	worker->waiting_count = kept;
	if (joined == 0)
		atomic_fetch_add(&worker->orphans, 1);
}

/* ---------------------------------------------------------------------------------------- items */

static void do_sample(struct pm_stack_worker *worker, const struct item *item)
{
	struct pm_stack stack = { .size = sizeof(stack) };
	const uint64_t cookie = item->sample.regs_abi != 0 ? 0 : pm_stack_cookie(&item->sample);

	if (cookie != 0) {
		wait_for_rest(worker, item, cookie);
		return;
	}
	if (item->unwinder == NULL) {
		deliver_chain(worker, NULL, &item->sample, NULL);
		return;
	}
	if (atomic_exchange(&item->unwinder->stale, false))
		(void)pm_unwinder_refresh(item->unwinder);
	(void)pm_unwinder_stack(item->unwinder, &item->sample, &stack);
	deliver(worker, item->unwinder, &stack);
}

static void purge(struct pm_stack_worker *worker, const struct item *item)
{
	if (item->kind == ITEM_SAMPLE)
		atomic_fetch_add(&worker->purged, 1);
}

static void do_item(struct pm_stack_worker *worker, const struct item *item)
{
	if (atomic_load(&worker->at_once))
		purge(worker, item);
	else if (item->kind == ITEM_SAMPLE)
		do_sample(worker, item);
	else if (item->kind == ITEM_DEFERRED)
		join(worker, item);
	else
		(void)pm_unwinder_map(item->unwinder, &item->mapping);
}

static void give_up_all(struct pm_stack_worker *worker, const struct pm_unwinder *unwinder)
{
	for (unsigned int i = worker->waiting_count; i-- > 0;)
		if (unwinder == NULL || worker->waiting[i].unwinder == unwinder)
			give_up(worker, i);
}

/* Closes what was forgotten and is not in the queue any more; the others go back on the list. */
static void close_forgotten(struct pm_stack_worker *worker)
{
	struct pm_unwinder *one = atomic_exchange(&worker->forgotten, NULL), *next;

	for (; one != NULL; one = next) {
		next = one->forgotten;
		if (atomic_load(&worker->finished) >= one->forget_after) {
			give_up_all(worker, one);
			pm_unwinder_destroy(one);
			continue;
		}
		one->forgotten = atomic_load(&worker->forgotten);
		while (!atomic_compare_exchange_weak(&worker->forgotten, &one->forgotten, one))
			;
	}
}

static void note_time(struct pm_stack_worker *worker)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	atomic_store(&worker->cpu_time,
		     (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec);
}

static void sleep_until_woken(struct pm_stack_worker *worker)
{
	size_t size;

	note_time(worker);
	atomic_store(&worker->asleep, true);
	/* An item that came between the look and the flag would wake nobody. */
	if (queue_peek(&worker->queue, &size) == NULL && !atomic_load(&worker->stop) &&
	    atomic_load(&worker->forgotten) == NULL)
		while (sem_wait(&worker->wake) != 0 && errno == EINTR)
			;
	atomic_store(&worker->asleep, false);
}

void *worker_main(void *context)
{
	struct pm_stack_worker *worker = context;
	struct item *item;
	size_t size;

	for (;;) {
		item = queue_peek(&worker->queue, &size);
		if (item != NULL) {
			do_item(worker, item);
			queue_release(&worker->queue, size);
			atomic_fetch_add(&worker->finished, 1);
		}
		if (atomic_load(&worker->forgotten) != NULL)
			close_forgotten(worker);
		if (item != NULL)
			continue;
		if (atomic_load(&worker->stop) && queue_peek(&worker->queue, &size) == NULL)
			break;
		sleep_until_woken(worker);
	}
	give_up_all(worker, NULL);
	close_forgotten(worker);
	note_time(worker);
	return NULL;
}
