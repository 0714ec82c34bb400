// SPDX-License-Identifier: MIT
// 20 hits of a tracepoint, at period 5: are they 4 samples?
// Exit: 0 yes, 1 no, 4 cannot tell (it takes root, and a mounted tracefs or debugfs).
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
		.type = PERF_TYPE_TRACEPOINT, .size = PERF_ATTR_SIZE_VER1, .sample_period = 5,
		.sample_type = PERF_SAMPLE_TID,
	};
	struct perf_event_mmap_page *ring;
	int fd, samples = 0;

	attr.config = id_of("/sys/kernel/tracing/events/syscalls/sys_enter_close/id");
	if (!attr.config)
		attr.config = id_of("/sys/kernel/debug/tracing/events/syscalls/sys_enter_close/id");
	fd = attr.config ? (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0) : -1;
	ring = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return perror("no tracepoint, perf_event_open or mmap"), 4;
	for (int i = 0; i < 20; i++)
		close(-1);
	for (uint64_t at = 0; at < ring->data_head;) {
		struct perf_event_header *record = (void *)((char *)ring + getpagesize() + at);

		samples += record->type == PERF_RECORD_SAMPLE;
		at += record->size;
	}
	printf("20 hits at period 5 gave %d samples\n", samples);
	return samples != 4;
}
