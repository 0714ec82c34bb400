/* SPDX-License-Identifier: MIT */
/*
 * Records of several rings in the order of their times. A session drains one ring after the other,
 * so what a poll delivers is ordered by ring. Records are held in a heap until none can come that
 * is older: a second poll has drained every ring beyond the newest record of the first.
 */
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
	size_t bytes;			/* of what is behind it */
	union {
		struct pm_observed sample;
		struct { int tid, parent; } task;
		uint64_t lost;
		struct { const void *at; size_t size; } record;
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

static size_t size_of(const struct item *item)
{
	return sizeof(*item) + (item->bytes + 7) / 8 * 8;
}

static struct item *take_oldest(struct pm_order *order)
{
	struct item *oldest = order->heap[0];

	order->heap[0] = order->heap[--order->count];
	if (order->count > 0)
		pm_heap_down(order->heap, order->count, is_before);
	order->stats.held_bytes -= size_of(oldest);
	return oldest;
}

/* ------------------------------------------------------------------------------------- delivery */

static void deliver(struct pm_order *order, const struct item *item)
{
	const struct pm_listener *to = &order->listener;

	order->stats.late += item->time < order->delivered;
	if (item->time > order->delivered)
		order->delivered = item->time;
	order->stats.delivered++;
	if (item->kind == SAMPLE && to->sample != NULL)
		to->sample(order->context, &item->sample);
	else if (item->kind == TASK && to->task != NULL)
		to->task(order->context, item->task.tid, item->task.parent, item->time);
	else if (item->kind == LOST && to->lost != NULL)
		to->lost(order->context, item->lost);
	else if (item->kind == OTHER && to->other != NULL)
		to->other(order->context, item->record.at, item->record.size);
}

static void deliver_oldest(struct pm_order *order)
{
	struct item *item = take_oldest(order);

	deliver(order, item);
	free(item);
}

static int deliver_until(struct pm_order *order, uint64_t time)
{
	int count = 0;

	for (; order->count > 0 && ((const struct item *)order->heap[0])->time <= time; count++)
		deliver_oldest(order);
	return count;
}

/* ---------------------------------------------------------------------------- what is handed in */

/* What is held gives way. NULL: no memory for it. */
static struct item *make_item(struct pm_order *order, size_t size)
{
	struct item *item;

	while (order->count > 0 && order->stats.held_bytes + size > order->opts.bytes) {
		order->stats.forced++;
		deliver_oldest(order);
	}
	item = pm_make_room(&order->heap, order->count, &order->room, sizeof(item)) == 0 ?
		malloc(size) : NULL;
	if (item == NULL) {
		order->stats.forced += order->count;
		deliver_until(order, UINT64_MAX);
	}
	return item;
}

/* A copy of an array in `behind`, where `used` bytes are in use; NULL: it is only counted. */
static const void *keep(const void *from, size_t size, char *behind, size_t *used)
{
	const size_t at = *used;

	if (from == NULL)
		return NULL;
	*used += size;
	return behind != NULL ? memcpy(behind + at, from, size) : from;
}

/* The arrays go behind the sample, because they last for a callback only. Returns their bytes. */
static size_t keep_arrays(struct pm_observed *of, char *behind)
{
	size_t used = 0;

	of->callchain = keep(of->callchain, of->callchain_count * sizeof(*of->callchain), behind,
			     &used);
	of->branches = keep(of->branches, of->branch_count * sizeof(*of->branches), behind, &used);
	of->group = keep(of->group, of->group_count * sizeof(*of->group), behind, &used);
	of->raw = keep(of->raw, of->raw_size, behind, &used);
	return used;
}

static void hold(struct pm_order *order, const struct item *told)
{
	struct item *item = make_item(order, size_of(told));

	if (item == NULL) {
		deliver(order, told);	/* as it is, behind all that was held */
		return;
	}
	*item = *told;
	if (item->kind == SAMPLE)
		(void)keep_arrays(&item->sample, (char *)item->data);
	else if (item->kind == OTHER)
		item->record.at = memcpy(item->data, told->record.at, told->record.size);
	item->number = order->number++;
	order->latest = item->time;
	if (item->time > order->newest)
		order->newest = item->time;
	order->stats.held_bytes += size_of(item);
	if (order->stats.held_bytes > order->stats.held_bytes_max)
		order->stats.held_bytes_max = order->stats.held_bytes;
	order->heap[order->count++] = item;
	pm_heap_up(order->heap, order->count, is_before);
	if (order->opts.window > 0 && order->newest > order->opts.window)
		deliver_until(order, order->newest - order->opts.window);
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	struct item told = { .kind = SAMPLE, .time = sample->time, .sample = *sample };

	told.bytes = keep_arrays(&told.sample, NULL);
	hold(context, &told);
}

static void on_task(void *context, int tid, int parent, uint64_t time)
{
	hold(context, &(struct item){ .kind = TASK, .time = time, .task = { tid, parent } });
}

static void on_lost(void *context, uint64_t count)
{
	struct pm_order *order = context;

	order->stats.lost += count;
	if (order->listener.lost != NULL)
		hold(order, &(struct item){ .kind = LOST, .time = order->latest, .lost = count });
}

static void on_other(void *context, const void *record, size_t size)
{
	struct pm_order *order = context;

	hold(order, &(struct item){ .kind = OTHER, .time = order->latest, .bytes = size,
				    .record = { record, size } });
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
