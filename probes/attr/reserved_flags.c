/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the flag bits of perf_event_attr that no release has given a meaning refused?
 *
 * Each bit has its own verdict: where a vendor kernel has given one a meaning, that is a "no".
 * Flags are declared as a bit field, so bit 0 is the highest bit of the word on big-endian
 * machines.
 */
#include "probe.h"
#include "finding.h"

#include <stdio.h>

#define DECLARE(bit)                                                                           \
	FACT(bit_##bit, verdict, "-", "reserved flag bit " #bit " is refused with EINVAL")

PROBE(TITLE("the reserved flag bits of an attr")
      SINCE("2.6.31")
      POINT(all, "no reserved flag bit is accepted")
      PM_ATTR_RESERVED_FLAGS(DECLARE))

#define ROW(bit) bit,
static const unsigned int bits[] = { PM_ATTR_RESERVED_FLAGS(ROW) };
#define COUNT (sizeof(bits) / sizeof(*bits))
#define BIG_ENDIAN_BITS (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* One verdict a bit; where the plain event cannot be had, all share its reason. */
TEST(all)
{
	struct perf_event_attr plain = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const int error = try_open(&plain);
	struct finding finding = { .verdict = YES };
	unsigned int taken = 0;

	for (size_t i = 0; i < COUNT; i++) {
		const unsigned int bit = bits[i];
		struct perf_event_attr attr = plain;
		char name[16];

		attr.flag_bits |= 1ull << (BIG_ENDIAN_BITS ? 63 - bit : bit);
		if (error)
			classify_setup(-error, &plain, 0, -1, &finding);
		else
			judge_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO,
				      "a newer kernel's flag", &finding);
		taken += finding.verdict != YES;
		snprintf(name, sizeof(name), "bit_%u", bit);
		fact_verdict(name, finding.verdict, finding.reason);
	}
	if (error)
		say(&finding);
	if (taken == COUNT)
		say_broken("all reserved bits are accepted: unknown flags are not refused");
	if (taken)
		say_no("%u bits that were reserved have a meaning here", taken);
}

PROBE_MAIN
