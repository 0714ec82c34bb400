/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the 64 flag bits of perf_event_attr does this kernel know, each asked by itself?
 *
 * Version numbers cannot say it: stable and vendor kernels carry bits of later releases, and
 * chains that try feature after feature assume a history that nobody guarantees. An unknown bit
 * is EINVAL while its twin without it opens; a known one that no software event can use answers
 * EOPNOTSUPP. Bits that are legal only in company are asked in it; reserved: attr.reserved. Flags
 * are declared as a bit field, so bit 0 is the highest bit of the word on big-endian machines.
 */
#include "probe.h"
#include "attr_bits.h"
#include "finding.h"

#define DECLARE(bit, name, beside, since)                                                      \
	FACT(name, verdict, "-", "bit " #bit " is known") SINCE(since)
#define DECLARE_PAIR(low, high, name, since)                                                   \
	DECLARE(low, name##_1, low, since) DECLARE(high, name##_2, high, since)
PROBE(TITLE("the flag bits of an attr, one by one")
      SINCE("2.6.31")
      PM_ATTR_FLAGS(DECLARE, DECLARE_PAIR)
      FACT(accepted_alone, string, "-", "bit map, bit 0 lowest, of the bits that open alone")
      FACT(refused_alone, string, "-", "bits known by the header that do not open alone: errno")
      POINT(known, "every bit has been asked and the oldest flags are all there"))

static const struct flag {
	unsigned int bit, beside;
	const char *name;
} flags[] = {
#define ROW(bit, name, beside, since) { bit, beside, #name },
#define ROW_PAIR(low, high, name, since) { low, low, #name "_1" }, { high, high, #name "_2" },
	PM_ATTR_FLAGS(ROW, ROW_PAIR)
};
#define COUNT (sizeof(flags) / sizeof(*flags))
#define FIRST_LATER 15		/* bits below are as old as the system call */

static uint64_t mask(unsigned int bit)
{
	return 1ull << (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 63 - bit : bit);
}

static uint64_t given_up;	/* a bit of the plain event that it has to do without */

static struct perf_event_attr with_bits(uint64_t bits)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.flag_bits = (attr.flag_bits & ~given_up) | bits;
	attr.clockid = CLOCK_MONOTONIC;		/* read with use_clockid alone */
	if (!(bits & mask(25)))
		attr.clockid = 0;
	return attr;
}

/* Whether the plain event opens, if need be without one of its bits: that bit is asked, too. */
static int try_plain(void)
{
	static const unsigned int bits[] = { 0, 5, 6 };	/* disabled, exclude_kernel, exclude_hv */
	struct perf_event_attr attr = with_bits(0);
	int error = try_open(&attr);

	for (int i = 0; i < 3 && error == -EINVAL; i++) {
		given_up = mask(bits[i]);
		attr = with_bits(0);
		if (!try_open(&attr))
			return 0;
		given_up = 0;
	}
	return error;
}

/* The plain event; when it cannot be had, all cells of the test share its reason. */
static void plain_or_all(void)
{
	struct perf_event_attr attr = with_bits(0);
	struct finding finding;
	int error = try_plain();

	if (!error)
		return;
	classify_setup(-error, &attr, 0, -1, &finding);
	for (size_t i = 0; i < COUNT; i++)
		fact_verdict(flags[i].name, finding.verdict, finding.reason);
	say(&finding);
}

static void ask(const struct flag *flag, struct finding *ret)
{
	struct perf_event_attr with = with_bits(mask(flag->bit) | mask(flag->beside));
	struct perf_event_attr without = with;

	if (flag->beside == flag->bit || flag->bit == 37)	/* sigtrap: its company is newer */
		without = with_bits(0);
	without.flag_bits &= ~mask(flag->bit);
	judge_known(&with, &without, flag->name, ret);
}

TEST(known)
{
	uint64_t accepted = 0;
	char refused[400] = "";
	const char *lost = NULL;
	struct finding finding;

	plain_or_all();
	for (size_t i = 0; i < COUNT; i++) {
		struct perf_event_attr alone = with_bits(mask(flags[i].bit));
		int fd = pm_open(&alone, 0, -1, -1, 0);
		size_t used = strlen(refused);

		ask(&flags[i], &finding);
		fact_verdict(flags[i].name, finding.verdict, finding.reason);
		if (fd >= 0) {
			accepted |= 1ull << flags[i].bit;
			close(fd);
		} else {
			snprintf(refused + used, sizeof(refused) - used, "%s%u:%s",
				 used ? " " : "", flags[i].bit, pm_errno_name(fd));
		}
		if (flags[i].bit < FIRST_LATER && finding.verdict == NO)
			lost = flags[i].name;
	}
	fact_str("accepted_alone", "%#" PRIx64, accepted);
	fact_str("refused_alone", "%s", refused[0] ? refused : "none");
	if (lost)
		say_broken("%s is as old as the system call, and refused", lost);
}

PROBE_MAIN
