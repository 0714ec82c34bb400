/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the reserved fields and flags of perf_event_attr refused when they are not zero?
 *
 * Reserved bits that are ignored could never be given a meaning. Some have got one meanwhile, in
 * stable updates too; that is a "no" here. Flags are declared as a bit field, so bit 0 is the
 * highest bit of the word on big-endian machines.
 */
#include "probe.h"

#include <stdio.h>

#define FLAG_BITS(X)                                                                           \
	X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) X(50) X(51) X(52) X(53)    \
	X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
#define DECLARE(bit)                                                                           \
	FACT(flag_bit_##bit, verdict, "-", "reserved flag bit " #bit " is refused with EINVAL")  \
	SINCE("2.6.31")

PROBE(TITLE("the reserved fields of an attr")
      SINCE("4.1")
      POINT(reserved_2, "each bit beside sample_max_stack is refused with EINVAL")
      POINT(reserved_3, "each bit beside aux_action is refused with EINVAL")
      SINCE("5.5")
      POINT(flag_bits, "no reserved flag bit is accepted")
      SINCE("2.6.31")
      FLAG_BITS(DECLARE))

#define BIG_ENDIAN_BITS (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static void must_know_version(struct __test_metadata *_metadata, uint32_t size)
{
	int kernel;

	must_plain();
	kernel = pm_attr_size_kernel();
	if (kernel < 0)
		cannot_tell("no E2BIG with a size: %s", errno_name(kernel));
	if ((uint32_t)kernel < size)
		say_no("E2BIG: the attr of this kernel has %d bytes, no %u", kernel, size);
}

TEST(reserved_2)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	must_know_version(_metadata, PERF_ATTR_SIZE_VER5);
	for (unsigned int bit = 0; bit < 16; bit++) {
		attr.__reserved_2 = 1u << bit;
		hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "__reserved_2");
	}
}

TEST(reserved_3)
{
	must_know_version(_metadata, PERF_ATTR_SIZE_VER6);
	for (unsigned int bit = 0; bit < 29; bit++) {
		struct perf_event_attr attr = attr_faults(0);

		attr.__reserved_3 = 1u << bit;
		hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "__reserved_3");
	}
}

/* One verdict a bit; where the plain event cannot be had, all share its reason. */
TEST(flag_bits)
{
	struct perf_event_attr plain = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const int error = answer_to(&plain);
	struct finding finding = { .verdict = YES };
	unsigned int taken = 0;

	for (unsigned int bit = 40; bit < 64; bit++) {
		struct perf_event_attr attr = plain;
		char name[16];

		attr.flag_bits |= 1ull << (BIG_ENDIAN_BITS ? 63 - bit : bit);
		if (error)
			classify_setup(-error, &plain, 0, -1, &finding);
		else
			probe_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO,
				   "a newer kernel's flag", &finding);
		taken += finding.verdict != YES;
		snprintf(name, sizeof(name), "flag_bit_%u", bit);
		fact_verdict(name, finding.verdict, finding.reason);
	}
	if (error)
		speak(&finding);
	if (taken == 24)
		broken("all reserved bits are accepted: unknown flags are not refused");
	if (taken)
		say_no("%u bits that were reserved have a meaning here", taken);
}

PROBE_MAIN
