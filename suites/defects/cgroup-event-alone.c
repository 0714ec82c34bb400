// SPDX-License-Identifier: MIT
// Does an event of the root cgroup, where every task is, count with no other event on its CPU?
// Exit: 0 yes, 1 no, 4 cannot tell (it takes root, and a mounted cgroup file system).
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(const char *root, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
	};
	int cgroup = open(root, O_RDONLY | O_DIRECTORY);

	return (int)syscall(__NR_perf_event_open, &attr, cgroup, cpu, -1, PERF_FLAG_PID_CGROUP);
}

int main(void)
{
	const long size = getpagesize();
	int cpu = sched_getcpu(), fd;
	uint64_t before, after;
	volatile char *pages;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
	fd = open_event("/sys/fs/cgroup", cpu);
	if (fd < 0)
		fd = open_event("/sys/fs/cgroup/perf_event", cpu);
	pages = mmap(NULL, 100 * size, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)pages, 100 * size, MADV_NOHUGEPAGE);
	if (fd < 0 || read(fd, &before, sizeof(before)) != sizeof(before))
		return perror("perf_event_open or read"), 4;
	for (int i = 0; i < 100; i++)
		pages[i * size] = 1;
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		return perror("read"), 4;
	printf("of 100 faults it counted %llu\n", (unsigned long long)(after - before));
	return after - before < 100;
}
