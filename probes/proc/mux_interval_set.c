/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the interval of multiplexing be set, and to what?
 *
 * The probe writes the value that is there and one that must be refused, so nothing changes.
 */
#include "probe.h"
#include "privilege.h"

#include <stdio.h>

PROBE(TITLE("setting the interval of multiplexing")
      SINCE("3.11")
      COMMIT("62b856397927")
      NEEDS("root")
      POINT(same_value, "the value that is there can be written")
      POINT(zero_refused, "0 ms is refused with EINVAL"))

/* The file of the core's PMU, or of the software events where there is none. */
static int64_t writable_interval(char *path, size_t size)
{
	char name[64];
	int64_t value;

	if (pm_pmu_core(name, sizeof(name)) < 0)
		strcpy(name, "software");
	snprintf(path, size, "/sys/bus/event_source/devices/%s/perf_event_mux_interval_ms", name);
	if (pm_read_number(path, &value) < 0 || value == 0)
		say_absent("PMU %s has no interval", name);
	if (access(path, W_OK) < 0)
		say_blocked("the interval is not writable: needs root");
	return value;
}

TEST(same_value)
{
	char path[160], text[24];
	int64_t value = writable_interval(path, sizeof(path)), after = -1;
	int error;

	snprintf(text, sizeof(text), "%" PRId64, value);
	error = write_file(path, text);
	pm_read_number(path, &after);
	if (error || after != value)
		say_broken("errno=%s value=%" PRId64 " want=%" PRId64, pm_errno_name(error), after,
			   value);
}

TEST(zero_refused)
{
	char path[160];
	int error;

	writable_interval(path, sizeof(path));
	error = write_file(path, "0");
	if (error != -EINVAL)
		say_broken("0 ms: errno=%s want=EINVAL", pm_errno_name(error));
}

PROBE_MAIN
