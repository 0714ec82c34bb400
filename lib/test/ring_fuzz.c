/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a ring buffer. The walk must end, must stay inside the memory, and must leave the
 * ring usable after pm_ring_skip_all.
 *
 * Input: the fields of the user page and the way to walk (struct seed), then the data area.
 */
#include "../pm_sys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DATA_SIZE 512

struct seed {
	uint64_t data_head, data_tail, data_offset, data_size;
	uint8_t narrow, backward, unused[6];
};

static volatile unsigned char sink;

static void check(const struct pm_ring *ring, const struct perf_event_header *record)
{
	const unsigned char *bytes = (const unsigned char *)record;
	const unsigned char *base = ring->base;

	if (bytes != ring->scratch &&
	    (bytes < base + ring->data_offset ||
	     bytes + record->size > base + ring->data_offset + ring->data_size))
		abort();
	if (record->size < 8 || record->size % 8 != 0 || record->size > ring->data_size)
		abort();
	for (unsigned int i = 0; i < record->size; i++)
		sink ^= bytes[i];
}

static void walk(struct pm_ring *ring, bool backward)
{
	uint64_t cursor = pm_ring_head(ring);
	const struct perf_event_header *record;
	size_t bound = ring->data_size / 8;
	int got;

	do {
		got = backward ? pm_ring_next_backward(ring, &cursor, &record) :
				 pm_ring_next(ring, &record);
		if (got == 1)
			check(ring, record);
		if (got == 1 && bound-- == 0)
			abort();
	} while (got == 1);
	pm_ring_release(ring);
	(void)pm_ring_skip_all(ring);
	if (pm_ring_next(ring, &record) != 0 || pm_ring_pending(ring) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	struct pm_ring ring;
	struct seed seed;

	if (size < sizeof(seed))
		return 0;
	memcpy(&seed, data, sizeof(seed));
	data += sizeof(seed);
	size -= sizeof(seed);
	page = calloc(1, page_size + DATA_SIZE);
	memcpy((unsigned char *)page + page_size, data, size < DATA_SIZE ? size : DATA_SIZE);
	page->data_head = seed.data_head;
	page->data_tail = seed.data_tail;
	page->data_offset = seed.data_offset;
	page->data_size = seed.data_size;
	if (pm_ring_borrow(page, page_size + DATA_SIZE, &ring) == 0) {
		ring.narrow = seed.narrow & 1;
		walk(&ring, seed.backward & 1);
		pm_ring_close(&ring);
	}
	free(page);
	return 0;
}
