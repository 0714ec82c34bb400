/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace units and their AUX area. Included behind probe.h.
 */
#ifndef TRACE_UNIT_H
#define TRACE_UNIT_H

/* Known names, because opening every PMU there is would meet many that are none of our business. */
static inline int is_trace_unit(const char *name, void *context)
{
	static const char *const names[] = { "intel_pt", "intel_bts", "arm_spe_", "cs_etm",
					     "hisi_ptt", "arm_trbe", "perfmodes_trace" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i]))) {
			snprintf(context, 64, "%s", name);
			return 1;
		}
	return 0;
}

/* An attr for this thread of a trace unit, whose name goes into `name`; absent without one. */
static inline struct perf_event_attr must_trace(char name[64])
{
	struct perf_event_attr attr;

	require(REQUIRE_PERF);
	if (pm_pmu_each(is_trace_unit, name) != 1)
		say_absent("no PMU with AUX data (intel_pt, intel_bts, arm_spe, cs_etm, hisi_ptt)");
	attr = attr_of(pm_pmu_type(name), 0);
	attr.sample_type = PERF_SAMPLE_TID;
	attr.sample_period = 1;
	attr.sample_id_all = 1;
	return attr;
}

/* Map an AUX area behind a watch's ring; refused, while the ring is not, it is a "no". */
static inline void *ask_aux(struct sampler *sampler, size_t pages, int prot)
{
	volatile struct perf_event_mmap_page *page = sampler->ring.base;
	const size_t size = pages * probe_env()->page_size;
	void *area;

	page->aux_offset = sampler->ring.map_size;
	page->aux_size = size;
	area = mmap(NULL, size, prot, MAP_SHARED, sampler->fd, sampler->ring.map_size);
	if (area != MAP_FAILED)
		return area;
	if (errno == EINVAL)
		say_no("EINVAL for the AUX area of a trace unit");
	if (errno == EPERM)
		say_blocked("EPERM: no locked memory left for %zu pages", pages);
	say_unknown("mmap of an AUX area: %s", pm_errno_name(errno));
}

#endif
