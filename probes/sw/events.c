/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which software events does this kernel have, and where do they end? New ones come at the end of
 * the list; a tool must learn that from an errno it can trust. Observed: which ids open, what is
 * said beyond them, and that high bits of config do not alias a known event.
 */
#include "probe.h"
#include "finding.h"
#include <stdio.h>

#define EVENT(name, version)                                                                   \
	FACT(opens.name, verdict, "-", "a software event " #name " of one's own task opens")      \
	SINCE(version)

PROBE(TITLE("the list of software events")
      SINCE("2.6.31")
      POINT(unknown_id, "a software event beyond the list is refused with ENOENT")
      POINT(no_alias, "a software event with bit 32 of config set is not taken for the one in the "
	    "low bits")
      SINCE("3.10")
      EVENT(cpu_clock, "2.6.31")
      EVENT(task_clock, "2.6.31")
      EVENT(page_faults, "2.6.31")
      EVENT(context_switches, "2.6.31")
      EVENT(cpu_migrations, "2.6.31")
      EVENT(page_faults_min, "2.6.31")
      EVENT(page_faults_maj, "2.6.31")
      EVENT(alignment_faults, "2.6.33")
      EVENT(emulation_faults, "2.6.33")
      EVENT(dummy, "3.12")
      EVENT(bpf_output, "4.4")
      EVENT(cgroup_switches, "5.13")
      FACT(known, int, "events", "how many software event ids in a row this kernel opens"))

static const char *const names[] = {
	"cpu_clock",       "task_clock",      "page_faults",      "context_switches",
	"cpu_migrations",  "page_faults_min", "page_faults_maj",  "alignment_faults",
	"emulation_faults", "dummy",          "bpf_output",       "cgroup_switches",
};
#define NAMES (sizeof(names) / sizeof(*names))

/* The event that others are compared with: page faults, or another one where there are none. */
static const struct perf_event_attr *known(void)
{
	static struct perf_event_attr attr;

	attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	if (try_open(&attr) == -ENOENT)
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
	close(must_open(&attr, 0, -1, -1, 0));
	return &attr;
}

TEST(unknown_id)
{
	struct perf_event_attr attr, control = *known();
	struct finding finding;
	char name[64];
	int fd, count = 0;

	for (size_t i = 0; i < NAMES; i++) {
		attr = attr_software(i);
		judge_pair(&attr, &control, 0, -1, "such event", &finding);
		snprintf(name, sizeof(name), "opens.%s", names[i]);
		fact_verdict(name, finding.verdict,
			     finding.verdict == YES ? NULL : finding.reason);
	}
	while (attr.config = count, (fd = pm_open(&attr, 0, -1, -1, 0)) >= 0 && count < 1000) {
		close(fd);
		count++;
	}
	fact_int("known", count);
	attr.config = 1 << 20;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), ENOENT, BROKEN, "software event 1048576");
}

TEST(no_alias)
{
	struct perf_event_attr attr = *known();
	uint64_t gain;
	int fd;

	attr.config |= UINT64_C(1) << 32;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0) {
		must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		gain = gain_of_faults(fd, NULL, 16);
		say_broken("config 0x100000002 is accepted and counted=%" PRIu64 " of 16 faults",
			   gain);
	}
	if (fd != -ENOENT && fd != -EINVAL)
		say_broken("errno=%s want=ENOENT or EINVAL", pm_errno_name(fd));
}

PROBE_MAIN
