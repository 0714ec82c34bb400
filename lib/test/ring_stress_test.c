/* SPDX-License-Identifier: MIT */
/* Acquire and release between two threads, in less than a second. */
#include "test.h"

#include "fake_ring.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define STRESS_RECORDS 300000
#define STRESS_NS 800000000ull

struct stress {
	struct fake *fake;
	bool stop;
};

static uint16_t stress_size(uint64_t sequence)
{
	return (uint16_t)(16 + sequence * 2654435761u % 29 * 8);
}

/* A writer as strict as the kernel: acquires the tail, fills, releases the head. */
static void *stress_writer(void *argument)
{
	struct stress *stress = argument;
	struct fake *fake = stress->fake;

	for (uint64_t sequence = 0; sequence < STRESS_RECORDS; sequence++) {
		struct perf_event_header header = { 9, 0, stress_size(sequence) };
		uint64_t next = fake->head + header.size;

		while (next - __atomic_load_n(&fake->page->data_tail, __ATOMIC_ACQUIRE) > DATA_SIZE)
			if (__atomic_load_n(&stress->stop, __ATOMIC_RELAXED))
				return NULL;
			else
				sched_yield();
		put(fake, &header, sizeof(header));
		while (fake->head < next)
			put(fake, &sequence, sizeof(sequence));
		__atomic_store_n(&fake->page->data_head, fake->head, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool stress_record_is_right(const struct perf_event_header *record, uint64_t sequence)
{
	const uint64_t *words = (const uint64_t *)(record + 1);

	if (record->size != stress_size(sequence))
		return false;
	for (size_t i = 0; i < record->size / 8u - 1; i++)
		if (words[i] != sequence)
			return false;
	return true;
}

static void nothing_is_torn_between_two_threads(void **state)
{
	struct stress stress = { .fake = *state };
	struct pm_ring *ring = &stress.fake->ring;
	uint64_t sequence = 0, now = 0, end;
	const struct perf_event_header *record;
	bool right = true;
	pthread_t writer;

	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &end), 0);
	end += STRESS_NS;
	assert_int_equal(pthread_create(&writer, NULL, stress_writer, &stress), 0);
	while (right && sequence < STRESS_RECORDS && (now < end || sequence <= 100)) {
		int got = pm_ring_next(ring, &record);

		if (got == 1)
			right = stress_record_is_right(record, sequence++);
		else if (got != 0)
			right = false;
		if (got == 0 || sequence % 5 == 0)
			pm_ring_release(ring);
		if (got == 0) {
			pm_clock_ns(CLOCK_MONOTONIC, &now);
			sched_yield();
		}
	}
	__atomic_store_n(&stress.stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	assert_true(right);
	assert_true(sequence > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = { RING(nothing_is_torn_between_two_threads) };

	return cmocka_run_group_tests_name("ring_stress", tests, NULL, NULL);
}
