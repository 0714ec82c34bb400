/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the reserved fields of perf_event_attr refused when they are not zero, and which of the
 * bits that once were reserved have got a meaning?
 *
 * Three bits beside aux_sample_size became aux_action in v6.13, and in stable 6.12.24: the proof
 * that a release number does not tell. Reserved bits that are ignored could never be given one.
 */
#include "probe.h"

PROBE(TITLE("the reserved fields of an attr")
      SINCE("4.1")
      POINT(reserved_2, "each bit beside sample_max_stack is refused with EINVAL")
      POINT(reserved_3, "each bit beside aux_action is refused with EINVAL")
      SINCE("5.5")
      FACT(aux_start_paused, verdict, "-", "aux_start_paused is known")
      SINCE("6.13")
      FACT(aux_pause, verdict, "-", "aux_pause is known")
      SINCE("6.13")
      FACT(aux_resume, verdict, "-", "aux_resume is known")
      SINCE("6.13")
      FACT(aux_action_answers, string, "-", "errno of each of the three on a software event")
      POINT(aux_action, "the three bits of aux_action have been asked"))

static void must_know_version(struct __test_metadata *_metadata, uint32_t size)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int kernel;

	close(must_open(&attr, 0, -1, -1, 0));
	kernel = pm_attr_size_kernel();
	if (kernel < 0)
		cannot_tell("no E2BIG with a size: %s", errno_name(kernel));
	if ((uint32_t)kernel < size)
		say_no("E2BIG: the attr of this kernel has %d bytes, no %u", kernel, size);
}

TEST(reserved_2)
{
	must_know_version(_metadata, PERF_ATTR_SIZE_VER5);
	for (unsigned int bit = 0; bit < 16; bit++) {
		struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

		attr.__reserved_2 = 1u << bit;
		hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "__reserved_2");
	}
}

TEST(reserved_3)
{
	must_know_version(_metadata, PERF_ATTR_SIZE_VER6);
	for (unsigned int bit = 0; bit < 29; bit++) {
		struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

		attr.__reserved_3 = 1u << bit;
		hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "__reserved_3");
	}
}

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

	if (fd < 0)
		classify_setup(-fd, &plain, 0, -1, &refused);
	for (unsigned int i = 0; i < 3; i++) {
		int answer = open_action(i);
		size_t used = strlen(answers);

		if (fd < 0)
			finding = refused;
		else if (answer >= 0 || answer == -EOPNOTSUPP || first == -EOPNOTSUPP)
			finding_set(&finding, YES, "%s on a software event", errno_name(answer));
		else
			classify_asked(-answer, names[i], &plain, 0, -1, &finding);
		fact_verdict(names[i], finding.verdict, finding.reason);
		snprintf(answers + used, sizeof(answers) - used, "%s%s", used ? " " : "",
			 answer < 0 ? errno_name(answer) : "ok");
	}
	if (fd < 0)
		speak(&refused);
	fact_str("aux_action_answers", "%s", answers);
}

PROBE_MAIN
