/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are user registers in samples the ones asked for, in order, and true? Unwinding by DWARF starts
 * from them.
 * Observed: a page is touched by a function that knows its frame. The instruction pointer is the
 * sample's IP, the frame pointer (where the architecture has one) is that frame, and the stack
 * pointer is close by.
 */
#include "probe.h"
#include "finding.h"
#include "pages.h"
#include "one_fault.h"
#include "register_numbers.h"

PROBE(TITLE("registers in samples")
      SINCE("3.7")
      POINT(user, "REGS_USER has IP, SP and frame pointer of the fault, lower bit first")
      POINT(user_abi, "REGS_USER says 32 or 64 bit as this program is")
      POINT(interrupted, "REGS_INTR of a fault in user mode has its IP, SP and frame pointer")
      SINCE("3.19"))

/* The frame of the function that touches a page; asking for it makes the compiler keep one. */
static __attribute__((noinline)) uintptr_t touch(volatile char *page)
{
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	page[0] = 1;
	return frame;
}

struct touched {
	struct pm_sample sample;
	uintptr_t frame;
};

static struct touched sample_touch(struct sampler *sampler)
{
	struct pm_record record;
	struct touched ret;
	char *page = fresh_page();

	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	ret.frame = touch(page);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of a page fault");
	while (record.sample.addr != (uintptr_t)page);
	ret.sample = record.sample;
	return ret;
}

static void expect_true(const uint64_t *registers, unsigned int count,
			const struct touched *touched)
{
	const unsigned int want = __builtin_popcountll(known_registers());
	uint64_t ip, sp;

	if (count != want)
		say_broken("registers=%u want=%u", count, want);
	ip = register_value(registers, IP);
	sp = register_value(registers, SP);
	if (ip != touched->sample.ip)
		say_broken("IP register=%#" PRIx64 " sample's IP=%#" PRIx64, ip,
			   touched->sample.ip);
	if (sp > touched->frame + 4096 || sp + 4096 < touched->frame)
		say_broken("SP register=%#" PRIx64 " is far from the frame at %#" PRIxPTR, sp,
			   touched->frame);
	if (BP != NO_REGISTER && register_value(registers, BP) != touched->frame)
		say_broken("frame pointer=%#" PRIx64 " want=%#" PRIxPTR,
			   register_value(registers, BP),
			   touched->frame);
}

static struct perf_event_attr attr_touch(uint64_t type)
{
	return attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | type);
}

static struct sampler ask_user(void)
{
	struct perf_event_attr attr = attr_touch(PERF_SAMPLE_REGS_USER), without = attr_touch(0);

	attr.sample_regs_user = known_registers();
	return ask_sampler(&attr, &without, 0, -1, 4, "REGS_USER");
}

static uint64_t own_abi(void)
{
	return sizeof(long) == 8 ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32;
}

TEST(user)
{
	struct sampler sampler = ask_user();
	struct touched touched = sample_touch(&sampler);

	if (!touched.sample.regs_user_abi)
		say_broken("no registers of a task in user mode (abi=0)");
	expect_true(touched.sample.regs_user, touched.sample.regs_user_nr, &touched);
}

TEST(user_abi)
{
	struct sampler sampler = ask_user();
	struct pm_sample sample = sample_touch(&sampler).sample;

	if (sample.regs_user_abi != own_abi())
		say_broken("abi=%" PRIu64 " want=%" PRIu64, sample.regs_user_abi, own_abi());
}

/* A fault in user mode interrupts the user's registers: both are the same in one sample. */
static void expect_same(struct perf_event_attr attr)
{
	struct sampler sampler;
	struct pm_sample sample;

	attr.sample_type |= PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = attr.sample_regs_intr;
	if (try_open(&attr))
		return;
	sampler = must_sampler(&attr, 0, -1, 4);
	sample = sample_touch(&sampler).sample;
	if (sample.regs_user_nr != sample.regs_intr_nr ||
	    memcmp(sample.regs_intr, sample.regs_user, 8 * sample.regs_intr_nr))
		say_broken("REGS_INTR and REGS_USER of one fault differ");
}

TEST(interrupted)
{
	struct perf_event_attr attr = attr_touch(PERF_SAMPLE_REGS_INTR), without = attr_touch(0);
	struct touched touched;
	struct sampler sampler;

	attr.sample_regs_intr = known_registers();
	sampler = ask_sampler(&attr, &without, 0, -1, 4, "REGS_INTR");
	touched = sample_touch(&sampler);
	if (touched.sample.regs_intr_abi != own_abi())
		say_broken("abi=%" PRIu64 " want=%" PRIu64, touched.sample.regs_intr_abi,
			   own_abi());
	expect_true(touched.sample.regs_intr, touched.sample.regs_intr_nr, &touched);
	expect_same(attr);
}

PROBE_MAIN
