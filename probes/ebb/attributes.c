/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: which attrs may ask for event-based branches (EBB, config bit 63)? The kernel hands the
 * counter of such an event to user space, so the event must be exclusive, pinned, of one task, and
 * never sampled.
 * Observed: each rule is broken by itself, against an event that keeps all of them.
 */
#include "probe.h"
#include "ebb.h"
#include "waiter.h"

PROBE(TITLE("attrs of events for event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(accepted, "an EBB event that is pinned, exclusive, on a task and names a counter is "
		      "accepted")
      POINT(counter_5, "an EBB event of counter 5 (instructions, 0x500fa) is accepted")
      POINT(counter_6, "an EBB event of counter 6 (cycles, 0x600f4) is accepted")
      POINT(generic_type, "a generic hardware event ignores bit 63: it opens without the EBB rules")
      POINT(not_pinned.refused, "EINVAL for an EBB event that is not pinned")
      POINT(not_exclusive.refused, "EINVAL for an EBB event that is not exclusive")
      POINT(inherit.refused, "EINVAL for an EBB event with inherit")
      POINT(period.refused, "EINVAL for an EBB event that samples by a period")
      POINT(freq.refused, "EINVAL for an EBB event that samples by a frequency")
      POINT(enable_on_exec.refused, "EINVAL for an EBB event with enable_on_exec")
      POINT(sample_type.refused, "EINVAL for an EBB event with a sample_type")
      POINT(no_counter.refused, "EINVAL for an EBB event whose code names no counter")
      POINT(counter_7.refused, "EINVAL for an EBB event whose code names counter 7")
      POINT(bhrb_alone, "EINVAL for the branch history bit (62) without the EBB bit (63)")
      POINT(cpu_wide, "EINVAL for an EBB event on a CPU")
      NEEDS("root")
      POINT(on_child, "an EBB event on a child of this task is accepted")
      POINT(enabled_at_once, "an EBB event that is opened enabled is on its counter")
      POINT(one_cpu, "an EBB event of this task on one CPU is on its counter there")
      FACT(cache_type, enum, "-", "what a generic cache event with bit 63 is answered")
      FACT(software_type, enum, "-", "what a software event with bit 63 is answered"))

static void accept(uint64_t code)
{
	struct perf_event_attr attr = attr_ebb(code), without = attr;

	require_ebb();
	without.config &= ~EBB;
	close(ask_open(&attr, &without, 0, -1, "bit 63"));
}

TEST(accepted)
{
	accept(CYCLES_1);
}

TEST(counter_5)
{
	accept(0x500fa);
}

TEST(counter_6)
{
	accept(0x600f4);
}

static const char *answer(uint32_t type)
{
	struct perf_event_attr attr = attr_of(type, EBB);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		return pm_errno_name(fd);
	close(fd);
	return "accepted";
}

/* The rules would refuse it: neither pinned nor exclusive. */
TEST(generic_type)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr without = attr;
	uint64_t value;
	int fd;

	require_ebb();
	attr.config |= EBB;
	fd = ask_open(&attr, &without, 0, -1, "bit 63 of a generic event");
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(1000000);
	if (read(fd, &value, 8) != 8 || !value)
		say_broken("the generic event is accepted, and does not count");
	fact_str("cache_type", "%s", answer(PERF_TYPE_HW_CACHE));
	fact_str("software_type", "%s", answer(PERF_TYPE_SOFTWARE));
}

FIXTURE(rule)
{
	struct perf_event_attr attr;
};

FIXTURE_VARIANT(rule)
{
	const char *what;
	uint64_t code, period, sample_type, clear, set;
};

/* Flag bits as they lie in the attr's flag word, taken from the attr itself. */
enum { NOTHING, PINNED, EXCLUSIVE, INHERIT, FREQ, ON_EXEC };

FIXTURE_VARIANT_ADD(rule, not_pinned) { .what = "not pinned", .clear = PINNED, };
FIXTURE_VARIANT_ADD(rule, not_exclusive) { .what = "not exclusive", .clear = EXCLUSIVE, };
FIXTURE_VARIANT_ADD(rule, inherit) { .what = "inherit", .set = INHERIT, };
FIXTURE_VARIANT_ADD(rule, period) { .what = "a period", .period = 100000, };
FIXTURE_VARIANT_ADD(rule, freq) { .what = "a frequency", .period = 100, .set = FREQ, };
FIXTURE_VARIANT_ADD(rule, enable_on_exec) { .what = "enable_on_exec", .set = ON_EXEC, };
FIXTURE_VARIANT_ADD(rule, sample_type) { .what = "a sample_type", .sample_type = 1, };
FIXTURE_VARIANT_ADD(rule, no_counter) { .what = "no counter", .code = 0x1e, };
FIXTURE_VARIANT_ADD(rule, counter_7) { .what = "counter 7", .code = 0x7001e, };

FIXTURE_SETUP(rule)
{
	close(must_lead());
	self->attr = attr_ebb(variant->code ? variant->code : CYCLES_1);
	self->attr.pinned = variant->clear != PINNED;
	self->attr.exclusive = variant->clear != EXCLUSIVE;
	self->attr.inherit = variant->set == INHERIT;
	self->attr.freq = variant->set == FREQ;
	self->attr.enable_on_exec = variant->set == ON_EXEC;
	self->attr.sample_period = variant->period;
	self->attr.sample_type = variant->sample_type;
}

FIXTURE_TEARDOWN(rule)
{
}

TEST_F(rule, refused)
{
	refuse(&self->attr, -1, variant->what);
}

TEST(bhrb_alone)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);

	close(must_lead());
	attr.config = CYCLES_1 | BHRB;
	refuse(&attr, -1, "the branch history bit alone");
}

TEST(cpu_wide)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);

	close(must_lead());
	require(REQUIRE_PERFMON);
	expect_refused(pm_open(&attr, -1, move_to_nth_cpu(0), -1, 0), EINVAL, BROKEN, "on a CPU");
}

static void expect_on_counter(int fd)
{
	uint64_t value;

	if (read(fd, &value, 8) != 8)
		say_broken("read(2) gives no value");
}

TEST(enabled_at_once)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);

	close(must_lead());
	attr.disabled = 0;
	expect_on_counter(must_open(&attr, 0, -1, -1, 0));
}

TEST(one_cpu)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	int cpu, fd;

	close(must_lead());
	cpu = move_to_nth_cpu(0);
	ASSERT_LE(0, cpu);
	fd = must_open(&attr, 0, cpu, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_on_counter(fd);
}

static int wait_and_end(void *gate)
{
	gate_wait(gate);
	return 0;
}

TEST(on_child)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1), without = attr;
	struct gate gate;
	pid_t child;

	require_ebb();
	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(wait_and_end, &gate);
	without.config &= ~EBB;
	ask_open(&attr, &without, child, -1, "bit 63 on a child");
	gate_open(&gate);
	wait_child(child);
}

PROBE_MAIN
