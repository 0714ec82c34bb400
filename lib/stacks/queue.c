/* SPDX-License-Identifier: MIT */
/*
 * A ring of items, each behind a word with its size. An item is in one piece: where it would wrap,
 * the rest of the ring is skipped, with a word of all ones.
 */
#include "queue.h"

#include <errno.h>
#include <sys/mman.h>

#define SKIP UINT64_MAX
#define WORD sizeof(uint64_t)

static uint64_t rounded(size_t size)
{
	return WORD + ((size + WORD - 1) & ~(uint64_t)(WORD - 1));
}

int queue_open(struct queue *queue, uint64_t size)
{
	uint64_t power = 65536;

	while (power < size && power < (uint64_t)1 << 40)
		power *= 2;
	queue->data = mmap(NULL, power, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (queue->data == MAP_FAILED)
		return -ENOMEM;
	queue->size = power;
	atomic_init(&queue->head, 0);
	atomic_init(&queue->tail, 0);
	atomic_init(&queue->peak, 0);
	return 0;
}

void queue_close(struct queue *queue)
{
	munmap(queue->data, queue->size);
}

uint64_t queue_bytes(const struct queue *queue)
{
	return atomic_load_explicit(&queue->head, memory_order_relaxed) -
		atomic_load_explicit(&queue->tail, memory_order_relaxed);
}

static uint64_t *word_at(const struct queue *queue, uint64_t position)
{
	return (uint64_t *)(void *)(queue->data + (position & (queue->size - 1)));
}

void *queue_reserve(struct queue *queue, size_t size)
{
	const uint64_t need = rounded(size);
	const uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	const uint64_t used = head - atomic_load_explicit(&queue->tail, memory_order_acquire);
	const uint64_t to_end = queue->size - (head & (queue->size - 1));
	const uint64_t skip = need > to_end ? to_end : 0;

	if (need > queue->size || used + skip + need > queue->size)
		return NULL;
	if (skip != 0) {
		*word_at(queue, head) = SKIP;
		atomic_store_explicit(&queue->head, head + skip, memory_order_release);
	}
	return word_at(queue, head + skip) + 1;
}

void queue_commit(struct queue *queue, size_t size)
{
	const uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	uint64_t used;

	*word_at(queue, head) = size;
	atomic_store_explicit(&queue->head, head + rounded(size), memory_order_release);
	used = queue_bytes(queue);
	if (used <= queue->size && used > atomic_load_explicit(&queue->peak, memory_order_relaxed))
		atomic_store_explicit(&queue->peak, used, memory_order_relaxed);
}

void *queue_peek(struct queue *queue, size_t *size)
{
	for (;;) {
		const uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
		const uint64_t at = tail & (queue->size - 1);

		if (tail == atomic_load_explicit(&queue->head, memory_order_acquire))
			return NULL;
		if (*word_at(queue, tail) != SKIP) {
			*size = (size_t)*word_at(queue, tail);
			return word_at(queue, tail) + 1;
		}
		atomic_store_explicit(&queue->tail, tail + queue->size - at, memory_order_release);
	}
}

void queue_release(struct queue *queue, size_t size)
{
	atomic_fetch_add_explicit(&queue->tail, rounded(size), memory_order_release);
}
