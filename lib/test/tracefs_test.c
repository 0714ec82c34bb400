/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_files.h"

#define TRACING "/sys/kernel/tracing"
#define DEBUGFS "/sys/kernel/debug/tracing"

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

#define FAKED(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKED(tracefs_is_found_in_its_two_places),
		FAKED(tracefs_refused_is_not_missing),
		FAKED(tracepoint_ids),
		cmocka_unit_test(tracepoint_fields),
		cmocka_unit_test(tracepoint_fields_that_are_not_there),
	};

	return cmocka_run_group_tests_name("tracefs", tests, NULL, NULL);
}
