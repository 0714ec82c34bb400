// SPDX-License-Identifier: MIT
// Is a generic event refused that names a PMU nobody has (type 0x7fffff in config[63:32])?
// Exit: 0 yes, 1 no, 4 cannot tell: there is no PMU for generic events.
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(uint64_t type)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_HW_INSTRUCTIONS | type << 32, .exclude_kernel = 1,
	};

	return (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
}

int main(void)
{
	int fd = open_event(0);

	if (fd < 0)
		return perror("instructions"), 4;
	fd = open_event(0x7fffff);
	printf("type 0x7fffff: %s\n", fd < 0 ? strerror(errno) : "accepted");
	return fd >= 0;
}
