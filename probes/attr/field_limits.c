/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which values of a field does the kernel refuse, although it knows the field?
 *
 * A value that is taken and means nothing gives samples that mean nothing. Every rule is asked
 * with a legal value first, so that a kernel that does not know the field is told from one that
 * keeps the rule.
 */
#include "probe.h"
#include "attr_bits.h"

PROBE(TITLE("values that a field may not have")
      SINCE("2.6.31")
      POINT(period_sign, "a sample period with its top bit set is EINVAL")
      SINCE("3.15")
      POINT(stack_size_aligned, "a user stack size that is no multiple of 8 is EINVAL")
      SINCE("3.7")
      POINT(stack_size_bounded, "a user stack size of 65535 and more is EINVAL")
      SINCE("3.7")
      POINT(regs_known, "a register that does not exist, or none at all, is EINVAL")
      SINCE("3.7")
      POINT(frequency_zero, "attr.freq with a sample_freq of 0 opens, counts and never samples")
      SINCE("2.6.31")
      POINT(clockid_known, "use_clockid with a clock that is none is EINVAL")
      SINCE("4.1"))

/* A bit of sample_regs_user for which the architecture has no register. */
#if defined(__x86_64__)
#define NO_REGISTER 12			/* ds: has a number, is not dumped in 64-bit mode */
#elif defined(__i386__)
#define NO_REGISTER 31
#else
#define NO_REGISTER 63
#endif

TEST(period_sign)
{
	struct perf_event_attr attr = attr_faults(0);

	ask_legal(&attr, "a sample period");
	attr.sample_period = 1ull << 63;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "a period of 2^63");
}

TEST(stack_size_aligned)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_STACK_USER);

	attr.sample_stack_user = 64;
	ask_legal(&attr, "PERF_SAMPLE_STACK_USER");
	attr.sample_stack_user = 68;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "68 bytes of stack");
}

TEST(stack_size_bounded)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_STACK_USER);

	attr.sample_stack_user = 65528 - 1024;
	ask_legal(&attr, "PERF_SAMPLE_STACK_USER");
	attr.sample_stack_user = 65536;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "65536 bytes of stack");
	attr.sample_stack_user = 0xfffffff8;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "4 GiB of stack");
}

TEST(regs_known)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_REGS_USER);

	attr.sample_regs_user = 1;
	ask_legal(&attr, "PERF_SAMPLE_REGS_USER");
	attr.sample_regs_user = 1ull << NO_REGISTER;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "a register that does not exist");
	attr.sample_regs_user = 0;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "no register at all");
}

/* It is no sampling event then: REFRESH is refused, which a sampling event takes. */
TEST(frequency_zero)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct sampler sampler;
	uint64_t counted;
	int found;

	attr.freq = 1;
	attr.sample_freq = 1;		/* within any perf_event_max_sample_rate */
	ask_legal(&attr, "attr.freq");
	attr.sample_freq = 0;
	sampler = must_sampler(&attr, 0, -1, 1);
	counted = cause_enabled_faults(sampler.fd, 16);
	found = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (counted != 16 || found)
		say_broken("counted=%" PRIu64 " want=16, samples=%d want=0", counted, found);
	expect_refused(pm_ioctl(sampler.fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL, BROKEN,
		       "REFRESH of an event with a frequency of 0");
}

TEST(clockid_known)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	ask_legal(&attr, "use_clockid");
	attr.clockid = 1000;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "clock 1000");
	attr.clockid = -1;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "clock -1");
}

PROBE_MAIN
