/* SPDX-License-Identifier: MIT */
/* Chunks. A page's first word tells how it is divided and who has each part. */
#define _GNU_SOURCE
#include "shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE_HEADER 8		/* its word, and one that is reserved */
#define CHUNK_HEADER 8		/* chunk_id, writer_id, packets */
#define PACKET_HEADER 4		/* its size, as a varint of 4 bytes */
#define PACKETS_MAX 1023
#define PAGE_LEAST 4096u
#define PAGE_MOST 65536u
#define WHOLE (1u << 28)	/* the page is one chunk */
#define COMPLETE_MOST 4096	/* so many fit into one request */

enum state { STATE_FREE = 0, STATE_WRITTEN = 1, STATE_COMPLETE = 3 };
enum { CONTINUES_BEFORE = 1, CONTINUES_AFTER = 2 };
enum { REQUEST_MOVE = 1, MOVE_PAGE = 1, MOVE_CHUNK = 2, MOVE_BUFFER = 3 };

int shared_map(struct shared *shared, int fd, uint64_t page_bytes)
{
	struct stat stat;
	void *base;

	if (fstat(fd, &stat) != 0)
		return -errno;
	if (page_bytes < PAGE_LEAST || page_bytes > PAGE_MOST || page_bytes % PAGE_LEAST != 0 ||
	    stat.st_size < (off_t)page_bytes || stat.st_size > (off_t)1 << 30)
		return -EINVAL;
	base = mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	*shared = (struct shared){ .base = base, .size = (size_t)stat.st_size,
				   .page_size = (size_t)page_bytes };
	shared->pages = shared->size / shared->page_size;
	return 0;
}

void shared_free(struct shared *shared)
{
	if (shared->base)
		(void)munmap(shared->base, shared->size);
	free(shared->moves.bytes);
	*shared = (struct shared){ .size = 0 };
}

static _Atomic uint32_t *word_of(const struct shared *shared, size_t page)
{
	return (_Atomic uint32_t *)(void *)(shared->base + page * shared->page_size);
}

/* A page that nobody has, or that was one chunk before. None where traced is to be told first. */
static bool acquire(struct shared *shared, struct writer *writer)
{
	if (shared->complete >= COMPLETE_MOST)
		return false;
	for (size_t i = 0; i < shared->pages; i++) {
		const size_t page = (shared->next + i) % shared->pages;
		uint32_t was = __atomic_load_n(word_of(shared, page), __ATOMIC_ACQUIRE);

		if ((was != 0 && was != (WHOLE | STATE_FREE)) ||
		    !__atomic_compare_exchange_n(word_of(shared, page), &was, WHOLE | STATE_WRITTEN,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		shared->next = page + 1;
		writer->page = page;
		writer->chunk = shared->base + page * shared->page_size + PAGE_HEADER;
		writer->used = 0;
		writer->packets = 0;
		writer->flags = writer->continues ? CONTINUES_BEFORE : 0;
		return true;
	}
	return false;
}

static void put16(unsigned char *at, uint32_t value)
{
	at[0] = (unsigned char)value;
	at[1] = (unsigned char)(value >> 8);
}

void shared_finish(struct shared *shared, struct writer *writer)
{
	size_t mark;

	if (!writer->chunk)
		return;
	put16(writer->chunk, writer->chunk_id);
	put16(writer->chunk + 2, writer->chunk_id >> 16);
	put16(writer->chunk + 4, writer->id);
	put16(writer->chunk + 6, writer->packets | writer->flags << 10);
	writer->chunk_id++;
	writer->chunk = NULL;
	__atomic_store_n(word_of(shared, writer->page), WHOLE | STATE_COMPLETE, __ATOMIC_RELEASE);
	mark = packet_begin(&shared->moves, REQUEST_MOVE);
	packet_number(&shared->moves, MOVE_PAGE, writer->page);
	packet_number(&shared->moves, MOVE_CHUNK, 0);
	packet_number(&shared->moves, MOVE_BUFFER, writer->buffer);
	packet_end(&shared->moves, mark);
	shared->complete++;
}

static size_t put_fragment(struct writer *writer, const unsigned char *bytes, size_t size,
			   size_t room)
{
	unsigned char *to = writer->chunk + CHUNK_HEADER + writer->used;
	const size_t count = size < room - PACKET_HEADER ? size : room - PACKET_HEADER;

	for (int i = 0; i < PACKET_HEADER; i++)
		to[i] = (unsigned char)((count >> (7 * i) & 127) |
					(i < PACKET_HEADER - 1 ? 128 : 0));
	memcpy(to + PACKET_HEADER, bytes, count);
	writer->used += PACKET_HEADER + count;
	writer->packets++;
	return count;
}

int shared_write(struct shared *shared, struct writer *writer, const unsigned char *bytes,
		 size_t size, size_t *done)
{
	const size_t whole = shared->page_size - PAGE_HEADER - CHUNK_HEADER;

	while (*done < size) {
		if (writer->chunk && (writer->packets == PACKETS_MAX ||
				      whole - writer->used <= PACKET_HEADER))
			shared_finish(shared, writer);
		if (!writer->chunk && !acquire(shared, writer))
			return -EAGAIN;
		*done += put_fragment(writer, bytes + *done, size - *done, whole - writer->used);
		writer->continues = *done < size;
		if (writer->continues) {
			writer->flags |= CONTINUES_AFTER;
			shared_finish(shared, writer);
		}
	}
	return 0;
}
