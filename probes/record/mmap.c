/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which address-space changes does a task's event report as PERF_RECORD_MMAP, and truly?
 * A profiler turns addresses into symbols with nothing but these records.
 * Observed: a page of this program's own file is mapped, protected and unmapped; the record is
 * looked up by its address and held against what was asked of mmap(2).
 */
#include "probe.h"

PROBE(TITLE("mappings in the ring")
      SINCE("2.6.31")
      POINT(exec, "mapping code gives one MMAP with pid, tid, addr, len, pgoff and file name")
      POINT(anonymous_exec, "an executable mapping without a file is reported as //anon")
      POINT(data, "with mmap_data a mapping of data is reported, marked MISC_MMAP_DATA")
      SINCE("2.6.36")
      POINT(data_needs_its_bit, "without mmap_data a mapping of data is not reported")
      POINT(data_alone, "mmap_data without mmap reports data and no code")
      POINT(mprotect_exec, "mprotect that makes a page executable is reported like a mapping")
      POINT(munmap_silent, "munmap leaves no record")
      POINT(no_replay, "mappings older than the event are not replayed")
      FACT(data_misc, bool, "-", "records of data carry MISC_MMAP_DATA (since v3.10)"))

static struct watch watch_maps(struct __test_metadata *_metadata, bool code, bool data)
{
	struct perf_event_attr attr = attr_sideband();
	struct watch watch;

	attr.mmap = code;
	attr.mmap_data = data;
	watch = must_watch(&attr, 0, -1, 8);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

/* One page of this program's file, at page offset 1 so that pgoff says something. */
static char *map_page(struct __test_metadata *_metadata, int prot)
{
	const size_t page = probe_env()->page_size;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *area = mmap(NULL, page, prot, MAP_PRIVATE, fd, page);

	if (fd < 0 || area == MAP_FAILED)
		cannot_tell("cannot map /proc/self/exe: %s", errno_name(errno));
	close(fd);
	return area;
}

/* How many records name this address; the last one is kept. */
static int count_at(struct __test_metadata *_metadata, struct watch *watch, const void *address,
		    struct pm_record *ret)
{
	struct pm_record record;
	int found = 0;

	while (seek(watch, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr == (uintptr_t)address) {
			*ret = record;
			found++;
		}
	return found;
}

TEST(exec)
{
	const size_t page = probe_env()->page_size;
	struct watch watch = watch_maps(_metadata, true, false);
	char *area = map_page(_metadata, PROT_READ | PROT_EXEC), path[512] = "";
	struct pm_record record;
	int found = count_at(_metadata, &watch, area, &record);

	if (found != 1)
		broken("records for one executable mapping=%d want=1", found);
	if (record.mmap.pid != (uint32_t)getpid() || record.mmap.tid != (uint32_t)pm_gettid())
		broken("pid=%u tid=%u want=%d", record.mmap.pid, record.mmap.tid, getpid());
	if (record.mmap.len != page || record.mmap.pgoff != page)
		broken("len=%#" PRIx64 " pgoff=%#" PRIx64 " want=%#zx", record.mmap.len,
		       record.mmap.pgoff, page);
	if (record.misc & PERF_RECORD_MISC_MMAP_DATA)
		broken("misc=%#x says data of an executable mapping", record.misc);
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 &&
	    strcmp(path, record.mmap.filename))
		broken("filename=%.200s", record.mmap.filename);
}

TEST(anonymous_exec)
{
	const size_t page = probe_env()->page_size;
	struct watch watch = watch_maps(_metadata, true, false);
	void *area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pm_record record;

	if (area == MAP_FAILED)
		say_blocked("mmap of anonymous code: %s", errno_name(errno));
	/* The kernel may merge it with a neighbour, so the record is found by containment. */
	while (seek(&watch, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr <= (uintptr_t)area &&
		    (uintptr_t)area - record.mmap.addr < record.mmap.len) {
			if (strcmp(record.mmap.filename, "//anon"))
				broken("filename=%.200s want=//anon", record.mmap.filename);
			return;
		}
	broken("no record of an anonymous executable mapping");
}

TEST(data)
{
	struct watch watch = watch_maps(_metadata, true, true);
	char *area = map_page(_metadata, PROT_READ);
	struct pm_record record;
	int found = count_at(_metadata, &watch, area, &record);

	if (found != 1)
		broken("records for one mapping of data=%d want=1", found);
	fact_bool("data_misc", record.misc & PERF_RECORD_MISC_MMAP_DATA);
}

TEST(data_needs_its_bit)
{
	struct watch watch = watch_maps(_metadata, true, false);
	char *data = map_page(_metadata, PROT_READ);
	char *code = map_page(_metadata, PROT_READ | PROT_EXEC);
	struct pm_record record;
	bool saw_data = false, saw_code = false;

	while (seek(&watch, PERF_RECORD_MMAP, &record)) {
		saw_data |= record.mmap.addr == (uintptr_t)data;
		saw_code |= record.mmap.addr == (uintptr_t)code;
	}
	if (!saw_code || saw_data)
		broken("code seen=%d data seen=%d want=1,0", saw_code, saw_data);
}

TEST(data_alone)
{
	struct watch watch = watch_maps(_metadata, false, true);
	char *data = map_page(_metadata, PROT_READ);
	char *code = map_page(_metadata, PROT_READ | PROT_EXEC);
	struct pm_record record;
	bool saw_data = false, saw_code = false;

	while (seek(&watch, PERF_RECORD_MMAP, &record)) {
		saw_data |= record.mmap.addr == (uintptr_t)data;
		saw_code |= record.mmap.addr == (uintptr_t)code;
	}
	if (!saw_data)
		broken("mmap_data alone reported nothing");
	if (saw_code)
		broken("mmap_data alone reported code too");
}

TEST(mprotect_exec)
{
	char *area = map_page(_metadata, PROT_READ);
	struct watch watch = watch_maps(_metadata, true, false);
	struct pm_record record;
	int found;

	if (mprotect(area, probe_env()->page_size, PROT_READ | PROT_EXEC))
		say_blocked("mprotect to PROT_EXEC: %s", errno_name(errno));
	found = count_at(_metadata, &watch, area, &record);
	if (found != 1)
		broken("records for one mprotect=%d want=1", found);
}

TEST(munmap_silent)
{
	struct watch watch = watch_maps(_metadata, true, true);
	char *area = map_page(_metadata, PROT_READ | PROT_EXEC);
	struct pm_record record;

	if (count_at(_metadata, &watch, area, &record) != 1)
		broken("the mapping itself was not reported");
	munmap(area, probe_env()->page_size);
	if (seek(&watch, 0, &record))
		broken("munmap left a record of type %u", record.type);
}

TEST(no_replay)
{
	char *before = map_page(_metadata, PROT_READ | PROT_EXEC), *after;
	struct watch watch = watch_maps(_metadata, true, true);
	struct pm_record record;
	int old = 0, new = 0;

	after = map_page(_metadata, PROT_READ | PROT_EXEC);
	while (seek(&watch, PERF_RECORD_MMAP, &record)) {
		old += record.mmap.addr == (uintptr_t)before;
		new += record.mmap.addr == (uintptr_t)after;
	}
	if (old || new != 1)
		broken("records of an older mapping=%d want=0, of a new one=%d want=1", old,
		       new);
}

PROBE_MAIN
