/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a breakpoint whose address is not aligned to its length? x86 refuses, arm64
 * shifts a mask of 8 bytes, and some kernels forget those shifted out of it. Whoever accepts must
 * watch those very bytes.
 * Observed: the answer for each offset, and single bytes written around the range.
 */
#include "probe.h"
#include "breakpoint.h"
#include "bytes.h"
#include <stdio.h>

PROBE(TITLE("breakpoints that are not aligned")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(two_bytes, "2 bytes at offset 1: refused with EINVAL, or just these are watched")
      POINT(four_bytes, "4 bytes at offsets 1 to 3: EINVAL, or just these are watched")
      POINT(across_words, "4 bytes at offset 6 of 8: EINVAL, or just these are watched")
      FACT(accepted, string, "-", "length@offset pairs that are accepted"))

static volatile uint8_t bytes[64] __attribute__((aligned(64)));
static char accepted[128];

static void check(unsigned int length, unsigned int offset)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, bytes + 16, length);
	volatile uint8_t *start = bytes + 16 + offset;
	uint64_t inside, outside;
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.bp_addr = (uintptr_t)start;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EINVAL)
		return;
	if (fd < 0)
		say_broken("%u bytes at offset %u: errno=%s want=EINVAL", length, offset,
			   pm_errno_name(fd));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	write_bytes(start, 0, length);
	inside = must_count(fd);
	write_bytes(start, -8, 0);
	write_bytes(start, length, length + 8);
	outside = must_count(fd) - inside;
	if (inside != length || outside)
		say_broken("%u bytes at offset %u: inside=%" PRIu64 " want=%u, outside=%" PRIu64
			   " want=0", length, offset, inside, length, outside);
	snprintf(accepted + strlen(accepted), sizeof(accepted) - strlen(accepted), "%s%u@%u",
		 accepted[0] ? "," : "", length, offset);
	close(fd);
}

TEST(two_bytes)
{
	check(2, 1);
}

TEST(four_bytes)
{
	for (unsigned int offset = 1; offset < 4; offset++)
		check(4, offset);
	fact_str("accepted", "%s", accepted[0] ? accepted : "none");
}

TEST(across_words)
{
	check(4, 6);
}

PROBE_MAIN
