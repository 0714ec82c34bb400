/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which lengths can a breakpoint watch, and does it cover all the bytes and no more? Debuggers ask
 * for the size of a variable; x86 has 1, 2, 4 and 8, arm64 each from 1 to 8, POWER ranges.
 * Observed: single bytes written inside and right behind the range. A matrix: each length is a
 * verdict of its own; what the debug registers cannot do is absent.
 */
#include "probe.h"
#include "breakpoint.h"
#include "bytes.h"
#include "finding.h"
#include <stdio.h>

#define LENGTH(n, version)                                                                     \
	FACT(w.n, verdict, "-", "a write breakpoint of " #n " bytes covers these and no others")  \
	SINCE(version)

PROBE(TITLE("lengths of breakpoints")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(exact, "each length that is accepted covers just its bytes")
      LENGTH(1, "2.6.33")
      LENGTH(2, "2.6.33")
      LENGTH(3, "4.10")
      LENGTH(4, "2.6.33")
      LENGTH(5, "4.10")
      LENGTH(6, "4.10")
      LENGTH(7, "4.10")
      LENGTH(8, "2.6.33"))

static volatile uint8_t bytes[8192] __attribute__((aligned(4096)));

/* Write each byte from 8 in front to 8 behind once; a breakpoint of `length` must see its own. */
static void measure(unsigned int length, struct finding *ret)
{
	volatile uint8_t *start = bytes + 128;
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, start, length);
	struct perf_event_attr control = attr_access(HW_BREAKPOINT_W, start, 4);
	uint64_t inside, outside;
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0) {
		judge_pair_machine(&attr, &control, "this length", ret);
		return;
	}
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	write_bytes(start, 0, length);
	inside = must_count(fd);
	write_bytes(start, -8, 0);
	write_bytes(start, length, length + 8);
	outside = must_count(fd) - inside;
	finding_set(ret, inside == length && !outside ? YES : BROKEN,
		    "inside=%" PRIu64 " want=%u, outside=%" PRIu64 " want=0", inside, length,
		    outside);
	close(fd);
}

TEST(exact)
{
	struct perf_event_attr control = attr_access(HW_BREAKPOINT_W, bytes, 4);
	struct finding finding, worst = { .verdict = YES };
	char name[8];

	close(must_open(&control, 0, -1, -1, 0));
	for (unsigned int length = 1; length <= 8; length++) {
		measure(length, &finding);
		snprintf(name, sizeof(name), "w.%u", length);
		fact_verdict(name, finding.verdict, finding.verdict == YES ? NULL : finding.reason);
		if (finding.verdict == BROKEN)
			worst = finding;
	}
	if (worst.verdict != YES)
		say(&worst);
}

PROBE_MAIN
