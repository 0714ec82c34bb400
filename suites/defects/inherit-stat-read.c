// SPDX-License-Identifier: MIT
// Does a thread that ends leave its own count, a PERF_RECORD_READ, in the ring of an event with
// inherit and inherit_stat? A second event of this thread keeps the kernel from swapping contexts.
// Exit: 0 yes, 1 no, 4 cannot tell.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t tid;

static void *thread(void *unused)
{
	tid = (pid_t)syscall(__NR_gettid);
	return unused;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1,
	};
	int plain = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	int cpu = sched_getcpu(), fd;
	struct perf_event_mmap_page *ring;
	pthread_t other;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
	attr.inherit = attr.inherit_stat = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	fd = (int)syscall(__NR_perf_event_open, &attr, 0, cpu, -1, 0);
	ring = fd < 0 || plain < 0 ? MAP_FAILED :
		mmap(NULL, 9 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED || pthread_create(&other, NULL, thread, NULL) != 0)
		return perror("perf_event_open, mmap or pthread_create"), 4;
	pthread_join(other, NULL);
	while (syscall(__NR_tgkill, getpid(), tid, 0) == 0)
		usleep(1000);		// its last steps in the kernel
	for (uint64_t at = 0; at < ring->data_head;) {
		struct perf_event_header *record = (void *)((char *)ring + getpagesize() + at);

		if (record->type == PERF_RECORD_READ)
			return puts("PERF_RECORD_READ is there"), 0;
		at += record->size;
	}
	puts("no PERF_RECORD_READ");
	return 1;
}
