/* SPDX-License-Identifier: MIT */
/*
 * Maps ring buffers and walks through their records.
 *
 * The kernel writes records and then data_head; we read data_head and then records (acquire).
 * We read records and then write data_tail (release); the kernel reads data_tail before it
 * writes over them. Positions only grow; their low bits are the place in the data area.
 */
#include "pm_sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCRATCH_SIZE 65536	/* header.size has 16 bits */
#define HEADER_SIZE sizeof(struct perf_event_header)

/* ----------------------------------------------------------------------------- shared positions */

/*
 * A 32-bit program cannot load 64 bits at once on every machine, and a call into libatomic would
 * not help: it locks out other callers, not the kernel. The high half read twice with the same
 * result holds the low half in place, because positions go one way.
 */
static uint64_t load_position(const uint64_t *position)
{
#if __SIZEOF_POINTER__ >= 8
	return __atomic_load_n(position, __ATOMIC_ACQUIRE);
#else
	const uint32_t *half = (const uint32_t *)position;
	const int high_at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	uint32_t low, high, again = __atomic_load_n(&half[high_at], __ATOMIC_ACQUIRE);

	do {
		high = again;
		low = __atomic_load_n(&half[!high_at], __ATOMIC_ACQUIRE);
		again = __atomic_load_n(&half[high_at], __ATOMIC_ACQUIRE);
	} while (again != high);
	return (uint64_t)high << 32 | low;
#endif
}

/* The kernel masks the tail with the size of the ring, so only the low half must not tear. */
static void store_position(uint64_t *position, uint64_t value)
{
#if __SIZEOF_POINTER__ >= 8
	__atomic_store_n(position, value, __ATOMIC_RELEASE);
#else
	uint32_t *half = (uint32_t *)position;
	const int high_at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	__atomic_store_n(&half[!high_at], (uint32_t)value, __ATOMIC_RELEASE);
	__atomic_store_n(&half[high_at], (uint32_t)(value >> 32), __ATOMIC_RELEASE);
#endif
}

/*
 * to - from. A 32-bit kernel counts in unsigned long, so its positions wrap at 2^32; it is
 * recognised by a high half that stays 0.
 */
static uint64_t distance(const struct pm_ring *ring, uint64_t head, uint64_t from, uint64_t to)
{
	if (ring->narrow && head >> 32 == 0)
		return (uint32_t)(to - from);
	return to - from;
}

/* ------------------------------------------------------------------------------ open and close */

static bool is_power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/*
 * Finds the data. The user page says where it is since v4.1 (commit e8c6deac6962), and is believed
 * when that lies inside the mapping. Before, both fields are 0 and the data follows the first page.
 */
static int find_data(struct pm_ring *ring, size_t page_size)
{
	const struct perf_event_mmap_page *page = ring->base;
	uint64_t offset = page->data_offset, size = page->data_size;

	if (ring->map_size < page_size)
		return -EINVAL;
	if (offset < sizeof(*page) || offset % 8 != 0 || offset > ring->map_size ||
	    !is_power_of_two(size) || size < HEADER_SIZE || size > ring->map_size - offset) {
		offset = page_size;
		size = ring->map_size - page_size;
	}
	if (size != 0 && (!is_power_of_two(size) || size < HEADER_SIZE))
		return -EINVAL;
	ring->data_offset = (size_t)offset;
	ring->data_size = (size_t)size;
	if (ring->writable)
		ring->tail = load_position(&page->data_tail);
	return 0;
}

int pm_ring_open(int fd, size_t data_pages, int prot, struct pm_ring *ret)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct pm_ring ring = {
		.writable = prot & PROT_WRITE,
		.narrow = sizeof(long) == 4,
	};
	int err;

	if (!(prot & PROT_READ) || (data_pages != 0 && !is_power_of_two(data_pages)))
		return -EINVAL;
	if (data_pages > SIZE_MAX / page_size - 1)
		return -EINVAL;
	ring.map_size = (1 + data_pages) * page_size;
	ring.base = mmap(NULL, ring.map_size, prot, MAP_SHARED, fd, 0);
	if (ring.base == MAP_FAILED)
		return -errno;
	err = find_data(&ring, page_size);
	if (err < 0) {
		munmap(ring.base, ring.map_size);
		return err;
	}
	*ret = ring;
	return 0;
}

int pm_ring_borrow(void *base, size_t size, struct pm_ring *ret)
{
	struct pm_ring ring = {
		.base = base,
		.map_size = size,
		.writable = true,
		.borrowed = true,
		.narrow = sizeof(long) == 4,
	};
	int err;

	if ((uintptr_t)base % 8 != 0)
		return -EINVAL;
	err = find_data(&ring, (size_t)sysconf(_SC_PAGESIZE));
	if (err == 0)
		*ret = ring;
	return err;
}

void pm_ring_close(struct pm_ring *ring)
{
	if (ring->base != NULL && !ring->borrowed)
		munmap(ring->base, ring->map_size);
	free(ring->scratch);
	memset(ring, 0, sizeof(*ring));
}

/* ------------------------------------------------------------------------------------- reading */

uint64_t pm_ring_head(const struct pm_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->base;

	return load_position(&page->data_head);
}

uint64_t pm_ring_pending(const struct pm_ring *ring)
{
	uint64_t head = pm_ring_head(ring);

	return distance(ring, head, ring->tail, head);
}

/*
 * The record at `position`, of which `room` bytes exist. *ret_size gets what its header says, also
 * when that cannot be true. Returns 1 or -errno.
 */
static int record_at(struct pm_ring *ring, uint64_t position, uint64_t room,
		     const struct perf_event_header **ret, uint16_t *ret_size)
{
	const unsigned char *data = (const unsigned char *)ring->base + ring->data_offset;
	size_t at = (size_t)(position & (ring->data_size - 1));
	size_t first = ring->data_size - at;
	const struct perf_event_header *header = (const void *)(data + at);
	uint16_t size;

	/* Multiples of 8 keep a header in one piece; the kernel knows no others. */
	if (position % 8 != 0 || room < HEADER_SIZE)
		return -EBADMSG;
	size = *ret_size = __atomic_load_n(&header->size, __ATOMIC_RELAXED);
	if (size < HEADER_SIZE || size % 8 != 0 || size > room)
		return -EBADMSG;
	if (size > first) {
		if (ring->scratch == NULL)
			ring->scratch = malloc(SCRATCH_SIZE);
		if (ring->scratch == NULL)
			return -ENOMEM;
		memcpy(ring->scratch, header, first);
		memcpy(ring->scratch + first, data, size - first);
		header = (const void *)ring->scratch;
	}
	*ret = header;
	return 1;
}

int pm_ring_next(struct pm_ring *ring, const struct perf_event_header **ret)
{
	uint64_t pending = pm_ring_pending(ring);
	uint16_t size;
	int err;

	if (pending == 0 || ring->data_size == 0)
		return 0;
	if (pending > ring->data_size)
		return -EBADMSG;
	err = record_at(ring, ring->tail, pending, ret, &size);
	if (err == 1)
		ring->tail += size;
	return err;
}

void pm_ring_release(struct pm_ring *ring)
{
	struct perf_event_mmap_page *page = ring->base;

	if (ring->writable)
		store_position(&page->data_tail, ring->tail);
}

uint64_t pm_ring_skip_all(struct pm_ring *ring)
{
	uint64_t head = pm_ring_head(ring);
	uint64_t dropped = distance(ring, head, ring->tail, head);

	ring->tail = head;
	pm_ring_release(ring);
	return dropped;
}

/*
 * data_head of such a ring starts at 0 and falls, so everything ever written lies between it and
 * 0, and what is left of that reaches one ring's size upward from it.
 */
int pm_ring_next_backward(struct pm_ring *ring, uint64_t *cursor,
			  const struct perf_event_header **ret)
{
	uint64_t head = pm_ring_head(ring);
	uint64_t written = distance(ring, head, head, 0);
	uint64_t read = distance(ring, head, head, *cursor);
	uint64_t kept = written < ring->data_size ? written : ring->data_size;
	uint16_t size = 0;
	int err;

	if (kept == 0 || read == kept)
		return 0;
	if (read > kept)
		return -EBADMSG;
	err = record_at(ring, *cursor, kept - read, ret, &size);
	if (err == 1)
		*cursor += size;
	/* New records grow over the end of the oldest one; its header is the last to go. */
	if (err == -EBADMSG && written > kept && size > kept - read && size % 8 == 0)
		return 0;
	return err;
}
