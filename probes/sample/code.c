/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the code at a sampled address be read from the file that the mapping's record names? Tools
 * that disassemble rely on it: the address, less the mapping's start, plus its offset.
 * Observed: a child executes this program anew and causes page faults. The file's bytes at the
 * places that records and samples give are compared with the child's own memory.
 */
#include "probe.h"
#include "fork_exec.h"

#include <sys/uio.h>

PROBE(TITLE("code at sampled addresses")
      SINCE("2.6.31")
      POINT(mapped, "each sampled address lies in an executable mapping that was reported before")
      POINT(in_file, "the file's bytes at a sampled address are those in the task's memory"))

#define BYTES 8
#define MAPS_MOST 32

/* The mappings of a task, as they were reported. */
struct maps {
	int count;
	struct map {
		uint64_t start, size, offset;
		bool ours;		/* of this program's file */
	} list[MAPS_MOST];
};

static void note_map(struct maps *maps, const struct pm_record *record)
{
	char path[512] = "";

	if (maps->count == MAPS_MOST)
		return;
	readlink("/proc/self/exe", path, sizeof(path) - 1);
	maps->list[maps->count++] = (struct map){
		.start = record->mmap.addr, .size = record->mmap.len,
		.offset = record->mmap.pgoff, .ours = !strcmp(path, record->mmap.filename),
	};
}

static const struct map *find_map(const struct maps *maps, uint64_t address)
{
	for (int i = maps->count - 1; i >= 0; i--)
		if (address - maps->list[i].start < maps->list[i].size)
			return &maps->list[i];
	return NULL;
}

/* A child that executes this program while an event watches, and then waits. */
static struct sampler watch_child(struct worker *child)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	struct sampler sampler;

	attr.mmap = 1;
	attr.enable_on_exec = 1;
	must_start_worker(child, WORKER_CHILD);
	sampler = must_sampler(&attr, child->tid, -1, 16);
	must_exec_worker(child);
	ASSERT_EQ(0, worker_faults(child, 20));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	return sampler;
}

TEST(mapped)
{
	struct worker child;
	struct sampler sampler = watch_child(&child);
	struct maps maps = { .count = 0 };
	struct pm_record record;
	int samples = 0;

	while (find_record(&sampler, 0, &record)) {
		if (record.type == PERF_RECORD_MMAP)
			note_map(&maps, &record);
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		samples++;
		if (!find_map(&maps, record.sample.ip))
			say_broken("sample %d at %#" PRIx64 " is in none of %d mappings", samples,
				   record.sample.ip, maps.count);
	}
	if (samples < 20)
		say_broken("samples=%d want at least 20", samples);
}

/* Compare the child's memory at an address with a place of the file. */
static void expect_same(pid_t child, uint64_t address, int file, uint64_t offset)
{
	unsigned char memory[BYTES], text[BYTES];
	struct iovec here = { memory, BYTES }, there = { (void *)(uintptr_t)address, BYTES };

	if (process_vm_readv(child, &here, 1, &there, 1, 0) != BYTES)
		say_blocked("this process may not read its child's memory (%s)",
			    pm_errno_name(errno));
	if (pread(file, text, BYTES, offset) != BYTES)
		say_broken("the file ends before offset %#" PRIx64 " of a sampled address", offset);
	if (memcmp(memory, text, BYTES))
		say_broken("at %#" PRIx64 ": memory %02x %02x %02x %02x, file at %#" PRIx64
			   " %02x %02x %02x %02x",
			   address, memory[0], memory[1], memory[2], memory[3], offset, text[0],
			   text[1], text[2], text[3]);
}

TEST(in_file)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), places = 0;
	struct worker child;
	struct sampler sampler = watch_child(&child);
	struct maps maps = { .count = 0 };
	struct pm_record record;
	uint64_t last = 0;

	ASSERT_LE(0, file);
	while (find_record(&sampler, 0, &record)) {
		const struct map *map = NULL;

		if (record.type == PERF_RECORD_MMAP)
			note_map(&maps, &record);
		if (record.type == PERF_RECORD_SAMPLE && record.sample.ip != last)
			map = find_map(&maps, record.sample.ip);
		if (!map || !map->ours)
			continue;
		last = record.sample.ip;
		expect_same(child.tid, last, file, last - map->start + map->offset);
		places++;
	}
	if (!places)
		say_broken("no sample lies in a mapping of this program's file");
}

PROBE_MAIN
