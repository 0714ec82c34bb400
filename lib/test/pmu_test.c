/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_files.h"

#define DEVICES "/sys/bus/event_source/devices"
#define TRACING "/sys/kernel/tracing"
#define DEBUGFS "/sys/kernel/debug/tracing"

/* ------------------------------------------------------------------------------ text, numbers */

static void text_loses_one_newline(void **state)
{
	char buf[8];

	(void)state;
	fake_file("/sys/a", "word\n");
	assert_int_equal(pm_read_text("/sys/a", buf, sizeof(buf)), 4);
	assert_string_equal(buf, "word");
	fake_file("/sys/a", "a\n\n");
	assert_int_equal(pm_read_text("/sys/a", buf, sizeof(buf)), 2);
	assert_string_equal(buf, "a\n");
	fake_file("/sys/a", "");
	assert_int_equal(pm_read_text("/sys/a", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	fake_file("/sys/a", "\n");
	assert_int_equal(pm_read_text("/sys/a", buf, sizeof(buf)), 0);
}

static void text_that_does_not_fit_is_said(void **state)
{
	char buf[9];

	(void)state;
	memset(buf, '#', sizeof(buf));
	fake_file("/sys/a", "1234567");
	assert_int_equal(pm_read_text("/sys/a", buf, 8), 7);
	assert_string_equal(buf, "1234567");
	fake_file("/sys/a", "1234567\n");
	assert_int_equal(pm_read_text("/sys/a", buf, 8), -EFBIG);
	assert_string_equal(buf, "1234567");
	assert_int_equal(buf[8], '#');
	assert_int_equal(pm_read_text("/sys/a", buf, 1), -EFBIG);
	assert_string_equal(buf, "");
	assert_int_equal(pm_read_text("/sys/a", buf, 0), -EINVAL);
}

static void text_errors_are_the_kernels(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(pm_read_text("/sys/none", buf, sizeof(buf)), -ENOENT);
	fake_file("/sys/dir/file", "");
	assert_int_equal(pm_read_text("/sys/dir", buf, sizeof(buf)), -EISDIR);
	fake_denied_path = "/sys/dir/file";
	fake_denied_errno = EACCES;
	assert_int_equal(pm_read_text("/sys/dir/file", buf, sizeof(buf)), -EACCES);
}

static void numbers(void **state)
{
	const struct {
		const char *text;
		int err;
		int64_t value;
	} cases[] = {
		{ "0\n", 0, 0 },	{ "-1\n", 0, -1 },	{ "010", 0, 10 },
		{ "0x1f\n", 0, 31 },	{ "0xfffffffff", 0, 0xfffffffff },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 42 },	{ "", -EINVAL, 42 },
		{ "\n", -EINVAL, 42 },	{ "12 13", -EINVAL, 42 },	{ "abc", -EINVAL, 42 },
		{ "1\n2\n", -EINVAL, 42 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t value = 42;

		fake_file("/proc/n", cases[i].text);
		assert_int_equal(pm_read_number("/proc/n", &value), cases[i].err);
		assert_int_equal(value, cases[i].value);
	}
	assert_int_equal(pm_read_number("/proc/none", &(int64_t){ 0 }), -ENOENT);
}

/* --------------------------------------------------------------------------------------- PMUs */

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

/* ------------------------------------------------------------------------------------ tracefs */

static void tracefs_is_found_in_its_two_places(void **state)
{
	char root[64] = "unchanged";

	(void)state;
	assert_int_equal(pm_tracefs_root(root, sizeof(root)), -ENOENT);
	fake_file(DEBUGFS "/events/x/y/id", "1");
	fake_file(TRACING "/README", "an empty mount point is no tracefs");
	assert_int_equal(pm_tracefs_root(root, sizeof(root)), 0);
	assert_string_equal(root, DEBUGFS);
	fake_file(TRACING "/events/x/y/id", "1");
	assert_int_equal(pm_tracefs_root(root, sizeof(root)), 0);
	assert_string_equal(root, TRACING);
	assert_int_equal(pm_tracefs_root(root, strlen(TRACING)), -ENAMETOOLONG);
	assert_int_equal(pm_tracefs_root(root, strlen(TRACING) + 1), 0);
}

static void tracefs_refused_is_not_missing(void **state)
{
	char root[64];

	(void)state;
	fake_denied_path = TRACING "/events";
	fake_denied_errno = EACCES;
	assert_int_equal(pm_tracefs_root(root, sizeof(root)), -EACCES);
	fake_denied_errno = EPERM;
	assert_int_equal(pm_tracefs_root(root, sizeof(root)), -EACCES);
	fake_denied_path = DEBUGFS "/events";
	fake_denied_errno = EACCES;
	assert_int_equal(pm_tracefs_root(root, sizeof(root)), -EACCES);
}

static void tracepoint_ids(void **state)
{
	(void)state;
	assert_int_equal(pm_tracepoint_id("sched", "sched_switch"), -ENOENT);
	fake_file(DEBUGFS "/events/sched/sched_switch/id", "316\n");
	assert_int_equal(pm_tracepoint_id("sched", "sched_switch"), 316);
	fake_file(TRACING "/events/sched/sched_switch/id", "317\n");
	assert_int_equal(pm_tracepoint_id("sched", "sched_switch"), 317);
	fake_file(TRACING "/events/sched/bad/id", "-5\n");
	assert_int_equal(pm_tracepoint_id("sched", "bad"), -ERANGE);
	fake_file(TRACING "/events/sched/first/id", "0\n");
	assert_int_equal(pm_tracepoint_id("sched", "first"), 0);
	fake_file(TRACING "/events/sched/large/id", "2147483648\n");
	assert_int_equal(pm_tracepoint_id("sched", "large"), -ERANGE);
	fake_file(TRACING "/events/sched/word/id", "word\n");
	assert_int_equal(pm_tracepoint_id("sched", "word"), -EINVAL);
	assert_int_equal(pm_tracepoint_id("sched", "none"), -ENOENT);
	assert_int_equal(pm_tracepoint_id("..", "sched_switch"), -ENOENT);
	assert_int_equal(pm_tracepoint_id("sched", "../sched/sched_switch"), -ENOENT);
	assert_int_equal(pm_tracepoint_id("", "x"), -ENOENT);
	fake_denied_path = TRACING "/events/sched/none/id";
	fake_denied_errno = EACCES;
	assert_int_equal(pm_tracepoint_id("sched", "none"), -EACCES);
}

static const char format_text[] =
	"name: example\n"
	"ID: 316\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:const char * text;\toffset:32;\tsize:8;\n"
	"\tfield:int broken;\toffset:;\tsize:4;\n"
	"\tfield:int short_line;\n"
	"\n"
	"print fmt: \"pid=%d field:int ghost;\toffset:1;\tsize:1;\"\n"
	"\tfield:long last;\toffset:40;\tsize:8;\tsigned:1;";

static void tracepoint_fields(void **state)
{
	const struct {
		const char *name;
		uint32_t offset, size;
		bool is_signed;
	} cases[] = {
		{ "common_type", 0, 2, false },	{ "common_pid", 4, 4, true },
		{ "prev_comm", 8, 16, false },	{ "prev_pid", 24, 4, true },
		{ "name", 28, 4, true },	{ "text", 32, 8, false },
		{ "last", 40, 8, true },
	};
	struct pm_trace_field field;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(pm_tracepoint_field(format_text, cases[i].name, &field), 0);
		assert_int_equal(field.offset, cases[i].offset);
		assert_int_equal(field.size, cases[i].size);
		assert_int_equal(field.is_signed, cases[i].is_signed);
	}
}

static void tracepoint_fields_that_are_not_there(void **state)
{
	const char *const missing[] = { "pid", "prev_com", "ghost", "char", "", "[16]", "int" };
	struct pm_trace_field field = { 1, 2, true };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		assert_int_equal(pm_tracepoint_field(format_text, missing[i], &field), -ENOENT);
	assert_int_equal(pm_tracepoint_field("", "x", &field), -ENOENT);
	assert_int_equal(pm_tracepoint_field("\tfield:", "x", &field), -ENOENT);
	assert_int_equal(pm_tracepoint_field("\tfield:]", "x", &field), -ENOENT);
	assert_int_equal(pm_tracepoint_field(format_text, "broken", &field), -EINVAL);
	assert_int_equal(pm_tracepoint_field(format_text, "short_line", &field), -EINVAL);
	assert_int_equal(field.offset, 1);
}

/* ---------------------------------------------------------------------------------- CPU lists */

static void collect(unsigned int cpu, void *context)
{
	char *text = context;

	sprintf(text + strlen(text), "%u ", cpu);
}

static void cpu_lists(void **state)
{
	const struct {
		const char *list;
		int count;
		const char *cpus;
	} cases[] = {
		{ "", 0, "" },			{ "0", 1, "0 " },
		{ "0-3,8", 5, "0 1 2 3 8 " },	{ "5,7-7", 2, "5 7 " },
		{ "65535", 1, "65535 " },
		{ "65536", -EINVAL, "" },	{ "0-4294967295", -EINVAL, "" },
		{ "0-3,", -EINVAL, "" },	{ "0,3-1", -EINVAL, "" },
		{ "0\n", -EINVAL, "" },		{ "a", -EINVAL, "" },
		{ "1,-2", -EINVAL, "" },	{ "0-65535,0-1", -EINVAL, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64] = "";

		assert_int_equal(pm_cpulist_each(cases[i].list, collect, text), cases[i].count);
		assert_string_equal(text, cases[i].cpus);
	}
	assert_int_equal(pm_cpulist_each("0-65535", NULL, NULL), 65536);
}

static void cpus_online(void **state)
{
	(void)state;
	assert_int_equal(pm_cpus_online(), -ENOENT);
	fake_file("/sys/devices/system/cpu/online", "0-2,5\n");
	assert_int_equal(pm_cpus_online(), 4);
}

#define FAKED(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKED(text_loses_one_newline),
		FAKED(text_that_does_not_fit_is_said),
		FAKED(text_errors_are_the_kernels),
		FAKED(numbers),
		FAKED(pmu_types),
		FAKED(pmus_are_all_seen),
		FAKED(core_pmu_of_x86),
		FAKED(core_pmu_of_other_machines),
		FAKED(core_pmu_by_its_old_type),
		FAKED(core_pmu_of_s390),
		cmocka_unit_test(place_puts_bits_in_order),
		cmocka_unit_test(place_minds_the_range),
		cmocka_unit_test(place_refuses_nonsense),
		FAKED(tracefs_is_found_in_its_two_places),
		FAKED(tracefs_refused_is_not_missing),
		FAKED(tracepoint_ids),
		cmocka_unit_test(tracepoint_fields),
		cmocka_unit_test(tracepoint_fields_that_are_not_there),
		cmocka_unit_test(cpu_lists),
		FAKED(cpus_online),
	};

	return cmocka_run_group_tests_name("pmu", tests, NULL, NULL);
}
