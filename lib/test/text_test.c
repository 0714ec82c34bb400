/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_files.h"

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
		cmocka_unit_test(cpu_lists),
		FAKED(cpus_online),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
