/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a counter read from user space say what read(2) says? It costs some 20 ns instead of a
 * system call.
 * Observed: user-space value between two read(2) around it; x86 rdpmc, arm64 pmccntr/pmevcntr,
 * riscv cycle counter, each by its own instruction.
 */
#include "probe.h"
#include "rdpmc.h"

PROBE(TITLE("counters read from user space")
      SINCE("3.4")
      NEEDS("pmu")
      POINT(supported, "an enabled hardware event has cap_user_rdpmc and an index")
      SINCE("3.12")
      POINT(between_reads, "the value read in user space lies between two read(2) around it")
      POINT(grows, "of two readings in user space around a loop the second is larger")
      POINT(reset, "after RESET the value read in user space again lies between two read(2)")
      FACT(width, int, "bits", "pmc_width of the user page"))

TEST(supported)
{
	struct sampler sampler = must_count_here();
	const volatile struct perf_event_mmap_page *page = sampler.ring.base;

	fact_int("width", page->pmc_width);
	if (page->pmc_width < 16 || page->pmc_width > 64)
		say_broken("pmc_width=%u", page->pmc_width);
}

TEST(between_reads)
{
	struct sampler sampler = must_count_here();

	must_lie_between(&sampler);
}

TEST(grows)
{
	struct sampler sampler = must_count_here();
	uint64_t first = 0, last = 0;

	user_value(sampler.ring.base, &first);
	spin_ns(100000);
	if (!user_value(sampler.ring.base, &last) || last <= first)
		say_broken("first=%" PRIu64 " last=%" PRIu64, first, last);
}

TEST(reset)
{
	struct sampler sampler = must_count_here();

	must_ioctl(sampler.fd, PERF_EVENT_IOC_RESET, 0);
	must_lie_between(&sampler);
}

PROBE_MAIN
