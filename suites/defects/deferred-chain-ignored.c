// SPDX-License-Identifier: MIT
// attr.defer_callchain and defer_output (bits 38 and 39) are accepted: does a record with the
// user's call chain (type 22) follow a sample? Exit: 0 yes, 1 no, 4 they are refused here.
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .sample_period = 1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_id_all = 1, .exclude_kernel = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
	};
	uint64_t flags, deferred = 0, samples = 0;
	struct perf_event_mmap_page *ring;
	int fd;

	/* Headers before 6.19 do not name the two bits, which lie behind read_format. */
	memcpy(&flags, (char *)&attr + 40, sizeof(flags));
	flags |= __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 3ull << 38 : 3ull << (63 - 39);
	memcpy((char *)&attr + 40, &flags, sizeof(flags));
	fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	ring = mmap(NULL, 5 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || ring == MAP_FAILED)
		return perror("perf_event_open or mmap"), 4;
	*(volatile char *)mmap(NULL, 1, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (uint64_t at = 0; at < ring->data_head;) {
		struct perf_event_header *record = (void *)((char *)ring + getpagesize() + at);

		samples += record->type == PERF_RECORD_SAMPLE;
		deferred += record->type == 22;
		at += record->size;
	}
	printf("%d samples, %d deferred chains\n", (int)samples, (int)deferred);
	return samples == 0 ? 4 : deferred == 0;
}
