/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints: format files against libtraceevent, fields of crafted records, tracefs in a
 * directory of our own, and this kernel's if it may be read.
 */
#include "../test.h"
#include "../fake_files.h"

#include <glob.h>
#include <traceevent/event-parse.h>

#include "../../perfmodes.h"

static const struct {
	const char *name, *text;
} formats[] = {
#include "data/formats.inc"
};

#define COMMON \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define HEAD "name: made\nID: 77\n" COMMON

static struct pm_trace_event *parse(const char *text)
{
	struct pm_trace_event *event;
	struct pm_diag diag = { .size = sizeof(diag) };

	assert_int_equal(pm_trace_event_parse(text, strlen(text), &diag, &event), 0);
	return event;
}

static struct pm_trace_member member_of(const struct pm_trace_event *event, const char *name)
{
	struct pm_trace_member member = { .size = sizeof(member) };
	int index = pm_trace_event_find(event, name);

	assert_true(index >= 0);
	assert_int_equal(pm_trace_event_member(event, (size_t)index, &member), 0);
	assert_string_equal(member.name, name);
	return member;
}

/* --------------------------------------------------------------------------------- differential */

static void same_field(const struct pm_trace_event *event, const struct tep_format_field *theirs)
{
	struct pm_trace_member ours = member_of(event, theirs->name);
	bool dynamic = theirs->flags & TEP_FIELD_IS_DYNAMIC, array = theirs->flags &
		(TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC);

	assert_int_equal(ours.offset, theirs->offset);
	assert_int_equal(ours.bytes, theirs->size);
	assert_int_equal(!!(ours.flags & PM_TRACE_SIGNED), !!(theirs->flags & TEP_FIELD_IS_SIGNED));
	assert_int_equal(!!(ours.flags & PM_TRACE_DYNAMIC), dynamic);
	assert_int_equal(!!(ours.flags & PM_TRACE_ARRAY), array);
	/* They take elements of a dynamic array of a two-word type for bytes. */
	if (theirs->elementsize > 1 && !dynamic && ours.bytes > 0)
		assert_int_equal(ours.element_size, theirs->elementsize);
}

/* Returns how many fields were compared. */
static int compare(const char *text)
{
	struct pm_trace_event *event = parse(text);
	const struct tep_format_field *lists[2];
	struct tep_handle *tep = tep_alloc();
	struct tep_event *theirs;
	int count = 0;

	tep_set_loglevel(TEP_LOG_NONE);
	assert_int_equal(tep_parse_event(tep, text, strlen(text), "s"), 0);
	theirs = tep_get_first_event(tep);
	assert_non_null(theirs);
	assert_int_equal(pm_trace_event_id(event), theirs->id);
	assert_string_equal(pm_trace_event_name(event), theirs->name);
	lists[0] = theirs->format.common_fields;
	lists[1] = theirs->format.fields;
	for (size_t i = 0; i < 2; i++)
		for (; lists[i] != NULL; lists[i] = lists[i]->next, count++)
			same_field(event, lists[i]);
	assert_int_equal(pm_trace_event_count(event), count);
	pm_trace_event_destroy(event);
	tep_free(tep);
	return count;
}

static void as_libtraceevent_reads_it(void **state)
{
	int count = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		count += compare(formats[i].text);
	assert_true(count > 90);
}

/* All of this kernel's, where tracefs may be read. */
static void this_kernel(void **state)
{
	static char text[65536];
	size_t compared = 0;
	glob_t paths;

	(void)state;
	if (glob("/sys/kernel/tracing/events/*/*/format", GLOB_NOSORT, NULL, &paths) != 0)
		skip();
	for (size_t i = 0; i < paths.gl_pathc; i++) {
		char *print;

		if (pm_read_text(paths.gl_pathv[i], text, sizeof(text)) < 0)
			continue;
		/* Of the rest they understand less than we need. */
		print = strstr(text, "print fmt:");
		if (print != NULL)
			strcpy(print, "print fmt: \"\", 0\n");
		compare(text);
		compared++;
	}
	globfree(&paths);
	if (compared == 0)
		skip();
}

/* -------------------------------------------------------------------------------------- records */

static int64_t number(const struct pm_trace_event *event, const char *name, size_t element,
		      const void *raw, size_t size)
{
	int64_t value = -4711;
	int index = pm_trace_event_find(event, name);

	assert_true(index >= 0);
	assert_int_equal(pm_trace_number(event, (size_t)index, element, raw, size, &value), 0);
	return value;
}

static void fields_of_a_switch(void **state)
{
	const struct __attribute__((packed)) {
		uint16_t type;
		uint8_t flags, preempt;
		int32_t pid;
		char prev_comm[16];
		int32_t prev_pid, prev_prio;
		int64_t prev_state;
		char next_comm[16];
		int32_t next_pid, next_prio;
	} raw = { 372, 1, 0, 99, "sixteen letters!", 99, -20, -2, "short", 100, 120 };
	struct pm_trace_event *event = parse(formats[0].text);
	const char *text;
	int index;

	(void)state;
	assert_int_equal(pm_trace_event_id(event), 372);
	assert_true(pm_trace_event_is(event, &raw, sizeof(raw)));
	assert_false(pm_trace_event_is(event, &raw, 1));
	assert_false(pm_trace_event_is(event, "xyz", 3));
	assert_int_equal(number(event, "prev_pid", 0, &raw, sizeof(raw)), 99);
	assert_int_equal(number(event, "prev_prio", 0, &raw, sizeof(raw)), -20);
	assert_int_equal(number(event, "prev_state", 0, &raw, sizeof(raw)), -2);
	assert_int_equal(number(event, "common_flags", 0, &raw, sizeof(raw)), 1);
	assert_int_equal(number(event, "prev_comm", 1, &raw, sizeof(raw)), 'i');
	/* No zero ends it. */
	index = pm_trace_event_find(event, "prev_comm");
	assert_int_equal(pm_trace_text(event, (size_t)index, &raw, sizeof(raw), &text), 16);
	assert_memory_equal(text, "sixteen letters!", 16);
	index = pm_trace_event_find(event, "next_comm");
	assert_int_equal(pm_trace_text(event, (size_t)index, &raw, sizeof(raw), &text), 5);
	/* A record that ends early. */
	assert_int_equal(pm_trace_text(event, (size_t)index, &raw, 50, &text), -EBADMSG);
	assert_int_equal(pm_trace_event_find(event, "prev"), -ENOENT);
	assert_int_equal(pm_trace_text(event, 99, &raw, sizeof(raw), &text), -EINVAL);
	assert_true(member_of(event, "common_pid").flags & PM_TRACE_COMMON);
	assert_false(member_of(event, "prev_pid").flags & PM_TRACE_COMMON);
	pm_trace_event_destroy(event);
}

#define FIELD(declaration, size, is_signed) \
	"\tfield:" declaration ";\toffset:0;\tsize:" size ";\tsigned:" is_signed ";\n"

static void sizes_and_signs(void **state)
{
	static const uint64_t raw[2] = { UINT64_MAX, UINT64_MAX };
	struct pm_trace_event *event = parse(HEAD
		FIELD("u8 a", "1", "0") FIELD("s8 b", "1", "1")
		FIELD("u16 c", "2", "0") FIELD("s16 d", "2", "1")
		FIELD("u32 e", "4", "0") FIELD("int f", "4", "1")
		FIELD("u64 g", "8", "0") FIELD("struct x h", "3", "0"));
	int64_t value;

	(void)state;
	assert_int_equal(number(event, "a", 0, raw, 16), 0xff);
	assert_int_equal(number(event, "b", 0, raw, 16), -1);
	assert_int_equal(number(event, "c", 0, raw, 16), 0xffff);
	assert_int_equal(number(event, "d", 0, raw, 16), -1);
	assert_true(number(event, "e", 0, raw, 16) == 0xffffffffll);
	assert_int_equal(number(event, "f", 0, raw, 16), -1);
	assert_true((uint64_t)number(event, "g", 0, raw, 16) == UINT64_MAX);
	assert_int_equal(pm_trace_number(event, (size_t)pm_trace_event_find(event, "h"), 0, raw, 16,
					 &value), -EINVAL);
	pm_trace_event_destroy(event);
}

static void array_of_long(void **state)
{
	static const int64_t raw[3] = { -1, 2, INT64_MIN };
	struct pm_trace_event *event = parse("name: lock\nID: 9\nformat:\n"
		"\tfield:long mem[3];\toffset:0;\tsize:24;\tsigned:1;\n");
	struct pm_trace_member member = member_of(event, "mem");
	int64_t value;

	(void)state;
	assert_int_equal(member.count, 3);
	assert_string_equal(member.type, "long");
	for (size_t i = 0; i < 3; i++)
		assert_true(number(event, "mem", i, raw, sizeof(raw)) == raw[i]);
	assert_int_equal(pm_trace_number(event, 0, 3, raw, sizeof(raw), &value), -ERANGE);
	assert_int_equal(pm_trace_number(event, 0, 0, raw, 23, &value), -EBADMSG);
	/* There is no common_type here. */
	assert_false(pm_trace_event_is(event, raw, sizeof(raw)));
	pm_trace_event_destroy(event);
}

#define DYNAMIC(mark, type) HEAD "\tfield:" mark " " type "[] it;\toffset:8;\tsize:4;\tsigned:0;\n"

/* The word at 8, then `bytes` bytes of data from 12 on. */
static void put_dynamic(unsigned char *raw, uint32_t offset, uint32_t length, const void *bytes,
			size_t size)
{
	uint32_t word = length << 16 | offset;

	memset(raw, 0, 12);
	memcpy(raw + 8, &word, 4);
	memcpy(raw + 12, bytes, size);
}

static void data_loc(void **state)
{
	struct pm_trace_event *event = parse(DYNAMIC("__data_loc", "char"));
	size_t index = (size_t)pm_trace_event_find(event, "it");
	unsigned char *raw = malloc(20);	/* so that the sanitizer sees its end */
	const char *text = NULL;

	(void)state;
	put_dynamic(raw, 12, 8, "/bin/sh", 8);
	assert_int_equal(pm_trace_text(event, index, raw, 20, &text), 7);
	assert_memory_equal(text, "/bin/sh", 7);
	put_dynamic(raw, 12, 4, "/bin/sh", 8);
	assert_int_equal(pm_trace_text(event, index, raw, 20, &text), 4);
	put_dynamic(raw, 20, 0, "/bin/sh", 8);
	assert_int_equal(pm_trace_text(event, index, raw, 20, &text), 0);
	put_dynamic(raw, 12, 9, "/bin/sh", 8);
	assert_int_equal(pm_trace_text(event, index, raw, 20, &text), -EBADMSG);
	put_dynamic(raw, 0xffff, 1, "/bin/sh", 8);
	assert_int_equal(pm_trace_text(event, index, raw, 20, &text), -EBADMSG);
	assert_int_equal(pm_trace_text(event, index, raw, 11, &text), -EBADMSG);
	free(raw);
	pm_trace_event_destroy(event);
}

static void rel_loc(void **state)
{
	static const uint64_t words[2] = { 5, UINT64_MAX };
	struct pm_trace_event *event = parse(DYNAMIC("__rel_loc", "u64"));
	size_t index = (size_t)pm_trace_event_find(event, "it");
	unsigned char *raw = malloc(28);
	const void *bytes;
	int64_t value;

	(void)state;
	put_dynamic(raw, 0, 16, words, 16);
	assert_int_equal(pm_trace_bytes(event, index, raw, 28, &bytes), 16);
	assert_ptr_equal(bytes, raw + 12);
	assert_int_equal(number(event, "it", 0, raw, 28), 5);
	assert_int_equal(number(event, "it", 1, raw, 28), -1);
	assert_int_equal(pm_trace_number(event, index, 2, raw, 28, &value), -ERANGE);
	put_dynamic(raw, 1, 16, words, 16);
	assert_int_equal(pm_trace_bytes(event, index, raw, 28, &bytes), -EBADMSG);
	assert_int_equal(pm_trace_text(event, index, raw, 28, (const char **)&bytes), -EBADMSG);
	free(raw);
	pm_trace_event_destroy(event);
}

static void unsigned_ints(void **state)
{
	static const uint32_t words[2] = { 7, 0xffffffff };
	struct pm_trace_event *event = parse(DYNAMIC("__data_loc", "unsigned int"));
	unsigned char raw[20];

	(void)state;
	put_dynamic(raw, 12, 8, words, 8);
	assert_int_equal(member_of(event, "it").element_size, 4);
	assert_string_equal(member_of(event, "it").type, "unsigned int");
	assert_true(number(event, "it", 1, raw, 20) == 0xffffffffll);
	pm_trace_event_destroy(event);
}

/* --------------------------------------------------------------------------- other format texts */

/* Kernels before v3.0 say nothing of signs, and constants may stay names. */
static void old_format(void **state)
{
	struct pm_trace_event *event = parse("name: old\nID: 9\nformat:\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\n\n"
		"\tfield:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\n");

	(void)state;
	assert_int_equal(member_of(event, "comm").count, 16);
	assert_int_equal(member_of(event, "comm").flags, PM_TRACE_ARRAY | PM_TRACE_TEXT);
	assert_int_equal(member_of(event, "common_pid").flags, PM_TRACE_COMMON);
	pm_trace_event_destroy(event);
}

static void strange_declarations_are_left_out(void **state)
{
	struct pm_trace_event *event = parse(HEAD
		"\tfield:int (*fn)(int);\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:lonely;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:int x]];\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:__data_loc char[] narrow;\toffset:8;\tsize:2;\tsigned:0;\n"
		"\tfield:struct task_struct * task;\toffset:8;\tsize:8;\tsigned:0;\n");

	(void)state;
	assert_int_equal(pm_trace_event_count(event), 3);
	assert_string_equal(member_of(event, "task").type, "struct task_struct *");
	pm_trace_event_destroy(event);
}

static void no_formats(void **state)
{
	static const char *const texts[] = {
		"", "\n", "name: x\n", "ID: 5\n", "hello", "name: a b\nID: 5\n",
		"name: x\nID: 99999999999\n", "name: x\nID: 5 6\n", "name: x\nID: -5\n",
		HEAD "\tfield:int x;\toffset:8;\n",
		HEAD "\tfield:int x;\toffset:-8;\tsize:4;\tsigned:1;\n",
		HEAD "\tfield:int x;\toffset:65533;\tsize:4;\tsigned:1;\n",
		HEAD "\tfield:int x;\toffset:8;\tsize:4;\tsigned:2;\n",
		HEAD "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1; more\n",
		HEAD "\tfield:int x",
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_trace_event *event = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(pm_trace_event_parse(texts[i], strlen(texts[i]), &diag, &event),
				 -EBADMSG);
		assert_int_equal(diag.error, EBADMSG);
		assert_null(event);
	}
}

static void too_much(void **state)
{
	static char text[70000];
	struct pm_trace_event *event;
	size_t used;

	(void)state;
	memset(text, ' ', sizeof(text));
	assert_int_equal(pm_trace_event_parse(text, sizeof(text), NULL, &event), -E2BIG);
	used = (size_t)sprintf(text, HEAD);
	for (int i = 0; i < 600; i++)
		used += (size_t)sprintf(text + used, "field:int x%d;offset:0;size:4;\n", i);
	assert_int_equal(pm_trace_event_parse(text, used, NULL, &event), -E2BIG);
}

/* -------------------------------------------------------------------------------------- tracefs */

#define SWITCH "/events/sched/sched_switch/"

static int load(const char *system, const char *name, struct pm_diag *diag)
{
	struct pm_trace_event *event;
	int err;

	*diag = (struct pm_diag){ .size = sizeof(*diag) };
	err = pm_trace_event_load(system, name, diag, &event);
	if (err == 0) {
		assert_int_equal(pm_trace_event_id(event), 372);
		pm_trace_event_destroy(event);
	}
	return err;
}

static void both_roots(void **state)
{
	static const char *const roots[] = { "/sys/kernel/debug/tracing", "/sys/kernel/tracing" };
	struct pm_diag diag;

	(void)state;
	assert_int_equal(load("sched", "sched_switch", &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "tracepoint sched:sched_switch: ENOENT: tracefs is not "
			       "mounted"));
	fake_file("/proc/filesystems", "nodev\tsysfs\n");
	assert_int_equal(load("sched", "sched_switch", &diag), -ENOENT);
	assert_int_equal(diag.cause, PM_CAUSE_NOT_BUILT);
	for (size_t i = 0; i < 2; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s" SWITCH "format", roots[i]);
		fake_file(path, formats[0].text);
		snprintf(path, sizeof(path), "%s" SWITCH "id", roots[i]);
		fake_file(path, "372\n");
		assert_int_equal(load("sched", "sched_switch", &diag), 0);
		assert_int_equal(load("sched", "sched_nothing", &diag), -ENOENT);
		assert_non_null(strstr(diag.text, "none of that name"));
		assert_int_equal(load("..", "sched_switch", &diag), -ENOENT);
		(void)fake_teardown(NULL);
		(void)fake_setup(NULL);
	}
}

/* A table of names in the "print fmt" may be of any length. */
static void a_long_format(void **state)
{
	const size_t fields = (size_t)(strstr(formats[0].text, "print fmt:") - formats[0].text);
	char *text = malloc(100001);
	struct pm_diag diag;

	(void)state;
	memset(text, 'x', 100000);
	text[100000] = '\0';
	memcpy(text, formats[0].text, fields + strlen("print fmt:"));
	fake_file("/sys/kernel/tracing" SWITCH "format", text);
	fake_file("/sys/kernel/tracing" SWITCH "id", "372\n");
	assert_int_equal(load("sched", "sched_switch", &diag), 0);
	/* What is not the "print fmt" has to fit. */
	memset(text + fields, ' ', 100000 - fields);
	memcpy(text + 60000, "field:int", 9);
	fake_file("/sys/kernel/tracing" SWITCH "format", text);
	assert_int_equal(load("sched", "sched_switch", &diag), -EBADMSG);
	free(text);
}

static void closed_tracefs(void **state)
{
	struct pm_diag diag;

	(void)state;
	fake_file("/sys/kernel/tracing" SWITCH "format", formats[0].text);
	fake_file("/sys/kernel/tracing" SWITCH "id", "372\n");
	fake_denied_errno = EACCES;
	fake_denied_path = "/sys/kernel/tracing/events";
	assert_int_equal(load("sched", "sched_switch", &diag), -EACCES);
	assert_non_null(strstr(diag.text, "root"));
	fake_denied_path = "/sys/kernel/tracing" SWITCH "format";
	assert_int_equal(load("sched", "sched_switch", &diag), -EACCES);
	fake_denied_path = "/sys/kernel/tracing" SWITCH "id";
	fake_denied_errno = EPERM;	/* as lockdown says */
	fake_file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	assert_int_equal(load("sched", "sched_switch", &diag), -EACCES);
	assert_non_null(strstr(diag.text, "lockdown is at confidentiality"));
}

#define FILES(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_libtraceevent_reads_it), cmocka_unit_test(this_kernel),
		cmocka_unit_test(fields_of_a_switch), cmocka_unit_test(sizes_and_signs),
		cmocka_unit_test(array_of_long), cmocka_unit_test(data_loc),
		cmocka_unit_test(rel_loc), cmocka_unit_test(unsigned_ints),
		cmocka_unit_test(old_format), cmocka_unit_test(strange_declarations_are_left_out),
		cmocka_unit_test(no_formats), cmocka_unit_test(too_much),
		FILES(both_roots), FILES(a_long_format), FILES(closed_tracefs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
