// SPDX-License-Identifier: MIT
// An event with precise_ip = 2 is accepted: is one of its samples marked PERF_RECORD_MISC_EXACT_IP?
// Exit: 0 yes, 1 none of them, 4 cannot tell: refused, or no sample.
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = PERF_ATTR_SIZE_VER1, .sample_period = 1000000,
		.config = PERF_COUNT_HW_CPU_CYCLES, .sample_type = PERF_SAMPLE_IP, .precise_ip = 2,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0), samples = 0, exact = 0;
	struct perf_event_mmap_page *ring =
		mmap(NULL, 9 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const clock_t end = clock() + CLOCKS_PER_SEC / 2;

	if (fd < 0 || ring == MAP_FAILED)
		return perror("perf_event_open or mmap"), 4;
	while (clock() < end)
		;
	for (uint64_t at = 0; at < ring->data_head && at < 8u * getpagesize() - 64;) {
		struct perf_event_header *record = (void *)((char *)ring + getpagesize() + at);

		samples += record->type == PERF_RECORD_SAMPLE;
		exact += record->type == PERF_RECORD_SAMPLE &&
			 record->misc & PERF_RECORD_MISC_EXACT_IP;
		at += record->size;
	}
	printf("%d samples, %d marked as exact\n", samples, exact);
	return samples == 0 ? 4 : exact == 0;
}
