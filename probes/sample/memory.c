/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the fields about a memory access hold for an event that knows none of it (a page fault),
 * and what those that the kernel can work out by itself: page sizes, physical address?
 * Observed: one touched page; physical addresses are held against /proc/self/pagemap.
 */
#include "probe.h"

PROBE(TITLE("memory fields of samples")
      SINCE("3.10")
      POINT(weight, "WEIGHT of a page fault is 0")
      POINT(weight_struct, "WEIGHT_STRUCT of a page fault is 0")
      SINCE("5.12")
      POINT(data_src, "DATA_SRC of a page fault says not available in every part")
      POINT(transaction, "TRANSACTION of a page fault is 0")
      SINCE("3.13")
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

static struct pm_sample finish(struct __test_metadata *_metadata, struct watch *watch)
{
	struct pm_record record;

	must_ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!seek(watch, PERF_RECORD_SAMPLE, &record))
		broken("no sample");
	return record.sample;
}

static struct pm_sample sample_fault(struct __test_metadata *_metadata, uint64_t type,
				     const char *what)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR | type);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_ADDR);
	struct watch watch = ask_watch(&attr, &without, 0, -1, 1, what);

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	return finish(_metadata, &watch);
}

/* A breakpoint's sample has the address of data that is surely mapped. */
static struct pm_sample sample_write(struct __test_metadata *_metadata, uint64_t type,
				     const char *what)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0), without;
	struct watch watch;

	require(REQUIRE_BREAKPOINT);
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	without = attr;
	attr.sample_type |= type;
	watched = 1;
	watch = ask_watch(&attr, &without, 0, -1, 1, what);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	watched = 2;
	return finish(_metadata, &watch);
}

TEST(weight)
{
	struct pm_sample sample = sample_fault(_metadata, PERF_SAMPLE_WEIGHT, "WEIGHT");

	if (sample.weight)
		broken("weight=%" PRIu64 " want=0", sample.weight);
}

TEST(weight_struct)
{
	struct pm_sample sample = sample_fault(_metadata, PERF_SAMPLE_WEIGHT_STRUCT,
					       "WEIGHT_STRUCT");

	if (sample.weight)
		broken("weight=%#" PRIx64 " want=0", sample.weight);
}

TEST(data_src)
{
	struct pm_sample sample = sample_fault(_metadata, PERF_SAMPLE_DATA_SRC, "DATA_SRC");
	union perf_mem_data_src source = { .val = sample.data_src };

	if (source.mem_op != PERF_MEM_OP_NA || source.mem_lvl != PERF_MEM_LVL_NA ||
	    source.mem_snoop != PERF_MEM_SNOOP_NA || source.mem_lock != PERF_MEM_LOCK_NA ||
	    source.mem_dtlb != PERF_MEM_TLB_NA)
		broken("data_src=%#" PRIx64 " says more than not available", sample.data_src);
}

TEST(transaction)
{
	struct pm_sample sample = sample_fault(_metadata, PERF_SAMPLE_TRANSACTION, "TRANSACTION");

	if (sample.transaction)
		broken("transaction=%#" PRIx64 " want=0", sample.transaction);
}

TEST(phys_addr)
{
	struct pm_sample sample = sample_write(_metadata, PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR");
	const uint64_t page = probe_env()->page_size, address = (uintptr_t)&watched;
	uint64_t entry = 0, frame;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &entry, 8, address / page * 8) != 8)
		cannot_tell("/proc/self/pagemap: %s", errno_name(errno));
	frame = entry & ((1ull << 55) - 1);
	if (frame && sample.phys_addr != frame * page + address % page)
		broken("phys_addr=%#" PRIx64 " pagemap=%#" PRIx64, sample.phys_addr,
		       frame * page + address % page);
	if (!sample.phys_addr || sample.phys_addr % page != address % page)
		broken("phys_addr=%#" PRIx64 " of address %#" PRIx64, sample.phys_addr, address);
}

static bool page_size_true(uint64_t size)
{
	return size >= probe_env()->page_size && !(size & (size - 1));
}

TEST(data_page_size)
{
	struct pm_sample sample = sample_write(_metadata, PERF_SAMPLE_DATA_PAGE_SIZE,
					       "DATA_PAGE_SIZE");

	fact_int("data_page", sample.data_page_size);
	if (!page_size_true(sample.data_page_size))
		broken("data_page_size=%" PRIu64 " page=%zu", sample.data_page_size,
		       probe_env()->page_size);
}

TEST(code_page_size)
{
	struct pm_sample sample = sample_fault(_metadata, PERF_SAMPLE_CODE_PAGE_SIZE,
					       "CODE_PAGE_SIZE");

	fact_int("code_page", sample.code_page_size);
	if (!page_size_true(sample.code_page_size))
		broken("code_page_size=%" PRIu64 " page=%zu", sample.code_page_size,
		       probe_env()->page_size);
}

PROBE_MAIN
