/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which changes of the address space does a task's event report as PERF_RECORD_MMAP, and are the
 * records true? A profiler turns addresses into symbols with nothing but these records.
 * Observed: a page of this program's own file is mapped, protected and unmapped; the record is
 * looked up by its address and compared with what was asked of mmap(2).
 */
#include "probe.h"
#include "map_program.h"

PROBE(TITLE("mappings in the ring")
      SINCE("2.6.31")
      POINT(exec, "mapping code gives one MMAP with true pid, tid, addr, len, pgoff and file name")
      POINT(anonymous_exec, "an executable mapping without a file is reported as //anon")
      POINT(mprotect_exec, "mprotect that makes a page executable is reported like a mapping")
      POINT(munmap_silent, "munmap leaves no record")
      POINT(no_replay, "mappings older than the event are not replayed"))

static struct sampler watch_maps(bool data)
{
	struct perf_event_attr attr = attr_sideband();

	attr.mmap = 1;
	attr.mmap_data = data;
	return must_run_sampler(&attr, 0, -1, 8);
}

/* How many records name this address; the last one is kept. */
static int count_at(struct sampler *sampler, const void *address, struct pm_record *ret)
{
	struct pm_record record;
	int found = 0;

	while (find_record(sampler, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr == (uintptr_t)address) {
			*ret = record;
			found++;
		}
	return found;
}

TEST(exec)
{
	const size_t page = probe_env()->page_size;
	struct sampler sampler = watch_maps(false);
	char *area = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC), path[512] = "";
	struct pm_record record;
	int found = count_at(&sampler, area, &record);

	if (found != 1)
		say_broken("records for one executable mapping=%d want=1", found);
	if (record.mmap.pid != (uint32_t)getpid() || record.mmap.tid != (uint32_t)pm_gettid())
		say_broken("pid=%u tid=%u want=%d", record.mmap.pid, record.mmap.tid, getpid());
	if (record.mmap.len != page || record.mmap.pgoff != page)
		say_broken("len=%#" PRIx64 " pgoff=%#" PRIx64 " want=%#zx", record.mmap.len,
			   record.mmap.pgoff, page);
	if (record.misc & PERF_RECORD_MISC_MMAP_DATA)
		say_broken("misc=%#x says data of an executable mapping", record.misc);
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 &&
	    strcmp(path, record.mmap.filename))
		say_broken("filename=%.200s", record.mmap.filename);
}

TEST(anonymous_exec)
{
	const size_t page = probe_env()->page_size;
	struct sampler sampler = watch_maps(false);
	void *area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pm_record record;

	if (area == MAP_FAILED)
		say_blocked("mmap of anonymous code: %s", pm_errno_name(errno));
	/* The kernel may merge it with a neighbour, so the record is found by containment. */
	while (find_record(&sampler, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr <= (uintptr_t)area &&
		    (uintptr_t)area - record.mmap.addr < record.mmap.len) {
			if (strcmp(record.mmap.filename, "//anon"))
				say_broken("filename=%.200s want=//anon", record.mmap.filename);
			return;
		}
	say_broken("no record of an anonymous executable mapping");
}

TEST(mprotect_exec)
{
	char *area = map_program(MAP_PRIVATE, PROT_READ);
	struct sampler sampler = watch_maps(false);
	struct pm_record record;
	int found;

	if (mprotect(area, probe_env()->page_size, PROT_READ | PROT_EXEC))
		say_blocked("mprotect to PROT_EXEC: %s", pm_errno_name(errno));
	found = count_at(&sampler, area, &record);
	if (found != 1)
		say_broken("records for one mprotect=%d want=1", found);
}

TEST(munmap_silent)
{
	struct sampler sampler = watch_maps(true);
	char *area = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);
	struct pm_record record;

	if (count_at(&sampler, area, &record) != 1)
		say_broken("the mapping itself was not reported");
	munmap(area, probe_env()->page_size);
	if (find_record(&sampler, 0, &record))
		say_broken("munmap left a record of type %u", record.type);
}

TEST(no_replay)
{
	char *before = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC), *after;
	struct sampler sampler = watch_maps(true);
	struct pm_record record;
	int old = 0, new = 0;

	after = map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);
	while (find_record(&sampler, PERF_RECORD_MMAP, &record)) {
		old += record.mmap.addr == (uintptr_t)before;
		new += record.mmap.addr == (uintptr_t)after;
	}
	if (old || new != 1)
		say_broken("records of an older mapping=%d want=0, of a new one=%d want=1", old,
			   new);
}

PROBE_MAIN
