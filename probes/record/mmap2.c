/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does MMAP2 say which file was mapped: device, inode, protection, flags? Names are not enough to
 * find symbols: files get replaced while a profile runs.
 * Observed: this program's own file is mapped, and the record is compared with the mapping's line
 * in /proc/self/maps. stat(2) would not do: btrfs and overlayfs show it another device. On an
 * overlay the two may name different files as well: record.mmap_overlay asks which.
 * Linux 13d7a2410fa6 ("perf: Add attr->mmap2 attribute to an event") (v3.12, usable since v3.16)
 */
#include "probe.h"
#include "map_program.h"
#include <stdio.h>
#include <sys/vfs.h>

PROBE(TITLE("identity of mapped files")
      SINCE("3.16")
      POINT(file, "MMAP2 carries what MMAP does, and the device and inode that /proc/self/maps "
		  "shows")
      POINT(protection, "MMAP2 carries the protection and the MAP_PRIVATE or MAP_SHARED flag")
      POINT(replaces_mmap, "a mapping is reported as MMAP2 and not as MMAP as well"))

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

/* What /proc/self/maps shows of one mapping. */
struct line {
	unsigned int maj, min;
	unsigned long long ino;
	char name[512];
};

static struct line must_find_line(const void *area)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct line ret = { 0 };
	unsigned long long start = 0;
	char text[1024];
	bool found = false;

	while (!found && maps && fgets(text, sizeof(text), maps))
		found = sscanf(text, "%llx-%*x %*s %*x %x:%x %llu %511[^\n]", &start, &ret.maj,
			       &ret.min, &ret.ino, ret.name) >= 4 && start == (uintptr_t)area;
	if (maps)
		fclose(maps);
	if (!found)
		say_unknown("/proc/self/maps does not show the mapping");
	return ret;
}

#define OVERLAY 0x794c7630	/* OVERLAYFS_SUPER_MAGIC */

/* What MMAP tells as well: a page of code, at page 1 of the file, mapped by this thread. */
static void expect_place(const struct pm_record *record, uint64_t page)
{
	if (record->mmap.pid != (uint32_t)getpid() || record->mmap.tid != (uint32_t)pm_gettid())
		say_broken("pid=%u tid=%u want=%d", record->mmap.pid, record->mmap.tid, getpid());
	if (record->mmap.len != page || record->mmap.pgoff != page)
		say_broken("len=%#" PRIx64 " pgoff=%#" PRIx64 " want=%#" PRIx64, record->mmap.len,
			   record->mmap.pgoff, page);
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		say_broken("misc=%#x is not of user mode", record->misc);
	if (record->misc & PERF_RECORD_MISC_MMAP_DATA)
		say_broken("misc=%#x says data of an executable mapping", record->misc);
}

TEST(file)
{
	struct sampler sampler = watch_maps();
	struct pm_record record;
	struct statfs home = { 0 };
	struct line want;
	const size_t page = probe_env()->page_size;
	void *area = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);

	must_find(&sampler, area, &record);
	want = must_find_line(area);
	expect_place(&record, page);
	if ((record.mmap.ino != want.ino || record.mmap.min != want.min) &&
	    !statfs("/proc/self/exe", &home) && home.f_type == OVERLAY)
		say_absent("this program lies on an overlay file system, whose files have two "
			   "identities");
	if (record.mmap.ino != want.ino)
		say_broken("ino=%" PRIu64 " want=%llu", record.mmap.ino, want.ino);
	if (record.mmap.maj != want.maj || record.mmap.min != want.min)
		say_broken("device=%u:%u want=%u:%u", record.mmap.maj, record.mmap.min, want.maj,
			   want.min);
	if (strcmp(want.name, record.mmap.filename))
		say_broken("filename=%.200s want=%.200s", record.mmap.filename, want.name);
}

/* A mapping of data as well, which an event gets by mmap_data. */
TEST(protection)
{
	struct sampler sampler = watch_maps(), both;
	static const struct { int kind, prot; } mappings[] = {
		{ MAP_PRIVATE, PROT_READ | PROT_EXEC }, { MAP_SHARED, PROT_READ | PROT_EXEC },
		{ MAP_PRIVATE, PROT_READ }, { MAP_SHARED, PROT_READ },
	};
	struct perf_event_attr attr = attr_sideband();
	struct pm_record record;

	attr.mmap = attr.mmap2 = attr.mmap_data = 1;
	both = must_run_sampler(&attr, 0, -1, 8);
	for (unsigned int i = 0; i < 4; i++) {
		const int kind = mappings[i].kind, prot = mappings[i].prot;
		void *area = map_program(kind, prot);

		must_find(prot & PROT_EXEC ? &sampler : &both, area, &record);
		if (record.mmap.prot != (uint32_t)prot ||
		    (record.mmap.flags & MAP_TYPE) != (uint32_t)kind)
			say_broken("prot=%#x flags=%#x want=%#x,%#x", record.mmap.prot,
				   record.mmap.flags, prot, kind);
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
