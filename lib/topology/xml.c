/* SPDX-License-Identifier: MIT */
/* Readings as info attributes of hwloc objects, and so in hwloc's XML. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "topology.h"

#define PREFIX "perfmodes:"

struct annotating {
	const struct pm_topology *set;
	hwloc_obj_t obj;
	hwloc_cpuset_t cpus;
	int added;
};

static int add(struct annotating *to, size_t event, const char *rest, uint64_t value)
{
	char name[NAME_BYTES + 64], text[32];

	snprintf(name, sizeof(name), PREFIX "%s%s", to->set->names[event], rest);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (hwloc_obj_add_info(to->obj, name, text) != 0)
		return -ENOMEM;
	to->added++;
	return 0;
}

static int add_each(struct annotating *to, size_t event)
{
	struct pm_topology_value value = { .size = sizeof(value) };
	char rest[32];
	int err = 0;

	for (size_t i = 0; i < to->set->count && err == 0; i++) {
		uint64_t time = pm_topology_reading(to->set, i)->time;

		err = pm_topology_value(to->set, event, to->cpus, time, &value);
		if (err < 0)
			return err;
		snprintf(rest, sizeof(rest), "@%" PRIu64, time);
		err = add(to, event, rest, value.value);
	}
	return err;
}

static int add_event(struct annotating *to, size_t event)
{
	struct pm_topology_value value = { .size = sizeof(value) };
	int err = pm_topology_value(to->set, event, to->cpus, PM_TOPOLOGY_LATEST, &value);

	if (err == 0)
		err = add(to, event, "", value.value);
	if (err == 0 && value.guess)
		err = add(to, event, ":uncertain", value.uncertain);
	if (err == 0 && to->set->count > 1)
		err = add_each(to, event);
	return err;
}

static bool has_some(hwloc_topology_t topology)
{
	hwloc_obj_t obj = NULL;

	while ((obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, obj)) != NULL)
		for (unsigned int i = 0; i < obj->infos_count; i++)
			if (strncmp(obj->infos[i].name, PREFIX, strlen(PREFIX)) == 0)
				return true;
	return false;
}

/* What the root has no PU for: CPUs that came later, were not allowed, or are not known. */
static int add_elsewhere(struct annotating *to, hwloc_topology_t topology)
{
	struct pm_topology_value all = { .size = sizeof(all) }, here = { .size = sizeof(here) };
	int err = 0;

	to->obj = hwloc_get_root_obj(topology);
	for (size_t i = 0; i < to->set->events && err == 0; i++) {
		(void)pm_topology_value(to->set, i, NULL, PM_TOPOLOGY_LATEST, &all);
		err = pm_topology_value(to->set, i, to->obj->cpuset, PM_TOPOLOGY_LATEST, &here);
		if (err == 0 && all.value > here.value)
			err = add(to, i, ":elsewhere", all.value - here.value);
	}
	return err;
}

int pm_topology_annotate(const struct pm_topology *set, hwloc_topology_t topology)
{
	struct annotating to = { .set = set };
	int err = 0;

	if (set->count == 0)
		return -ENODATA;
	if (has_some(topology))
		return -EEXIST;
	while (err == 0 &&
	       (to.obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, to.obj)) != NULL) {
		to.cpus = to.obj->cpuset;
		for (size_t i = 0; i < set->events && err == 0; i++)
			err = add_event(&to, i);
	}
	if (err == 0)
		err = add_elsewhere(&to, topology);
	return err < 0 ? err : to.added;
}

int pm_topology_export(const struct pm_topology *set, const char *path)
{
	hwloc_topology_t copy;
	int err;

	if (hwloc_topology_dup(&copy, set->topology) != 0)
		return -ENOMEM;
	err = pm_topology_annotate(set, copy);
	if (err >= 0)
		err = hwloc_topology_export_xml(copy, path, 0) == 0 ? 0 : -EIO;
	hwloc_topology_destroy(copy);
	return err;
}
