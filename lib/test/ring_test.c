/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_ring.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

/* ------------------------------------------------------------------------------------- walking */

static void empty_ring(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record = NULL;

	assert_int_equal(fake->ring.data_size, DATA_SIZE);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
	assert_null(record);
	assert_int_equal(pm_ring_pending(&fake->ring), 0);
	assert_int_equal(pm_ring_skip_all(&fake->ring), 0);
}

/* Every offset at which a record can start, with every size that makes it end before, at and
 * behind the end of the data. */
static void records_wrap_at_every_offset(void **state)
{
	struct fake *fake = *state;

	for (uint64_t offset = 0; offset < DATA_SIZE; offset += 8)
		for (uint16_t size = 8; size <= DATA_SIZE; size += 8) {
			const struct perf_event_header *record;

			start_at(fake, (7ull << 32) * DATA_SIZE + offset);
			put_record(fake, 3, size);
			assert_int_equal(pm_ring_pending(&fake->ring), size);
			assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
			expect_record(record, 3, size);
			assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
		}
}

static void several_records_in_order(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	start_at(fake, DATA_SIZE - 40);
	put_record(fake, 1, 16);
	put_record(fake, 2, 64);
	put_record(fake, 3, 8);
	assert_int_equal(pm_ring_pending(&fake->ring), 88);
	for (uint32_t type = 1; type <= 3; type++) {
		assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
		assert_int_equal(record->type, type);
	}
	assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
}

static void unwrapped_records_are_not_copied(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	put_record(fake, 1, DATA_SIZE);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	assert_ptr_equal(record, fake->data);
	assert_null(fake->ring.scratch);
}

static void space_is_given_back_on_release_only(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	put_record(fake, 1, 32);
	put_record(fake, 2, 16);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	assert_int_equal(fake->page->data_tail, 0);
	pm_ring_release(&fake->ring);
	assert_int_equal(fake->page->data_tail, 32);
	assert_int_equal(pm_ring_pending(&fake->ring), 16);
	assert_int_equal(pm_ring_skip_all(&fake->ring), 16);
	assert_int_equal(fake->page->data_tail, 48);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
}

static void read_only_mapping_is_never_written(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	fake->ring.writable = false;
	put_record(fake, 1, 32);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	pm_ring_release(&fake->ring);
	(void)pm_ring_skip_all(&fake->ring);
	assert_int_equal(fake->page->data_tail, 0);
	assert_int_equal(fake->ring.tail, 32);
}

static void reading_goes_on_where_the_tail_is(void **state)
{
	struct fake *fake = *state;
	struct pm_ring second;

	start_at(fake, 128);
	put_record(fake, 9, 24);
	assert_int_equal(pm_ring_borrow(fake->memory, fake->page_size + DATA_SIZE, &second), 0);
	assert_int_equal(second.tail, 128);
	assert_int_equal(pm_ring_pending(&second), 24);
	pm_ring_close(&second);
}

/* ------------------------------------------------------------------------------- hostile rings */

static void hostile_sizes(void **state)
{
	struct fake *fake = *state;
	const uint16_t sizes[] = { 0, 1, 7, 9, 12, 15, 20, 65535, 72, 1032 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const struct perf_event_header *record = NULL;
		struct perf_event_header header = { 9, 0, sizes[i] };

		start_at(fake, DATA_SIZE - 16);
		put(fake, &header, sizeof(header));
		fake->head += 56;
		fake->page->data_head = fake->head;
		assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
		assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
		assert_null(record);
		assert_int_equal(fake->ring.tail, DATA_SIZE - 16);
		assert_int_equal(pm_ring_skip_all(&fake->ring), 64);
		assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
	}
}

static void record_may_end_at_head_but_not_behind(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	put_record(fake, 1, 64);
	fake->page->data_head = 56;
	assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
	fake->page->data_head = 64;
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
}

static void head_that_cannot_be(void **state)
{
	struct fake *fake = *state;
	const uint64_t heads[] = {
		0, 90, 99, 101, 107, 100 + DATA_SIZE + 8, UINT64_MAX, 1ull << 63,
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const struct perf_event_header *record = NULL;

		start_at(fake, 100);
		fake->page->data_head = heads[i];
		assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
		assert_null(record);
		(void)pm_ring_skip_all(&fake->ring);
		assert_int_equal(fake->ring.tail, heads[i]);
	}
}

static void position_off_the_grid(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	/* at the very end, where a header would straddle */
	start_at(fake, DATA_SIZE - 4);
	put_record(fake, 1, 16);
	assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
}

static void overwritten_ring_cannot_be_walked_forward(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	put_record(fake, 1, DATA_SIZE);
	put_record(fake, 2, 8);
	assert_int_equal(pm_ring_pending(&fake->ring), DATA_SIZE + 8);
	assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
}

/* A user page that lies about where the data is must not lead outside the mapping. */
static void lying_user_page(void **state)
{
	struct fake *fake = *state;
	const size_t page = fake->page_size, map = page + DATA_SIZE;
	const struct {
		uint64_t offset, size;
	} lies[] = {
		{ 0, 0 }, { page, 0 }, { 0, DATA_SIZE }, { page, 2 * DATA_SIZE }, { page, 3 },
		{ page, DATA_SIZE - 1 }, { page, 4 }, { map, DATA_SIZE }, { map + 8, 8 },
		{ page + 8, DATA_SIZE }, { UINT64_MAX, 8 }, { UINT64_MAX - 7, 8 },
		{ page, UINT64_MAX }, { page, 1ull << 63 }, { page + 4, 8 }, { 8, 8 },
		{ 1080, 8 },
	};
	struct pm_ring ring;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		fake->page->data_offset = lies[i].offset;
		fake->page->data_size = lies[i].size;
		assert_int_equal(pm_ring_borrow(fake->memory, map, &ring), 0);
		assert_int_equal(ring.data_offset, page);
		assert_int_equal(ring.data_size, DATA_SIZE);
	}
	fake->page->data_offset = page + DATA_SIZE / 2;
	fake->page->data_size = DATA_SIZE / 2;
	assert_int_equal(pm_ring_borrow(fake->memory, map, &ring), 0);
	assert_int_equal(ring.data_offset, page + DATA_SIZE / 2);
	assert_int_equal(ring.data_size, DATA_SIZE / 2);
	fake->page->data_offset = sizeof(struct perf_event_mmap_page);
	fake->page->data_size = 8;
	assert_int_equal(pm_ring_borrow(fake->memory, map, &ring), 0);
	assert_int_equal(ring.data_offset, sizeof(struct perf_event_mmap_page));
	assert_int_equal(ring.data_size, 8);
	fake->page->data_size = 0;
	assert_int_equal(pm_ring_borrow(fake->memory, page + 8, &ring), 0);
	assert_int_equal(ring.data_size, 8);
}

static void memory_that_is_no_ring(void **state)
{
	struct fake *fake = *state;
	struct pm_ring ring = { .map_size = 77 };

	assert_int_equal(pm_ring_borrow(fake->memory + 4, fake->page_size, &ring), -EINVAL);
	assert_int_equal(pm_ring_borrow(fake->memory, fake->page_size - 8, &ring), -EINVAL);
	assert_int_equal(pm_ring_borrow(fake->memory, fake->page_size + 24, &ring), -EINVAL);
	assert_int_equal(pm_ring_borrow(fake->memory, fake->page_size + 4, &ring), -EINVAL);
	assert_int_equal(ring.map_size, 77);
}

static void header_page_alone(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;
	struct pm_ring ring;
	uint64_t cursor = 8;

	assert_int_equal(pm_ring_borrow(fake->memory, fake->page_size, &ring), 0);
	assert_int_equal(ring.data_size, 0);
	fake->page->data_head = 8;
	assert_int_equal(pm_ring_next(&ring, &record), 0);
	assert_int_equal(pm_ring_next_backward(&ring, &cursor, &record), 0);
}

/* ------------------------------------------------------------------------------ 32-bit kernels */

static void narrow_positions_wrap(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	fake->ring.narrow = true;
	start_at(fake, 0xfffffff0);
	put_record(fake, 1, 16);
	put_record(fake, 2, 48);
	fake->page->data_head = (uint32_t)fake->head;
	assert_int_equal(pm_ring_pending(&fake->ring), 64);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	expect_record(record, 1, 16);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	expect_record(record, 2, 48);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
	pm_ring_release(&fake->ring);
	assert_int_equal((uint32_t)fake->page->data_tail, 48);
}

static void wide_kernel_under_a_narrow_program(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	fake->ring.narrow = true;
	start_at(fake, 0xfffffff0);
	put_record(fake, 1, 32);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	put_record(fake, 2, 32);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 1);
	assert_int_equal(pm_ring_next(&fake->ring, &record), 0);
	fake->page->data_head = 0x2fffffff0;
	assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
}

static void wide_program_does_not_accept_narrow_positions(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;

	if (sizeof(long) == 4)
		skip();
	start_at(fake, 0xfffffff0);
	put_record(fake, 1, 32);
	fake->page->data_head = (uint32_t)fake->head;
	assert_int_equal(pm_ring_next(&fake->ring, &record), -EBADMSG);
}

/* ------------------------------------------------------------------------------------- mappings */

/* Any mappable descriptor will do for the arithmetic; it need not be an event. */
static int file_of(size_t size)
{
	FILE *file = tmpfile();
	int fd;

	assert_non_null(file);
	fd = dup(fileno(file));
	fclose(file);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void mapping_sizes(void **state)
{
	struct fake *fake = *state;
	int fd = file_of(9 * fake->page_size);
	struct pm_ring ring;

	for (size_t pages = 0; pages <= 8; pages++) {
		bool fits = pages == 0 || (pages & (pages - 1)) == 0;
		int err = pm_ring_open(fd, pages, PROT_READ | PROT_WRITE, &ring);

		assert_int_equal(err, fits ? 0 : -EINVAL);
		if (!fits)
			continue;
		assert_int_equal(ring.map_size, (1 + pages) * fake->page_size);
		assert_int_equal(ring.data_size, pages * fake->page_size);
		assert_true(ring.writable);
		pm_ring_close(&ring);
		assert_null(ring.base);
		pm_ring_close(&ring);
	}
	assert_int_equal(pm_ring_open(fd, 1, PROT_READ, &ring), 0);
	assert_false(ring.writable);
	assert_false(ring.borrowed);
	pm_ring_close(&ring);
	assert_int_equal(pm_ring_open(fd, 1, PROT_NONE, &ring), -EINVAL);
	assert_int_equal(pm_ring_open(fd, 1, PROT_WRITE, &ring), -EINVAL);
	assert_int_equal(pm_ring_open(fd, SIZE_MAX / 2 + 1, PROT_READ, &ring), -EINVAL);
	assert_int_equal(pm_ring_open(-1, 1, PROT_READ, &ring), -EBADF);
	close(fd);
}

static void closing_unmaps_what_was_mapped_only(void **state)
{
	struct fake *fake = *state;
	unsigned char resident;
	struct pm_ring ring;
	void *base;
	int fd = file_of(2 * fake->page_size);

	assert_int_equal(pm_ring_open(fd, 1, PROT_READ, &ring), 0);
	base = ring.base;
	pm_ring_close(&ring);
	assert_int_equal(mincore(base, fake->page_size, &resident), -1);
	base = mmap(NULL, 2 * fake->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_int_equal(pm_ring_borrow(base, 2 * fake->page_size, &ring), 0);
	pm_ring_close(&ring);
	assert_int_equal(mincore(base, fake->page_size, &resident), 0);
	munmap(base, 2 * fake->page_size);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING(empty_ring),
		RING(records_wrap_at_every_offset),
		RING(several_records_in_order),
		RING(unwrapped_records_are_not_copied),
		RING(space_is_given_back_on_release_only),
		RING(read_only_mapping_is_never_written),
		RING(reading_goes_on_where_the_tail_is),
		RING(hostile_sizes),
		RING(record_may_end_at_head_but_not_behind),
		RING(head_that_cannot_be),
		RING(position_off_the_grid),
		RING(overwritten_ring_cannot_be_walked_forward),
		RING(lying_user_page),
		RING(memory_that_is_no_ring),
		RING(header_page_alone),
		RING(narrow_positions_wrap),
		RING(wide_kernel_under_a_narrow_program),
		RING(wide_program_does_not_accept_narrow_positions),
		RING(mapping_sizes),
		RING(closing_unmaps_what_was_mapped_only),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
