/* SPDX-License-Identifier: MIT */
/*
 * A session's rings as somebody hostile fills them: whatever stands in them and wherever the head
 * goes, draining ends, stays inside, delivers what lies within a record only, and accounts for
 * every record it read.
 *
 * Input: a byte of options, a byte of threads known (up to 15) and more options, and then steps: a
 * position for the head (4 bytes, relative to the tail when positive), a length, and that many
 * bytes to put before it.
 */
#include "../test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../policy/proof/proof.h"
#include "../../policy/session/drain.h"

#define DATA 4096
#define IDS 4
#define STEPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The operations of a strategy whose samples come by rings. */
static const struct operations rings_only;
static const struct strategy by_rings = { .name = "rings", .operations = &rings_only };
static struct pm_plan plan;
static struct session_ring ring;
static struct session_event events[IDS];
static size_t delivered;

static void on_sample(void *context, const struct pm_observed *sample)
{
	uint64_t sum = 0;

	(void)context;
	delivered++;
	for (size_t i = 0; i < sample->callchain_count; i++)
		sum += sample->callchain[i];
	for (size_t i = 0; i < sample->branch_count; i++)
		sum += sample->branches[i].from + sample->branches[i].flags;
	for (size_t i = 0; i < sample->group_count; i++) {
		sum += sample->group[i].value + sample->group[i].lost;
		if (sample->group[i].event >= plan.count && sample->group[i].event != SIZE_MAX)
			abort();
	}
	for (size_t i = 0; i < sample->raw_size; i++)
		sum += ((const unsigned char *)sample->raw)[i];
	/* Looks at the sum, so that the reading is done. */
	if (sample->event >= plan.count || (sum == 0x5eed && delivered == 0))
		abort();
}

static void on_other(void *context, const void *record, size_t size)
{
	volatile unsigned char last;

	(void)context;
	last = ((const unsigned char *)record)[size - 1];
	(void)last;
}

static struct proof proof;

static void begin(struct pm_session *session, uint8_t options, uint8_t threads)
{
	memset(&plan, 0, sizeof(plan));
	memset(session, 0, sizeof(*session));
	memset(&proof, 0, sizeof(proof));
	plan.count = options & 1 ? 2 : 1;
	for (size_t i = 0; i < plan.count; i++)
		plan.events[i] = (struct plan_event){ .asked = (uint32_t)i,
						      .spec.tid = PM_ALL_THREADS,
						      .spec.want = PM_WANT_GROUP };
	session->plan = &plan;
	session->proof = &proof;
	session->events.plan = &plan;
	session->strategy = &by_rings;
	session->operations = &rings_only;
	session->listener = (struct pm_listener){ .sample = on_sample, .other = on_other };
	session->pid = 7;
	session->stop.fd = -1;
	session->follows = options & 2;
	session->format.sample_id_all = true;
	session->format.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
		(options & 4 ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID) |
		(options & 8 ? PERF_SAMPLE_CALLCHAIN : 0) | (options & 16 ? PERF_SAMPLE_ADDR : 0) |
		(threads & 16 ? PERF_SAMPLE_RAW : 0) |
		(threads & 32 ? PERF_SAMPLE_BRANCH_STACK : 0) |
		(threads & 128 ? PERF_SAMPLE_READ : 0);
	session->format.read_format = options & 2 ? PERF_FORMAT_LOST : 0;
	/* of its one clock, CLOCK_REALTIME */
	plan.modifiers = threads & 64 ? MODIFIER(CLOCK) : 0;
	session->proof->canary.tid = options & 32 ? 9 : 0;
	session->proof->canary.other = options & 64;
	for (size_t i = 0; i < IDS; i++)
		events[i] = (struct session_event){ .fd = -1, .cpu = 0, .tid = (pid_t)(7 + i),
			.spec = (uint32_t)(i % plan.count), .round = (uint32_t)i / 2, .id = i + 1 };
	session->events.list = events;
	session->events.count = IDS;
	session->rings.list = &ring;
	session->rings.count = 1;
	session->threads.rounds = options & 128 ? 2 : 1;
	for (pid_t i = 0; i < threads % 16; i++)
		pm_threads_mark(&session->threads, 7 + i, true)->listed = i % 2;
	if (plan.count > 1 || (options & 128))
		(void)pm_ids_index(&session->ids, &session->events);
}

static uint32_t take(const uint8_t **data, size_t *size, size_t bytes)
{
	uint32_t word = 0;

	for (; bytes > 0 && *size > 0; bytes--, ++*data, --*size)
		word = word << 8 | **data;
	return word;
}

/* Every record is delivered or counted as something, once. */
static void check(const struct pm_session *session)
{
	const struct pm_stats *s = &session->stats;

	if (s->samples + s->unknown + s->foreign + s->duplicates > s->records)
		abort();
	if (s->samples != delivered)
		abort();
}

static void step(struct pm_session *session, const uint8_t **data, size_t *size)
{
	struct perf_event_mmap_page *page = ring.ring.base;
	unsigned char *area = (unsigned char *)ring.ring.base + ring.ring.data_offset;
	int32_t forward = (int32_t)take(data, size, 4);
	size_t length = take(data, size, 1) * 8;
	uint64_t records = session->stats.records;

	for (size_t i = 0; i < length && *size > 0; i++)
		area[(page->data_head + i) % DATA] = (unsigned char)take(data, size, 1);
	page->data_head = forward >= 0 && forward < 2 * DATA ?
		page->data_head + (uint32_t)forward : (uint64_t)(int64_t)forward;
	if (pm_drain(session) > DATA / 8)
		abort();
	if (session->stats.records - records > DATA / 8)
		abort();
	check(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct pm_session session;
	/* Exactly as large as the ring, so that the sanitizer sees one byte too much. */
	void *base = aligned_alloc(page, page + DATA);

	memset(base, 0, page + DATA);
	memset(&ring, 0, sizeof(ring));
	delivered = 0;
	if (pm_ring_borrow(base, page + DATA, &ring.ring) < 0)
		abort();
	begin(&session, (uint8_t)take(&data, &size, 1), (uint8_t)take(&data, &size, 1));
	for (int i = 0; i < STEPS && size > 0; i++)
		step(&session, &data, &size);
	pm_ring_close(&ring.ring);
	free(session.threads.marks);
	free(session.ids.table);
	free(base);
	return 0;
}
