/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are bits that no release has given a meaning refused?
 *
 * A bit that is ignored today cannot be given a meaning tomorrow, because programs may have it set
 * by accident. And a program that asks for a new feature must be told that it is missing. Each bit
 * is asked by itself, beside an event that opens. A bit that is accepted is a "no": it has been
 * given a meaning since. Before v3.15 the kernel did not look at the upper half of the flags on
 * 64-bit machines.
 */
#include "probe.h"
#include "finding.h"

/* name, first and last bit, release, what */
#define WORDS(X)                                                                               \
	X(read_format, 5, 63, "2.6.31", "attr.read_format")                                    \
	X(sample_type, PM_SAMPLE_UNUSED, 63, "2.6.31", "attr.sample_type")                     \
	X(branch_filter, PM_BRANCH_UNUSED, 63, "3.4", "attr.branch_sample_type")               \
	X(open_flags_low, 4, 31, "2.6.31", "the system call's flags")                          \
	X(open_flags_high, 32, 63, "3.15", "the system call's flags")

#define DECLARE(name, first, last, since, what) DECLARE_(name, first, last, since, what)
#define DECLARE_(name, first, last, since, what)                                               \
	POINT(name, "bits " #first " to " #last " of " what " are refused with EINVAL")        \
	SINCE(since)
PROBE(TITLE("bits without a meaning")
      SINCE("2.6.31")
      WORDS(DECLARE))

static int ask_read_format(uint64_t bit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.read_format = bit;
	return try_open(&attr);
}

static int ask_sample_type(uint64_t bit)
{
	struct perf_event_attr attr = attr_faults(bit);

	return try_open(&attr);
}

static int ask_branch_filter(uint64_t bit)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_BRANCH_STACK);

	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | bit;
	return try_open(&attr);
}

static int ask_open_flags(uint64_t bit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = pm_open(&attr, 0, -1, -1, bit);

	return fd < 0 ? fd : close(fd);
}

#define ask_open_flags_low ask_open_flags
#define ask_open_flags_high ask_open_flags

/* EOPNOTSUPP comes from the PMU: the bit has been let through. */
static void refuses(int (*ask)(uint64_t), unsigned int first, unsigned int last, const char *what)
{
	unsigned int count = 0;
	uint64_t taken = 0;

	if (ask == ask_open_flags && last >= 8 * sizeof(long))
		say_absent("a long has 32 bits here");
	must_open_plain();
	for (unsigned int bit = first; bit <= last; bit++) {
		int error = ask(1ull << bit);

		if (error == -EINVAL)
			continue;
		if (error && error != -EOPNOTSUPP)
			say_broken("bit %u of %s: errno=%s want=EINVAL", bit, what,
				   pm_errno_name(error));
		taken |= 1ull << bit;
		count++;
	}
	if (count > 16 && first < 32)	/* nothing grows that fast: bits are not looked at */
		say_broken("unknown bits of %s accepted: %#" PRIx64, what, taken);
	if (count)
		say_no("taken, whether or not a newer kernel's: %#" PRIx64 " of %s", taken, what);
}

#define ASK(name, first, last, since, what)                                                    \
	TEST(name)                                                                             \
	{                                                                                      \
		refuses(ask_##name, first, last, what);                                        \
	}
WORDS(ASK)

PROBE_MAIN
