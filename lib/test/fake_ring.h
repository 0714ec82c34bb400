/* SPDX-License-Identifier: MIT */
/* A ring in ordinary memory, written as the kernel writes it. */
#ifndef FAKE_RING_H
#define FAKE_RING_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA_SIZE 1024

/* The kernel's side: a user page, data behind it, and a head that only this side moves. */
struct fake {
	unsigned char *memory;
	struct perf_event_mmap_page *page;
	unsigned char *data;
	size_t page_size;
	uint64_t head;
	struct pm_ring ring;
};

static inline int setup(void **state)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	fake->page_size = (size_t)sysconf(_SC_PAGESIZE);
	/* malloc, so that the sanitizer sees a read behind the end */
	fake->memory = malloc(fake->page_size + DATA_SIZE);
	memset(fake->memory, 0, fake->page_size + DATA_SIZE);
	fake->page = (void *)fake->memory;
	fake->data = fake->memory + fake->page_size;
	*state = fake;
	return pm_ring_borrow(fake->memory, fake->page_size + DATA_SIZE, &fake->ring);
}

static inline int teardown(void **state)
{
	struct fake *fake = *state;

	pm_ring_close(&fake->ring);
	free(fake->memory);
	free(fake);
	return 0;
}

static inline void put(struct fake *fake, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fake->data[(fake->head + i) % DATA_SIZE] = ((const unsigned char *)from)[i];
	fake->head += size;
}

static inline void put_record(struct fake *fake, uint32_t type, uint16_t size)
{
	struct perf_event_header header = { type, 0, size };
	unsigned char body[65536];

	for (size_t i = 0; i < size; i++)
		body[i] = (unsigned char)(type + i);
	put(fake, &header, sizeof(header));
	put(fake, body, size - sizeof(header));
	fake->page->data_head = fake->head;
}

static inline void expect_record(const struct perf_event_header *record, uint32_t type,
				 uint16_t size)
{
	const unsigned char *body = (const unsigned char *)(record + 1);

	assert_int_equal(record->type, type);
	assert_int_equal(record->size, size);
	for (size_t i = 0; i < size - sizeof(*record); i++)
		assert_int_equal(body[i], (unsigned char)(type + i));
}

static inline void start_at(struct fake *fake, uint64_t position)
{
	fake->head = position;
	fake->page->data_head = fake->page->data_tail = position;
	fake->ring.tail = position;
}

#define RING(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
