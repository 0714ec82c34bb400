/* SPDX-License-Identifier: MIT */
/* CPUs by implementer and part, from what kernels of Arm and others write into /proc/cpuinfo. */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sampler/producer/cpu_id.h"

/* Cortex-A55 r1p0 and Cortex-A76 r3p0, as arm64 tells them since 3.18. */
static const char two_types[] =
	"processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
	"CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd05\nCPU revision\t: 0\n\n"
	"processor\t: 1\nCPU implementer\t: 0x41\n"
	"CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd05\nCPU revision\t: 0\n\n"
	"processor\t: 2\nCPU implementer\t: 0x41\n"
	"CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0b\nCPU revision\t: 0\n\n"
	"processor\t: 4\nCPU implementer\t: 0x41\n"
	"CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd05\nCPU revision\t: 0\n\n";

/* Before: what all of them are stands once, behind them. */
static const char one_text[] =
	"Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 38.40\n\n"
	"processor\t: 1\nBogoMIPS\t: 38.40\n\nFeatures\t: swp thumb\nCPU implementer\t: 0x41\n"
	"CPU architecture: 7\nCPU variant\t: 0x0\nCPU part\t: 0xc0f\nCPU revision\t: 4\n\n"
	"Hardware\t: a board\n";

static const char of_x86[] =
	"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\nstepping\t: 7\n\n"
	"processor\t: 1\nvendor_id\t: GenuineIntel\n\n";

static int list(const char *text, struct cpu_ids *ids, char *ret, size_t room)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int count;

	assert_non_null(file);
	count = cpu_ids_list(file, ids, ret, room);
	(void)fclose(file);
	return count;
}

static void expect(const char *text, const char *begin, int count, const char *cpus)
{
	struct cpu_ids ids = { .begins = &begin, .begin_count = 1 };
	char ret[64];

	assert_int_equal(list(text, &ids, ret, sizeof(ret)), count);
	assert_string_equal(ret, cpus);
}

static void a_type_is_a_beginning(void **state)
{
	(void)state;
	expect(two_types, "41d05", 3, "0-1,4");
	expect(two_types, "41d0b30", 1, "2");
	expect(two_types, "41", 4, "0-2,4");
	expect(two_types, "41d0b31", 0, "");
	expect(two_types, "51", 0, "");
	expect(one_text, "41c0f", 2, "0-1");
	expect(of_x86, "", 0, "");
}

static void several_types_and_some_by_number(void **state)
{
	static const char *const types[] = { "51802", "41d0b", "41d05" };
	static const uint16_t named[] = { 4, 2, 7 };
	struct cpu_ids ids = { types, 3, named, 3, "" };
	char ret[64];

	(void)state;
	assert_int_equal(list(two_types, &ids, ret, sizeof(ret)), 2);
	assert_string_equal(ret, "2,4");
	assert_string_equal(ids.first, "41d0510");
	ids.begin_count = 1;
	assert_int_equal(list(two_types, &ids, ret, sizeof(ret)), 0);
	assert_int_equal(list(of_x86, &ids, ret, sizeof(ret)), 0);
	assert_string_equal(ids.first, "");
}

static void what_has_no_room_is_told(void **state)
{
	const char *begin = "41";
	struct cpu_ids ids = { .begins = &begin, .begin_count = 1 };
	char *text = malloc(1 << 20), ret[32], *at = text;

	(void)state;
	assert_non_null(text);
	for (unsigned int cpu = 0; cpu < 2000; cpu += 2)
		at += sprintf(at, "processor\t: %u\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\n"
			      "CPU part\t: 0xd05\nCPU revision\t: 1\n\n", cpu);
	assert_int_equal(list(text, &ids, ret, sizeof(ret)), -EOVERFLOW);
	assert_true(strlen(ret) < sizeof(ret));
	memset(text, 'x', 5000);
	text[5000] = '\0';
	assert_int_equal(list(text, &ids, ret, sizeof(ret)), 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_type_is_a_beginning),
		cmocka_unit_test(several_types_and_some_by_number),
		cmocka_unit_test(what_has_no_room_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
