/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are user registers in samples the ones asked for, in order, and true? Unwinding by DWARF starts
 * from them.
 * Observed: a page fault's instruction pointer must equal the sample's IP, its stack pointer must
 * lie in this thread's stack.
 */
#include "probe.h"
#include "one_fault.h"

PROBE(TITLE("registers in samples")
      SINCE("3.7")
      POINT(user, "REGS_USER: IP and SP, lower bit first, equal to the sample's and the stack's")
      POINT(user_abi, "REGS_USER says 32 or 64 bit as this program is")
      POINT(interrupted, "REGS_INTR of a fault in user mode: the same IP and SP")
      SINCE("3.19"))

#if defined(__x86_64__) || defined(__i386__)
enum { SP = 7, IP = 8 };
#elif defined(__aarch64__)
enum { SP = 31, IP = 32 };
#elif defined(__arm__)
enum { SP = 13, IP = 15 };
#elif defined(__powerpc__)
enum { SP = 1, IP = 32 };
#elif defined(__s390x__)
enum { SP = 15, IP = 33 };
#elif defined(__riscv)
enum { SP = 2, IP = 0 };
#elif defined(__mips__)
enum { SP = 29, IP = 0 };
#elif defined(__loongarch__)
enum { SP = 3, IP = 0 };
#else
enum { SP = -1, IP = -1 };
#endif

static uint64_t both(void)
{
	if (SP < 0)
		say_absent("the numbers of this architecture's registers are not known here");
	return 1ull << (SP & 63) | 1ull << (IP & 63);
}

static void must_be_true(const uint64_t *registers, unsigned int count, uint64_t sample_ip)
{
	const uint64_t here = (uintptr_t)__builtin_frame_address(0);
	const uint64_t ip = registers[IP > SP], sp = registers[IP < SP];

	if (count != 2)
		say_broken("registers=%u want=2", count);
	if (ip != sample_ip)
		say_broken("IP register=%#" PRIx64 " sample's IP=%#" PRIx64, ip, sample_ip);
	if (sp > here + 65536 || sp + 65536 < here)
		say_broken("SP register=%#" PRIx64 " is far from the stack at %#" PRIx64, sp, here);
}

static struct perf_event_attr attr_user(uint64_t mask)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER);

	attr.sample_regs_user = mask;
	return attr;
}

static struct sampler ask_user(uint64_t mask)
{
	struct perf_event_attr attr = attr_user(mask), without = attr_faults(PERF_SAMPLE_IP);

	return ask_sampler(&attr, &without, 0, -1, 1, "REGS_USER");
}

TEST(user)
{
	struct sampler sampler = ask_user(both());
	struct pm_sample sample = sample_fault(&sampler);

	if (!sample.regs_user_abi)
		say_broken("no registers of a task in user mode (abi=0)");
	must_be_true(sample.regs_user, sample.regs_user_nr, sample.ip);
}

TEST(user_abi)
{
	struct sampler sampler = ask_user(both());
	struct pm_sample sample = sample_fault(&sampler);
	const uint64_t want = sizeof(long) == 8 ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32;

	if (sample.regs_user_abi != want)
		say_broken("abi=%" PRIu64 " want=%" PRIu64, sample.regs_user_abi, want);
}

TEST(interrupted)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_INTR);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);
	struct pm_sample sample;
	struct sampler sampler;

	attr.sample_regs_intr = both();
	sampler = ask_sampler(&attr, &without, 0, -1, 1, "REGS_INTR");
	sample = sample_fault(&sampler);
	if (!sample.regs_intr_abi)
		say_broken("no registers (abi=0)");
	must_be_true(sample.regs_intr, sample.regs_intr_nr, sample.ip);
}

PROBE_MAIN
