/* SPDX-License-Identifier: MIT */
/*
 * Where page faults happen: a program sends its thread over the CPUs that it may use, and prints
 * the tree of the machine with the faults of each object; with a file's name it also writes them
 * there, as XML for lstopo.
 *
 *   cc page_faults.c $(pkg-config --cflags --libs perfmodes-topology) && ./a.out [FILE]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <perfmodes_topology.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CPU n of those allowed touches (n + 1) * 64 pages. */
static void work(hwloc_topology_t topology)
{
	hwloc_obj_t pu = NULL;

	for (size_t n = 1; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)); n++) {
		char *memory;

		if (hwloc_set_cpubind(topology, pu->cpuset, HWLOC_CPUBIND_THREAD) != 0)
			continue;
		memory = aligned_alloc(4096, n * 64 * 4096);
		for (size_t i = 0; memory != NULL && i < n * 64; i++)
			((volatile char *)memory)[i * 4096] = 1;
		free(memory);
	}
}

static void print(const struct pm_topology *set, hwloc_obj_t obj, int depth)
{
	struct pm_topology_value value = { .size = sizeof(value) };
	char type[64];

	if (pm_topology_value(set, 0, obj->cpuset, PM_TOPOLOGY_LATEST, &value) < 0)
		return;
	hwloc_obj_type_snprintf(type, sizeof(type), obj, 0);
	printf("%*s%s %u: %" PRIu64 "%s\n", depth, "", type, obj->logical_index, value.value,
	       value.guess ? " (a guess)" : "");
	for (hwloc_obj_t child = obj->memory_first_child; child; child = child->next_sibling)
		print(set, child, depth + 2);
	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling)
		print(set, child, depth + 2);
}

int main(int argc, char **argv)
{
	const struct pm_topology_opts opts = { .size = sizeof(opts),
					       .flags = PM_TOPOLOGY_MAY_SPLIT,
					       .allow = PM_ALLOW_USER_ONLY };
	struct pm_event_spec faults = { .size = sizeof(faults) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_topology *set = NULL;
	hwloc_topology_t topology;
	int err;

	if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0)
		return 1;
	err = pm_event_parse("page-faults", &diag, &faults);
	if (err == 0)
		err = pm_topology_open(topology, &faults, 1, &opts, &diag, &set);
	if (err >= 0)
		err = pm_topology_start(set, &diag);
	if (err >= 0) {
		work(topology);
		err = pm_topology_stop(set, NULL);
		print(set, hwloc_get_root_obj(topology), 0);
		if (err >= 0 && argc > 1)
			err = pm_topology_export(set, argv[1]);
	} else {
		fprintf(stderr, "page_faults: %s\n", diag.text);
	}
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
	return err < 0 ? 2 : 0;
}
