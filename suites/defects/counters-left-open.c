// SPDX-License-Identifier: MIT
// arm64, as root: may a task without any event read a counter where another task has been lent one?
// Exit: 0 no, it dies of SIGILL; 1 it reads; 4 cannot tell: another machine, not root, no counters.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char path[] = "/proc/sys/kernel/perf_user_access";

static void set(const char *text)
{
	FILE *file = fopen(path, "w");

	if (file && fputs(text, file) >= 0)
		fclose(file);
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
		.size = sizeof(attr), .config1 = 2,		/* it may be read in user space */
		.exclude_kernel = 1,
	};
	char before[16] = "";
	FILE *file = fopen(path, "r");
	cpu_set_t here;
	int status = -1;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	if (!file || !fgets(before, sizeof(before), file))
		return 4;
	sched_setaffinity(0, sizeof(here), &here);
	fclose(file);
	set("1");
	if (access(path, W_OK) == 0 && syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0) >= 0) {
		for (volatile int i = 0; i < 100000; i++)
			;
		if (fork() == 0) {
#ifdef __aarch64__
			uint64_t cycles;

			__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(cycles));
#endif
			_exit(0);
		}
		wait(&status);
	}
	set(before);
	printf("a task without an event %s\n", status == 0 ? "read a counter" : "did not read");
	return status == -1 ? 4 : status == 0;
}
