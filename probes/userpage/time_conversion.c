/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do mult, shift and zero of the user page turn the CPU's time stamp counter into the stamps of
 * records? Then user space can stamp its own events for nothing.
 * Observed: a page fault's stamp must lie between two conversions around it.
 * Linux c73deb6aecda ("perf/x86: Add ability to calculate TSC from perf sample timestamps")
 * (v3.12)
 */
#include "probe.h"

PROBE(TITLE("time from the user page")
      SINCE("3.12")
      COMMIT("c73deb6aecda")
      NEEDS("counter")
      POINT(brackets, "stamps of page faults lie between conversions made before and after them")
      POINT(advances, "a conversion advances as fast as CLOCK_MONOTONIC, within 1 %"))

static bool read_counter(uint64_t *ret)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	*ret = (uint64_t)high << 32 | low;
	return true;
#elif defined(__aarch64__)
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(*ret) : : "memory");
	return true;
#elif defined(__riscv) && __riscv_xlen == 64
	__asm__ volatile("rdtime %0" : "=r"(*ret) : : "memory");
	return true;
#else
	*ret = 0;
	return false;
#endif
}

/* One conversion, by the page's own protocol: again while the kernel writes. */
static uint64_t convert(const volatile struct perf_event_mmap_page *page)
{
	uint64_t counter, zero;
	uint32_t sequence, mult;
	uint16_t shift;

	do {
		sequence = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		read_counter(&counter);
		if (page->cap_user_time_short)
			counter = page->time_cycles +
				  ((counter - page->time_cycles) & page->time_mask);
		zero = page->time_zero;
		mult = page->time_mult;
		shift = page->time_shift;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != sequence || (sequence & 1));
	return pm_clock_from_tsc(counter, zero, mult, shift);
}

static struct sampler watch_time(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);
	const volatile struct perf_event_mmap_page *page = sampler.ring.base;
	uint64_t now;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!must_count(sampler.fd))
		say_unknown("the event does not run");
	if (!page->cap_user_time_zero)
		say_absent("cap_user_time_zero=0: stamps are of no counter one can read");
	if (!read_counter(&now))
		say_absent("how to read this architecture's counter is not known here");
	convert(page);		/* the first call may fault for the code itself */
	return sampler;
}

/* Is a sample that waits of a time between these two? Faults of other pages may be among them. */
static bool stamped_between(struct sampler *sampler, uint64_t before, uint64_t after,
			    uint64_t *stamp)
{
	struct pm_record record;

	while (find_record(sampler, PERF_RECORD_SAMPLE, &record)) {
		*stamp = record.sample.sid.time;
		if (*stamp + 1000 >= before && *stamp <= after + 1000)
			return true;
	}
	return false;
}

TEST(brackets)
{
	struct sampler sampler = watch_time();
	struct pm_record record;

	for (int i = 0; i < 20; i++) {
		uint64_t before, after, stamp = 0;

		while (find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			;
		before = convert(sampler.ring.base);
		ASSERT_EQ(0, cause_faults(1));
		after = convert(sampler.ring.base);
		if (!stamped_between(&sampler, before, after, &stamp))
			say_broken("stamp=%" PRIu64 " not within %" PRIu64 "..%" PRIu64 "; 0 where "
				   "no sample of a page fault came", stamp, before, after);
	}
}

TEST(advances)
{
	struct sampler sampler = watch_time();
	uint64_t outer, inner, worst = 0;

	for (int round = 0; round < 20; round++) {
		uint64_t t0 = now_ns(), c0 = convert(sampler.ring.base), t1 = now_ns();

		spin_ns(5000000);
		uint64_t t2 = now_ns(), c1 = convert(sampler.ring.base), t3 = now_ns();

		inner = t2 - t1;
		outer = t3 - t0;
		worst = c1 - c0;
		if (worst + inner / 100 >= inner && worst <= outer + outer / 100)
			return;
	}
	say_broken("conversion advanced by %" PRIu64 " ns in %" PRIu64 "..%" PRIu64 " ns", worst,
		   inner, outer);
}

PROBE_MAIN
