/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the mappings of another process told to the one that watches it? A sampler of other processes
 * finds the code of an address by nothing else once the process has ended.
 * Observed: a child maps code when it is told to, and executes a program; the parent, which has the
 * event, maps code as well.
 */
#include "probe.h"
#include "fork_exec.h"
#include "map_program.h"
#include "tiny_elf.h"
#include <libgen.h>
#include <sys/mman.h>

PROBE(TITLE("mappings of another process in the ring")
      SINCE("2.6.32")
      POINT(mapping,
	    "a watched child's mapping of code is reported once, with the child's pid and tid")
      POINT(own, "what the watching process maps is not reported")
      POINT(program, "the program that the child executes is reported, as code")
      POINT(build_id, "with build_id the child's mapping carries the build id of its file")
      SINCE("5.12")
      COMMIT("88a16a130933"))

static struct shared {
	int fd;				/* of the file that is mapped */
	uint64_t area;			/* where the child mapped it */
} *shared;

static int map_code(void *unused)
{
	void *area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			  shared->fd, 0);

	(void)unused;
	shared->area = (uintptr_t)area;
	return area == MAP_FAILED ? -errno : 0;
}

/* The file is open before the child is born. */
static void must_share(int fd)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	shared->fd = fd;
}

static int must_open_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		say_unknown("/proc/self/exe: %s", pm_errno_name(errno));
	return fd;
}

static struct sampler must_watch(struct worker *child)
{
	struct perf_event_attr attr = attr_sideband();

	attr.mmap = 1;
	must_start_worker(child, WORKER_CHILD);
	return must_run_sampler(&attr, child->tid, -1, 8);
}

static void let_map(struct worker *child)
{
	int error = worker_do(child, map_code, NULL);

	if (error)
		say_blocked("no executable mapping in the child: %s", pm_errno_name(error));
}

/* The next mapping of that type at the address (0: at any), if there is one. */
static bool find_mapping(struct sampler *sampler, uint32_t type, uint64_t area,
			 struct pm_record *ret)
{
	while (find_record(sampler, type, ret))
		if (!area || ret->mmap.addr == area)
			return true;
	return false;
}

static void expect_of(const struct pm_record *record, const struct worker *child)
{
	if (record->mmap.pid != (uint32_t)child->tid || record->mmap.tid != (uint32_t)child->tid)
		say_broken("pid=%u tid=%u want=%d", record->mmap.pid, record->mmap.tid,
			   (int)child->tid);
}

TEST(mapping)
{
	struct pm_record record;
	struct sampler sampler;
	struct worker child;

	must_share(must_open_program());
	sampler = must_watch(&child);
	let_map(&child);
	if (!find_mapping(&sampler, PERF_RECORD_MMAP, shared->area, &record))
		say_broken("no MMAP of what the child has mapped");
	expect_of(&record, &child);
	if (record.mmap.len != probe_env()->page_size)
		say_broken("len=%" PRIu64 " of a page of %zu bytes", record.mmap.len,
			   probe_env()->page_size);
	if (find_mapping(&sampler, PERF_RECORD_MMAP, shared->area, &record))
		say_broken("a second MMAP of one mapping");
}

TEST(own)
{
	struct pm_record record;
	struct sampler sampler;
	struct worker child;
	uint64_t area;

	must_share(must_open_program());
	sampler = must_watch(&child);
	area = (uintptr_t)map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC);
	let_map(&child);
	if (!find_mapping(&sampler, PERF_RECORD_MMAP, 0, &record))
		say_broken("no MMAP of what the child has mapped");
	do
		if (record.mmap.addr == area && area != shared->area)
			say_broken("an MMAP of what this process has mapped");
	while (find_mapping(&sampler, PERF_RECORD_MMAP, 0, &record));
}

TEST(program)
{
	char path[512] = "", *name;
	struct pm_record record;
	struct sampler sampler;
	struct worker child;

	must_share(must_open_program());
	sampler = must_watch(&child);
	must_exec_worker(&child);
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		say_unknown("readlink of /proc/self/exe: %s", pm_errno_name(errno));
	name = basename(path);
	while (find_mapping(&sampler, PERF_RECORD_MMAP, 0, &record)) {
		const char *file = strrchr(record.mmap.filename, '/');

		if (!file || strcmp(file + 1, name))
			continue;
		expect_of(&record, &child);
		if (record.misc & PERF_RECORD_MISC_MMAP_DATA)
			say_broken("misc=%#x: code is marked as data", record.misc);
		return;
	}
	say_broken("no MMAP of the program after execve");
}

TEST(build_id)
{
	struct perf_event_attr attr = attr_sideband(), without;
	struct pm_record record;
	struct sampler sampler;
	struct worker child;

	attr.mmap = 1;
	attr.mmap2 = 1;
	without = attr;
	attr.build_id = 1;
	must_share(must_make_tiny_elf());
	must_start_worker(&child, WORKER_CHILD);
	sampler = ask_run_sampler(&attr, &without, child.tid, -1, 8, "build_id");
	let_map(&child);
	if (!find_mapping(&sampler, PERF_RECORD_MMAP2, shared->area, &record))
		say_broken("no MMAP2 of what the child has mapped");
	expect_of(&record, &child);
	if (!(record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ||
	    record.mmap.build_id_size != sizeof(tiny_elf.id) ||
	    memcmp(record.mmap.build_id, tiny_elf.id, sizeof(tiny_elf.id)))
		say_broken("misc=%#x, build id of %u bytes: not the file's", record.misc,
			   record.mmap.build_id_size);
}

PROBE_MAIN
