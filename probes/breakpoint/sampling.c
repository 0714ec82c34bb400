/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each hit of a breakpoint give a sample with the place where it happened? A program can then
 * find the instruction that writes a variable, without a debugger.
 * Observed: records in the ring against writes done, their addresses, and the address of a called
 * function.
 */
#include "probe.h"
#include "breakpoint.h"
#include "call.h"
#include "finding.h"

PROBE(TITLE("samples of breakpoints")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(every_hit, "a breakpoint with period 1 gives 21 samples of 21 writes")
      POINT(every_third_hit, "a breakpoint with period 3 gives 7 samples of 21 writes")
      POINT(address, "addr in each sample of a breakpoint is the watched address")
      POINT(instruction, "ip in the sample of an execution breakpoint is the function's address"))

static volatile int32_t cell __attribute__((aligned(8)));

static void __attribute__((noinline)) watched_function(void)
{
	cell += 1;
	__asm__ volatile("" ::: "memory");
}

static struct sampler watch_writes(uint64_t period)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	attr.disabled = 0;
	return must_sampler(&attr, 0, -1, 4);
}

static void expect_samples_of(uint64_t period, int want)
{
	struct sampler sampler = watch_writes(period);
	struct pm_record record;
	int samples = 0;

	for (int i = 0; i < 21; i++)
		cell = i;
	while (find_record(&sampler, 0, &record)) {
		if (record.type == PERF_RECORD_THROTTLE)
			say_unknown("throttled after %d samples", samples);
		samples += record.type == PERF_RECORD_SAMPLE;
	}
	if (samples != want)
		say_broken("samples=%d want=%d", samples, want);
}

TEST(every_hit)
{
	expect_samples_of(1, 21);
}

TEST(every_third_hit)
{
	expect_samples_of(3, 7);
}

static void expect_address(struct sampler *sampler, const volatile void *want)
{
	struct pm_record record;

	if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample for a write");
	if (record.sample.addr != (uintptr_t)want)
		say_broken("addr=want%+" PRId64, (int64_t)(record.sample.addr - (uintptr_t)want));
}

/* Of one byte, too, where the machine can watch one. */
TEST(address)
{
	struct sampler sampler = watch_writes(1);
	volatile char *byte = (volatile char *)&cell + 3;
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, byte, 1);

	cell = 1;
	expect_address(&sampler, &cell);
	pm_ring_close(&sampler.ring);
	must_close(sampler.fd);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	if (try_open(&attr))
		return;
	sampler = must_run_sampler(&attr, 0, -1, 1);
	*byte = 1;
	expect_address(&sampler, byte);
}

TEST(instruction)
{
	struct perf_event_attr attr = attr_call(watched_function);
	struct pm_record record;
	struct sampler sampler;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.disabled = 0;
	sampler = must_sampler(&attr, 0, -1, 4);
	watched_function();
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample for a call");
	if (record.sample.ip != attr.bp_addr)
		say_broken("ip=function%+" PRId64 " want=function",
			   (int64_t)(record.sample.ip - attr.bp_addr));
}

PROBE_MAIN
