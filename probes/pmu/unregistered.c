/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of events whose PMU goes away? A driver that is unbound takes its PMU with it while
 * programs have events open; they have to learn that nothing will come any more.
 * Observed with the synthetic PMU of kernels/pmu, which goes when a file of its module is written.
 * It is not brought back: this probe runs in guests alone, and nothing about a PMU after it.
 * Linux da916e96e2de ("perf: Make perf_pmu_unregister() useable") (v6.15)
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"
#include "privilege.h"

PROBE(TITLE("events of a PMU that goes away")
      SINCE("6.15")
      COMMIT("da916e96e2de")
      NEEDS("pmu")
      NEEDS("root")
      HAZARD("takes the synthetic PMU of a guest away for good")
      POINT(gone, "the PMU can go while an event of it is open, mapped and sampling")
      FACT(poll_err, verdict, "-", "poll of an event whose PMU is gone reports POLLERR")
      FACT(ioctl_enodev, verdict, "-", "ENABLE of an event whose PMU is gone is ENODEV")
      FACT(mmap_refused, verdict, "-", "an event whose PMU is gone is not mapped again")
      FACT(not_opened, verdict, "-", "no more event of that PMU opens")
      FACT(others_count, verdict, "-", "a software event counts on beside it, and in its group")
      FACT(read_answer, string, "-", "what read(2) of an event whose PMU is gone answers"))

#define SWITCH "/sys/module/perfmodes_pmu/parameters/unregister"

static void judge(const char *name, bool right, const char *text, int64_t observed)
{
	struct finding finding;

	finding_set(&finding, right ? YES : BROKEN, "%s=%" PRId64, text, observed);
	fact_verdict(name, finding.verdict, finding.reason);
}

static void look_at(struct sampler *sampler, const struct perf_event_attr *attr, int software)
{
	struct pm_ring again;
	uint64_t value = 0;
	int answer = poll_once(sampler->fd, POLLIN, 0);

	judge("poll_err", answer > 0 && (answer & POLLERR), "revents", answer);
	answer = pm_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	judge("ioctl_enodev", answer == -ENODEV, "errno", -answer);
	pm_ring_close(&sampler->ring);
	answer = pm_ring_open(sampler->fd, 2, PROT_READ | PROT_WRITE, &again);
	judge("mmap_refused", answer < 0, "errno", -answer);
	answer = try_open(attr);
	judge("not_opened", answer < 0, "errno", -answer);
	value = gain_of_faults(software, NULL, 10);
	judge("others_count", value == 10, "gain of 10 faults", value);
	answer = pm_read_count(sampler->fd, &value);
	fact_str("read_answer", "%s", answer < 0 ? pm_errno_name(answer) : "a value");
}

TEST(gone)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr faults = attr_counter(false);
	struct sampler sampler;
	int software, error;
	char name[64];

	require(REQUIRE_PERF | REQUIRE_ROOT);
	if (access(SWITCH, W_OK))
		say_absent("no synthetic PMU here, or it is gone already");
	must_name_core(name, sizeof(name));
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_TID;
	sampler = must_run_sampler(&attr, 0, -1, 2);
	software = must_open(&faults, 0, -1, -1, 0);
	error = write_file(SWITCH, "1");
	if (error == -EOPNOTSUPP)
		say_absent("the synthetic PMU does not try it on this kernel (EOPNOTSUPP)");
	if (error)
		say_unknown("%s: %s", SWITCH, pm_errno_name(error));
	if (pm_pmu_type(name) >= 0)
		say_broken("the PMU is still in sysfs");
	look_at(&sampler, &attr, software);
}

PROBE_MAIN
