/* SPDX-License-Identifier: MIT */
/* The mappings of a process: text of the kernel's form and of none, side-band, 100,000 of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../test.h"
#include "../../stacks/maps.h"

static struct maps parsed(const char *text)
{
	struct maps maps = { 0 };

	assert_int_equal(maps_parse(text, strlen(text), &maps), 0);
	return maps;
}

static void a_line_is_a_mapping(void **state)
{
	struct maps maps = parsed("55a0-55b0 r-xp 00001000 fe:01 1234       /usr/bin/a b\n"
				  "7000-8000 rw-p 00000000 00:00 0          [stack]\n");

	(void)state;
	assert_int_equal(maps.count, 2);
	assert_ptr_equal(maps_find(&maps, 0x55a0), &maps.list[0]);
	assert_ptr_equal(maps_find(&maps, 0x55af), &maps.list[0]);
	assert_null(maps_find(&maps, 0x55b0));
	assert_null(maps_find(&maps, 0));
	assert_string_equal(maps.list[0].name, "/usr/bin/a b");
	assert_true(maps.list[0].exec && !maps.list[0].write && maps.list[0].offset == 0x1000);
	assert_true(maps.list[0].inode == 1234 && maps.list[1].stack && maps.list[1].write);
	maps_free(&maps);
}

/* A file may be opened by its name, in which there is a line end. */
static void a_line_end_in_a_name(void **state)
{
	struct maps maps = parsed("10-20 r-xp 0 0:0 1 /a\\012b\\01\\012\n20-30 r-xp 0 0:0 2 c\n");

	(void)state;
	assert_int_equal(maps.count, 2);
	assert_string_equal(maps.list[0].name, "/a\nb\\01\n");
	assert_string_equal(maps.list[1].name, "c");
	maps_free(&maps);
}

static void what_is_no_line_is_left_out(void **state)
{
	struct maps maps = parsed("\n-\n5-4 r-xp 0 0:0 0\nzz\n10-20 r-xp 0 0:0\n10-20 r-x\n"
				  "11111111111111111-2 r-xp 0 0:0 1 x\n10-20 r-xp 0 0:0 7 last");

	(void)state;
	assert_int_equal(maps.count, 1);
	assert_string_equal(maps.list[0].name, "last");
	maps_free(&maps);
}

static void overlaps_do_not_come_in(void **state)
{
	struct maps maps = parsed("10-20 r-xp 0 0:0 1 a\n18-30 r-xp 0 0:0 2 b\n"
				  "30-40 r-xp 0 0:0 3 c\n");

	(void)state;
	assert_int_equal(maps.count, 2);
	assert_int_equal(maps.list[1].inode, 3);
	maps_free(&maps);
}

static void add(struct maps *maps, uint64_t start, uint64_t end, uint64_t inode)
{
	const struct map map = { .start = start, .end = end, .inode = inode, .name = "x",
				 .exec = true };

	assert_int_equal(maps_add(maps, &map), 0);
}

/* What side-band tells replaces what was there, and cuts what sticks out. */
static void a_new_mapping_replaces(void **state)
{
	struct maps maps = parsed("1000-5000 r-xp 0 0:0 1 a\n6000-7000 r-xp 0 0:0 2 b\n");

	(void)state;
	add(&maps, 0x2000, 0x3000, 9);
	assert_int_equal(maps.count, 4);
	assert_int_equal(maps_find(&maps, 0x1fff)->inode, 1);
	assert_int_equal(maps_find(&maps, 0x2000)->inode, 9);
	assert_int_equal(maps_find(&maps, 0x3000)->inode, 1);
	assert_int_equal(maps_find(&maps, 0x3000)->offset, 0x2000);
	add(&maps, 0x800, 0x6800, 10);
	assert_int_equal(maps.count, 2);
	assert_int_equal(maps_find(&maps, 0x4000)->inode, 10);
	assert_int_equal(maps_find(&maps, 0x6900)->offset, 0x800);
	add(&maps, 0x800, 0x6800, 10);
	assert_int_equal(maps.count, 2);
	maps_free(&maps);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void a_hundred_thousand(void **state)
{
	const size_t count = 100000;
	char *text = malloc(count * 100);
	const double begin = seconds();
	struct maps maps = { 0 };
	size_t used = 0;

	(void)state;
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%zx-%zx r-xp 0 fe:01 %zu   /lib/l%zu.so\n",
					i * 0x2000, i * 0x2000 + 0x1000, i + 1, i);
	assert_int_equal(maps_parse(text, used, &maps), 0);
	assert_int_equal(maps.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(maps_find(&maps, i * 0x2000 + 5)->inode, i + 1);
	assert_true(seconds() - begin < 20);	/* 0.1 s without sanitizers */
	maps_free(&maps);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_mapping),
		cmocka_unit_test(a_line_end_in_a_name),
		cmocka_unit_test(what_is_no_line_is_left_out),
		cmocka_unit_test(overlaps_do_not_come_in),
		cmocka_unit_test(a_new_mapping_replaces),
		cmocka_unit_test(a_hundred_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
