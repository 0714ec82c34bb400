/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is aux_action known, and what do software events answer to what only an AUX area can do?
 *
 * Three bits beside aux_sample_size became aux_action in v6.13 and in stable 6.12.24, so a release
 * number does not tell. No software event can have these bits legally: a known bit is refused with
 * EOPNOTSUPP, an unknown one with EINVAL.
 */
#include "probe.h"
#include "finding.h"

#include <stdio.h>

PROBE(TITLE("demands that only an AUX area can meet")
      SINCE("6.13")
      FACT(aux_start_paused, verdict, "-", "aux_start_paused is known: EOPNOTSUPP")
      FACT(aux_pause, verdict, "-", "aux_pause is known")
      FACT(aux_resume, verdict, "-", "aux_resume is known")
      FACT(aux_action_answers, string, "-", "errno of each of the three on a software event")
      POINT(aux_action, "no event without an AUX area takes one of the three bits of aux_action")
      POINT(pause_excludes_resume, "aux_pause with aux_resume is EINVAL")
      POINT(aux_output, "aux_output on a software event is EOPNOTSUPP")
      SINCE("5.4"))

static int open_action(unsigned int bit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.aux_start_paused = bit == 0;
	attr.aux_pause = bit == 1;
	attr.aux_resume = bit == 2;
	return pm_open(&attr, 0, -1, -1, 0);
}

/*
 * A software event cannot be paused, so only aux_start_paused shows by itself whether it is known:
 * EOPNOTSUPP. All three came together, and the two others are EINVAL or EOPNOTSUPP here.
 */
TEST(aux_action)
{
	static const char *const names[] = { "aux_start_paused", "aux_pause", "aux_resume" };
	struct perf_event_attr plain = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	char answers[64] = "";
	struct finding finding, refused;
	int fd = pm_open(&plain, 0, -1, -1, 0), first = open_action(0);
	const char *taken = NULL;

	if (fd < 0)
		classify_setup(-fd, &plain, 0, -1, &refused);
	for (unsigned int i = 0; i < 3; i++) {
		int answer = open_action(i);
		size_t used = strlen(answers);

		if (answer >= 0)
			taken = names[i];
		if (fd < 0)
			finding = refused;
		else if (answer >= 0 || answer == -EOPNOTSUPP || first == -EOPNOTSUPP)
			finding_set(&finding, YES, "%s on a software event", pm_errno_name(answer));
		else
			classify_asked(-answer, names[i], &plain, 0, -1, &finding);
		fact_verdict(names[i], finding.verdict, finding.reason);
		snprintf(answers + used, sizeof(answers) - used, "%s%s", used ? " " : "",
			 answer < 0 ? pm_errno_name(answer) : "ok");
	}
	if (fd < 0)
		say(&refused);
	fact_str("aux_action_answers", "%s", answers);
	if (taken)
		say_broken("%s is taken by an event that has no AUX area", taken);
}

static void not_supported(int answer, const char *what)
{
	struct perf_event_attr plain = must_open_plain();
	struct finding finding;

	if (answer == -EOPNOTSUPP)
		return;
	if (answer >= 0)
		say_broken("%s accepted on a software event", what);
	classify_asked(-answer, what, &plain, 0, -1, &finding);
	say(&finding);
}

TEST(pause_excludes_resume)
{
	struct perf_event_attr attr = attr_faults(0);

	not_supported(open_action(0), "aux_start_paused");
	attr.aux_pause = attr.aux_resume = 1;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "aux_pause with aux_resume");
}

TEST(aux_output)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.aux_output = 1;
	not_supported(pm_open(&attr, 0, -1, -1, 0), "aux_output");
}

PROBE_MAIN
