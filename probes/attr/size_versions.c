/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which published versions of perf_event_attr does this kernel know?
 *
 * A vendor kernel may have a field of a later version than its release, or lack one, so each
 * version is asked by itself: its last byte is set. A kernel that does not know the byte answers
 * E2BIG; one that knows it answers anything else. The size it writes back must say the same.
 */
#include "probe.h"
#include "finding.h"

#define DECLARE(number, size, what, since)                                                     \
	FACT(ver##number, verdict, "-", "knows " #size " bytes: " what) SINCE(since)
PROBE(TITLE("the versions of an attr")
      SINCE("2.6.31")
      PM_ATTR_VERSIONS(DECLARE)
      POINT(in_order, "a kernel that knows a version knows all before it")
      POINT(agrees_with_oracle, "the versions known end where the written-back size says"))

static const struct {
	const char *name;
	uint32_t size;
} versions[] = {
#define ROW(number, size, what, since) { "ver" #number, size },
	PM_ATTR_VERSIONS(ROW)
};
#define COUNT (sizeof(versions) / sizeof(*versions))

static int answer(size_t version, unsigned char last_byte)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	attr.size = versions[version].size;
	((unsigned char *)&attr)[attr.size - 1] = last_byte;
	fd = pm_open_raw(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Whether the plain event can be had; any published size with zeros in it must do. */
static void plain(bool report)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct finding finding;

	for (size_t i = 0; i < COUNT; i++) {
		int error = answer(i, 0);

		if (!error)
			continue;
		classify_setup(-error, &attr, 0, -1, &finding);
		for (size_t all = 0; report && all < COUNT; all++)
			fact_verdict(versions[all].name, finding.verdict, finding.reason);
		say(&finding);
	}
}

TEST(in_order)
{
	const char *unknown = NULL;

	plain(true);
	for (size_t i = 0; i < COUNT; i++) {
		bool known = answer(i, 1) != -E2BIG;

		fact_verdict(versions[i].name, known ? YES : NO,
			     known ? NULL : "E2BIG with its last byte set, ok without");
		if (known && unknown)
			say_broken("%s is known, %s is not", versions[i].name, unknown);
		if (!known)
			unknown = versions[i].name;
	}
}

TEST(agrees_with_oracle)
{
	int kernel;

	plain(false);
	kernel = pm_attr_size_kernel();
	if (kernel < 0)
		say_unknown("no E2BIG with a size: %s", pm_errno_name(kernel));
	for (size_t i = 0; i < COUNT; i++) {
		bool known = answer(i, 1) != -E2BIG;

		if (known != (versions[i].size <= (uint32_t)kernel))
			say_broken("size written back=%d, but %s (%u bytes) is %s", kernel,
				   versions[i].name, versions[i].size, known ? "known" : "unknown");
	}
}

PROBE_MAIN
