/* SPDX-License-Identifier: MIT */
/*
 * The memory that a producer shares with traced: pages, here each one chunk, into which packets are
 * written in fragments (include/perfetto/ext/tracing/core/shared_memory_abi.h of Perfetto's tree).
 * Not installed.
 */
#ifndef PRODUCER_SHARED_H
#define PRODUCER_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../wire/packet.h"

struct shared {
	unsigned char *base;		/* NULL: not mapped yet */
	size_t size, page_size, pages;
	size_t next;			/* page that is looked at first */
	size_t complete;		/* chunks that `moves` tells */
	struct packet moves;		/* of a CommitDataRequest: chunks that are complete */
};

/* One sequence of packets, in one buffer of a trace. */
struct writer {
	uint32_t id, buffer, chunk_id;	/* chunk_id: of the next chunk */
	unsigned char *chunk;		/* NULL: none is open */
	size_t page, used;		/* bytes behind the chunk's header */
	uint32_t packets, flags;
	bool continues;			/* what comes next belongs to the packet before */
};

/* Maps the memory, whose descriptor stays the caller's. -EINVAL for sizes that cannot be. */
int shared_map(struct shared *shared, int fd, uint64_t page_bytes);
void shared_free(struct shared *shared);

/*
 * Writes a packet, or what is left of it: `done` bytes of it were written before. -EAGAIN: all
 * pages are full, or enough are; to be called again when traced has taken what is complete.
 */
int shared_write(struct shared *shared, struct writer *writer, const unsigned char *bytes,
		 size_t size, size_t *done);

/* What was written is complete; the next packet begins a new chunk. */
void shared_finish(struct shared *shared, struct writer *writer);

#endif
