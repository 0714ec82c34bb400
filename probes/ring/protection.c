/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the protection of a mapping decide? A ring mapped for writing keeps what its reader
 * has not released; mapped for reading only it is overwritten, which is the flight recorder of
 * programs that only look after something went wrong. A private copy would make no sense.
 * Observed by writing more than a lap, and by the record that ends at data_head.
 */
#include "probe.h"

PROBE(TITLE("protection of a ring's mapping")
      SINCE("2.6.31")
      POINT(private_is_refused, "mapping a ring with MAP_PRIVATE is refused with EINVAL")
      POINT(read_only_overwrites, "a ring mapped for reading only is overwritten: the newest "
	    "record is always there")
      POINT(writable_keeps, "a ring mapped for writing keeps unread records and drops new ones")
      FACT(prot_none, string, "-", "mapping with PROT_NONE: accepted, or its errno")
      FACT(prot_write, string, "-", "mapping with PROT_WRITE alone: accepted, or its errno")
      FACT(prot_exec, string, "-", "mapping with PROT_READ|PROT_EXEC: accepted, or its errno"))

#define RECORD 16			/* a header and an address */

static int map_as(int fd, int prot, int flags)
{
	const size_t size = 2 * probe_env()->page_size;
	void *base = mmap(NULL, size, prot, flags, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	munmap(base, size);
	return 0;
}

static void tell_prot(const char *name, int fd, int prot)
{
	int error = map_as(fd, prot, MAP_SHARED);

	fact_str(name, "%s", error ? pm_errno_name(error) : "accepted");
}

TEST(private_is_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);
	int fd = must_open(&attr, 0, -1, -1, 0);

	if (map_as(fd, PROT_READ | PROT_WRITE, MAP_SHARED))
		say_unknown("the shared twin is refused: %s", pm_errno_name(errno));
	expect_refused(map_as(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE), EINVAL, BROKEN,
		       "MAP_PRIVATE");
	tell_prot("prot_none", fd, PROT_NONE);
	tell_prot("prot_write", fd, PROT_WRITE);
	tell_prot("prot_exec", fd, PROT_READ | PROT_EXEC);
}

TEST(read_only_overwrites)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);
	int error, fd = must_open(&attr, 0, -1, -1, 0);
	const struct perf_event_header *newest;
	uint64_t counted, head;
	struct pm_ring ring;

	error = pm_ring_open(fd, 1, PROT_READ, &ring);
	if (error)
		expect_refused(error, 0, BROKEN, "a mapping for reading only");
	counted = cause_enabled_faults(fd, ring.data_size / RECORD + 37);
	head = pm_ring_head(&ring);
	if (head != counted * RECORD)
		say_broken("data_head=%" PRIu64 " want=%" PRIu64 " counted=%" PRIu64, head,
			   counted * RECORD, counted);
	newest = (const void *)((const char *)ring.base + ring.data_offset +
				((head - RECORD) & (ring.data_size - 1)));
	if (newest->type != PERF_RECORD_SAMPLE || newest->size != RECORD)
		say_broken("newest record: type=%u size=%u want=9,16", newest->type, newest->size);
}

TEST(writable_keeps)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1);
	const uint64_t *data = (const void *)((char *)sampler.ring.base + sampler.ring.data_offset);
	uint64_t first, room = sampler.ring.data_size;

	cause_enabled_faults(sampler.fd, 1);
	first = data[1];
	cause_enabled_faults(sampler.fd, room / RECORD + 37);
	if (!first || data[1] != first || pm_ring_head(&sampler.ring) > room)
		say_broken("first address=%#" PRIx64 " was=%#" PRIx64 " data_head=%" PRIu64
			   " room=%" PRIu64,
			   data[1], first, pm_ring_head(&sampler.ring), room);
}

PROBE_MAIN
