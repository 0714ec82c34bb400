/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which registers may be asked for in samples, and is a mask of others refused?
 * Observed: register 0, which every architecture has, is accepted; each other is asked for alone.
 */
#include "probe.h"

PROBE(TITLE("registers that samples can carry")
      SINCE("3.7")
      POINT(user_empty_mask, "EINVAL for REGS_USER with a mask of no register")
      POINT(user_unknown_register, "EINVAL for REGS_USER with the number of a reserved register")
      FACT(mask, string, "bits", "registers that REGS_USER accepts, each asked for alone"))

/* x86 keeps the numbers from 32 on for vector registers, and 24 to 31 for nobody. */
#if defined(__x86_64__) || defined(__i386__)
enum { RESERVED = 25 };
#else
enum { RESERVED = 63 };
#endif

static struct perf_event_attr attr_user(uint64_t mask)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER);

	attr.sample_regs_user = mask;
	return attr;
}

static void must_take_first(void)
{
	struct perf_event_attr attr = attr_user(1), without = attr_faults(PERF_SAMPLE_IP);

	close(ask_open(&attr, &without, 0, -1, "REGS_USER"));
}

TEST(user_empty_mask)
{
	struct perf_event_attr attr = attr_user(0);

	must_take_first();
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "REGS_USER of no register");
}

TEST(user_unknown_register)
{
	struct perf_event_attr attr = attr_user(1ull << RESERVED | 1);
	uint64_t taken = 0;

	must_take_first();
	for (unsigned int bit = 0; bit < 64; bit++) {
		struct perf_event_attr single = attr_user(1ull << bit);
		int fd = pm_open(&single, 0, -1, -1, 0);

		if (fd >= 0) {
			taken |= 1ull << bit;
			close(fd);
		}
	}
	fact_str("mask", "%#" PRIx64, taken);
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "REGS_USER of a reserved register");
}

PROBE_MAIN
