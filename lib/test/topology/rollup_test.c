/* SPDX-License-Identifier: MIT */
/* Roll-ups over machines with SMT, NUMA, hybrid cores, holes in CPU numbers, thousands of CPUs. */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = { "cycles", "page-faults" };

static struct pm_topology *open_parts(hwloc_topology_t topology, size_t readings)
{
	const struct pm_topology_opts opts = { .size = sizeof(opts), .readings = readings };
	struct pm_topology *set;

	assert_int_equal(pm_topology_open_parts(topology, names, 2, &opts, &set),
			 PM_TOPOLOGY_PARTS);
	return set;
}

/* CPU n counts n + 1 cycles and 1000 times that many page faults. */
static void put_numbers(struct pm_topology *set, hwloc_topology_t topology)
{
	int cpus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), rows;
	struct pm_part *parts = calloc((size_t)cpus * 2, sizeof(*parts));
	hwloc_obj_t pu = NULL;
	size_t n = 0;

	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != NULL) {
		parts[n++] = part(0, (int)pu->os_index, pu->os_index + 1);
		parts[n++] = part(1, (int)pu->os_index, 1000 * (pu->os_index + 1));
	}
	rows = pm_topology_put(set, parts, n, NULL);
	assert_int_equal(rows, cpus);
	free(parts);
}

/* Each object is the sum of its PUs, whatever its type; and of memory that of its CPUs. */
static void check_objects(struct pm_topology *set, hwloc_topology_t topology, hwloc_obj_type_t type,
			  int expected)
{
	hwloc_obj_t obj = NULL;
	uint64_t all = 0;

	assert_int_equal(hwloc_get_nbobjs_by_type(topology, type), expected);
	while ((obj = hwloc_get_next_obj_by_type(topology, type, obj)) != NULL) {
		uint64_t sum = 0;
		unsigned int cpu;

		hwloc_bitmap_foreach_begin(cpu, obj->cpuset)
			sum += cpu + 1;
		hwloc_bitmap_foreach_end();
		assert_int_equal(value_of(set, 0, obj->cpuset), sum);
		assert_int_equal(value_of(set, 1, obj->cpuset), 1000 * sum);
		all += sum;
	}
	assert_int_equal(value_of(set, 0, NULL), all);
}

static void smt_and_numa(void **state)
{
	hwloc_topology_t topology = machine("pack:2 [numa] l3:2 core:4 pu:2");
	struct pm_topology *set = open_parts(topology, 0);

	(void)state;
	put_numbers(set, topology);
	check_objects(set, topology, HWLOC_OBJ_PU, 32);
	check_objects(set, topology, HWLOC_OBJ_CORE, 16);
	check_objects(set, topology, HWLOC_OBJ_L3CACHE, 4);
	check_objects(set, topology, HWLOC_OBJ_NUMANODE, 2);
	check_objects(set, topology, HWLOC_OBJ_PACKAGE, 2);
	check_objects(set, topology, HWLOC_OBJ_MACHINE, 1);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

static void holes_in_numbers(void **state)
{
	hwloc_topology_t topology = machine("pack:2 core:2 pu:2(indexes=0,40,8,48,3,700,1,5)");
	struct pm_topology *set = open_parts(topology, 0);
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, 700);

	(void)state;
	put_numbers(set, topology);
	check_objects(set, topology, HWLOC_OBJ_CORE, 4);
	check_objects(set, topology, HWLOC_OBJ_PACKAGE, 2);
	assert_int_equal(value_of(set, 0, pu->cpuset), 701);
	assert_int_equal(value_of(set, 0, pu->parent->cpuset), 3 + 1 + 700 + 1);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

static void more_cpus_than_a_cpu_set_holds(void **state)
{
	hwloc_topology_t topology = machine("pack:4 [numa] core:80 pu:4");
	struct pm_topology *set = open_parts(topology, 2);

	(void)state;
	put_numbers(set, topology);
	check_objects(set, topology, HWLOC_OBJ_PU, 1280);
	check_objects(set, topology, HWLOC_OBJ_CORE, 320);
	check_objects(set, topology, HWLOC_OBJ_NUMANODE, 4);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

/* Two kinds of cores: their sets come from hwloc, not from objects. */
static void kinds_of_cores(void **state)
{
	hwloc_topology_t topology = machine("pack:1 core:6 pu:1");
	struct pm_topology *set = open_parts(topology, 0);
	hwloc_bitmap_t big = hwloc_bitmap_alloc(), found = hwloc_bitmap_alloc();

	(void)state;
	hwloc_bitmap_set_range(big, 4, 5);
	assert_int_equal(hwloc_cpukinds_register(topology, big, 2, 0, NULL, 0), 0);
	hwloc_bitmap_zero(big);
	hwloc_bitmap_set_range(big, 0, 3);
	assert_int_equal(hwloc_cpukinds_register(topology, big, 1, 0, NULL, 0), 0);
	put_numbers(set, topology);
	assert_int_equal(hwloc_cpukinds_get_nr(topology, 0), 2);
	hwloc_cpukinds_get_info(topology, 0, found, NULL, NULL, NULL, 0);
	assert_int_equal(value_of(set, 0, found), 1 + 2 + 3 + 4);
	hwloc_cpukinds_get_info(topology, 1, found, NULL, NULL, NULL, 0);
	assert_int_equal(value_of(set, 0, found), 5 + 6);
	hwloc_bitmap_free(big);
	hwloc_bitmap_free(found);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

/* A CPU that hwloc does not know, and counts of no CPU, are in no object, and not forgotten. */
static void outside_the_topology(void **state)
{
	const struct pm_part parts[] = { part(0, 1, 10), part(0, 9, 5), part(0, -1, 2),
					 part(0, 1, 30) };
	hwloc_topology_t topology = machine("core:2 pu:1");
	struct pm_topology *set = open_parts(topology, 0);

	(void)state;
	assert_int_equal(pm_topology_put(set, parts, 4, NULL), 3);
	assert_int_equal(value_of(set, 0, hwloc_get_root_obj(topology)->cpuset), 40);
	assert_int_equal(value_of(set, 0, NULL), 47);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

/* --------------------------------------------------------------------------------------- times */

static void latest_all_window(void **state)
{
	hwloc_topology_t topology = machine("core:2 pu:1");
	hwloc_const_cpuset_t all = hwloc_get_root_obj(topology)->cpuset;
	struct pm_topology_value value = { .size = sizeof(value) };
	struct pm_topology *set = open_parts(topology, 100);
	uint64_t at[150], kept[150];

	(void)state;
	for (size_t i = 0; i < 150; i++) {
		struct pm_part parts[] = { part(0, (int)i % 2, 0), part(0, !(i % 2), 0) };

		parts[0].value = 10 * (i + 1);
		parts[1].value = 10 * i;
		assert_true(pm_topology_put(set, parts, 2, &at[i]) > 0);
		assert_true(i == 0 || at[i] > at[i - 1]);
	}
	assert_int_equal(pm_topology_times(set, 0, UINT64_MAX, kept, 150), 100);
	assert_memory_equal(kept, at + 50, sizeof(*at) * 100);
	assert_int_equal(pm_topology_times(set, at[60], at[69], kept, 3), 10);
	assert_int_equal(kept[2], at[62]);
	assert_int_equal(pm_topology_value(set, 0, all, at[49], &value), -ENODATA);
	assert_int_equal(pm_topology_value(set, 0, all, at[70], &value), 0);
	assert_int_equal(value.value, 10 * (71 + 70));
	assert_int_equal(value.time, at[70]);
	assert_int_equal(pm_topology_window(set, 0, all, at[70], at[90], &value), 0);
	assert_int_equal(value.value, 400);
	assert_int_equal(pm_topology_window(set, 0, all, at[90], at[70], &value), -ENODATA);
	assert_false(value.guess);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

static void accumulate_and_start_anew(void **state)
{
	hwloc_topology_t topology = machine("core:2 pu:1");
	struct pm_topology *set = open_parts(topology, 0);
	struct pm_part parts[] = { part(0, 0, 10), part(0, 1, 1) };
	struct pm_topology_value value = { .size = sizeof(value) };
	uint64_t first, last;

	(void)state;
	pm_topology_put(set, parts, 2, &first);
	assert_int_equal(pm_topology_accumulate(set, NULL), 2);
	assert_int_equal(value_of(set, 0, NULL), 11);
	parts[0].value = 15;
	pm_topology_put(set, parts, 2, NULL);
	assert_int_equal(value_of(set, 0, NULL), 5);	/* since the accumulate */
	assert_int_equal(pm_topology_accumulate(set, NULL), 2);
	assert_int_equal(value_of(set, 0, NULL), 16);	/* all of them */
	assert_int_equal(pm_topology_start(set, NULL), 0);
	parts[1].value = 4;
	pm_topology_put(set, parts, 2, &last);
	assert_int_equal(value_of(set, 0, NULL), 3);
	assert_int_equal(pm_topology_window(set, 0, NULL, first, last, &value), 0);
	assert_int_equal(value.value, 8);		/* whatever was between */
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

/* ------------------------------------------------------------------------------------- refusals */

static void what_is_refused(void **state)
{
	hwloc_topology_t topology = machine("core:2 pu:1");
	struct pm_topology_value value = { .size = sizeof(value) }, none = { .size = 0 };
	const struct pm_part bad[] = { part(2, 0, 1), part(0, 65536, 1) };
	struct pm_topology *set = open_parts(topology, 0), *other = NULL;

	(void)state;
	assert_int_equal(pm_topology_value(set, 0, NULL, PM_TOPOLOGY_LATEST, &value), -ENODATA);
	assert_int_equal(pm_topology_annotate(set, topology), -ENODATA);
	assert_int_equal(pm_topology_put(set, &bad[0], 1, NULL), -EINVAL);
	assert_int_equal(pm_topology_put(set, &bad[1], 1, NULL), -E2BIG);
	assert_int_equal(pm_topology_read(set, NULL), 0);
	assert_int_equal(pm_topology_value(set, 2, NULL, PM_TOPOLOGY_LATEST, &value), -EINVAL);
	assert_int_equal(pm_topology_value(set, 0, NULL, PM_TOPOLOGY_LATEST, &none), -EINVAL);
	assert_int_equal(pm_topology_open_parts(topology, names, 0, NULL, &other), -EINVAL);
	assert_int_equal(pm_topology_open_parts(topology, names, 33, NULL, &other), -EINVAL);
	assert_null(pm_topology_event(set, 2));
	assert_string_equal(pm_topology_event(set, 1), "page-faults");
	pm_topology_destroy(set);
	pm_topology_destroy(NULL);
	hwloc_topology_destroy(topology);
}

/* ------------------------------------------------------------------------------------------ XML */

static const char *info(hwloc_topology_t topology, unsigned int cpu, const char *name)
{
	return hwloc_obj_get_info_by_name(hwloc_get_pu_obj_by_os_index(topology, cpu), name);
}

static void xml_is_loaded_again(void **state)
{
	char path[] = "/tmp/perfmodes-topology-XXXXXX", name[80];
	hwloc_topology_t topology = machine("pack:2 core:2 pu:1(indexes=6,2,9,4)"), loaded;
	struct pm_topology *set = open_parts(topology, 0);
	const struct pm_part outside = part(0, 77, 123);
	uint64_t first;

	(void)state;
	put_numbers(set, topology);
	pm_topology_times(set, 0, UINT64_MAX, &first, 1);
	pm_topology_put(set, &outside, 1, NULL);
	close(mkstemp(path));
	assert_int_equal(pm_topology_export(set, path), 0);
	assert_int_equal(hwloc_topology_init(&loaded), 0);
	assert_int_equal(hwloc_topology_set_xml(loaded, path), 0);
	assert_int_equal(hwloc_topology_load(loaded), 0);
	assert_string_equal(info(loaded, 6, "perfmodes:cycles"), "7");
	assert_string_equal(info(loaded, 9, "perfmodes:page-faults"), "10000");
	assert_null(info(loaded, 9, "perfmodes:page-faults:uncertain"));
	snprintf(name, sizeof(name), "perfmodes:cycles@%llu", (unsigned long long)first);
	assert_string_equal(info(loaded, 4, name), "5");
	assert_string_equal(hwloc_obj_get_info_by_name(hwloc_get_root_obj(loaded),
						       "perfmodes:cycles:elsewhere"), "123");
	assert_int_equal(pm_topology_annotate(set, loaded), -EEXIST);
	assert_null(info(topology, 6, "perfmodes:cycles"));
	assert_int_equal(pm_topology_export(set, "/nonexistent/file"), -EIO);
	unlink(path);
	hwloc_topology_destroy(loaded);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smt_and_numa),
		cmocka_unit_test(holes_in_numbers),
		cmocka_unit_test(more_cpus_than_a_cpu_set_holds),
		cmocka_unit_test(kinds_of_cores),
		cmocka_unit_test(outside_the_topology),
		cmocka_unit_test(latest_all_window),
		cmocka_unit_test(accumulate_and_start_anew),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(xml_is_loaded_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
