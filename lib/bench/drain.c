/* SPDX-License-Identifier: MIT */
/*
 * Reading a ring: the same contents, caught once from the kernel, are put before each reader again
 * and again. Live rates say nothing about readers, because the one who causes the events is slower.
 *
 *   drain [rounds]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../policy/session/drain.h"
#include "bench.h"
#include "peer/peer.h"

#define RECORDS 7000
#define PAGES 128

static struct {
	struct pm_session *session;
	struct session_ring *ring;	/* of the CPU that we are on */
	struct pm_ring own;		/* what the kernel writes to, kept for the end */
	struct perf_event_mmap_page *copy;
	uint64_t head;
	size_t records;
	uint64_t sum;			/* so that nothing is optimised away */
} caught;

static void on_sample(void *context, const struct pm_observed *sample)
{
	*(uint64_t *)context += sample->ip + sample->time;
}

/* --------------------------------------------------------------------------------- the contents */

static void cause_faults(size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		bench_fail("mmap", errno);
	madvise(area, count * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		((volatile char *)area)[i * page] = 1;
	munmap(area, count * page);
}

static struct session_ring *ring_of(struct pm_session *session, int cpu)
{
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].cpu == cpu)
			return &session->rings.list[i];
	bench_fail("no ring of this CPU", ENOENT);
}

/* From position 0, as if it had been written into a fresh ring. */
static void copy_ring(void)
{
	const struct pm_ring *from = &caught.ring->ring;
	unsigned char *data;
	uint64_t begin = from->tail, end = pm_ring_head(from);

	caught.copy = aligned_alloc(4096, from->map_size);
	memcpy(caught.copy, from->base, from->map_size);
	data = (unsigned char *)caught.copy + from->data_offset;
	for (uint64_t at = begin; at < end; at++)
		data[at - begin] = ((unsigned char *)from->base)[from->data_offset +
			(at & (from->data_size - 1))];
	caught.head = end - begin;
	caught.own = caught.ring->ring;
}

static void catch_records(struct pm_plan *plan)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_diag diag = { .size = sizeof(diag) };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	caught.session = pm_session_create(plan, &listener, &caught.sum);
	if (pm_session_attach(caught.session, &diag) < 0)
		bench_fail(diag.text, ENOTSUP);
	caught.ring = ring_of(caught.session, 0);
	cause_faults(RECORDS);
	copy_ring();
}

/* The contents unread again; a ring of our own around them. */
static void rewind_to(struct pm_ring *ring)
{
	caught.copy->data_head = caught.head;
	caught.copy->data_tail = 0;
	if (pm_ring_borrow(caught.copy, caught.own.map_size, ring) < 0)
		bench_fail("borrow", EINVAL);
}

/* ---------------------------------------------------------------------------------- the readers */

static size_t walk(struct pm_ring *ring)
{
	const unsigned char *data = (unsigned char *)ring->base + ring->data_offset;
	uint64_t head = __atomic_load_n(&caught.copy->data_head, __ATOMIC_ACQUIRE), at = 0;
	size_t count = 0;

	for (; at < head; count++) {
		const struct perf_event_header *header =
			(const void *)(data + (at & (ring->data_size - 1)));

		caught.sum += header->type;
		at += header->size;
	}
	__atomic_store_n(&caught.copy->data_tail, at, __ATOMIC_RELEASE);
	return count;
}

static size_t read_ring(struct pm_ring *ring)
{
	const struct perf_event_header *header;
	size_t count = 0;

	for (; pm_ring_next(ring, &header) == 1; count++)
		caught.sum += header->type;
	pm_ring_release(ring);
	return count;
}

static size_t decode_any(struct pm_ring *ring)
{
	const struct perf_event_header *header;
	struct pm_record record;
	size_t count = 0;

	for (; pm_ring_next(ring, &header) == 1; count++)
		if (pm_record_decode(header, &caught.session->format, &record) == 0)
			caught.sum += record.sample.ip;
	pm_ring_release(ring);
	return count;
}

static size_t deliver(struct pm_ring *ring)
{
	int count;

	caught.ring->ring = *ring;
	count = pm_drain(caught.session);
	caught.ring->ring = caught.own;
	return count > 0 ? (size_t)count : 0;
}

static void on_peer_sample(void *context, const struct peer_sample *sample)
{
	*(uint64_t *)context += sample->ip + sample->time;
}

static size_t libperf_each(struct pm_ring *ring)
{
	caught.sum += peer_libperf_drain(ring->base, ring->data_size, false);
	return caught.records;
}

static size_t libperf_batch(struct pm_ring *ring)
{
	caught.sum += peer_libperf_drain(ring->base, ring->data_size, true);
	return caught.records;
}

static size_t libperf_decode(struct pm_ring *ring)
{
	caught.sum += peer_libperf_decode(ring->base, ring->data_size, on_peer_sample,
					  &caught.sum);
	return caught.records;
}

static void measure(const char *name, const char *subject, size_t (*reader)(struct pm_ring *))
{
	struct pm_ring ring;
	uint64_t begin, end;
	size_t count;

	rewind_to(&ring);
	begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	count = reader(&ring);
	end = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	if (count < RECORDS || caught.copy->data_tail != caught.head)
		bench_fail(subject, EBADMSG);
	caught.records = count;
	bench_say(name, subject, "ns a record", (double)(end - begin) / (double)count);
	free(ring.scratch);
}

int main(int argc, char **argv)
{
	const struct pm_event_spec faults = { .size = sizeof(faults), .type = 1, .config = 2,
					      .period = 1, .tid = PM_ALL_THREADS };
	const struct pm_session_opts opts = { .size = sizeof(opts), .ring_pages = PAGES };
	unsigned int rounds = bench_argument(argc, argv, 1, 101);
	struct pm_profile *empty = pm_profile_create();
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	if (pm_plan_make(&faults, 1, &opts, empty, &diag, &plan) < 0)
		bench_fail(diag.text, ENOTSUP);
	catch_records(plan);
	for (unsigned int i = 0; i < rounds; i++) {
		measure("read a ring", "bare walk", walk);
		measure("read a ring", "libperf, a consume a record", libperf_each);
		measure("read a ring", "perfmodes", read_ring);
		measure("read a ring", "libperf, a consume a batch", libperf_batch);
		measure("decode, deliver", "libperf, a batch, decoded by hand", libperf_decode);
		measure("decode, deliver", "perfmodes", deliver);
		measure("decode, deliver", "libperf, a batch, headers only", libperf_batch);
		measure("decode, deliver", "pm_record_decode, any layout", decode_any);
	}
	pm_session_destroy(caught.session);
	pm_plan_destroy(plan);
	pm_profile_destroy(empty);
	return caught.sum == 0;
}
