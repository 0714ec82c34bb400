/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.mmap_data add mappings that are not executable, and nothing else? There are many, and a
 * profiler that only wants symbols leaves it off.
 * Observed: a page of this program's file is mapped as data and as code. A kernel older than the
 * mark MISC_MMAP_DATA (v3.10) sets it on no record.
 */
#include "probe.h"
#include "map_program.h"

PROBE(TITLE("mappings of data in the ring")
      SINCE("2.6.31")
      POINT(data, "with mmap_data a mapping of data is reported once, and not as code")
      SINCE("2.6.36")
      POINT(data_marked,
	    "the record of a data mapping is marked MISC_MMAP_DATA, that of code is not")
      SINCE("3.10")
      POINT(data_needs_its_bit, "without mmap_data a mapping of data is not reported")
      POINT(data_alone, "mmap_data without mmap reports data mappings and no code")
      FACT(data_misc, bool, "-", "records of data mappings carry MISC_MMAP_DATA"))

static struct sampler watch_maps(bool code, bool data)
{
	struct perf_event_attr attr = attr_sideband();

	attr.mmap = code;
	attr.mmap_data = data;
	return must_run_sampler(&attr, 0, -1, 8);
}

/* Map a page of data and one of code: bit 0 the data was reported, bit 1 the code. */
static int map_both(struct sampler *sampler)
{
	char *data = map_program(MAP_PRIVATE, PROT_READ);
	char *code = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);
	struct pm_record record;
	int found = 0;

	while (find_record(sampler, PERF_RECORD_MMAP, &record)) {
		found |= record.mmap.addr == (uintptr_t)data;
		found |= (record.mmap.addr == (uintptr_t)code) << 1;
	}
	return found;
}

TEST(data_needs_its_bit)
{
	struct sampler sampler = watch_maps(true, false);
	int found = map_both(&sampler);

	if (found != 2)
		say_broken("code seen=%d data seen=%d want=1,0", found >> 1, found & 1);
}

TEST(data_alone)
{
	struct sampler sampler = watch_maps(false, true);
	int found = map_both(&sampler);

	if (found != 1)
		say_broken("mmap_data alone: code seen=%d data seen=%d want=0,1", found >> 1,
			   found & 1);
}

/* Whether MMAP2 marks a mapping of data, which is not executable; true where there is no MMAP2. */
static bool marked_by_mmap2(void)
{
	struct perf_event_attr attr = attr_sideband();
	struct pm_record record;
	struct sampler sampler;
	bool marked = true;
	char *data;
	int fd;

	attr.mmap = attr.mmap_data = attr.mmap2 = 1;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return true;
	close(fd);
	sampler = must_run_sampler(&attr, 0, -1, 8);
	data = map_program(MAP_PRIVATE, PROT_READ);
	while (find_record(&sampler, PERF_RECORD_MMAP2, &record))
		if (record.mmap.addr == (uintptr_t)data)
			marked = record.misc & PERF_RECORD_MISC_MMAP_DATA &&
				 record.mmap.prot == PROT_READ;
	return marked;
}

/* The record of one mapping, of which there must be exactly one. */
static struct pm_record must_find(struct sampler *sampler, const void *area)
{
	struct pm_record record, ret = { 0 };
	int found = 0;

	while (find_record(sampler, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr == (uintptr_t)area) {
			ret = record;
			found++;
		}
	if (found != 1)
		say_broken("records for one mapping=%d want=1", found);
	return ret;
}

TEST(data)
{
	struct sampler sampler = watch_maps(true, true);
	const size_t page = probe_env()->page_size;
	struct pm_record record = must_find(&sampler, map_program(MAP_PRIVATE, PROT_READ));

	if (record.mmap.pid != (uint32_t)getpid() || record.mmap.tid != (uint32_t)pm_gettid())
		say_broken("pid=%u tid=%u want=%d", record.mmap.pid, record.mmap.tid, getpid());
	if ((record.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		say_broken("misc=%#x is not of user mode", record.misc);
	if (record.mmap.len != page || record.mmap.pgoff != page)
		say_broken("len=%#" PRIx64 " pgoff=%#" PRIx64 " want=%#zx", record.mmap.len,
			   record.mmap.pgoff, page);
}

TEST(data_marked)
{
	struct sampler sampler = watch_maps(true, true);
	bool data, code;

	data = must_find(&sampler, map_program(MAP_PRIVATE, PROT_READ)).misc &
	       PERF_RECORD_MISC_MMAP_DATA;
	code = must_find(&sampler, map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC)).misc &
	       PERF_RECORD_MISC_MMAP_DATA;
	fact_bool("data_misc", data);
	if (data && !marked_by_mmap2())
		say_broken("MMAP marks a mapping of data, MMAP2 does not, or calls it executable");
	if (code)
		say_broken("a mapping of code is marked MISC_MMAP_DATA");
	if (!data)
		say_no("a mapping of data is reported and not marked, like one of code");
}

PROBE_MAIN
