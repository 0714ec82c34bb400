/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the kernel write the ring from its end towards its start? Then the newest record always
 * stands at data_head, and a reader that comes late can walk back in time: the only way to read
 * an overwritten ring from its head.
 * Observed: more than a lap, paused, walked from data_head; the addresses of the faults tell the
 * order. The head starts at 0 and goes down, so it also tells how wide it is.
 * Linux commit 9ecda41acb97 ("perf/core: Add ::write_backward attribute to perf event") (v4.7)
 */
#include "probe.h"

PROBE(TITLE("a ring written backward")
      SINCE("4.7")
      COMMIT("9ecda41acb97")
      POINT(head_goes_down, "data_head decreases by exactly the bytes of the records")
      POINT(newest_first, "walking from data_head after a lap meets newer records before older "
	    "ones")
      POINT(keeps_a_lap, "a walk from data_head finds all records that fit into the ring")
      POINT(writable_stops_when_full, "a ring written backward and mapped for writing keeps "
	    "unread records")
      FACT(head_bits, int, "bits", "width of data_head: 64, or 32 on a 32-bit kernel"))

#define RECORD 16			/* a header and the time */

static int open_backward(void)
{
	struct perf_event_attr with = attr_faults(PERF_SAMPLE_TIME), without = with;

	with.write_backward = 1;
	return ask_open(&with, &without, 0, -1, "write_backward");
}

FIXTURE(recorder)
{
	struct pm_ring ring;
	int fd;
	uint64_t room;			/* records that fit */
};

FIXTURE_SETUP(recorder)
{
	int error;

	self->fd = open_backward();
	error = pm_ring_open(self->fd, 1, PROT_READ, &self->ring);
	if (error)
		say_unknown("mmap for reading: %s", pm_errno_name(error));
	self->room = self->ring.data_size / RECORD;
}

FIXTURE_TEARDOWN(recorder)
{
	pm_ring_close(&self->ring);
}

TEST_F(recorder, head_goes_down)
{
	const uint64_t counted = cause_enabled_faults(self->fd, 10),
		       head = pm_ring_head(&self->ring);

	fact_int("head_bits", head >> 32 ? 64 : 32);
	if (counted != 10 || (uint32_t)(0 - head) != 10 * RECORD)
		say_broken("counted=%" PRIu64 " data_head=%#" PRIx64 " want=-%d", counted, head,
			   10 * RECORD);
}

/* Walk from the head; the time of each record may not be later than that of the one before. */
static uint64_t walk(struct pm_ring *ring)
{
	const struct perf_event_header *header;
	uint64_t cursor = pm_ring_head(ring), found = 0, last = UINT64_MAX;
	int more;

	while ((more = pm_ring_next_backward(ring, &cursor, &header)) == 1) {
		uint64_t time;

		if (header->type != PERF_RECORD_SAMPLE || header->size != RECORD)
			say_broken("record %" PRIu64 " from the head: type=%u size=%u", found,
				   header->type, header->size);
		memcpy(&time, header + 1, sizeof(time));
		if (time > last)
			say_broken("record %" PRIu64 " from the head is newer by %" PRIu64 " ns",
				   found, time - last);
		last = time;
		found++;
	}
	if (more < 0)
		say_broken("after %" PRIu64 " records the ring does not parse", found);
	return found;
}

TEST_F(recorder, newest_first)
{
	struct perf_event_header newest;
	uint64_t found;

	cause_enabled_faults(self->fd, self->room + self->room / 2);
	must_ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	memcpy(&newest, (char *)self->ring.base + self->ring.data_offset +
	       (pm_ring_head(&self->ring) & (self->ring.data_size - 1)), sizeof(newest));
	if (newest.type != PERF_RECORD_SAMPLE || newest.size != RECORD)
		say_broken("at data_head: type=%u size=%u want=9,16", newest.type, newest.size);
	found = walk(&self->ring);
	if (found < self->room / 2)
		say_broken("records=%" PRIu64 " of %" PRIu64, found, self->room);
}

TEST_F(recorder, keeps_a_lap)
{
	uint64_t found;

	cause_enabled_faults(self->fd, 2 * self->room + 3);
	found = walk(&self->ring);
	if (found != self->room)
		say_broken("records=%" PRIu64 " want=%" PRIu64, found, self->room);
}

TEST(writable_stops_when_full)
{
	const int fd = open_backward();
	struct pm_ring ring;
	uint64_t head;

	must_map(fd, 1, &ring);
	cause_enabled_faults(fd, ring.data_size / RECORD + 50);
	head = pm_ring_head(&ring);
	if ((uint32_t)(0 - head) > ring.data_size || (uint32_t)(0 - head) < ring.data_size - RECORD)
		say_broken("data_head=%#" PRIx64 " in a full ring of %zu bytes", head,
			   ring.data_size);
}

PROBE_MAIN
