/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do samples say of the page that was touched: its physical address, its size, the size of the
 * code's page? The kernel works them out by itself, for any event with an address.
 * Observed: one watched write; the physical address is held against /proc/self/pagemap.
 */
#include "probe.h"
#include "breakpoint.h"
#include "one_fault.h"

PROBE(TITLE("pages in samples")
      SINCE("4.14")
      POINT(phys_addr, "PHYS_ADDR is the frame that /proc/self/pagemap shows")
      SINCE("4.14")
      NEEDS("root")
      POINT(data_page_size, "DATA_PAGE_SIZE of mapped data is a page size")
      SINCE("5.11")
      POINT(code_page_size, "CODE_PAGE_SIZE of this program's code is a page size")
      SINCE("5.11")
      FACT(data_page, int, "bytes", "DATA_PAGE_SIZE of a watched write")
      FACT(code_page, int, "bytes", "CODE_PAGE_SIZE of this program"))

static volatile uint64_t watched;

/* A breakpoint's sample has the address of data that is surely mapped. */
static struct pm_sample sample_write(uint64_t type, const char *what)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, 4), without;
	struct pm_record record;
	struct sampler sampler;

	require(REQUIRE_BREAKPOINT);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	without = attr;
	attr.sample_type |= type;
	watched = 1;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 1, what);
	watched = 2;
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a write");
	return record.sample;
}

TEST(phys_addr)
{
	struct pm_sample sample = sample_write(PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR");
	const uint64_t page = probe_env()->page_size, address = (uintptr_t)&watched;
	uint64_t entry = 0, frame;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &entry, 8, address / page * 8) != 8)
		say_unknown("/proc/self/pagemap: %s", pm_errno_name(errno));
	frame = entry & ((1ull << 55) - 1);
	if (frame && sample.phys_addr != frame * page + address % page)
		say_broken("phys_addr=%#" PRIx64 " pagemap=%#" PRIx64, sample.phys_addr,
			   frame * page + address % page);
	if (!sample.phys_addr || sample.phys_addr % page != address % page)
		say_broken("phys_addr=%#" PRIx64 " of address %#" PRIx64, sample.phys_addr,
			   address);
}

static bool page_size_true(uint64_t size)
{
	return size >= probe_env()->page_size && !(size & (size - 1));
}

TEST(data_page_size)
{
	struct pm_sample sample = sample_write(PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE");

	fact_int("data_page", sample.data_page_size);
	if (!page_size_true(sample.data_page_size))
		say_broken("data_page_size=%" PRIu64 " page=%zu", sample.data_page_size,
			   probe_env()->page_size);
}

TEST(code_page_size)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CODE_PAGE_SIZE);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);
	struct sampler sampler = ask_sampler(&attr, &without, 0, -1, 1, "CODE_PAGE_SIZE");
	struct pm_sample sample = sample_fault(&sampler);

	fact_int("code_page", sample.code_page_size);
	if (!page_size_true(sample.code_page_size))
		say_broken("code_page_size=%" PRIu64 " page=%zu", sample.code_page_size,
			   probe_env()->page_size);
}

PROBE_MAIN
