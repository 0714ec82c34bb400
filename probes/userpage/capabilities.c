/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the user page of a mapped event say it can do? With a chosen clock the time fields must
 * not claim to convert to stamps.
 * Observed: the page of a software event.
 * Linux fa7315871046 ("perf: Fix capabilities bitfield compatibility in 'struct
 * perf_event_mmap_page'") (v3.12)
 */
#include "probe.h"
#include "userpage.h"

PROBE(TITLE("capabilities in the user page")
      SINCE("2.6.31")
      POINT(bit0_deprecated, "cap_bit0_is_deprecated is 1 and cap_bit0 is 0")
      SINCE("3.12")
      COMMIT("fa7315871046")
      POINT(clockid_no_time_zero, "cap_user_time_zero is 0 for an event with a chosen clock")
      SINCE("4.1")
      FACT(cap_user_rdpmc, bool, "-", "cap_user_rdpmc of a software event")
      FACT(cap_user_time, bool, "-", "cap_user_time of a software event")
      FACT(cap_user_time_zero, bool, "-", "cap_user_time_zero of a software event")
      FACT(cap_user_time_short, bool, "-", "cap_user_time_short of a software event"))

TEST(bit0_deprecated)
{
	struct sampler sampler = watch_faults();
	const struct perf_event_mmap_page page = *page_of(&sampler);

	if (!page.cap_bit0_is_deprecated)
		say_no("capabilities=%#" PRIx64 ": the meaning before v3.12", page.capabilities);
	if (page.cap_bit0)
		say_broken("capabilities=%#" PRIx64 ": bit 0 is set", page.capabilities);
	fact_bool("cap_user_rdpmc", page.cap_user_rdpmc);
	fact_bool("cap_user_time", page.cap_user_time);
	fact_bool("cap_user_time_zero", page.cap_user_time_zero);
	fact_bool("cap_user_time_short", page.cap_user_time_short);
}

TEST(clockid_no_time_zero)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS), without = attr;
	struct sampler plain, chosen;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	plain = must_sampler(&without, 0, -1, 1);
	chosen = ask_sampler(&attr, &without, 0, -1, 1, "use_clockid");
	must_ioctl(plain.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(chosen.fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!page_of(&plain)->cap_user_time_zero)
		say_absent("cap_user_time_zero is 0 even without a chosen clock");
	if (page_of(&chosen)->cap_user_time_zero)
		say_broken("cap_user_time_zero=1 although stamps are of CLOCK_MONOTONIC");
}

PROBE_MAIN
