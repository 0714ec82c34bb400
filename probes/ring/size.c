/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sizes may a ring have? One header page and a power of two of data pages, or the header
 * alone for a counter that is read without a system call. Whoever sizes buffers for memory and
 * loss needs to know how far the machine goes; the walk stops at 1024 pages and is told as a fact.
 * Observed by mapping each size, and by finding each caused fault in the ring.
 */
#include "probe.h"

#define MOST_PAGES 1024

PROBE(TITLE("sizes of a ring")
      SINCE("2.6.31")
      POINT(header_only, "the header page alone can be mapped, and its data area is empty")
      POINT(powers_of_two, "1, 2, 4 and 8 data pages are mapped and receive records")
      POINT(other_counts_are_refused, "3, 5, 6 and 7 data pages are refused with EINVAL")
      POINT(no_bytes_are_refused, "a mapping of length zero is refused with EINVAL")
      FACT(max_pages, int, "pages", "largest data area accepted, looked for up to 1024 pages")
      FACT(max_pages_error, string, "-", "errno of the next larger data area"))

static int map_pages(int fd, size_t pages)
{
	const size_t size = pages * probe_env()->page_size;
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	munmap(base, size);
	return 0;
}

TEST(header_only)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0);
	const struct perf_event_mmap_page *page;
	uint64_t counted;

	page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		say_unknown("mmap of the header page: %s", pm_errno_name(errno));
	counted = cause_enabled_faults(fd, 5);
	if (counted != 5 || page->data_size || page->data_head)
		say_broken("counted=%" PRIu64 " want=5 data_size=%" PRIu64 " data_head=%" PRIu64,
			   counted, (uint64_t)page->data_size, (uint64_t)page->data_head);
}

static void takes_records(size_t pages)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct sampler sampler = must_sampler(&attr, 0, -1, pages);
	char what[40];

	snprintf(what, sizeof(what), "a ring of %zu pages", pages);
	expect_samples(sampler.fd, &sampler.ring, 9, what);
	pm_ring_close(&sampler.ring);
	close(sampler.fd);
}

TEST(powers_of_two)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	size_t largest = 8;
	int error = 0;

	for (size_t pages = 1; pages <= 8; pages *= 2)
		takes_records(pages);
	while (!error && largest < MOST_PAGES) {
		int fd = must_open(&attr, 0, -1, -1, 0);

		error = map_pages(fd, 1 + 2 * largest);
		largest = error ? largest : 2 * largest;
		close(fd);
	}
	fact_int("max_pages", largest);
	fact_str("max_pages_error", "%s", error ? pm_errno_name(error) : "none");
}

TEST(other_counts_are_refused)
{
	static const size_t counts[] = { 3, 5, 6, 7 };
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	takes_records(8);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		expect_refused(map_pages(must_open(&attr, 0, -1, -1, 0), 1 + counts[i]), EINVAL,
			       BROKEN, "a number of data pages that is no power of two");
}

TEST(no_bytes_are_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	takes_records(1);
	expect_refused(map_pages(must_open(&attr, 0, -1, -1, 0), 0), EINVAL, BROKEN,
		       "an empty mapping");
}

PROBE_MAIN
