/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a counter read from user space say what read(2) says? It costs some 20 ns instead of a
 * system call.
 * Observed: user-space value between two read(2) around it; x86 rdpmc, arm64 pmccntr/pmevcntr,
 * riscv cycle counter, each by its own instruction.
 */
#include "probe.h"

PROBE(TITLE("counters read from user space")
      SINCE("3.4")
      NEEDS("pmu")
      POINT(supported, "an enabled hardware event has cap_user_rdpmc and an index")
      SINCE("3.12")
      POINT(between_reads, "the user-space value lies between two read(2) around it")
      POINT(grows, "two user-space readings around a loop grow")
      POINT(reset, "after RESET the user-space value is again between two read(2)")
      POINT(own_thread, "a thread reads its own event in user space too")
      POINT(group, "leader and sibling have different indices, and both values agree")
      POINT(after_disable, "after DISABLE the index goes away and read(2) keeps the value")
      FACT(width, int, "bits", "pmc_width"))

static struct perf_event_attr attr_counter(uint64_t config)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, config);

#ifdef __aarch64__
	attr.config1 = 3;	/* a 64-bit counter that user space may read */
#endif
	return attr;
}

static bool read_counter(uint32_t index, uint64_t *ret)
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
static bool user_value(const volatile struct perf_event_mmap_page *page, uint64_t *ret)
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

static struct watch watch_counter(struct __test_metadata *_metadata, uint64_t config, int group)
{
	struct perf_event_attr attr = attr_counter(config);
	struct watch watch = { .fd = -1 };

	require(REQUIRE_CPU_PMU);
	attr.disabled = group < 0;
	watch.fd = must_open(&attr, 0, -1, group, 0);
	must_map(watch.fd, 0, &watch.ring);
	return watch;
}

static struct watch must_count_here(struct __test_metadata *_metadata)
{
	struct watch watch = watch_counter(_metadata, PERF_COUNT_HW_INSTRUCTIONS, -1);
	uint64_t value;

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(100000);
	if (!user_value(watch.ring.base, &value))
		say_absent("the user page says to use read(2) (rdpmc or perf_user_access is off)");
	return watch;
}

static void must_lie_between(struct __test_metadata *_metadata, const struct watch *watch)
{
	for (int i = 0; i < 20; i++) {
		uint64_t before = must_count(watch->fd), after, value;

		if (!user_value(watch->ring.base, &value))
			broken("the index went away between two readings");
		after = must_count(watch->fd);
		if (value < before || value > after)
			broken("user space=%" PRIu64 " read(2)=%" PRIu64 "..%" PRIu64, value,
			       before, after);
	}
}

TEST(supported)
{
	struct watch watch = must_count_here(_metadata);
	const volatile struct perf_event_mmap_page *page = watch.ring.base;

	fact_int("width", page->pmc_width);
	if (page->pmc_width < 16 || page->pmc_width > 64)
		broken("pmc_width=%u", page->pmc_width);
}

TEST(between_reads)
{
	struct watch watch = must_count_here(_metadata);

	must_lie_between(_metadata, &watch);
}

TEST(grows)
{
	struct watch watch = must_count_here(_metadata);
	uint64_t first = 0, last = 0;

	user_value(watch.ring.base, &first);
	spin_ns(100000);
	if (!user_value(watch.ring.base, &last) || last <= first)
		broken("first=%" PRIu64 " last=%" PRIu64, first, last);
}

TEST(reset)
{
	struct watch watch = must_count_here(_metadata);

	must_ioctl(watch.fd, PERF_EVENT_IOC_RESET, 0);
	must_lie_between(_metadata, &watch);
}

static void *thread_value(void *ret)
{
	struct perf_event_attr attr = attr_counter(PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_ring ring;
	int fd;

	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0 && !pm_ring_open(fd, 0, PROT_READ | PROT_WRITE, &ring)) {
		spin_ns(100000);
		user_value(ring.base, ret);
	}
	return NULL;
}

TEST(own_thread)
{
	uint64_t value = 0;

	must_count_here(_metadata);
	ASSERT_EQ(0, in_thread(thread_value, &value));
	if (!value)
		broken("a thread's own event cannot be read in user space");
}

TEST(group)
{
	struct watch leader = must_count_here(_metadata);
	struct watch sibling = watch_counter(_metadata, PERF_COUNT_HW_CPU_CYCLES, leader.fd);
	const volatile struct perf_event_mmap_page *first = leader.ring.base;
	const volatile struct perf_event_mmap_page *second = sibling.ring.base;

	spin_ns(100000);
	if (!second->index)
		say_absent("the sibling is on no counter that user space may read");
	if (first->index == second->index)
		broken("both events have index %u", first->index);
	must_lie_between(_metadata, &leader);
	must_lie_between(_metadata, &sibling);
}

TEST(after_disable)
{
	struct watch watch = must_count_here(_metadata);
	uint64_t value, kept;

	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	kept = must_count(watch.fd);
	if (user_value(watch.ring.base, &value))
		broken("a disabled event still has an index");
	if (!kept || kept != must_count(watch.fd))
		broken("read(2)=%" PRIu64 " then %" PRIu64, kept, must_count(watch.fd));
}

PROBE_MAIN
