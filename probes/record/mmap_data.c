/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.mmap_data add mappings that are not executable, and nothing else? They are many, and
 * who only wants symbols leaves it off.
 * Observed: a page of this program's file is mapped as data and as code.
 */
#include "probe.h"
#include "map_program.h"

PROBE(TITLE("mappings of data in the ring")
      SINCE("2.6.31")
      POINT(data, "with mmap_data a mapping of data is reported, marked MISC_MMAP_DATA")
      SINCE("2.6.36")
      POINT(data_needs_its_bit, "without mmap_data a mapping of data is not reported")
      POINT(data_alone, "mmap_data without mmap reports data and no code")
      FACT(data_misc, bool, "-", "records of data carry MISC_MMAP_DATA (since v3.10)"))

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

TEST(data)
{
	struct sampler sampler = watch_maps(true, true);
	char *area = map_program(MAP_PRIVATE, PROT_READ);
	struct pm_record record;
	int found = 0, marked = 0;

	while (find_record(&sampler, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr == (uintptr_t)area) {
			marked += !!(record.misc & PERF_RECORD_MISC_MMAP_DATA);
			found++;
		}
	if (found != 1)
		say_broken("records for one mapping of data=%d want=1", found);
	fact_bool("data_misc", marked);
}

PROBE_MAIN
