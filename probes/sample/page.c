/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do samples say about the page that was touched: its physical address, its size, the size of
 * the page that holds the code? The kernel works them out itself, for any event with an address.
 * Observed: one watched write to a page whose frame and size are known: the frame comes from
 * /proc/self/pagemap, and a mapping of one page cannot lie on a larger one. A huge page and code
 * copied into a mapping of one page tell the two sizes apart.
 */
#include "probe.h"
#include "pages.h"
#include "breakpoint.h"
#include "one_fault.h"
#include <stdio.h>

PROBE(TITLE("physical addresses and page sizes in samples")
      SINCE("4.14")
      POINT(phys_addr, "PHYS_ADDR of a watched write is the frame that /proc/self/pagemap shows")
      SINCE("4.14")
      NEEDS("root")
      POINT(data_page_size, "DATA_PAGE_SIZE of a mapping of one page is the page size")
      SINCE("5.11")
      POINT(code_page_size, "CODE_PAGE_SIZE of code in a mapping of one page is the page size")
      SINCE("5.11")
      POINT(huge_data_page, "DATA_PAGE_SIZE of data on a huge page is the size of the huge page, "
			    "and CODE_PAGE_SIZE beside it is not")
      SINCE("5.11")
      FACT(data_page, int, "bytes", "DATA_PAGE_SIZE of a watched write")
      FACT(code_page, int, "bytes", "CODE_PAGE_SIZE of code in a mapping of one page"))

/* The sample of a watched write. A breakpoint's sample has the address of data that is mapped. */
static struct pm_sample sample_write(volatile char *at, uint64_t type, const char *what)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, at, 4), without;
	struct pm_record record;
	struct sampler sampler;

	require(REQUIRE_BREAKPOINT);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	without = attr;
	attr.sample_type |= type;
	*(volatile uint32_t *)at = 1;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 1, what);
	*(volatile uint32_t *)at = 2;
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a write");
	return record.sample;
}

/* The page frame of an address. Only a reader with CAP_SYS_ADMIN is shown one, others read 0. */
static uint64_t must_find_frame(uintptr_t address)
{
	const uint64_t present = 1ull << 63, frames = (1ull << 55) - 1;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, 8, address / probe_env()->page_size * 8) != 8)
		say_unknown("/proc/self/pagemap: %s", pm_errno_name(errno));
	close(fd);
	if (!(entry & present))
		say_unknown("/proc/self/pagemap says that the page is not in memory");
	if (!(entry & frames))
		say_blocked("/proc/self/pagemap shows page frames to CAP_SYS_ADMIN only");
	return entry & frames;
}

TEST(phys_addr)
{
	volatile char *at = fresh_page() + 40;
	struct pm_sample sample = sample_write(at, PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR");
	const uint64_t page = probe_env()->page_size;
	uint64_t want;

	if (!sample.phys_addr || sample.phys_addr % page != 40)
		say_broken("phys_addr=%#" PRIx64 " of byte 40 of a page", sample.phys_addr);
	want = must_find_frame((uintptr_t)at) * page + 40;
	if (sample.phys_addr != want)
		say_broken("phys_addr=%#" PRIx64 " pagemap=%#" PRIx64, sample.phys_addr, want);
}

TEST(data_page_size)
{
	struct pm_sample sample =
		sample_write(fresh_page(), PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE");

	fact_int("data_page", sample.data_page_size);
	if (sample.data_page_size != probe_env()->page_size)
		say_broken("data_page_size=%" PRIu64 " want=%zu", sample.data_page_size,
			   probe_env()->page_size);
}

/* Runs wherever its bytes are copied to: it uses nothing but its argument. */
static __attribute__((noinline)) void touch(volatile char *page)
{
	page[0] = 1;
}

typedef void touch_function(volatile char *page);

/* A copy of touch() in a mapping of one page. */
static touch_function *must_copy_code(void)
{
	const uintptr_t code = (uintptr_t)touch, thumb = code & 1;
	const size_t page = probe_env()->page_size;
	char *area = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		say_blocked("no memory that is writable and executable: %s", pm_errno_name(errno));
	memcpy(area, (const void *)(code - thumb), 64);
	__builtin___clear_cache(area, area + 64);
	return (touch_function *)((uintptr_t)area + thumb);
}

TEST(code_page_size)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_CODE_PAGE_SIZE);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);
	struct sampler sampler = ask_sampler(&attr, &without, 0, -1, 1, "CODE_PAGE_SIZE");
	touch_function *code = must_copy_code();
	const uintptr_t start = (uintptr_t)code & ~(uintptr_t)1;
	char *page = fresh_page();
	struct pm_record record;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	code(page);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of a page fault in the copied code");
	while (record.sample.ip - start >= 64);
	fact_int("code_page", record.sample.code_page_size);
	if (record.sample.code_page_size != probe_env()->page_size)
		say_broken("code_page_size=%" PRIu64 " want=%zu", record.sample.code_page_size,
			   probe_env()->page_size);
}

/* Whether the mapping that begins there lies on huge pages alone. */
static bool is_huge(const void *start, size_t size)
{
	unsigned long long from = 0, to, kilobytes, huge = 0;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	bool found = false;
	char line[512];

	while (smaps && fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
			found = from <= (uintptr_t)start && (uintptr_t)start + size <= to;
		if (found && sscanf(line, "AnonHugePages: %llu", &kilobytes) == 1)
			huge = kilobytes * 1024;
	}
	if (smaps)
		fclose(smaps);
	return huge >= size;
}

/* Memory on a transparent huge page; its size. */
static char *must_get_huge(size_t *ret_size)
{
	int64_t size = 0;
	char *area;

	if (pm_read_number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &size) ||
	    size < (int64_t)probe_env()->page_size || size > 64 << 20)
		say_absent("this kernel has no transparent huge pages");
	area = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		say_unknown("mmap of %" PRId64 " bytes: %s", 2 * size, pm_errno_name(errno));
	area = (char *)(((uintptr_t)area + (uintptr_t)size - 1) & -(uintptr_t)size);
	madvise(area, size, MADV_HUGEPAGE);
	area[0] = 1;
	if (!is_huge(area, size))
		say_absent("the kernel gave no huge page for memory with MADV_HUGEPAGE");
	*ret_size = size;
	return area;
}

TEST(huge_data_page)
{
	size_t size;
	char *area = must_get_huge(&size);
	struct pm_sample sample = sample_write(area + 64, PERF_SAMPLE_DATA_PAGE_SIZE |
					       PERF_SAMPLE_CODE_PAGE_SIZE, "DATA_PAGE_SIZE");
	const struct pm_sample alone =
		sample_write(area + 128, PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE");

	if (alone.data_page_size != size)
		say_broken("data_page_size=%" PRIu64 " want=%zu, alone", alone.data_page_size,
			   size);
	if (sample.data_page_size != size || sample.code_page_size == size)
		say_broken("data_page_size=%" PRIu64 " want=%zu, code_page_size=%" PRIu64,
			   sample.data_page_size, size, sample.code_page_size);
}

PROBE_MAIN
