/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of the rest of a group when one member is throttled? From v6.16 on all events of the
 * group stop until the next tick, so that their counts fit together; before, only the member does.
 * Either way all of them have to count again afterwards.
 * Observed: page faults counted by the leader of a group with a CPU clock that samples far above a
 * lowered limit, and by an event of no group. Since v6.16 it is the leader whose ring tells.
 * Linux 9734e25fbf5a ("perf: Fix the throttle logic for a group") (v6.16)
 */
#include "probe.h"
#include "privilege.h"
#include "ticker.h"

#define LIMIT "/proc/sys/kernel/perf_event_max_sample_rate"
#define LONGEST_NS 4000000000	/* for a member to be throttled and released */

PROBE(TITLE("a group with a throttled member")
      SINCE("2.6.31")
      NEEDS("root")
      DISTURBS("kernel.perf_event_max_sample_rate")
      POINT(goes_on, "all events of a group count again after its member was throttled")
      FACT(group_stops, bool, "-", "the others of the group stop while a member is throttled")
      FACT(told_by, enum, "-", "whose ring has the THROTTLE record: leader, member or both")
      FACT(missed, int, "faults", "what the leader missed while the member was throttled"))

static void __attribute__((constructor)) keep_limit(void)
{
	restore_at_exit(LIMIT);
}

static void set_limit(const char *rate)
{
	int error = write_file(LIMIT, rate);

	if (error)
		say_blocked("%s cannot be written: %s", LIMIT, pm_errno_name(error));
}

enum { LEADER, MEMBER, BOTH };

/* How often the ring of an event says so. */
struct told {
	uint64_t throttled[BOTH], released;
};

static void look(struct sampler *group, struct told *told)
{
	struct pm_record record;

	for (int i = 0; i < BOTH; i++)
		while (find_record(&group[i], 0, &record)) {
			told->throttled[i] += record.type == PERF_RECORD_THROTTLE;
			told->released += record.type == PERF_RECORD_UNTHROTTLE;
		}
}

/* Page faults until the member was throttled and released again. Returns how many. */
static uint64_t fault_until_released(struct sampler *group)
{
	const uint64_t end = now_ns() + LONGEST_NS;
	struct told told = { 0 };
	uint64_t faults = 0;
	struct ticker ticker;

	must_tick(&ticker, 10);
	while (!told.released && now_ns() < end) {
		for (int i = 0; i < 20; i++, faults++) {
			ASSERT_EQ(0, cause_faults(1));
			spin_ns(200000);
		}
		look(group, &told);
		ticker_count(&ticker);
	}
	if (!told.released)
		say_unknown("no UNTHROTTLE, while another timer interrupted %u times",
			    ticker.ticks);
	fact_str("told_by", "%s", !told.throttled[LEADER] ? "member" :
		 told.throttled[MEMBER] ? "both" : "leader");
	return faults;
}

/* Both with a ring, the member running whenever the leader is. */
static void must_group(const struct perf_event_attr *leader, struct perf_event_attr *member,
		       struct sampler *ret)
{
	ret[LEADER] = must_sampler(leader, 0, -1, 1);
	ret[MEMBER].fd = must_open(member, 0, -1, ret[LEADER].fd, 0);
	pm_format_of(member, &ret[MEMBER].format);
	must_map(ret[MEMBER].fd, 16, &ret[MEMBER].ring);
}

TEST(goes_on)
{
	struct perf_event_attr faults = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr clock = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	struct sampler group[BOTH];
	uint64_t caused, all, seen;
	int alone;

	require(REQUIRE_PERF | REQUIRE_ROOT);
	set_limit("100");
	clock.disabled = 0;
	clock.sample_period = 20000;
	clock.sample_type = PERF_SAMPLE_TID;
	alone = must_open(&faults, 0, -1, -1, 0);
	must_group(&faults, &clock, group);
	must_ioctl(alone, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(group[LEADER].fd, PERF_EVENT_IOC_ENABLE, 0);
	caused = fault_until_released(group);
	all = must_count(alone);
	seen = must_count(group[LEADER].fd);
	if (all < caused || seen > all)
		say_broken("caused=%" PRIu64 " faults, alone=%" PRIu64 " in the group=%" PRIu64,
			   caused, all, seen);
	fact_int("missed", all - seen);
	fact_bool("group_stops", all - seen > caused / 10);
	/* Nothing holds the group back without the member. */
	must_ioctl(group[MEMBER].fd, PERF_EVENT_IOC_DISABLE, 0);
	cause_switches(1);
	expect_gain(group[LEADER].fd, NULL, 16, 16);
}

PROBE_MAIN
