/* SPDX-License-Identifier: MIT */
/* Bytes from one thread to another, without locks. Not installed. */
#ifndef PM_STACKS_QUEUE_H
#define PM_STACKS_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue {
	unsigned char *data;
	uint64_t size;			/* a power of two */
	_Atomic uint64_t head, tail;	/* bytes ever written and read */
	_Atomic uint64_t peak;
};

/* -ENOMEM. At least `size` bytes; memory is used as it is written to. */
int queue_open(struct queue *queue, uint64_t size);
void queue_close(struct queue *queue);

/* Room for an item of `size` bytes, aligned to 8, or NULL when it is full. The writer's. */
void *queue_reserve(struct queue *queue, size_t size);
void queue_commit(struct queue *queue, size_t size);

/* The oldest item, or NULL. Read, then released with its size. The reader's. */
void *queue_peek(struct queue *queue, size_t *size);
void queue_release(struct queue *queue, size_t size);

uint64_t queue_bytes(const struct queue *queue);

#endif
