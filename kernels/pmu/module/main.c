// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PMU for guests whose processors have none. The core does with it what it does with one of
 * hardware: it schedules, multiplexes and throttles its events, and delivers their samples.
 *
 * There is no way to unload it: before v6.2 the core takes one such PMU a boot.
 */
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "pmu.h"

static struct core_pmu cores[2];

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct core_pmu *core = to_core((struct pmu *)dev_get_drvdata(dev));

	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(&core->cpus));
}
static DEVICE_ATTR_RO(cpus);

static ssize_t max_precise_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", max_precise);
}
static DEVICE_ATTR_RO(max_precise);

/*
 * The switch of x86 over reading counters by an instruction. There is nothing to read, so the
 * instruction faults whatever it says.
 */
static unsigned long user_access = 1;

static ssize_t rdpmc_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%lu\n", user_access);
}

static ssize_t rdpmc_store(struct device *dev, struct device_attribute *attr, const char *text,
			   size_t size)
{
	unsigned long value;
	int error = kstrtoul(text, 0, &value);

	if (error || value > 2)
		return error ?: -EINVAL;
	user_access = value;
	return size;
}
static DEVICE_ATTR_RW(rdpmc);

static struct attribute *rdpmc_attrs[] = {
	&dev_attr_rdpmc.attr,
	NULL
};

static const struct attribute_group rdpmc_group = {
	.attrs = rdpmc_attrs,
};

static struct attribute *cap_attrs[] = {
	&dev_attr_max_precise.attr,
	NULL
};

static const struct attribute_group caps_group = {
	.name = "caps",
	.attrs = cap_attrs,
};

static struct attribute *cpu_attrs[] = {
	&dev_attr_cpus.attr,
	NULL
};

/* Only where cores differ. */
static umode_t cpus_visible(struct kobject *kobject, struct attribute *attr, int index)
{
	return hybrid || only_cpu >= 0 ? attr->mode : 0;
}

static const struct attribute_group cpus_group = {
	.attrs = cpu_attrs,
	.is_visible = cpus_visible,
};

static const struct attribute_group *core_groups[] = {
	&events_group, &format_group, &caps_group, &rdpmc_group, &cpus_group, NULL
};

static int register_core(struct core_pmu *core, const char *name, int type)
{
	int error;

	memset(&core->pmu, 0, sizeof(core->pmu));	/* it may have been registered before */
	core->pmu.module = THIS_MODULE;
	core->pmu.attr_groups = core_groups;
	core_pmu_setup(core);
	error = perf_pmu_register(&core->pmu, name, type);
	core->registered = !error;
	return error;
}

int register_cores(void)
{
	const unsigned int half = DIV_ROUND_UP(num_possible_cpus(), 2);
	unsigned int cpu;
	int error;

	if (cores[0].registered)
		return -EBUSY;
	for_each_possible_cpu(cpu)
		if (only_cpu < 0 || cpu == (unsigned int)only_cpu)
			cpumask_set_cpu(cpu, &cores[hybrid && cpu >= half].cpus);
	if (!hybrid)
		return register_core(&cores[0], "cpu", PERF_TYPE_RAW);
	error = register_core(&cores[0], "cpu_core", PERF_TYPE_RAW);
	return error ?: register_core(&cores[1], "cpu_atom", -1);
}

/* Returns whether the core let it go. Before v6.15 it does not say, and is not asked. */
static int unregister_one(struct pmu *pmu)
{
	int (*unregister)(struct pmu *) = (void *)perf_pmu_unregister;

	return UNREGISTER_IS_SAFE ? unregister(pmu) : -EOPNOTSUPP;
}

int unregister_all(void)
{
	int error = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(cores) && !error; i++) {
		if (!cores[i].registered)
			continue;
		error = unregister_one(&cores[i].pmu);
		cores[i].registered = error != 0;
	}
	return error;
}

static int register_others(void)
{
	int error = 0;

	if (trace) {
		trace_pmu_setup();
		error = perf_pmu_register(&trace_pmu, "perfmodes_trace", -1);
	}
	if (uncore && !error)
		error = perf_pmu_register(&uncore_pmu, "perfmodes_uncore", -1);
	return error;
}

static int __init perfmodes_pmu_init(void)
{
	int error = parameters_check();

	error = error ?: lookup_all();
	if (error)
		return error;
	error = clock_start();
	error = error ?: register_cores();
	error = error ?: register_others();
	/* What has been registered and hooked in cannot be taken back: this guest is of no use. */
	if (error)
		panic("perfmodes_pmu: not ready: %d\n", error);
	return 0;
}
module_init(perfmodes_pmu_init);

MODULE_DESCRIPTION("A synthetic PMU, for guests of the perfmodes kernel matrix");
MODULE_AUTHOR("The perfmodes project");
MODULE_LICENSE("GPL v2");
