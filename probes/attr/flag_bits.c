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

/* bit, name, the bit it needs beside it (or its own number), release */
#define FLAGS(X)                                                                               \
	X(0, disabled, 0, "2.6.31") X(1, inherit, 1, "2.6.31") X(2, pinned, 2, "2.6.31")       \
	X(3, exclusive, 3, "2.6.31") X(4, exclude_user, 4, "2.6.31")                           \
	X(5, exclude_kernel, 5, "2.6.31") X(6, exclude_hv, 6, "2.6.31")                        \
	X(7, exclude_idle, 7, "2.6.31") X(8, mmap, 8, "2.6.31") X(9, comm, 9, "2.6.31")        \
	X(10, freq, 10, "2.6.31") X(11, inherit_stat, 11, "2.6.31")                            \
	X(12, enable_on_exec, 12, "2.6.31") X(13, task, 13, "2.6.31")                          \
	X(14, watermark, 14, "2.6.31") X(15, precise_ip_1, 15, "2.6.35")                       \
	X(16, precise_ip_2, 16, "2.6.35") X(17, mmap_data, 17, "2.6.36")                       \
	X(18, sample_id_all, 18, "2.6.38") X(19, exclude_host, 19, "3.2")                      \
	X(20, exclude_guest, 20, "3.2") X(21, exclude_callchain_kernel, 21, "3.7")             \
	X(22, exclude_callchain_user, 22, "3.7") X(23, mmap2, 23, "3.16")                      \
	X(24, comm_exec, 24, "3.16") X(25, use_clockid, 25, "4.1")                             \
	X(26, context_switch, 26, "4.3") X(27, write_backward, 27, "4.7")                      \
	X(28, namespaces, 28, "4.12") X(29, ksymbol, 29, "5.1") X(30, bpf_event, 30, "5.1")    \
	X(31, aux_output, 31, "5.4") X(32, cgroup, 32, "5.7") X(33, text_poke, 33, "5.9")      \
	X(34, build_id, 34, "5.12") X(35, inherit_thread, 1, "5.13")                           \
	X(36, remove_on_exec, 36, "5.13") X(37, sigtrap, 36, "5.13")                           \
	X(38, defer_callchain, 38, "6.19") X(39, defer_output, 39, "6.19")

#define DECLARE(bit, name, beside, since)                                                      \
	FACT(name, verdict, "-", "bit " #bit " is known") SINCE(since)
PROBE(TITLE("the flag bits of an attr, one by one")
      SINCE("2.6.31")
      FLAGS(DECLARE)
      FACT(accepted_alone, string, "-", "bit map, bit 0 lowest, of the bits that open alone")
      FACT(refused_alone, string, "-", "bits known by the header that do not open alone: errno")
      POINT(known, "every bit has been asked and the oldest flags are all there"))

static const struct flag {
	unsigned int bit, beside;
	const char *name;
} flags[] = {
#define ROW(bit, name, beside, since) { bit, beside, #name },
	FLAGS(ROW)
};
#define COUNT (sizeof(flags) / sizeof(*flags))
#define FIRST_LATER 15		/* bits below are as old as the system call */

static uint64_t mask(unsigned int bit)
{
	return 1ull << (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 63 - bit : bit);
}

static struct perf_event_attr with_bits(uint64_t bits)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.flag_bits |= bits;
	attr.clockid = CLOCK_MONOTONIC;		/* read with use_clockid alone */
	if (!(bits & mask(25)))
		attr.clockid = 0;
	return attr;
}

/* The plain event; when it cannot be had, all cells of the test share its reason. */
static void plain_or_all(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = with_bits(0);
	struct finding finding;
	int error = answer_to(&attr);

	if (!error)
		return;
	classify_setup(-error, &attr, 0, -1, &finding);
	for (size_t i = 0; i < COUNT; i++)
		fact_verdict(flags[i].name, finding.verdict, finding.reason);
	speak(&finding);
}

static void ask(const struct flag *flag, struct finding *ret)
{
	struct perf_event_attr with = with_bits(mask(flag->bit) | mask(flag->beside));
	struct perf_event_attr without = with;

	if (flag->beside == flag->bit || flag->bit == 37)	/* sigtrap: its company is newer */
		without = with_bits(0);
	without.flag_bits &= ~mask(flag->bit);
	probe_known(&with, &without, flag->name, ret);
}

TEST(known)
{
	uint64_t accepted = 0;
	char refused[400] = "";
	const char *lost = NULL;
	struct finding finding;

	plain_or_all(_metadata);
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
				 used ? " " : "", flags[i].bit, errno_name(fd));
		}
		if (flags[i].bit < FIRST_LATER && finding.verdict == NO)
			lost = flags[i].name;
	}
	fact_str("accepted_alone", "%#" PRIx64, accepted);
	fact_str("refused_alone", "%s", refused[0] ? refused : "none");
	if (lost)
		broken("%s is as old as the system call, and refused", lost);
}

PROBE_MAIN
