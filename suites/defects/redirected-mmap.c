// SPDX-License-Identifier: MIT
// An event writes into another's ring. Is it refused a ring of its own, or does its output at least
// still arrive after such a ring was mapped and unmapped? Exit: 0 yes, 1 no, 4 cannot tell.
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1, .config = config,
		.sample_period = 1, .sample_type = PERF_SAMPLE_TID, .exclude_kernel = 1,
	};

	return (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
}

static void *map_ring(int fd)
{
	return mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void fault(void)
{
	*(volatile char *)mmap(NULL, 1, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
}

int main(void)
{
	int target = open_event(PERF_COUNT_SW_DUMMY);
	int source = open_event(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_mmap_page *ring = map_ring(target);
	uint64_t before, after;
	void *own;

	if (ring == MAP_FAILED || ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target) != 0)
		return perror("perf_event_open, mmap or SET_OUTPUT"), 4;
	fault();
	before = ring->data_head;
	own = map_ring(source);
	printf("mmap of the redirected event: %s\n",
	       own == MAP_FAILED ? strerror(errno) : "accepted");
	if (own != MAP_FAILED)
		munmap(own, 2 * getpagesize());
	after = ring->data_head;
	fault();
	printf("bytes of a fault in the other ring: %llu before, %llu after\n",
	       (unsigned long long)before, (unsigned long long)(ring->data_head - after));
	return before == 0 ? 4 : ring->data_head == after;
}
