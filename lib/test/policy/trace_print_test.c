/* SPDX-License-Identifier: MIT */
/* Records of tracepoints as text. */
#include "../test.h"

#include <string.h>

#include "../../perfmodes.h"

static const char *printed(const struct pm_trace_event *event, const void *raw, size_t size)
{
	const struct pm_observed sample = { .size = sizeof(sample), .raw = raw, .raw_size = size };
	static char text[256];

	return pm_trace_print(event, &sample, text, sizeof(text)) < 0 ? NULL : text;
}

/* What a program chose reaches no terminal; a record of another event is none of this one. */
static void as_text(void **state)
{
	static const char format[] = "name: x\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:char comm[6];\toffset:2;\tsize:6;\tsigned:0;\n"
		"\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:short pair[2];\toffset:16;\tsize:4;\tsigned:1;\n";
	unsigned char raw[20] = { [2] = 'a', 27, ' ', '\n' };
	const uint64_t big = UINT64_MAX;
	const int16_t pair[2] = { -3, 4 };
	const uint16_t type = 7;
	struct pm_trace_event *event;
	struct pm_observed sample = { .size = sizeof(sample), .raw = raw, .raw_size = 20 };
	char little[8];

	(void)state;
	assert_int_equal(pm_trace_event_parse(format, strlen(format), NULL, &event), 0);
	memcpy(raw, &type, sizeof(type));
	memcpy(raw + 8, &big, sizeof(big));
	memcpy(raw + 16, pair, sizeof(pair));
	assert_string_equal(printed(event, raw, 20),
			    "comm=a??? big=18446744073709551615 pair=-3,4");
	assert_string_equal(printed(event, raw, 18), "comm=a??? big=18446744073709551615 pair=?");
	assert_string_equal(printed(event, raw, 9), "comm=a??? big=? pair=?");
	assert_int_equal(pm_trace_print(event, &sample, little, sizeof(little)), 44);
	assert_string_equal(little, "comm=a?");
	assert_int_equal(pm_trace_print(event, &sample, NULL, 0), 44);
	raw[0] ^= 0xff;
	assert_null(printed(event, raw, 20));
	assert_null(printed(event, NULL, 0));
	pm_trace_event_destroy(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
	};

	return cmocka_run_group_tests_name("trace_print", tests, NULL, NULL);
}
