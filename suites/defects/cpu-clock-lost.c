// SPDX-License-Identifier: MIT
// Does cpu-clock keep what it has counted while its task sleeps? Beside it stands task-clock.
// Exit: 0 yes, 1 no, 4 cannot tell.
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_count(int fd)
{
	uint64_t count = 0;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static int open_event(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1, .config = config,
		.exclude_kernel = 1,
	};

	return (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(void)
{
	int cpu = open_event(PERF_COUNT_SW_CPU_CLOCK), task = open_event(PERF_COUNT_SW_TASK_CLOCK);
	uint64_t one, other;

	if (cpu < 0 || task < 0)
		return perror("perf_event_open"), 4;
	for (int i = 0; i < 20; i++) {
		for (uint64_t end = cpu_ns() + 5000000; cpu_ns() < end;)
			;
		usleep(2000);
	}
	one = read_count(cpu);
	other = read_count(task);
	printf("after 20 sleeps: cpu-clock %.1f ms, task-clock %.1f ms, of 100 ms of CPU time\n",
	       (double)one / 1e6, (double)other / 1e6);
	return other < 90000000 ? 4 : one < other / 2;
}
