// SPDX-License-Identifier: MIT
// A breakpoint of 4 bytes at offset 6 of 8 is accepted: does it watch all four of them?
// Exit: 0 yes, or refused with EINVAL; 1 no; 4 cannot tell: breakpoints do not fire.
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile uint8_t bytes[64] __attribute__((aligned(64)));

static int hits(unsigned int offset)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = PERF_ATTR_SIZE_VER1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)bytes + offset, .bp_len = HW_BREAKPOINT_LEN_4,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t count = 0;

	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; i < 4; i++)
		bytes[offset + i] = 1;
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return -EIO;
	close(fd);
	return (int)count;
}

int main(void)
{
	int aligned = hits(16), across = hits(22);

	printf("of 4 bytes it watched %d, across 8 bytes %d\n", aligned, across);
	return aligned != 4 ? 4 : across != 4 && across != -EINVAL;
}
