/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters read from user space, by the user page's own protocol and each architecture's own
 * instruction: what probes of rdpmc share. Included behind probe.h.
 */
#ifndef RDPMC_H
#define RDPMC_H

#include "core_pmu.h"

static inline struct perf_event_attr attr_user_counter(uint64_t config)
{
	struct perf_event_attr attr = attr_core(config);

#ifdef __aarch64__
	attr.config1 = 2;	/* for user space; 64 bits (1) not every CPU has */
#endif
	return attr;
}

static inline bool read_counter(uint32_t index, uint64_t *ret)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	*ret = (uint64_t)high << 32 | low;
	return true;
#elif defined(__aarch64__)
	if (index == 31) {
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(*ret));
		return true;
	}
	__asm__ volatile("msr pmselr_el0, %1; isb; mrs %0, pmxevcntr_el0"
			 : "=r"(*ret) : "r"((uint64_t)index));
	return true;
#elif defined(__riscv) && __riscv_xlen == 64
	if (index == 0)
		__asm__ volatile("csrr %0, cycle" : "=r"(*ret));
	else if (index == 2)
		__asm__ volatile("csrr %0, instret" : "=r"(*ret));
	else
		return false;
	return true;
#else
	(void)index;
	*ret = 0;
	return false;
#endif
}

/* The value by the page's own protocol. False when the page says to use read(2). */
static inline bool user_value(const volatile struct perf_event_mmap_page *page, uint64_t *ret)
{
	uint32_t sequence, index;
	uint64_t counter = 0;

	do {
		sequence = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		index = page->index;
		*ret = page->offset;
		if (!page->cap_user_rdpmc || !index || !read_counter(index - 1, &counter))
			return false;
		if (page->pmc_width < 64)	/* the counter is signed and pmc_width wide */
			counter = (uint64_t)((int64_t)(counter << (64 - page->pmc_width)) >>
					     (64 - page->pmc_width));
		*ret += counter;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != sequence);
	return true;
}

static inline struct sampler watch_counter(uint64_t config, int group)
{
	struct perf_event_attr attr = attr_user_counter(config);
	struct sampler sampler = { .fd = -1 };

	must_have_counters();
	attr.disabled = group < 0;
	sampler.fd = must_open(&attr, 0, -1, group, 0);
	must_map(sampler.fd, 0, &sampler.ring);
	return sampler;
}

/* What an administrator may switch such reading off with: arm64 and riscv, then x86, where a
 * machine with several kinds of cores has one switch under the name of each. */
static const char *const user_access[] = { "/proc/sys/kernel/perf_user_access",
					   "/sys/bus/event_source/devices/cpu/rdpmc",
					   "/sys/bus/event_source/devices/cpu_core/rdpmc" };
#define ACCESS_FILES (sizeof(user_access) / sizeof(*user_access))

/* Why the page has no index: a switch that is off, or nothing to read at all. */
static noreturn inline void say_no_index(void)
{
	int64_t value;

	for (unsigned int i = 0; i < ACCESS_FILES; i++)
		if (!pm_read_number(user_access[i], &value) && !value)
			say_blocked("%s is 0", user_access[i]);
	say_absent("the user page says to use read(2)");
}

static inline struct sampler must_count_here(void)
{
	struct sampler sampler = watch_counter(PERF_COUNT_HW_INSTRUCTIONS, -1);
	uint64_t value;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(100000);
	if (!user_value(sampler.ring.base, &value))
		say_no_index();
	return sampler;
}

static inline void must_lie_between(const struct sampler *sampler)
{
	for (int i = 0; i < 20; i++) {
		uint64_t before = must_count(sampler->fd), after, value;

		if (!user_value(sampler->ring.base, &value))
			say_broken("the index went away between two readings");
		after = must_count(sampler->fd);
		if (value < before || value > after)
			say_broken("user space=%" PRIu64 " read(2)=%" PRIu64 "..%" PRIu64, value,
				   before, after);
	}
}

#endif
