// SPDX-License-Identifier: MIT
// An event whose stamps are of CLOCK_MONOTONIC: does its user page still say how to make its time
// of the CPU's counter (cap_user_time_zero)? Exit: 0 no, right; 1 yes; 4 no event has it here.
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int time_zero(int use_clockid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .exclude_kernel = 1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .use_clockid = use_clockid,
		.clockid = use_clockid ? CLOCK_MONOTONIC : 0,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	struct perf_event_mmap_page *page =
		mmap(NULL, 2 * getpagesize(), PROT_READ, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? -1 : page->cap_user_time_zero;
}

int main(void)
{
	int plain = time_zero(0), chosen = time_zero(1);

	if (plain < 0 || chosen < 0)
		return perror("perf_event_open or mmap"), 4;
	printf("cap_user_time_zero: %d, with a clock of its own %d\n", plain, chosen);
	return plain == 0 ? 4 : chosen;
}
