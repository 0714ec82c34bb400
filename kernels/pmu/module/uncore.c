// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PMU that belongs to no task: one event, the nanoseconds of the machine's clock, on the CPU that
 * its file cpumask names. It refuses to follow a thread, to sample and to leave anything out.
 */
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/sysfs.h>

#include "pmu.h"

#define CLOCKTICKS 1

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_EVENT_ATTR_STRING(clockticks, event_clockticks, "event=0x01");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	NULL
};

static const struct attribute_group uncore_format_group = {
	.name = "format",
	.attrs = format_attrs,
};

static struct attribute *event_attrs[] = {
	&event_clockticks.attr.attr,
	NULL
};

static const struct attribute_group uncore_events_group = {
	.name = "events",
	.attrs = event_attrs,
};

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "0\n");
}
static DEVICE_ATTR_RO(cpumask);

static struct attribute *mask_attrs[] = {
	&dev_attr_cpumask.attr,
	NULL
};

static const struct attribute_group mask_group = {
	.attrs = mask_attrs,
};

static const struct attribute_group *uncore_groups[] = {
	&uncore_events_group, &uncore_format_group, &mask_group, NULL
};

static void read(struct perf_event *event)
{
	u64 now = sched_clock(), before = local64_xchg(&event->hw.prev_count, now);

	if (now > before && !lies(LIE_FROZEN))
		local64_add(now - before, &event->count);
}

static void start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, sched_clock());
}

static void stop(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		start(event, PERF_EF_RELOAD);
	return 0;
}

static void del(struct perf_event *event, int flags)
{
	stop(event, PERF_EF_UPDATE);
}

static int event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (is_sampling_event(event) || event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return -EINVAL;
	if (event->attr.config != CLOCKTICKS)
		return -EINVAL;
	event->cpu = 0;
	return 0;
}

struct pmu uncore_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_NO_EXCLUDE,
	.attr_groups = uncore_groups,
	.event_init = event_init,
	.add = add,
	.del = del,
	.start = start,
	.stop = stop,
	.read = read,
};
