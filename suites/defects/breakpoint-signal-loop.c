// SPDX-License-Identifier: MIT
// A signal for each hit of a breakpoint: does one write give one signal, or is it hit again after
// the handler, without end? Exit: 0 one, 1 more, 4 cannot tell: none.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static volatile int32_t cell;
static int fd;

static void count(int number)
{
	(void)number;
	if (++signals == 100)		/* enough: else it never ends */
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = PERF_ATTR_SIZE_VER1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&cell, .bp_len = HW_BREAKPOINT_LEN_4, .sample_period = 1,
		.wakeup_events = 1, .exclude_kernel = 1,
	};
	struct f_owner_ex owner = { F_OWNER_TID, (pid_t)syscall(__NR_gettid) };

	fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0 ||
	    mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		return perror("perf_event_open or mmap"), 4;
	signal(SIGRTMIN, count);
	if (fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, SIGRTMIN) < 0 ||
	    fcntl(fd, F_SETFL, O_ASYNC) < 0)
		return perror("fcntl"), 4;
	cell = 1;
	usleep(10000);
	printf("one write gave %d signals\n", (int)signals);
	return signals == 0 ? 4 : signals > 1;
}
