/* SPDX-License-Identifier: MIT */
/* Several events in one text: lists, groups, patterns of tracepoints, and what is none. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"
#include "../fake_files.h"

#define EVENTS "/sys/kernel/tracing/events/"
#define ROOM 8

static struct pm_event_spec specs[ROOM];
static struct pm_event_listed listed[ROOM];
static struct pm_diag diag;

static int setup(void **state)
{
	if (fake_setup(state))
		return -1;
	fake_file("/sys/bus/event_source/devices/cpu/type", "4\n");
	fake_file("/sys/bus/event_source/devices/cpu/format/event", "config:0-7\n");
	fake_file(EVENTS "sched/sched_switch/id", "314\n");
	fake_file(EVENTS "sched/sched_wakeup/id", "316\n");
	fake_file(EVENTS "sched/enable", "0\n");
	fake_file(EVENTS "syscalls/sys_enter_write/id", "700\n");
	fake_file(EVENTS "syscalls/sys_enter_read/id", "701\n");
	fake_file(EVENTS "syscalls/sys_exit_read/id", "702\n");
	fake_file(EVENTS "header_page", "field: u64 timestamp;\n");
	return 0;
}

static int list(const char *text)
{
	memset(specs, 0, sizeof(specs));
	memset(listed, 0, sizeof(listed));
	diag = (struct pm_diag){ .size = sizeof(diag) };
	specs[0].size = sizeof(specs[0]);
	listed[0].size = sizeof(listed[0]);
	return pm_event_list(text, &diag, specs, listed, ROOM);
}

static void commas(void **state)
{
	(void)state;
	assert_int_equal(list("cycles:u, page-faults ,cpu/event=1,period=9/,r1"), 4);
	assert_true(specs[0].flags == PM_SPEC_USER_ONLY);
	assert_true(specs[1].type == PM_TYPE_SOFTWARE && specs[1].config == PM_SW_PAGE_FAULTS);
	assert_true(specs[2].type == 4 && specs[2].config == 1 && specs[2].period == 9);
	assert_true(specs[3].type == PM_TYPE_RAW && specs[3].config == 1);
	for (size_t i = 0; i < 4; i++)
		assert_true(listed[i].leader == 0 && listed[i].flags == 0 &&
			    listed[i].name[0] == '\0' && specs[i].size == sizeof(specs[i]));
	/* The slash of a breakpoint is one. */
	assert_int_equal(list("mem:0x1000/8:w,mem:0x2000/4,cs"), 3);
	assert_true(specs[1].config1 == 0x2000 && specs[2].config == PM_SW_CONTEXT_SWITCHES);
}

static void terms_of_lists(void **state)
{
	(void)state;
	assert_int_equal(list("cs/name='a,b:c=d',call-graph=dwarf,stack-size=1001/u,"
			      "cycles/call-graph=no,name=x/"), 2);
	assert_string_equal(listed[0].name, "a,b:c=d");
	assert_true(listed[0].stacks == PM_LISTED_DWARF && listed[0].stack_bytes == 1008);
	assert_true(specs[0].flags == PM_SPEC_USER_ONLY);
	assert_string_equal(listed[1].name, "x");
	assert_int_equal(listed[1].stacks, PM_LISTED_NO_STACKS);
}

static void groups(void **state)
{
	(void)state;
	assert_int_equal(list("cs,{cycles:D,page-faults:u}:kS,faults"), 4);
	assert_true(listed[0].leader == 0 && listed[1].leader == 0 && listed[2].leader == 2 &&
		    listed[3].leader == 0);
	assert_true(listed[0].flags == 0 && listed[1].flags == PM_LISTED_READ &&
		    listed[2].flags == PM_LISTED_READ && listed[3].flags == 0);
	/* What is left out by the member is taken in by the group, as perf(1) does it. */
	assert_int_equal(specs[1].flags,
			 PM_SPEC_PINNED | PM_SPEC_NO_USER | PM_SPEC_NO_HYPERVISOR);
	assert_int_equal(specs[2].flags, PM_SPEC_NO_HYPERVISOR);
	assert_int_equal(list("{cycles,cs}:DeW"), 2);
	assert_int_equal(specs[0].flags, PM_SPEC_PINNED | PM_SPEC_EXCLUSIVE);
	assert_int_equal(specs[1].flags, 0);
	assert_int_equal(listed[1].flags, PM_LISTED_WEAK);
	assert_int_equal(list(" { cs , cpu/event=2/ } "), 2);
	assert_int_equal(listed[1].leader, 1);
	assert_int_equal(list("{cycles:p}:p"), 1);
	assert_int_equal(specs[0].flags, PM_SPEC_PRECISE_2);
}

static void patterns(void **state)
{
	(void)state;
	assert_int_equal(list("sched:*"), 2);
	assert_true(specs[0].config == 314 && specs[1].config == 316);
	assert_int_equal(list("*:sys_enter_[rw]*:u,cs"), 3);
	assert_true(specs[0].config == 701 && specs[1].config == 700);
	assert_true(specs[1].flags == PM_SPEC_USER_ONLY);
	assert_int_equal(list("{sched:sched_?witch/period=5/,*:*read}:S"), 3);
	assert_true(specs[0].period == 5 && specs[1].config == 701 && listed[2].leader == 1);
	assert_int_equal(list("sched:no*"), -ENOENT);
	assert_non_null(strstr(diag.text, "\"sched:no*\": no tracepoint here matches"));
	fake_denied_path = EVENTS "sched";
	fake_denied_errno = EACCES;
	assert_int_equal(list("sched:*"), -EACCES);
	assert_non_null(strstr(diag.text, "not readable"));
}

static const struct {
	const char *text;
	int error;
	const char *says;
} bad[] = {
	{ "", EINVAL, "nothing between" }, { "cs,", EINVAL, "nothing between" },
	{ ",cs", EINVAL, "nothing between" }, { "cs,,cs", EINVAL, "nothing between" },
	{ "{}", EINVAL, "nothing between" }, { "{cs,}", EINVAL, "nothing between" },
	{ "{cs", EINVAL, "without an end" }, { "cs}", EINVAL, "does not follow a comma" },
	{ "{cs,{cs}}", EINVAL, "within a group" }, { "x{cs}", EINVAL, "has no name" },
	{ "{cs}cs", EINVAL, "does not follow a comma" }, { "{cs}:", EINVAL, "no modifier" },
	{ "{cs}:z", EINVAL, "\"z\" is no modifier" }, { "{cycles:pp}:pp", EINVAL, "degrees" },
	{ "cs,nonsense", EINVAL, "\"nonsense\" is no name" }, { "cs:b", ENOTSUP, "BPF" },
	{ "cs cs", EINVAL, "no blanks" }, { "cs/name='a", EINVAL, "no slash" },
	{ "sched:*:z", EINVAL, "no modifier" }, { "{cs,cs/percore/}", ENOTSUP, "percore" },
};

static void texts_that_are_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = list(bad[i].text);

		if (err != -bad[i].error || diag.error != bad[i].error ||
		    strstr(diag.text, bad[i].says) == NULL)
			fail_msg("\"%s\": %d, %s", bad[i].text, err, diag.text);
		assert_int_equal(pm_event_list(bad[i].text, NULL, NULL, NULL, 0), err);
	}
}

static void room(void **state)
{
	char text[5000];

	(void)state;
	assert_int_equal(list("cs,cs,cs,cs,cs,cs,cs,cs,cs,cycles"), 10);
	assert_int_equal(specs[7].config, PM_SW_CONTEXT_SWITCHES);
	assert_int_equal(pm_event_list("cs,cs", NULL, NULL, NULL, 0), 2);
	specs[0].size = 0;
	assert_int_equal(pm_event_list("cs", &diag, specs, listed, 1), -EINVAL);
	memset(text, ',', sizeof(text));
	text[4999] = '\0';
	assert_int_equal(list(text), -EINVAL);
	assert_non_null(strstr(diag.text, "up to 4095"));
	memset(text, 'c', 300);
	text[300] = '\0';
	assert_int_equal(list(text), -EINVAL);
	assert_non_null(strstr(diag.text, "too long"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(commas), TEST(terms_of_lists), TEST(groups), TEST(patterns),
		TEST(texts_that_are_none), TEST(room),
	};

	return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
