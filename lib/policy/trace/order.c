/* SPDX-License-Identifier: MIT */
/*
 * Records of several rings in the order of their times. A session drains one ring after the other,
 * so what a poll delivers is ordered by ring. Records are held in a heap until none can come that
 * is older: a second poll has drained every ring beyond the newest record of the first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../spec/heap.h"
#include "../spec/spec.h"

#define BYTES_DEFAULT (8u << 20)

enum kind { SAMPLE, TASK, LOST, OTHER };

/* What came, with a copy of all that its pointers lead to. */
struct item {
	uint64_t time, number;		/* equal times keep the order in which they came */
	enum kind kind;
	size_t bytes;			/* of the whole */
	union {
		struct pm_observed sample;
		struct { int tid, parent; } task;
		uint64_t lost;
		size_t size;		/* of another record */
	};
	uint64_t data[];		/* callchain, branches, group, raw; or the record */
};

struct pm_order {
	struct pm_order_opts opts;
	struct pm_listener listener;
	void *context;
	struct pm_order_stats stats;
	void **heap;			/* of struct item, the oldest first */
	size_t count, room;
	uint64_t number;
	uint64_t latest;		/* of the item that came last: what has no time gets its */
	uint64_t newest;		/* of all that came */
	uint64_t settled;		/* no ring holds anything older */
	uint64_t delivered;		/* time of the last one */
};

static bool is_before(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	return one->time != other->time ? one->time < other->time : one->number < other->number;
}

static struct item *take_oldest(struct pm_order *order)
{
	struct item *oldest = order->heap[0];

	order->heap[0] = order->heap[--order->count];
	if (order->count > 0)
		pm_heap_down(order->heap, order->count, is_before);
	order->stats.held_bytes -= oldest->bytes;
	return oldest;
}

/* ------------------------------------------------------------------------------------- delivery */

static void call(const struct pm_order *order, const struct item *item)
{
	const struct pm_listener *to = &order->listener;

	if (item->kind == SAMPLE && to->sample != NULL)
		to->sample(order->context, &item->sample);
	else if (item->kind == TASK && to->task != NULL)
		to->task(order->context, item->task.tid, item->task.parent, item->time);
	else if (item->kind == LOST && to->lost != NULL)
		to->lost(order->context, item->lost);
	else if (item->kind == OTHER && to->other != NULL)
		to->other(order->context, item->data, item->size);
}

static void deliver_oldest(struct pm_order *order)
{
	struct item *item = take_oldest(order);

	order->stats.late += item->time < order->delivered;
	if (item->time > order->delivered)
		order->delivered = item->time;
	order->stats.delivered++;
	call(order, item);
	free(item);
}

static int deliver_until(struct pm_order *order, uint64_t time)
{
	int count = 0;

	for (; order->count > 0 && ((const struct item *)order->heap[0])->time <= time; count++)
		deliver_oldest(order);
	return count;
}

/* An item with room for `data` bytes; what is held gives way. NULL: no memory for it. */
static struct item *make_item(struct pm_order *order, enum kind kind, size_t data)
{
	size_t bytes = sizeof(struct item) + (data + 7) / 8 * 8;
	struct item *item;

	while (order->count > 0 && order->stats.held_bytes + bytes > order->opts.bytes) {
		order->stats.forced++;
		deliver_oldest(order);
	}
	item = pm_make_room(&order->heap, order->count, &order->room, sizeof(item)) == 0 ?
		malloc(bytes) : NULL;
	if (item == NULL) {
		order->stats.forced += order->count;
		deliver_until(order, UINT64_MAX);
		return NULL;
	}
	item->kind = kind;
	item->bytes = bytes;
	item->number = order->number++;
	return item;
}

static void hold(struct pm_order *order, struct item *item, uint64_t time)
{
	item->time = order->latest = time;
	if (time > order->newest)
		order->newest = time;
	order->stats.held_bytes += item->bytes;
	if (order->stats.held_bytes > order->stats.held_bytes_max)
		order->stats.held_bytes_max = order->stats.held_bytes;
	order->heap[order->count++] = item;
	pm_heap_up(order->heap, order->count, is_before);
	if (order->opts.window > 0 && order->newest > order->opts.window)
		deliver_until(order, order->newest - order->opts.window);
}

/* Without memory it is delivered as it is, behind all that was held. */
static void deliver_now(struct pm_order *order, uint64_t time)
{
	order->stats.delivered++;
	order->stats.late += time < order->delivered;
	if (time > order->delivered)
		order->delivered = time;
}

/* ---------------------------------------------------------------------------- what is handed in */

/* Bytes of the arrays that a sample points to, but for its raw data. */
struct arrays {
	size_t chain, branches, group;
};

static struct arrays arrays_of(const struct pm_observed *sample)
{
	return (struct arrays){
		.chain = sample->callchain ? sample->callchain_count * sizeof(uint64_t) : 0,
		.branches = sample->branches ?
			sample->branch_count * sizeof(*sample->branches) : 0,
		.group = sample->group ? sample->group_count * sizeof(*sample->group) : 0,
	};
}

static const void *keep(char **at, const void *from, size_t size)
{
	const void *kept = from ? memcpy(*at, from, size) : NULL;

	*at += size;
	return kept;
}

/* The arrays go behind the sample, because they last for a callback only. */
static void keep_arrays(struct item *item, const struct pm_observed *sample,
			const struct arrays *sizes)
{
	char *at = (char *)item->data;

	item->sample = *sample;
	item->sample.callchain = keep(&at, sample->callchain, sizes->chain);
	item->sample.branches = keep(&at, sample->branches, sizes->branches);
	item->sample.group = keep(&at, sample->group, sizes->group);
	item->sample.raw = keep(&at, sample->raw, sample->raw ? sample->raw_size : 0);
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	const struct arrays sizes = arrays_of(sample);
	struct pm_order *order = context;
	struct item *item = make_item(order, SAMPLE, sizes.chain + sizes.branches + sizes.group +
				      sample->raw_size);

	if (item == NULL) {
		deliver_now(order, sample->time);
		if (order->listener.sample != NULL)
			order->listener.sample(order->context, sample);
		return;
	}
	keep_arrays(item, sample, &sizes);
	hold(order, item, sample->time);
}

static void on_task(void *context, int tid, int parent, uint64_t time)
{
	struct pm_order *order = context;
	struct item *item = make_item(order, TASK, 0);

	if (item == NULL) {
		deliver_now(order, time);
		if (order->listener.task != NULL)
			order->listener.task(order->context, tid, parent, time);
		return;
	}
	item->task.tid = tid;
	item->task.parent = parent;
	hold(order, item, time);
}

static void on_lost(void *context, uint64_t count)
{
	struct pm_order *order = context;
	struct item *item;

	order->stats.lost += count;
	if (order->listener.lost == NULL)
		return;
	item = make_item(order, LOST, 0);
	if (item == NULL) {
		deliver_now(order, order->latest);
		order->listener.lost(order->context, count);
		return;
	}
	item->lost = count;
	hold(order, item, order->latest);
}

static void on_other(void *context, const void *record, size_t size)
{
	struct pm_order *order = context;
	struct item *item = make_item(order, OTHER, size);

	if (item == NULL) {
		deliver_now(order, order->latest);
		if (order->listener.other != NULL)
			order->listener.other(order->context, record, size);
		return;
	}
	item->size = size;
	memcpy(item->data, record, size);
	hold(order, item, order->latest);
}

/* -------------------------------------------------------------------------------- its interface */

struct pm_order *pm_order_create(const struct pm_order_opts *opts,
				 const struct pm_listener *listener, void *context)
{
	struct pm_order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		return NULL;
	if (opts != NULL)
		memcpy(&order->opts, opts,
		       opts->size < sizeof(*opts) ? opts->size : sizeof(*opts));
	if (order->opts.bytes == 0)
		order->opts.bytes = BYTES_DEFAULT;
	if (listener != NULL)
		memcpy(&order->listener, listener, listener->size < sizeof(*listener) ?
		       listener->size : sizeof(*listener));
	order->context = context;
	return order;
}

void pm_order_destroy(struct pm_order *order)
{
	if (order == NULL)
		return;
	while (order->count > 0)
		free(take_oldest(order));
	free(order->heap);
	free(order);
}

int pm_order_listener(const struct pm_order *order, struct pm_listener *ret)
{
	const struct pm_listener listener = {
		.size = ret->size, .lost = on_lost,
		.sample = order->listener.sample != NULL ? on_sample : NULL,
		.task = order->listener.task != NULL ? on_task : NULL,
		.other = order->listener.other != NULL ? on_other : NULL,
	};

	memcpy(ret, &listener, ret->size < sizeof(listener) ? ret->size : sizeof(listener));
	return 0;
}

int pm_order_poll(struct pm_order *order, struct pm_session *session, int timeout_ms)
{
	const uint64_t settled = order->settled;
	int err = pm_session_poll(session, timeout_ms), count;

	if (err < 0)
		return err;
	count = deliver_until(order, settled);
	order->settled = order->newest;
	return count;
}

int pm_order_flush(struct pm_order *order)
{
	return deliver_until(order, UINT64_MAX);
}

int pm_order_stats(const struct pm_order *order, struct pm_order_stats *ret)
{
	struct pm_order_stats stats = order->stats;

	stats.size = ret->size;
	stats.held = order->count;
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}
