// SPDX-License-Identifier: MIT
// Does each child leave its count, a PERF_RECORD_READ, whether its parent sleeps or spins?
// Exit: 0 yes, 1 no, 4 cannot tell.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int cpu;

static int leaves_read(int asleep)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1, .task = 1, .inherit = 1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1, .inherit_stat = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, cpu, -1, 0), reads = 0, ended = 0;
	struct perf_event_mmap_page *ring = fd < 0 ? MAP_FAILED :
		mmap(NULL, 3 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pid_t child = ring == MAP_FAILED ? -1 : fork();

	if (child == 0)
		_exit(0);
	while (child > 0 && waitpid(child, NULL, asleep ? 0 : WNOHANG) == 0)
		;
	for (uint64_t at = 0; child > 0 && at < ring->data_head;) {
		struct perf_event_header *record = (void *)((char *)ring + getpagesize() + at);

		reads += record->type == PERF_RECORD_READ;
		ended += record->type == PERF_RECORD_EXIT;
		at += record->size;
	}
	if (child > 0)
		munmap(ring, 3 * getpagesize());
	close(fd);
	return ended ? reads > 0 : -1;
}

int main(void)
{
	int asleep = 1, busy = 1, child = 0;
	cpu_set_t here;

	cpu = sched_getcpu();
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
	// On a busy machine another program often comes between parent and child.
	for (; child < 400 && asleep > 0 && busy > 0; child++)
		asleep = leaves_read(1), busy = leaves_read(0);
	printf("of children %d: a sleeping parent's left %d record, a busy parent's %d\n",
	       child, asleep, busy);
	return asleep < 0 || busy < 0 ? 4 : !asleep || !busy;
}
