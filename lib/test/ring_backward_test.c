/* SPDX-License-Identifier: MIT */
/* Rings of events with attr.write_backward. */
#include "test.h"

#include "fake_ring.h"

#include <errno.h>

static void put_backward(struct fake *fake, uint32_t type, uint16_t size)
{
	fake->head -= size;
	put_record(fake, type, size);
	fake->head -= size;
	fake->page->data_head = fake->head;
}

static void backward_newest_first(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;
	uint64_t cursor;

	put_backward(fake, 1, 24);
	put_backward(fake, 2, 64);
	put_backward(fake, 3, 8);
	cursor = pm_ring_head(&fake->ring);
	assert_true(cursor == UINT64_MAX - 95);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 1);
	expect_record(record, 3, 8);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 1);
	expect_record(record, 2, 64);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 1);
	expect_record(record, 1, 24);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 0);
	assert_int_equal(cursor, 0);
}

/* 100 records of `old` bytes, then one of `newest`: what is still whole comes out. */
static void fill_and_walk(struct fake *fake, uint16_t old, uint16_t newest)
{
	const struct perf_event_header *record;
	uint64_t cursor;
	uint32_t type = 100;

	fake->head = 0;
	for (uint32_t i = 0; i < 100; i++)
		put_backward(fake, i, old);
	put_backward(fake, type, newest);
	cursor = pm_ring_head(&fake->ring);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 1);
	expect_record(record, type, newest);
	while (pm_ring_next_backward(&fake->ring, &cursor, &record) == 1)
		expect_record(record, --type, old);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 0);
	assert_int_equal(type, 100 - (DATA_SIZE - newest) / old);
}

static void backward_full_ring_ends_at_the_half_overwritten_record(void **state)
{
	for (uint16_t old = 16; old <= 88; old += 8)
		for (uint16_t newest = 8; newest <= 48; newest += 8)
			fill_and_walk(*state, old, newest);
}

static void backward_empty(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;
	uint64_t cursor = 0;

	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), 0);
}

static void backward_hostile(void **state)
{
	struct fake *fake = *state;
	const uint16_t sizes[] = { 0, 7, 9, 12, 72, 65535 };
	const struct perf_event_header *record = NULL;
	uint64_t cursor;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fake->head = 0;
		put_backward(fake, 1, 64);
		((struct perf_event_header *)(fake->data + DATA_SIZE - 64))->size = sizes[i];
		cursor = pm_ring_head(&fake->ring);
		assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), -EBADMSG);
		assert_true(cursor == pm_ring_head(&fake->ring));
	}
	cursor = 8;	/* outside what was written */
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), -EBADMSG);
	cursor = pm_ring_head(&fake->ring) - 8;
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), -EBADMSG);
	cursor = pm_ring_head(&fake->ring) + 4;
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), -EBADMSG);
	/* a full ring does not excuse a size that was never valid */
	fake->head = 0;
	for (uint32_t n = 0; n < 40; n++)
		put_backward(fake, n, 64);
	((struct perf_event_header *)(fake->data + fake->head % DATA_SIZE))->size = 0;
	cursor = pm_ring_head(&fake->ring);
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), -EBADMSG);
	((struct perf_event_header *)(fake->data + fake->head % DATA_SIZE))->size = 65535;
	assert_int_equal(pm_ring_next_backward(&fake->ring, &cursor, &record), -EBADMSG);
	assert_null(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING(backward_newest_first),
		RING(backward_full_ring_ends_at_the_half_overwritten_record),
		RING(backward_empty),
		RING(backward_hostile),
	};

	return cmocka_run_group_tests_name("ring_backward", tests, NULL, NULL);
}
