// SPDX-License-Identifier: MIT
// A tracepoint's sample without PERF_SAMPLE_RAW: is it as long as its fields, or is there raw data
// in it that nobody asked for? Exit: 0 as long, 1 longer, 4 cannot tell (root, and tracefs).
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t id_of(const char *path)
{
	char text[24] = "";
	int fd = open(path, O_RDONLY);

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strtoull(text, NULL, 10) : 0;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = PERF_ATTR_SIZE_VER1, .sample_period = 1,
		.sample_type = PERF_SAMPLE_TID,
	};
	struct perf_event_mmap_page *ring;
	struct perf_event_header *record;
	int fd;

	attr.config = id_of("/sys/kernel/tracing/events/syscalls/sys_enter_close/id");
	if (!attr.config)
		attr.config = id_of("/sys/kernel/debug/tracing/events/syscalls/sys_enter_close/id");
	fd = attr.config ? (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0) : -1;
	ring = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return perror("no tracepoint, perf_event_open or mmap"), 4;
	close(-1);
	record = (void *)((char *)ring + getpagesize());
	if (ring->data_head == 0 || record->type != PERF_RECORD_SAMPLE)
		return puts("no sample"), 4;
	printf("a sample of pid and tid has %u bytes, 16 are due\n", record->size);
	return record->size != 16;
}
