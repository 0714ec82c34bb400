/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to a record that reaches the end of the ring? It is continued at the beginning,
 * so a reader must join it; headers are aligned to 8 bytes and thus never split themselves. A
 * ring may be lapped any number of times.
 * Observed with records of 24 bytes, which divide no page.
 */
#include "probe.h"

PROBE(TITLE("a record split by the end of the ring")
      SINCE("2.6.31")
      POINT(continues_at_the_start, "a record that reaches the end of the ring continues at its "
	    "start")
      POINT(headers_are_aligned, "each header is whole and aligned to 8 bytes, over three laps")
      POINT(joined_record_is_right, "a split record, joined, holds this thread's ids"))

#define RECORD 24			/* a header, an address, process and thread */

FIXTURE(ring)
{
	struct sampler sampler;
	uint64_t room, laps;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_ADDR);

	self->sampler = must_sampler(&attr, 0, -1, 1);
	self->room = self->sampler.ring.data_size;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

/* Fill until no further whole record fits before the end, and drain. */
static void fill_and_drain(struct sampler *sampler, uint64_t room)
{
	const int want = room / RECORD, found = (cause_enabled_faults(sampler->fd, want),
						 count_records(&sampler->ring, PERF_RECORD_SAMPLE));

	if (found != want)
		say_broken("records=%d want=%d before the end of the ring", found, want);
}

TEST_F(ring, continues_at_the_start)
{
	const char *data = (const char *)self->sampler.ring.base + self->sampler.ring.data_offset;
	const uint64_t start = self->room / RECORD * RECORD, before = self->room - start;
	const struct perf_event_header *header = (const void *)(data + start);
	unsigned char record[RECORD];
	uint32_t ids[2];

	fill_and_drain(&self->sampler, self->room);
	cause_enabled_faults(self->sampler.fd, 1);
	if (header->type != PERF_RECORD_SAMPLE || header->size != RECORD)
		say_broken("at %" PRIu64 ": type=%u size=%u", start, header->type, header->size);
	memcpy(record, data + start, before);
	memcpy(record + before, data, RECORD - before);
	memcpy(ids, record + 8, sizeof(ids));
	if (ids[0] != (uint32_t)getpid() || ids[1] != (uint32_t)pm_gettid())
		say_broken("joined by hand: pid=%u tid=%u want=%d,%d", ids[0], ids[1], getpid(),
			   pm_gettid());
}

TEST_F(ring, headers_are_aligned)
{
	const char *data = (const char *)self->sampler.ring.base + self->sampler.ring.data_offset;
	uint64_t at = 0;

	while (at < 3 * self->room) {
		cause_enabled_faults(self->sampler.fd, 50);
		for (; at < pm_ring_head(&self->sampler.ring); at += RECORD) {
			const struct perf_event_header *header;

			header = (const void *)(data + (at & (self->room - 1)));
			if (header->type != PERF_RECORD_SAMPLE || header->size != RECORD)
				say_broken("at %" PRIu64 ": type=%u size=%u", at, header->type,
					   header->size);
		}
		if (count_records(&self->sampler.ring, PERF_RECORD_SAMPLE) != 50)
			say_broken("50 page faults are not 50 records");
	}
	if (at % 8 || at != pm_ring_head(&self->sampler.ring))
		say_broken("data_head=%" PRIu64 " want=%" PRIu64, pm_ring_head(&self->sampler.ring),
			   at);
}

TEST_F(ring, joined_record_is_right)
{
	struct pm_record record;

	fill_and_drain(&self->sampler, self->room);
	cause_enabled_faults(self->sampler.fd, 2);
	for (int i = 0; i < 2; i++)
		if (!find_record(&self->sampler, PERF_RECORD_SAMPLE, &record) ||
		    record.sample.sid.pid != (uint32_t)getpid() ||
		    record.sample.sid.tid != (uint32_t)pm_gettid())
			say_broken("record %d: size=%u pid=%u tid=%u", i, record.size,
				   record.sample.sid.pid, record.sample.sid.tid);
}

PROBE_MAIN
