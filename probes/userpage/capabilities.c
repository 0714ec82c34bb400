/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the user page of a mapped event say it can do, and is the page itself in order?
 * Observed: the page of a software event, of the CPU's own counter where there is one, and of an
 * event with a chosen clock, for which the time fields must not claim to convert to stamps.
 * Linux fa7315871046 ("perf: Fix capabilities bitfield compatibility in 'struct
 * perf_event_mmap_page'") (v3.12)
 */
#include "probe.h"

PROBE(TITLE("the user page")
      SINCE("2.6.31")
      POINT(versions, "version and compat_version are 0")
      POINT(bit0_deprecated, "cap_bit0_is_deprecated is 1 and cap_bit0 is 0")
      SINCE("3.12")
      COMMIT("fa7315871046")
      POINT(size, "size ends before the reserved hole")
      SINCE("3.12")
      POINT(data_area, "data_offset is one page and data_size the pages that were asked for")
      SINCE("4.1")
      POINT(software_index, "index is 0 for a software event: it has no hardware counter")
      POINT(lock_even, "lock is even while nobody writes")
      POINT(time_enabled, "times of a disabled event are what read(2) says, after RESET")
      POINT(clockid_no_time_zero, "with a chosen clock cap_user_time_zero is 0")
      SINCE("4.1")
      FACT(cap_user_rdpmc, bool, "-", "of a software event")
      FACT(cap_user_time, bool, "-", "of a software event")
      FACT(cap_user_time_zero, bool, "-", "of a software event")
      FACT(cap_user_time_short, bool, "-", "of a software event"))

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static const volatile struct perf_event_mmap_page *page_of(const struct watch *watch)
{
	return watch->ring.base;
}

static struct watch watch_faults(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct watch watch;

	attr.read_format = TIMES;
	watch = must_watch(&attr, 0, -1, 4);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

TEST(versions)
{
	struct watch watch = watch_faults(_metadata);

	if (page_of(&watch)->version || page_of(&watch)->compat_version)
		broken("version=%u compat_version=%u", page_of(&watch)->version,
		       page_of(&watch)->compat_version);
}

TEST(bit0_deprecated)
{
	struct watch watch = watch_faults(_metadata);
	const struct perf_event_mmap_page page = *page_of(&watch);

	if (!page.cap_bit0_is_deprecated)
		say_no("capabilities=%#" PRIx64 ": the meaning before v3.12", page.capabilities);
	if (page.cap_bit0)
		broken("capabilities=%#" PRIx64 ": bit 0 is set", page.capabilities);
	fact_bool("cap_user_rdpmc", page.cap_user_rdpmc);
	fact_bool("cap_user_time", page.cap_user_time);
	fact_bool("cap_user_time_zero", page.cap_user_time_zero);
	fact_bool("cap_user_time_short", page.cap_user_time_short);
}

TEST(size)
{
	struct watch watch = watch_faults(_metadata);
	const uint32_t size = page_of(&watch)->size;

	if (!size)
		say_no("size is 0: the page of a kernel before v3.12");
	if (size < offsetof(struct perf_event_mmap_page, time_cycles) - 8 || size > 1024)
		broken("size=%u want 72..1024", size);
}

TEST(data_area)
{
	struct watch watch = watch_faults(_metadata);
	const size_t page = probe_env()->page_size;

	if (!page_of(&watch)->data_size)
		say_no("data_size is 0: the page of a kernel before v4.1");
	if (page_of(&watch)->data_offset != page || page_of(&watch)->data_size != 4 * page)
		broken("data_offset=%" PRIu64 " data_size=%" PRIu64 " want=%zu,%zu",
		       page_of(&watch)->data_offset, page_of(&watch)->data_size, page, 4 * page);
}

TEST(software_index)
{
	struct watch watch = watch_faults(_metadata);

	if (page_of(&watch)->index)
		broken("index=%u of a software event", page_of(&watch)->index);
}

TEST(lock_even)
{
	struct watch watch = watch_faults(_metadata);
	uint32_t first = page_of(&watch)->lock;

	for (int i = 0; i < 1000; i++) {
		must_ioctl(watch.fd, i & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		if (page_of(&watch)->lock & 1)
			broken("lock=%u between two calls of this very thread",
			       page_of(&watch)->lock);
	}
	if (page_of(&watch)->lock == first)
		broken("1000 changes of state and lock is still %u", first);
}

TEST(time_enabled)
{
	struct watch watch = watch_faults(_metadata);
	struct pm_counts counts;

	spin_ns(1000000);
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(watch.fd, TIMES, &counts));
	if (!counts.time_enabled)
		broken("read(2): time_enabled=0 after a millisecond");
	/* The page is written at certain moments only; RESET is one of them and keeps the times. */
	must_ioctl(watch.fd, PERF_EVENT_IOC_RESET, 0);
	if (page_of(&watch)->time_enabled != counts.time_enabled ||
	    page_of(&watch)->time_running != counts.time_running)
		broken("page: enabled=%" PRIu64 " running=%" PRIu64 " read(2): %" PRIu64
		       ",%" PRIu64, page_of(&watch)->time_enabled, page_of(&watch)->time_running,
		       counts.time_enabled, counts.time_running);
}

TEST(clockid_no_time_zero)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS), without = attr;
	struct watch plain, chosen;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	plain = must_watch(&without, 0, -1, 1);
	chosen = ask_watch(&attr, &without, 0, -1, 1, "use_clockid");
	must_ioctl(plain.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(chosen.fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!page_of(&plain)->cap_user_time_zero)
		say_absent("cap_user_time_zero is 0 even without a chosen clock");
	if (page_of(&chosen)->cap_user_time_zero)
		broken("cap_user_time_zero=1 although stamps are of CLOCK_MONOTONIC");
}

PROBE_MAIN
