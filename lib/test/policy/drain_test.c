/* SPDX-License-Identifier: MIT */
/* From a crafted ring to the listener: what is delivered, what is counted, what does no harm. */
#include "../test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../policy/proof/proof.h"
#include "../../policy/session/drain.h"

#define DATA 4096

/* The operations of a strategy whose samples come by rings. */
static const struct operations rings_only;
static const struct strategy by_rings = { .name = "rings", .operations = &rings_only };
static struct pm_plan plan;
static struct pm_session session;
static struct proof proof;
static struct session_ring ring;
static struct session_event events[3];
static unsigned char *base;
static unsigned int delivered;
static struct pm_observed last;
static uint64_t lost;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	last = *sample;
	for (size_t i = 0; i < sample->branch_count; i++)
		assert_true(sample->branches[i].from == 11 + 10 * i &&
			    sample->branches[i].to == 12 + 10 * i &&
			    sample->branches[i].flags == 13 + 10 * i);
	delivered++;
}

static void on_lost(void *context, uint64_t count)
{
	(void)context;
	lost += count;
}

static int setup(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	base = aligned_alloc(page, page + DATA);
	memset(base, 0, page + DATA);
	memset(&plan, 0, sizeof(plan));
	memset(&session, 0, sizeof(session));
	memset(&proof, 0, sizeof(proof));
	memset(&ring, 0, sizeof(ring));
	plan.count = 1;
	plan.events[0].spec.tid = PM_ALL_THREADS;
	session.plan = &plan;
	session.proof = &proof;
	session.events.plan = &plan;
	session.strategy = &by_rings;
	session.operations = &rings_only;
	session.listener = (struct pm_listener){ .sample = on_sample, .lost = on_lost };
	session.pid = 7;
	session.format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	session.events.list = events;
	session.events.count = 1;
	session.rings.list = &ring;
	session.rings.count = 1;
	delivered = 0;
	lost = 0;
	return pm_ring_borrow(base, page + DATA, &ring.ring);
}

static int teardown(void **state)
{
	(void)state;
	pm_ring_close(&ring.ring);
	free(session.threads.marks);
	free(base);
	return 0;
}

static void put(uint32_t type, uint16_t size, const uint64_t *words, size_t count)
{
	struct perf_event_mmap_page *page = (void *)base;
	struct perf_event_header header = { .type = type, .size = size };
	unsigned char *data = base + ring.ring.data_offset;

	memcpy(data + page->data_head % DATA, &header, sizeof(header));
	page->data_head += sizeof(header);
	for (size_t i = 0; i < count; i++, page->data_head += 8)
		memcpy(data + page->data_head % DATA, &words[i], 8);
}

static uint64_t halves(uint32_t first, uint32_t second)
{
	uint32_t half[] = { first, second };
	uint64_t word;

	memcpy(&word, half, sizeof(word));
	return word;
}

static void put_sample_at(uint64_t id, uint32_t pid, uint32_t tid, uint64_t time)
{
	const uint64_t words[] = { id, 0x1234, halves(pid, tid), time, halves(3, 0), 5 };

	put(PERF_RECORD_SAMPLE, 56, words, 6);
}

static void put_sample(uint64_t id, uint32_t pid, uint32_t tid)
{
	put_sample_at(id, pid, tid, 99);
}

static void fields_of_a_sample(void **state)
{
	(void)state;
	put_sample(1, 7, 8);
	assert_int_equal(pm_drain(&session), 1);
	assert_int_equal(delivered, 1);
	assert_true(last.ip == 0x1234 && last.pid == 7 && last.tid == 8 && last.time == 99 &&
		    last.cpu == 3 && last.period == 5 && last.callchain_count == 0);
}

/* Fields that are not asked for are 0, whatever the one before had. */
static void fields_not_asked_for(void **state)
{
	const uint64_t words[] = { 1, 0x1234, halves(7, 8), 99, 0xadd, halves(3, 0), 5, 1, 0xa,
				   halves(4, 0x61626364) };
	const uint64_t plain = session.format.sample_type;

	(void)state;
	session.format.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	put(PERF_RECORD_SAMPLE, 88, words, 10);
	assert_int_equal(pm_drain(&session), 1);
	assert_true(last.address == 0xadd && last.callchain_count == 1 && last.raw_size == 4);
	session.format.sample_type = plain;
	put_sample(1, 7, 8);
	assert_int_equal(pm_drain(&session), 1);
	assert_int_equal(delivered, 2);
	assert_true(last.address == 0 && last.callchain == NULL && last.callchain_count == 0 &&
		    last.raw == NULL && last.raw_size == 0 && last.event == 0);
}

/* Behind a call chain of two: the size, the bytes, and what fills them up. */
static void raw_data(void **state)
{
	uint64_t words[] = { 1, 0x1234, halves(7, 8), 99, halves(3, 0), 5, 2, 10, 11, 0, 0 };
	static const unsigned char bytes[12] = "hello, raw!";
	uint32_t size = sizeof(bytes);

	(void)state;
	session.format.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	memcpy(&words[9], &size, sizeof(size));
	memcpy((char *)&words[9] + sizeof(size), bytes, sizeof(bytes));
	put(PERF_RECORD_SAMPLE, 96, words, 11);
	assert_int_equal(pm_drain(&session), 1);
	assert_int_equal(delivered, 1);
	assert_int_equal(last.callchain_count, 2);
	assert_int_equal(last.raw_size, sizeof(bytes));
	assert_memory_equal(last.raw, bytes, sizeof(bytes));
	size++;		/* more than the record holds */
	memcpy(&words[9], &size, sizeof(size));
	put(PERF_RECORD_SAMPLE, 96, words, 11);
	(void)pm_drain(&session);
	/* A call chain that leaves no room for the size. */
	words[6] = 4;
	put(PERF_RECORD_SAMPLE, 96, words, 11);
	(void)pm_drain(&session);
	assert_int_equal(delivered, 1);
	assert_int_equal(session.stats.unknown, 2);
}

/* Behind 12 bytes of raw data, and how many there are is not believed. */
static void branches(void **state)
{
	uint64_t words[] = { 1, 0x1234, halves(7, 8), 99, halves(3, 0), 5, halves(12, 1), 2,
			     2, 11, 12, 13, 21, 22, 23 };

	(void)state;
	session.format.sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	assert_int_equal(pm_drain(&session), 1);
	assert_true(delivered == 1 && last.raw_size == 12 && last.branch_count == 2);
	words[8] = 3;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	words[8] = UINT64_MAX / 3;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	assert_int_equal(pm_drain(&session), 2);
	assert_true(delivered == 1 && session.stats.unknown == 2);
	/* Their number is missing altogether. */
	put(PERF_RECORD_SAMPLE, 8 + 8 * sizeof(words[0]), words, 8);
	assert_int_equal(pm_drain(&session), 1);
	assert_true(delivered == 1 && session.stats.unknown == 3);
}

static struct pm_member members[4];

static void on_group(void *context, const struct pm_observed *sample)
{
	(void)context;
	last = *sample;
	for (size_t i = 0; i < sample->group_count && i < ARRAY_SIZE(members); i++)
		members[i] = sample->group[i];
	delivered++;
}

/* Between the period and the call chain; of its members the second one is nobody's. */
static void values_of_a_group(void **state)
{
	uint64_t words[] = { 1, 0x1234, halves(7, 8), 99, halves(3, 0), 5, 2, 70, 60,
			     11, 1, 4, 12, 77, 0, 1, 0xa };

	(void)state;
	session.listener.sample = on_group;
	session.format.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN;
	session.format.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	plan.events[0].spec.want = PM_WANT_GROUP;
	events[0].id = 1;
	assert_int_equal(pm_ids_index(&session.ids, &session.events), 0);
	session.ids.asked_all = true;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	assert_int_equal(pm_drain(&session), 1);
	assert_true(delivered == 1 && last.group_count == 2 && last.callchain_count == 1);
	assert_true(last.group_enabled == 70 && last.group_running == 60);
	assert_true(members[0].event == 0 && members[0].value == 11 && members[0].lost == 4);
	assert_true(members[1].event == SIZE_MAX && members[1].value == 12);
	/* More than the record holds, and a number that wraps when it is multiplied. */
	words[6] = 4;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	words[6] = UINT64_MAX / 3 + 2;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	/* Two words where three are the least. */
	put(PERF_RECORD_SAMPLE, 8 + 8 * sizeof(words[0]), words, 8);
	assert_int_equal(pm_drain(&session), 3);
	assert_true(delivered == 1 && session.stats.unknown == 3);
	/* Who did not ask for them gets none. */
	plan.events[0].spec.want = 0;
	words[6] = 2;
	put(PERF_RECORD_SAMPLE, 8 + sizeof(words), words, ARRAY_SIZE(words));
	assert_int_equal(pm_drain(&session), 1);
	assert_true(delivered == 2 && last.group == NULL && last.group_count == 0);
	pm_ids_free(&session.ids);
}

static void many_laps(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		put_sample(1, 7, (uint32_t)i);
		assert_int_equal(pm_drain(&session), 1);
		assert_int_equal(last.tid, i);
	}
	assert_int_equal(session.stats.corrupt, 0);
}

static void too_short_for_its_layout(void **state)
{
	const uint64_t words[] = { 1, 2, 3, 4, 5 };

	(void)state;
	for (uint16_t n = 0; n <= 5; n++)
		put(PERF_RECORD_SAMPLE, (uint16_t)(8 + 8 * n), words, n);
	assert_int_equal(pm_drain(&session), 6);
	assert_int_equal(delivered, 0);
	assert_int_equal(session.stats.unknown, 6);
}

static void a_callchain_longer_than_the_record(void **state)
{
	uint64_t words[] = { 1, 2, 3, 4, 5, 6, 1, 0xabc };
	static const uint64_t lengths[] = { 2, 1ull << 32, 1ull << 61, UINT64_MAX };

	(void)state;
	session.format.sample_type |= PERF_SAMPLE_CALLCHAIN;
	words[2] = halves(7, 8);
	put(PERF_RECORD_SAMPLE, 72, words, 8);
	assert_int_equal(pm_drain(&session), 1);
	assert_true(delivered == 1 && last.callchain_count == 1);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		words[6] = lengths[i];
		put(PERF_RECORD_SAMPLE, 72, words, 8);
	}
	put(PERF_RECORD_SAMPLE, 56, words, 6);
	pm_drain(&session);
	assert_int_equal(delivered, 1);
	assert_int_equal(session.stats.unknown, ARRAY_SIZE(lengths) + 1);
}

static void loss_and_the_unknown(void **state)
{
	const uint64_t words[] = { 1, 40 };

	(void)state;
	put(PERF_RECORD_LOST, 24, words, 2);
	put(9999, 24, words, 2);
	put_sample(1, 7, 8);
	assert_int_equal(pm_drain(&session), 3);
	assert_true(lost == 40 && session.stats.lost == 40);
	assert_int_equal(session.stats.unknown, 1);
	assert_int_equal(delivered, 1);
}

static void impossible_headers(void **state)
{
	static const uint16_t sizes[] = { 0, 4, 9, 65528 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		put_sample(1, 7, 8);
		put(PERF_RECORD_SAMPLE, sizes[i], NULL, 0);
		put_sample(1, 7, 8);
		pm_drain(&session);
		assert_int_equal(session.stats.corrupt, i + 1);
		assert_true(session.stats.corrupt_bytes >= 56);
		assert_int_equal(delivered, i + 1);
	}
	put_sample(1, 7, 8);
	assert_int_equal(pm_drain(&session), 1);
}

/* Wherever the head is put: nothing outside is read, and what comes after is delivered again. */
static void impossible_heads(void **state)
{
	static const int64_t moves[] = { -8, -56, -4096, 4097, 8192, 4, 57, INT64_MAX, INT64_MIN };
	struct perf_event_mmap_page *page = (void *)base;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		put_sample(1, 7, 8);
		assert_int_equal(pm_drain(&session), 1);
		page->data_head += (uint64_t)moves[i];
		assert_true(pm_drain(&session) <= 73);
		assert_true(session.stats.corrupt > i);
		assert_int_equal(pm_drain(&session), 0);
		page->data_head = ring.ring.tail = (page->data_head + 7) / 8 * 8;
	}
	delivered = 0;
	put_sample(1, 7, 8);
	assert_int_equal(pm_drain(&session), 1);
	assert_int_equal(delivered, 1);
}

/* The body of a record goes over the end of the ring; its header cannot. */
static void records_over_the_end(void **state)
{
	const uint64_t words[] = { 1, 2, halves(7, 8), 4, halves(5, 0), 6, 2, 0xa, 0xb };

	(void)state;
	session.format.sample_type |= PERF_SAMPLE_CALLCHAIN;
	for (int i = 0; i < 1000; i++) {
		put(PERF_RECORD_SAMPLE, 80, words, 9);
		assert_int_equal(pm_drain(&session), 1);
		assert_true(last.callchain_count == 2 && last.callchain[1] == 0xb);
	}
	assert_int_equal(delivered, 1000);
	assert_int_equal(session.stats.corrupt + session.stats.unknown, 0);
}

/* A ring that was never nearly full has lost nothing; one that was may have. */
static void fullness_is_noticed(void **state)
{
	(void)state;
	session.was_full = false;
	put_sample(1, 7, 8);
	pm_drain(&session);
	/* This ring has one page, so nothing is far from its end. */
	assert_true(session.was_full);
}

static void other_processes_are_not_told(void **state)
{
	(void)state;
	put_sample(1, 6, 6);
	pm_drain(&session);
	assert_int_equal(delivered, 0);
	assert_int_equal(session.stats.foreign, 1);
}

/*
 * Thread 10 was there first (id 1). 20 came in the second listing (id 2), and inherits from 10 as
 * well. 30 is born later, of 20: it inherits 20's events and through it 10's.
 */
static void the_right_source_of_two(void **state)
{
	static const struct { uint32_t tid; uint64_t id; unsigned int after; } told[] = {
		{ 10, 1, 1 }, { 20, 1, 1 }, { 20, 2, 2 }, { 20, 1, 2 },
		{ 30, 2, 3 }, { 30, 1, 3 }, { 30, 2, 4 }, { 40, 1, 5 }, { 40, 1, 6 }, { 50, 9, 6 },
	};

	(void)state;
	events[0] = (struct session_event){ .fd = -1, .tid = 10, .id = 1, .round = 0 };
	events[1] = (struct session_event){ .fd = -1, .tid = 20, .id = 2, .round = 1 };
	session.events.count = 2;
	for (pid_t tid = 10; tid <= 20; tid += 10) {
		struct thread_mark *mark = pm_threads_mark(&session.threads, tid, true);

		mark->listed = true;
		mark->round = tid == 20;
	}
	session.threads.rounds = 2;
	assert_int_equal(pm_ids_index(&session.ids, &session.events), 0);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		put_sample(told[i].id, 7, told[i].tid);
		pm_drain(&session);
		assert_int_equal(delivered, told[i].after);
	}
	assert_int_equal(session.stats.duplicates, 3);
	assert_int_equal(session.stats.unknown, 1);
	free(session.ids.table);
}

static uint64_t time_of_sample_at(uint64_t time)
{
	put_sample_at(1, 7, 8, time);
	assert_int_equal(pm_drain(&session), 1);
	return last.time;
}

/* One of CLOCK_REALTIME in a ring of CLOCK_MONOTONIC, and what comes after it. */
static void times_of_another_clock(void **state)
{
	uint64_t now, other;

	(void)state;
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &now), 0);
	assert_int_equal(pm_clock_ns(CLOCK_REALTIME, &other), 0);
	if (other < now + 10000000000ull)
		skip();
	plan.modifiers = MODIFIER(CLOCK);
	plan.clocks[0] = CLOCK_MONOTONIC;
	plan.clock_count = 1;
	assert_true(time_of_sample_at(now) == now);
	assert_true(time_of_sample_at(other) == now);
	assert_true(time_of_sample_at(now + 5) == now + 5);
	assert_true(time_of_sample_at(1) == now + 5);
	assert_int_equal(session.stats.mistimed, 2);
	assert_int_equal(delivered, 4);
	/* Of a clock that nobody can read, nothing is known. */
	plan.modifiers = 0;
	assert_true(time_of_sample_at(other) == other);
	assert_int_equal(session.stats.mistimed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fields_of_a_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(fields_not_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(raw_data, setup, teardown),
		cmocka_unit_test_setup_teardown(branches, setup, teardown),
		cmocka_unit_test_setup_teardown(values_of_a_group, setup, teardown),
		cmocka_unit_test_setup_teardown(many_laps, setup, teardown),
		cmocka_unit_test_setup_teardown(too_short_for_its_layout, setup, teardown),
		cmocka_unit_test_setup_teardown(a_callchain_longer_than_the_record, setup,
						teardown),
		cmocka_unit_test_setup_teardown(loss_and_the_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(impossible_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(impossible_heads, setup, teardown),
		cmocka_unit_test_setup_teardown(records_over_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(fullness_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(other_processes_are_not_told, setup, teardown),
		cmocka_unit_test_setup_teardown(times_of_another_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(the_right_source_of_two, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
