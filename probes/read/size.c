/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many bytes does read(2) give for each of the 32 combinations of read_format, for a lone
 * event and for the leader of a group of three? A reader that computes the layout itself goes
 * wrong silently when a kernel adds or forgets a word.
 * Observed: the read fills exactly the documented number of bytes of a larger buffer and no byte
 * more, the values are the exact counts, and the members' number and ids are right.
 */
#include "probe.h"
#include "finding.h"

#define CELL(format)                                                                           \
	FACT(lone.format, verdict, "-", "a lone event reads as laid out, to the byte")         \
	FACT(group.format, verdict, "-", "the leader of three reads as laid out, to the byte")
#define CELL_LOST(format)                                                                      \
	FACT(lone.format, verdict, "-", "a lone event reads as laid out, to the byte")         \
	SINCE("6.0")                                                                           \
	FACT(group.format, verdict, "-", "the leader of three reads as laid out, to the byte") \
	SINCE("6.0")

PROBE(TITLE("size and layout of each read_format")
      SINCE("2.6.31")
      POINT(walked, "every combination was tried, and none reads wrongly")
      CELL(plain)
      CELL(enabled)
      CELL(running)
      CELL(enabled_running)
      CELL(id)
      CELL(enabled_id)
      CELL(running_id)
      CELL(enabled_running_id)
      CELL(group)
      CELL(enabled_group)
      CELL(running_group)
      CELL(enabled_running_group)
      CELL(id_group)
      CELL(enabled_id_group)
      CELL(running_id_group)
      CELL(enabled_running_id_group)
      CELL_LOST(lost)
      CELL_LOST(enabled_lost)
      CELL_LOST(running_lost)
      CELL_LOST(enabled_running_lost)
      CELL_LOST(id_lost)
      CELL_LOST(enabled_id_lost)
      CELL_LOST(running_id_lost)
      CELL_LOST(enabled_running_id_lost)
      CELL_LOST(group_lost)
      CELL_LOST(enabled_group_lost)
      CELL_LOST(running_group_lost)
      CELL_LOST(enabled_running_group_lost)
      CELL_LOST(id_group_lost)
      CELL_LOST(enabled_id_group_lost)
      CELL_LOST(running_id_group_lost)
      CELL_LOST(enabled_running_id_group_lost))

#define FAULTS 5
#define CANARY 0xa5a5a5a5a5a5a5a5ull

static void name_of(const char *situation, unsigned int format, char *name, size_t size)
{
	static const char *const words[] = { "enabled", "running", "id", "group", "lost" };
	const char *joint = ".";

	snprintf(name, size, "%s%s", situation, format ? "" : ".plain");
	for (int bit = 0; bit < 5; bit++) {
		if (!(format >> bit & 1))
			continue;
		strcat(strcat(name, joint), words[bit]);
		joint = "_";
	}
}

static int words_of(unsigned int format, int members)
{
	int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	int each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);

	return format & PERF_FORMAT_GROUP ? 1 + times + members * each : times + each;
}

static struct perf_event_attr counting(unsigned int format)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.read_format = format;
	return attr;
}

/* Values, times and ids against what is known without reading. */
static void judge_counts(const struct pm_counts *counts, unsigned int format, int members,
			 struct finding *ret)
{
	const uint64_t present = format & PERF_FORMAT_GROUP ? members : 1;
	uint64_t last = 0;

	if (counts->nr != present)
		finding_set(ret, BROKEN, "nr=%" PRIu64 " want=%" PRIu64, counts->nr, present);
	else if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) && !counts->time_enabled)
		finding_set(ret, BROKEN, "time_enabled=0");
	else if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) && !counts->time_running)
		finding_set(ret, BROKEN, "time_running=0");
	for (uint64_t i = 0; i < counts->nr && ret->verdict == YES; i++) {
		if (counts->member[i].value != FAULTS)
			finding_set(ret, BROKEN, "member %" PRIu64 ": value=%" PRIu64 " want=%d", i,
				    counts->member[i].value, FAULTS);
		if ((format & PERF_FORMAT_ID) && (!counts->member[i].id ||
						  (i && counts->member[i].id == last)))
			finding_set(ret, BROKEN, "member %" PRIu64 ": id=%" PRIu64, i,
				    counts->member[i].id);
		if (counts->member[i].lost)
			finding_set(ret, BROKEN, "member %" PRIu64 ": lost=%" PRIu64, i,
				    counts->member[i].lost);
		last = counts->member[i].id;
	}
}

/* Read once more while a time is 0: a coarse clock need not have ticked since the event's start. */
static ssize_t read_timed(int fd, unsigned int format, uint64_t *buffer, int words)
{
	const int times = words_of(format & 3, 1) - 1;
	ssize_t got;

	for (int tries = 0;; tries++) {
		for (int i = 0; i < words; i++)
			buffer[i] = CANARY;
		got = read(fd, buffer, words * 8);
		if (tries == 20 || times == 0 || (buffer[1] && (times == 1 || buffer[2])))
			return got;
		wake_and_spin(NULL);
	}
}

static void judge_read(int fd, unsigned int format, int members, struct finding *ret)
{
	const int want = words_of(format, members);
	struct pm_counts counts;
	uint64_t buffer[32];
	ssize_t got;

	got = read_timed(fd, format, buffer, 32);
	if (got != want * 8)
		finding_set(ret, BROKEN, "bytes=%zd want=%d", got, want * 8);
	else if (buffer[want] != CANARY || buffer[31] != CANARY)
		finding_set(ret, BROKEN, "written beyond the %d bytes returned", want * 8);
	else if (pm_counts_decode(buffer, got, format, &counts) != got)
		finding_set(ret, BROKEN, "layout of %d bytes does not decode", want * 8);
	else
		judge_counts(&counts, format, members, ret);
}

static void judge(unsigned int format, int members, struct finding *ret)
{
	const struct perf_event_attr attr = counting(format), without = counting(0);
	int fds[3] = { -1, -1, -1 };

	finding_set(ret, YES, "%s", "");
	for (int i = 0; i < members && ret->verdict == YES; i++) {
		fds[i] = pm_open(&attr, 0, -1, i ? fds[0] : -1, 0);
		if (fds[i] >= 0)
			continue;
		judge_pair(&attr, &without, 0, -1, "this read_format", ret);
		if (ret->verdict == YES)
			finding_set(ret, UNKNOWN, "member %d: %s", i, pm_errno_name(fds[i]));
	}
	/* All count from the same zero, and the last one opened must not have missed anything. */
	if (ret->verdict == YES && cause_faults(1))
		finding_set(ret, UNKNOWN, "page faults could not be caused");
	for (int i = 0; i < members && ret->verdict == YES; i++)
		if (pm_ioctl(fds[i], PERF_EVENT_IOC_RESET, 0))
			finding_set(ret, UNKNOWN, "a counter could not be reset");
	if (ret->verdict == YES && cause_faults(FAULTS))
		finding_set(ret, UNKNOWN, "page faults could not be caused");
	if (ret->verdict == YES)
		judge_read(fds[0], format, members, ret);
	for (int i = members - 1; i >= 0; i--)
		if (fds[i] >= 0)
			close(fds[i]);
}

TEST(walked)
{
	const struct perf_event_attr attr = counting(0);
	struct finding finding, worst = { .verdict = YES };
	char name[64];

	/* What read_timed() may need, events count: its first call faults, in the vDSO, too. */
	wake_and_spin(NULL);
	for (unsigned int format = 0; format < 32; format++) {
		/* Touch everything once: the second time is the one that counts. */
		for (int twice = 0; twice < 2; twice++)
			judge(format, 1, &finding);
		name_of("lone", format, name, sizeof(name));
		fact_verdict(name, finding.verdict, finding.reason);
		if (finding.verdict == BROKEN)
			worst = finding;
		for (int twice = 0; twice < 2; twice++)
			judge(format, 3, &finding);
		name_of("group", format, name, sizeof(name));
		fact_verdict(name, finding.verdict, finding.reason);
		if (finding.verdict == BROKEN)
			worst = finding;
	}
	if (worst.verdict == BROKEN)
		say(&worst);
	close(must_open(&attr, 0, -1, -1, 0));
}

PROBE_MAIN
