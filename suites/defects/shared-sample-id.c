// SPDX-License-Identifier: MIT
// Two software events sample one page fault: does each sample carry the id of its own event?
// Exit: 0 yes, 1 no, 4 cannot tell.
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(void **ring, uint64_t *id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
		.sample_type = PERF_SAMPLE_ID, .disabled = 1, .exclude_kernel = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);

	*ring = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ring == MAP_FAILED || ioctl(fd, PERF_EVENT_IOC_ID, id) != 0)
		return -1;
	return fd;
}

int main(void)
{
	void *rings[2];
	uint64_t ids[2];
	int fds[2], wrong = 0;
	char *page = mmap(NULL, 1, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 2; i++)
		if ((fds[i] = open_event(&rings[i], &ids[i])) < 0)
			return perror("perf_event_open, mmap or IOC_ID"), 4;
	for (int i = 0; i < 2; i++)
		ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
	*(volatile char *)page = 1;
	for (int i = 0; i < 2; i++) {
		struct { struct perf_event_header header; uint64_t id; } *first =
			(void *)((char *)rings[i] + getpagesize());

		if (((struct perf_event_mmap_page *)rings[i])->data_head == 0)
			return puts("no sample"), 4;
		printf("event %d has id %llu, its sample says %llu\n", i,
		       (unsigned long long)ids[i], (unsigned long long)first->id);
		wrong |= first->id != ids[i];
	}
	return wrong;
}
