/* SPDX-License-Identifier: MIT */
/* The worker as its user sees it: what goes into the queue, and the end. */
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_DEFAULT ((uint64_t)16 << 20)
#define DEFERRED_DEFAULT 1024
#define NAME_ROOM 4096

/* ------------------------------------------------------------------------------- into the queue */

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static void *copy_in(char **at, const void *from, size_t size)
{
	void *to = *at;

	if (from == NULL)
		return NULL;
	memcpy(to, from, size);
	*at += padded(size);
	return to;
}

static void hand_over(struct pm_stack_worker *worker, size_t size)
{
	queue_commit(&worker->queue, size);
	atomic_fetch_add(&worker->put, 1);
	if (atomic_load(&worker->asleep))
		sem_post(&worker->wake);
}

static size_t registers_size(const struct pm_stack_sample *sample)
{
	if (sample->regs == NULL)
		return 0;
	return sizeof(uint64_t) * (size_t)__builtin_popcountll(sample->regs_mask);
}

int pm_stack_worker_put(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
			const struct pm_stack_sample *sample)
{
	struct pm_stack_sample from = { 0 };
	size_t chain, regs, stack, size;
	struct item *item;
	char *at;

	if (sample->size == 0)
		return -EINVAL;
	memcpy(&from, sample, sample->size < sizeof(from) ? sample->size : sizeof(from));
	chain = from.callchain == NULL ? 0 : from.callchain_count * sizeof(uint64_t);
	regs = registers_size(&from);
	stack = from.stack == NULL ? 0 : from.stack_used;
	size = sizeof(*item) + chain + regs + padded(stack);
	item = queue_reserve(&worker->queue, size);
	if (item == NULL) {
		atomic_fetch_add(&worker->dropped, 1);
		return -ENOBUFS;
	}
	at = (char *)(item + 1);
	*item = (struct item){ .kind = ITEM_SAMPLE, .unwinder = unwinder };
	item->sample = from;
	item->sample.callchain = copy_in(&at, from.callchain, chain);
	item->sample.regs = copy_in(&at, from.regs, regs);
	item->sample.stack = copy_in(&at, from.stack, stack);
	atomic_fetch_add(&worker->samples, 1);
	hand_over(worker, size);
	return 0;
}

int pm_stack_worker_deferred(struct pm_stack_worker *worker, pid_t tid, uint64_t cookie,
			     const uint64_t *ips, size_t count)
{
	const size_t size = sizeof(struct item) + count * sizeof(uint64_t);
	struct item *item = count > 65536 ? NULL : queue_reserve(&worker->queue, size);
	char *at;

	if (item == NULL)
		return -ENOBUFS;
	at = (char *)(item + 1);
	*item = (struct item){ .kind = ITEM_DEFERRED, .cookie = cookie };
	item->sample.tid = tid;
	item->sample.callchain_count = count;
	item->sample.callchain = copy_in(&at, ips, count * sizeof(uint64_t));
	hand_over(worker, size);
	return 0;
}

int pm_stack_worker_map(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
			const struct pm_mapping *mapping)
{
	size_t name, build_id, size;
	struct item *item;
	char *at;

	if (mapping->size < sizeof(*mapping) || mapping->name == NULL)
		return -EINVAL;
	name = strnlen(mapping->name, NAME_ROOM - 1) + 1;
	build_id = mapping->build_id == NULL ? 0 : mapping->build_id_size;
	size = sizeof(*item) + padded(name) + padded(build_id);
	item = build_id > 64 ? NULL : queue_reserve(&worker->queue, size);
	if (item == NULL) {
		atomic_store(&unwinder->stale, true);
		return -ENOBUFS;
	}
	at = (char *)(item + 1);
	*item = (struct item){ .kind = ITEM_MAP, .unwinder = unwinder, .mapping = *mapping };
	item->mapping.name = copy_in(&at, mapping->name, name);
	((char *)item->mapping.name)[name - 1] = '\0';
	item->mapping.build_id = copy_in(&at, mapping->build_id, build_id);
	hand_over(worker, size);
	return 0;
}

/* A list of its own and no item: it must not be lost when the queue is full. */
void pm_stack_worker_forget(struct pm_stack_worker *worker, struct pm_unwinder *unwinder)
{
	unwinder->forget_after = atomic_load(&worker->put);
	unwinder->forgotten = atomic_load(&worker->forgotten);
	while (!atomic_compare_exchange_weak(&worker->forgotten, &unwinder->forgotten, unwinder))
		;
	if (atomic_load(&worker->asleep))
		sem_post(&worker->wake);
}

/* ------------------------------------------------------------------------------- begin and end */

static void free_worker(struct pm_stack_worker *worker)
{
	if (worker->queue.data != NULL)
		queue_close(&worker->queue);
	sem_destroy(&worker->wake);
	free(worker->waiting);
	free(worker->addresses);
	free(worker->frames);
	free(worker);
}

/* No signal of the program is handled in a thread that it does not know of. */
static int start_thread(struct pm_stack_worker *worker)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&worker->thread, NULL, worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static int set_up(struct pm_stack_worker *worker)
{
	struct pm_stack_worker_opts *opts = &worker->opts;

	opts->deferred = opts->deferred ? opts->deferred : DEFERRED_DEFAULT;
	worker->waiting = calloc(opts->deferred, sizeof(worker->waiting[0]));
	worker->addresses = calloc(FRAMES_DEFAULT, sizeof(worker->addresses[0]));
	worker->frames = calloc(FRAMES_DEFAULT, sizeof(worker->frames[0]));
	if (worker->waiting == NULL || worker->addresses == NULL || worker->frames == NULL ||
	    queue_open(&worker->queue, opts->memory ? opts->memory : MEMORY_DEFAULT) < 0)
		return -ENOMEM;
	return start_thread(worker);
}

int pm_stack_worker_start(const struct pm_stack_worker_opts *opts, struct pm_stack_worker **ret)
{
	struct pm_stack_worker *worker = calloc(1, sizeof(*worker));
	int err;

	if (worker == NULL)
		return -ENOMEM;
	memcpy(&worker->opts, opts, opts->size < sizeof(*opts) ? opts->size : sizeof(*opts));
	sem_init(&worker->wake, 0, 0);
	err = worker->opts.stack == NULL ? -EINVAL : set_up(worker);
	if (err < 0)
		free_worker(worker);
	else
		*ret = worker;
	return err;
}

int pm_stack_worker_flush(struct pm_stack_worker *worker, uint64_t timeout)
{
	const uint64_t target = atomic_load(&worker->put);
	const uint64_t begin = unwinder_now();
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (atomic_load(&worker->finished) < target) {
		if (unwinder_now() - begin > timeout)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int pm_stack_worker_stats(struct pm_stack_worker *worker, struct pm_stack_worker_stats *ret)
{
	struct pm_stack_worker_stats all = {
		.put = atomic_load(&worker->samples), .done = atomic_load(&worker->done),
		.dropped = atomic_load(&worker->dropped), .purged = atomic_load(&worker->purged),
		.incomplete = atomic_load(&worker->incomplete),
		.orphans = atomic_load(&worker->orphans),
		.bytes = queue_bytes(&worker->queue),
		.bytes_peak = atomic_load(&worker->queue.peak),
		.cpu_time = atomic_load(&worker->cpu_time),
	};

	if (ret->size == 0)
		return -EINVAL;
	all.size = ret->size < sizeof(all) ? ret->size : sizeof(all);
	memcpy(ret, &all, all.size);
	return 0;
}

void pm_stack_worker_stop(struct pm_stack_worker *worker, bool at_once,
			  struct pm_stack_worker_stats *ret)
{
	atomic_store(&worker->at_once, at_once);
	atomic_store(&worker->stop, true);
	sem_post(&worker->wake);
	pthread_join(worker->thread, NULL);
	if (ret != NULL)
		(void)pm_stack_worker_stats(worker, ret);
	free_worker(worker);
}
