/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_files.h"

#define DEVICES "/sys/bus/event_source/devices"

static void pmu_types(void **state)
{
	(void)state;
	fake_file(DEVICES "/breakpoint/type", "5\n");
	fake_file(DEVICES "/odd/type", "-1\n");
	fake_file("/sys/bus/event_source/type", "7\n");
	assert_int_equal(pm_pmu_type("breakpoint"), 5);
	assert_int_equal(pm_pmu_type("odd"), -ERANGE);
	fake_file(DEVICES "/first/type", "0\n");
	assert_int_equal(pm_pmu_type("first"), 0);
	assert_int_equal(pm_pmu_type("cpu"), -ENOENT);
	assert_int_equal(pm_pmu_type(".."), -ENOENT);
	assert_int_equal(pm_pmu_type("odd/../breakpoint"), -ENOENT);
	assert_int_equal(pm_pmu_type(""), -ENOENT);
}

struct seen {
	int count, stop_at;
	unsigned int letters;
};

static int see(const char *name, void *context)
{
	struct seen *seen = context;

	seen->letters |= 1u << (name[0] - 'a');
	return ++seen->count == seen->stop_at ? 99 : 0;
}

static void pmus_are_all_seen(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(pm_pmu_each(see, &seen), -ENOENT);
	fake_file(DEVICES "/alpha/type", "1");
	fake_file(DEVICES "/beta/type", "2");
	fake_file(DEVICES "/gamma/type", "3");
	assert_int_equal(pm_pmu_each(see, &seen), 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.letters, 1 << 0 | 1 << 1 | 1 << 6);
	seen = (struct seen){ .stop_at = 2 };
	assert_int_equal(pm_pmu_each(see, &seen), 99);
	assert_int_equal(seen.count, 2);
}

static void core_pmu_of_x86(void **state)
{
	char name[32] = "unchanged";

	(void)state;
	fake_file(DEVICES "/software/type", "1");
	fake_file(DEVICES "/breakpoint/type", "5");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), -ENOENT);
	assert_string_equal(name, "unchanged");
	fake_file(DEVICES "/cpu/type", "4");
	fake_file(DEVICES "/amd_df/cpumask", "0");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), 0);
	assert_string_equal(name, "cpu");
	assert_int_equal(pm_pmu_core(name, 3), -ENAMETOOLONG);
	assert_int_equal(pm_pmu_core(name, 4), 0);
}

static void core_pmu_of_other_machines(void **state)
{
	char name[64];

	(void)state;
	fake_file(DEVICES "/arm_spe_0/cpumask", "0-3");
	fake_file(DEVICES "/armv8_cortex_a72/cpus", "4-5");
	fake_file(DEVICES "/armv8_cortex_a53/cpus", "0-3");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), 0);
	assert_string_equal(name, "armv8_cortex_a53");
}

static void core_pmu_that_generic_events_land_on(void **state)
{
	char name[64];

	(void)state;
	fake_file(DEVICES "/cpu_atom/type", "9");
	fake_file(DEVICES "/cpu_atom/cpus", "8-15");
	fake_file(DEVICES "/cpu_core/type", "4");
	fake_file(DEVICES "/cpu_core/cpus", "0-7");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), 0);
	assert_string_equal(name, "cpu_core");
	fake_file(DEVICES "/another/type", "10");
	fake_file(DEVICES "/another/cpus", "16");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), 0);
	assert_string_equal(name, "cpu_core");
}

static void core_pmu_by_its_old_type(void **state)
{
	char name[64];

	(void)state;
	fake_file(DEVICES "/software/type", "1");
	fake_file(DEVICES "/ARMv7 Cortex-A9/type", "4");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), 0);
	assert_string_equal(name, "ARMv7 Cortex-A9");
}

static void core_pmu_of_s390(void **state)
{
	char name[64];

	(void)state;
	fake_file(DEVICES "/cpum_sf/type", "9");
	fake_file(DEVICES "/cpum_cf/type", "8");
	assert_int_equal(pm_pmu_core(name, sizeof(name)), 0);
	assert_string_equal(name, "cpum_cf");
}

/* ----------------------------------------------------------------------- format specifications */

static void place_puts_bits_in_order(void **state)
{
	struct perf_event_attr attr = { .config = 0xffff000000000000 };

	(void)state;
	assert_int_equal(pm_pmu_place("config:0-7,32-35", 0xabc, &attr), 0);
	assert_true(attr.config == 0xffff000a000000bc);
	assert_int_equal(pm_pmu_place("config:0-7,32-35", 0x123, &attr), 0);
	assert_true(attr.config == 0xffff000100000023);
	assert_int_equal(pm_pmu_place("config:35,0", 3, &attr), 0);
	assert_true(attr.config == 0xffff000900000023);
	assert_int_equal(pm_pmu_place("config1:0-63", UINT64_MAX, &attr), 0);
	assert_true(attr.config1 == UINT64_MAX);
	assert_int_equal(pm_pmu_place("config2:63", 1, &attr), 0);
	assert_true(attr.config2 == 1ull << 63);
	assert_int_equal(pm_pmu_place("config3:5-6", 2, &attr), 0);
	assert_true(attr.config3 == 1 << 6);
	assert_int_equal(pm_pmu_place("config4:0", 1, &attr), 0);
	assert_true(attr.config4 == 1);
}

static void place_minds_the_range(void **state)
{
	struct perf_event_attr attr = { .config = 5 };

	(void)state;
	assert_int_equal(pm_pmu_place("config:0-7", 256, &attr), -ERANGE);
	assert_int_equal(pm_pmu_place("config:0", 2, &attr), -ERANGE);
	assert_int_equal(pm_pmu_place("config:0-3,8-11", 0x100, &attr), -ERANGE);
	assert_int_equal(attr.config, 5);
	assert_int_equal(pm_pmu_place("config:0-7", 255, &attr), 0);
}

static void place_refuses_nonsense(void **state)
{
	const char *const bad[] = {
		"", "config", "config:", "config:,", "config:0,", "config:-3", "config:3-",
		"config:7-3", "config:64", "config:0-64", "config:0-7,7", "config:0 ", "config5:0",
		"conf:0", ":0", "config:0;1", "config:99999999999999999999", "config:4294967296",
		"config:a", "config:0-7,32-35x", "period:0-7", "config:0--1",
	};
	struct perf_event_attr attr = { .config = 5 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(pm_pmu_place(bad[i], 1, &attr), -EINVAL);
	assert_int_equal(attr.config, 5);
}

#define FAKED(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKED(pmu_types),
		FAKED(pmus_are_all_seen),
		FAKED(core_pmu_of_x86),
		FAKED(core_pmu_of_other_machines),
		FAKED(core_pmu_that_generic_events_land_on),
		FAKED(core_pmu_by_its_old_type),
		FAKED(core_pmu_of_s390),
		cmocka_unit_test(place_puts_bits_in_order),
		cmocka_unit_test(place_minds_the_range),
		cmocka_unit_test(place_refuses_nonsense),
	};

	return cmocka_run_group_tests_name("pmu", tests, NULL, NULL);
}
