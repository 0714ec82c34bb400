/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: how does a program find out whether there are event-based branches (EBB)? A PMU without
 * them ignores bit 63 of the config, so an open that succeeds proves nothing; AT_HWCAP2 tells, and
 * so does an EBB event that breaks the rules.
 * Observed: the bit of AT_HWCAP2 against events that break one rule each.
 */
#include "probe.h"
#include "ebb.h"

PROBE(TITLE("detection of event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(agrees, "AT_HWCAP2 promises event-based branches exactly where the PMU has their rules")
      POINT(ignored, "a PMU without them ignores bit 63: events that break a rule open and count")
      POINT(plain_without_counter, "without bit 63 an event whose code names no counter is "
				   "accepted")
      FACT(hwcap, bool, "-", "AT_HWCAP2 has the bit of event-based branches")
      FACT(rules, int, "rules", "of five that an EBB event with bit 63 must keep here"))

/* How many of five broken rules are refused. */
static int count_rules(void)
{
	const struct perf_event_attr good = attr_ebb(CYCLES_1);
	struct perf_event_attr attr[] = { good, good, good, good, attr_ebb(0x1e) };
	int refused = 0;

	attr[0].pinned = 0;
	attr[1].exclusive = 0;
	attr[2].inherit = 1;
	attr[3].enable_on_exec = 1;
	for (int i = 0; i < 5; i++) {
		int fd = pm_open(&attr[i], 0, -1, -1, 0);

		refused += fd == -EINVAL;
		if (fd >= 0)
			close(fd);
	}
	return refused;
}

static bool has_hwcap(void)
{
#if defined(__powerpc64__)
	return getauxval(AT_HWCAP2) & 0x10000000;
#else
	return false;
#endif
}

/* A PMU on which a plain event of that kind opens. */
static void must_have_pmu(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_1);

#if !defined(__powerpc64__)
	say_absent("not a 64-bit Power machine");
#endif
	require(REQUIRE_CPU_PMU);
	close(must_open(&attr, 0, -1, -1, 0));
}

TEST(agrees)
{
	int rules;

	must_have_pmu();
	rules = count_rules();
	fact_bool("hwcap", has_hwcap());
	fact_int("rules", rules);
	if (rules != (has_hwcap() ? 5 : 0))
		say_broken("AT_HWCAP2 %s them, and %d of 5 rules are enforced",
			   has_hwcap() ? "has" : "lacks", rules);
}

TEST(ignored)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_1 | EBB);
	uint64_t value = 0;
	int fd;

	must_have_pmu();
	if (has_hwcap())
		say_absent("this CPU has event-based branches");
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		say_broken("%s for an event with bit 63, pinned and exclusive clear",
			   pm_errno_name(fd));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(5000000);
	if (read(fd, &value, 8) != 8 || !value)
		say_broken("it counted %" PRIu64 " cycles in 5 ms", value);
}

TEST(plain_without_counter)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, 0x1e);
	int fd;

	require_ebb();
	close(must_lead());
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		say_broken("%s", pm_errno_name(fd));
	close(fd);
}

PROBE_MAIN
