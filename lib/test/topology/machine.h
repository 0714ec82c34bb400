/* SPDX-License-Identifier: MIT */
/* What the tests here share: topologies of machines that nobody here has, and parts for them. */
#ifndef MACHINE_H
#define MACHINE_H

#include "../test.h"
#include "../../topology/topology.h"

static inline hwloc_topology_t machine(const char *synthetic)
{
	hwloc_topology_t topology;

	assert_int_equal(hwloc_topology_init(&topology), 0);
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (synthetic != NULL)
		assert_int_equal(hwloc_topology_set_synthetic(topology, synthetic), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	return topology;
}

static inline uint64_t value_of(struct pm_topology *set, size_t event, hwloc_const_cpuset_t cpus)
{
	struct pm_topology_value value = { .size = sizeof(value) };

	assert_int_equal(pm_topology_value(set, event, cpus, PM_TOPOLOGY_LATEST, &value), 0);
	return value.value;
}

static inline struct pm_part part(size_t event, int cpu, uint64_t value)
{
	return (struct pm_part){ .size = sizeof(struct pm_part), .event = event, .tid = 7,
				 .cpu = cpu, .value = value, .enabled = 10 * value,
				 .running = 5 * value };
}

#endif
