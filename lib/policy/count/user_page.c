/* SPDX-License-Identifier: MIT */
/*
 * The user page: counter values and the clock in user space.
 *
 * The kernel makes `lock` odd before it changes the page, which it does each time the event comes
 * onto a counter or leaves it, and even afterwards (include/uapi/linux/perf_event.h). So a reading
 * is true when `lock` was the same even number before and behind it: that covers a migration to
 * another CPU, an overflow interrupt, and the loss of the counter to another event.
 */
#include <errno.h>

#include "user_page.h"

#define TRIES 64	/* a change takes an interrupt or a switch, so it does not last */

/* ------------------------------------------------------------------------------------ registers */

#if defined(__x86_64__) || defined(__i386__)
static bool read_counter(uint32_t index, uint64_t *ret)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index) : "memory");
	*ret = (uint64_t)high << 32 | low;
	return true;
}

static bool read_cycles(uint64_t *ret)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) :: "memory");
	*ret = (uint64_t)high << 32 | low;
	return true;
}
#elif defined(__aarch64__)
/*
 * Each counter has a register of its own. The other way, through PMSELR_EL0, is not safe: an
 * interrupt between the two instructions may leave another selection.
 */
#define EVENT(n) case n: \
	__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(*ret) :: "memory"); return true
static bool read_counter(uint32_t index, uint64_t *ret)
{
	switch (index) {
	EVENT(0); EVENT(1); EVENT(2); EVENT(3); EVENT(4); EVENT(5); EVENT(6); EVENT(7);
	EVENT(8); EVENT(9); EVENT(10); EVENT(11); EVENT(12); EVENT(13); EVENT(14); EVENT(15);
	EVENT(16); EVENT(17); EVENT(18); EVENT(19); EVENT(20); EVENT(21); EVENT(22); EVENT(23);
	EVENT(24); EVENT(25); EVENT(26); EVENT(27); EVENT(28); EVENT(29); EVENT(30);
	case 31:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(*ret) :: "memory");
		return true;
	default:	/* the instruction counter of Armv9.4 among them */
		return false;
	}
}
#undef EVENT

static bool read_cycles(uint64_t *ret)
{
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(*ret) :: "memory");
	return true;
}
#elif defined(__riscv) && __riscv_xlen == 64
#define COUNTER(n, name) case n: \
	__asm__ volatile("csrr %0, " name : "=r"(*ret) :: "memory"); return true
#define EVENT(n) COUNTER(n, "hpmcounter" #n)
static bool read_counter(uint32_t index, uint64_t *ret)
{
	switch (index) {
	COUNTER(0, "cycle"); COUNTER(2, "instret");
	EVENT(3); EVENT(4); EVENT(5); EVENT(6); EVENT(7); EVENT(8); EVENT(9); EVENT(10);
	EVENT(11); EVENT(12); EVENT(13); EVENT(14); EVENT(15); EVENT(16); EVENT(17); EVENT(18);
	EVENT(19); EVENT(20); EVENT(21); EVENT(22); EVENT(23); EVENT(24); EVENT(25); EVENT(26);
	EVENT(27); EVENT(28); EVENT(29); EVENT(30); EVENT(31);
	default:
		return false;
	}
}
#undef EVENT
#undef COUNTER

static bool read_cycles(uint64_t *ret)
{
	__asm__ volatile("rdtime %0" : "=r"(*ret) :: "memory");
	return true;
}
#else
#define read_counter NULL
#define read_cycles NULL
#endif

const struct pm_registers pm_registers = { read_counter, read_cycles };

/* --------------------------------------------------------------------------------- the protocol */

static uint32_t lock_of(const volatile struct perf_event_mmap_page *page)
{
	return __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
}

static bool unchanged(const volatile struct perf_event_mmap_page *page, uint32_t lock)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&page->lock, __ATOMIC_RELAXED) == lock && lock % 2 == 0;
}

/* The capability bits had another meaning before v3.12 (fa7315871046). */
static uint64_t capabilities(const volatile struct perf_event_mmap_page *page, uint64_t wanted)
{
	const struct perf_event_mmap_page trusted = { .cap_bit0_is_deprecated = 1 };
	uint64_t bits = page->capabilities;

	return bits & trusted.capabilities ? bits & wanted : 0;
}

static const struct perf_event_mmap_page user_rdpmc = { .cap_user_rdpmc = 1 };
static const struct perf_event_mmap_page user_time = { .cap_user_time = 1 };
static const struct perf_event_mmap_page user_time_zero = { .cap_user_time_zero = 1 };
static const struct perf_event_mmap_page user_time_short = { .cap_user_time_short = 1 };

static void take_time(const volatile struct perf_event_mmap_page *page, struct pm_user_time *ret)
{
	const bool is_short = capabilities(page, user_time_short.capabilities) != 0;

	ret->mult = page->time_mult;
	ret->shift = page->time_shift;
	ret->cycles = is_short ? page->time_cycles : 0;
	ret->mask = is_short ? page->time_mask : UINT64_MAX;
}

uint64_t pm_user_time_at(const struct pm_user_time *time, uint64_t cycles)
{
	/* A counter narrower than 64 bits is taken as the next after time_cycles (v5.9). */
	cycles = time->cycles + ((cycles - time->cycles) & time->mask);
	return pm_clock_from_tsc(cycles, time->zero, time->mult, time->shift);
}

/*
 * The times of the last change, and on the way the time since then, which an event that is on a
 * counter spends enabled and running alike. Without a clock in the page nothing is known, except
 * that equal times are still equal.
 */
static int take_times(const volatile struct perf_event_mmap_page *page,
		      const struct pm_registers *registers, struct pm_value *ret)
{
	struct pm_user_time time;
	uint64_t cycles, since;

	ret->enabled = page->time_enabled;
	ret->running = page->time_running;
	if (!capabilities(page, user_time.capabilities) || registers->cycles == NULL ||
	    !registers->cycles(&cycles)) {
		if (ret->enabled != ret->running)
			return -EAGAIN;
		ret->enabled = ret->running = 0;
		return 0;
	}
	take_time(page, &time);
	time.zero = page->time_offset;
	since = pm_user_time_at(&time, cycles);
	ret->enabled += since;
	ret->running += since;
	return 0;
}

static int take_value(const volatile struct perf_event_mmap_page *page,
		      const struct pm_registers *registers, struct pm_value *ret)
{
	uint32_t index = page->index, width = page->pmc_width;
	int64_t offset = page->offset;
	uint64_t counter;
	int err;

	if (index == 0 || width == 0 || width > 64 || registers->counter == NULL ||
	    !capabilities(page, user_rdpmc.capabilities))
		return -EAGAIN;
	err = take_times(page, registers, ret);
	if (err < 0 || !registers->counter(index - 1, &counter))
		return -EAGAIN;
	/* The register is a signed number of that width, below zero before it overflows. */
	counter <<= 64 - width;
	ret->value = (uint64_t)offset + (uint64_t)((int64_t)counter >> (64 - width));
	return 0;
}

int pm_user_value(const struct perf_event_mmap_page *page, const struct pm_registers *registers,
		  struct pm_value *ret)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t lock = lock_of(page);
		struct pm_value value;
		int err;

		if (lock % 2 != 0)
			continue;
		err = take_value(page, registers, &value);
		if (!unchanged(page, lock))
			continue;
		if (err == 0)
			*ret = value;
		return err;
	}
	return -EAGAIN;
}

int pm_user_time(const struct perf_event_mmap_page *page, struct pm_user_time *ret)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t lock = lock_of(page);
		struct pm_user_time time;
		bool is_told;

		take_time(page, &time);
		time.zero = ((const volatile struct perf_event_mmap_page *)page)->time_zero;
		is_told = capabilities(page, user_time_zero.capabilities) != 0 &&
			capabilities(page, user_time.capabilities) != 0;
		if (!unchanged(page, lock))
			continue;
		if (!is_told)
			return -ENOTSUP;
		*ret = time;
		return 0;
	}
	return -ENOTSUP;
}
