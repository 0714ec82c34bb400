/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PMUs of sysfs and the terms of their attrs. Included behind probe.h.
 */
#ifndef PMU_H
#define PMU_H

/* An attr for a PMU that has no number of its own; ends the test where sysfs does not have it. */
static inline struct perf_event_attr must_pmu(const char *name)
{
	int type = pm_pmu_type(name);

	require(REQUIRE_PERF);
	if (type < 0)
		say_absent("no %s PMU (%s)", name, pm_errno_name(type));
	return attr_of(type, 0);
}

/* Call a function for each PMU of sysfs, as pm_pmu_each() does. */
static inline void visit_pmus(int (*each)(const char *, void *), void *context)
{
	int error = pm_pmu_each(each, context);

	if (error == -ENOENT)
		say_absent("sysfs has no event_source bus");
	if (error < 0)
		say_blocked("sysfs event_source: %s", pm_errno_name(error));
}

/* Put a value where sysfs says that a PMU's attr has it ("uprobe", "retprobe"). */
static inline void must_place(const char *pmu, const char *field, uint64_t value,
			      struct perf_event_attr *attr)
{
	char path[160], text[64];
	int error;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/%s", pmu, field);
	error = pm_read_text(path, text, sizeof(text));
	if (error == -ENOENT)
		say_no("sysfs has no format %s for %s", field, pmu);
	if (error < 0)
		say_blocked("format %s of %s: %s", field, pmu, pm_errno_name(error));
	error = pm_pmu_place(text, value, attr);
	if (error < 0)
		say_broken("format %s of %s: \"%s\"", field, pmu, text);
}

#endif
