/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the kernel refuse AUX features of an event whose group leader has no AUX data? AUX data in
 * samples, AUX output and AUX pauses all need the leader's AUX area. In v5.4 the call returned 0,
 * which is a descriptor of another file.
 * Observed: software events, which any machine has.
 */
#include "probe.h"

PROBE(TITLE("AUX features without an AUX leader")
      SINCE("5.4")
      POINT(output_alone_is_refused, "aux_output without a group is refused")
      POINT(output_in_group_is_refused, "aux_output under a leader without AUX data is refused")
      POINT(sample_alone_is_refused, "PERF_SAMPLE_AUX without a group is refused")
      SINCE("5.5")
      POINT(sample_in_group_is_refused,
	    "PERF_SAMPLE_AUX under a leader without AUX data is refused")
      SINCE("5.5")
      POINT(pause_alone_is_refused, "aux_pause without an AUX leader is refused")
      SINCE("6.13")
      FACT(output_errno, string, "-", "errno of aux_output without a group")
      FACT(sample_errno, string, "-", "errno of PERF_SAMPLE_AUX without a group")
      FACT(pause_errno, string, "-", "errno of aux_pause without a group"))

/* Refused, and never with descriptor 0, which is open here already. */
static void must_refuse(const struct perf_event_attr *with, const struct perf_event_attr *without,
			bool group, const char *fact)
{
	int leader = group ? must_open(without, 0, -1, -1, 0) : -1, twin, fd;

	twin = must_open(without, 0, -1, leader, 0);
	if (cause_enabled_faults(group ? leader : twin, 3) != 3)
		say_unknown("the twin without it does not work");
	must_close(twin);
	fd = pm_open(with, 0, -1, leader, 0);
	if (fact && fd < 0)
		fact_str(fact, "%s", pm_errno_name(fd));
	if (fd == 0)
		say_broken("the call returns 0, a descriptor that is not the event's");
	if (fd > 0)
		say_broken("accepted: descriptor %d", fd);
	if (fd != -EINVAL && fd != -EOPNOTSUPP && fd != -E2BIG)
		expect_refused(fd, EINVAL, BROKEN, "an AUX feature without an AUX leader");
}

static struct perf_event_attr plain(void)
{
	return attr_faults(PERF_SAMPLE_IP);
}

static struct perf_event_attr with_output(void)
{
	struct perf_event_attr attr = plain();

	attr.aux_output = 1;
	return attr;
}

static struct perf_event_attr with_sample(void)
{
	struct perf_event_attr attr = plain();

	attr.sample_type |= PERF_SAMPLE_AUX;
	attr.aux_sample_size = 64;
	return attr;
}

TEST(output_alone_is_refused)
{
	struct perf_event_attr with = with_output(), without = plain();

	must_refuse(&with, &without, false, "output_errno");
}

TEST(output_in_group_is_refused)
{
	struct perf_event_attr with = with_output(), without = plain();

	must_refuse(&with, &without, true, NULL);
}

TEST(sample_alone_is_refused)
{
	struct perf_event_attr with = with_sample(), without = plain();

	must_refuse(&with, &without, false, "sample_errno");
}

TEST(sample_in_group_is_refused)
{
	struct perf_event_attr with = with_sample(), without = plain();

	must_refuse(&with, &without, true, NULL);
}

TEST(pause_alone_is_refused)
{
	struct perf_event_attr with = plain(), without = plain();

	with.aux_pause = 1;
	must_refuse(&with, &without, false, "pause_errno");
}

PROBE_MAIN
