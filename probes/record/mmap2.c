/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does MMAP2 say which file was mapped: device, inode, protection, flags? Names are not enough for
 * symbols: files get replaced while a profile runs.
 * Observed: this program's own file is mapped and held against stat(2).
 * Linux 13d7a2410fa6 ("perf: Add attr->mmap2 attribute to an event") (v3.12, usable since v3.16)
 */
#include "probe.h"
#include "map_program.h"
#include <sys/stat.h>
#include <sys/sysmacros.h>

PROBE(TITLE("identity of mapped files")
      SINCE("3.16")
      POINT(file, "MMAP2 carries device, inode and name of the mapped file")
      POINT(protection, "MMAP2 carries the protection and the MAP_PRIVATE or MAP_SHARED flag")
      POINT(replaces_mmap, "a mapping is reported as MMAP2 and not as MMAP as well")
      FACT(generation, int, "-", "inode generation of the mapped file"))

static struct sampler watch_maps(void)
{
	struct perf_event_attr attr = attr_sideband(), without;

	attr.mmap = 1;
	without = attr;
	attr.mmap2 = 1;
	return ask_run_sampler(&attr, &without, 0, -1, 8, "mmap2");
}

static void must_find(struct sampler *sampler, const void *area, struct pm_record *ret)
{
	int mmaps = 0;

	while (find_record(sampler, 0, ret)) {
		if (ret->type == PERF_RECORD_MMAP2 && ret->mmap.addr == (uintptr_t)area)
			return;
		mmaps += ret->type == PERF_RECORD_MMAP;
	}
	say_broken("no MMAP2 of the mapping (%d MMAP)", mmaps);
}

TEST(file)
{
	struct sampler sampler = watch_maps();
	struct pm_record record;
	char path[512] = "";
	struct stat file;
	void *area = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);

	must_find(&sampler, area, &record);
	ASSERT_EQ(0, stat("/proc/self/exe", &file));
	if (record.mmap.ino != file.st_ino)
		say_broken("ino=%" PRIu64 " want=%ju", record.mmap.ino, (uintmax_t)file.st_ino);
	/* btrfs and overlayfs show fstat(2) another device than the kernel's own. */
	if (record.mmap.maj != major(file.st_dev) || record.mmap.min != minor(file.st_dev))
		say_broken("device=%u:%u want=%u:%u", record.mmap.maj, record.mmap.min,
			   major(file.st_dev), minor(file.st_dev));
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 &&
	    strcmp(path, record.mmap.filename))
		say_broken("filename=%.200s", record.mmap.filename);
	fact_int("generation", record.mmap.ino_generation);
}

TEST(protection)
{
	struct sampler sampler = watch_maps();
	static const int kinds[] = { MAP_PRIVATE, MAP_SHARED };
	struct pm_record record;

	for (unsigned int i = 0; i < 2; i++) {
		must_find(&sampler, map_program(kinds[i], PROT_READ | PROT_EXEC), &record);
		if (record.mmap.prot != (PROT_READ | PROT_EXEC) ||
		    (record.mmap.flags & MAP_TYPE) != (uint32_t)kinds[i])
			say_broken("prot=%#x flags=%#x want=%#x,%#x", record.mmap.prot,
				   record.mmap.flags, PROT_READ | PROT_EXEC, kinds[i]);
	}
}

TEST(replaces_mmap)
{
	struct sampler sampler = watch_maps();
	struct pm_record record;
	void *area = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);
	int old = 0, new = 0;

	while (find_record(&sampler, 0, &record))
		if (record.mmap.addr == (uintptr_t)area) {
			old += record.type == PERF_RECORD_MMAP;
			new += record.type == PERF_RECORD_MMAP2;
		}
	if (old || new != 1)
		say_broken("MMAP=%d MMAP2=%d want=0,1", old, new);
}

PROBE_MAIN
