/* SPDX-License-Identifier: MIT */
/* The CPUs that are to be observed. */
#include "cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "../diagnosis/diag.h"

#define CPUS_MAX 4096

static void add_cpu(unsigned int cpu, void *context)
{
	struct pm_cpus *cpus = context;

	if (cpus->count < CPUS_MAX)
		cpus->list[cpus->count++] = (int)cpu;
}

static void keep_cpu(unsigned int cpu, void *context)
{
	struct pm_cpus *cpus = context;

	/* Sets its sign: cpu c becomes -1 - c. */
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i] == (int)cpu)
			cpus->list[i] = -1 - (int)cpu;
}

/* Those of `set` only. */
static int limit_cpus(struct pm_cpus *cpus, const char *set)
{
	size_t kept = 0;

	if (set[0] == '\0')
		return 0;
	if (pm_cpulist_each(set, keep_cpu, cpus) < 0)
		return -EINVAL;
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i] < 0)
			cpus->list[kept++] = -1 - cpus->list[i];
	cpus->count = kept;
	return kept > 0 ? 0 : -ENODEV;
}

/* Without sysfs, every configured CPU is taken for online. */
static int fill(struct pm_cpus *cpus, const char *only)
{
	char text[4096];
	long configured;

	if (pm_read_text("/sys/devices/system/cpu/online", text, sizeof(text)) > 0 &&
	    pm_cpulist_each(text, add_cpu, cpus) > 0)
		return limit_cpus(cpus, only);
	configured = sysconf(_SC_NPROCESSORS_CONF);
	for (long i = 0; i < configured; i++)
		add_cpu((unsigned int)i, cpus);
	return cpus->count > 0 ? limit_cpus(cpus, only) : -ENODEV;
}

bool pm_cpus_hold(const struct pm_cpus *cpus, int cpu)
{
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i] == cpu)
			return true;
	return false;
}

int pm_cpus_list(const char *only, struct pm_diag *diag, struct pm_cpus *ret)
{
	int err;

	ret->count = 0;
	ret->list = malloc(CPUS_MAX * sizeof(*ret->list));
	if (ret->list == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	err = fill(ret, only);
	if (err == 0)
		return 0;
	free(ret->list);
	*ret = (struct pm_cpus){ NULL, 0 };
	return pm_diag_say(diag, -err, PM_CAUSE_NO_TARGET, "attach: no CPU%s%.100s is online",
			   only[0] ? " of " : "", only);
}
