/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does MMAP2 carry the file's build id when asked for? It leads to symbols wherever the file came
 * from, and the kernel reads it at once, not when the file may be gone.
 * Observed: a tiny ELF file in memory has a known build id.
 * Linux 88a16a130933 ("perf: Add build id data in mmap2 event") (v5.12)
 */
#include "probe.h"
#include "map_program.h"
#include "tiny_elf.h"

PROBE(TITLE("build ids of mapped files")
      SINCE("5.12")
      COMMIT("88a16a130933")
      POINT(build_id, "with build_id MMAP2 carries the build id that is in the file")
      POINT(build_id_anonymous, "MMAP2 of a mapping without a file carries no build id"))

static struct sampler watch_maps(void)
{
	struct perf_event_attr attr = attr_sideband(), without;

	attr.mmap = 1;
	without = attr;
	attr.mmap2 = 1;
	close(ask_open(&attr, &without, 0, -1, "mmap2, which build_id needs"));
	without = attr;
	attr.build_id = 1;
	return ask_run_sampler(&attr, &without, 0, -1, 8, "build_id");
}

static void must_find(struct sampler *sampler, const void *area, struct pm_record *ret)
{
	do
		if (!find_record(sampler, PERF_RECORD_MMAP2, ret))
			say_broken("no MMAP2 of the mapping");
	while (ret->mmap.addr != (uintptr_t)area);
}

static void *map_tiny_elf(void)
{
	void *area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			  must_make_tiny_elf(), 0);

	if (area == MAP_FAILED)
		say_blocked("no executable mapping of a memfd: %s", pm_errno_name(errno));
	return area;
}

TEST(build_id)
{
	struct sampler sampler = watch_maps();
	struct pm_record record;

	must_find(&sampler, map_tiny_elf(), &record);
	if (!(record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		say_broken("misc=%#x lacks MMAP_BUILD_ID", record.misc);
	if (record.mmap.build_id_size != sizeof(tiny_elf.id) ||
	    memcmp(record.mmap.build_id, tiny_elf.id, sizeof(tiny_elf.id)))
		say_broken("build id of %u bytes %02x%02x.. is not the file's",
			   record.mmap.build_id_size, record.mmap.build_id[0],
			   record.mmap.build_id[1]);
}

TEST(build_id_anonymous)
{
	const size_t page = probe_env()->page_size;
	struct sampler sampler = watch_maps();
	struct pm_record record;
	void *area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		say_blocked("mmap of anonymous code: %s", pm_errno_name(errno));
	must_find(&sampler, area, &record);
	if (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		say_broken("misc=%#x claims a build id for memory without a file", record.misc);
	must_find(&sampler, map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC), &record);
}

PROBE_MAIN
