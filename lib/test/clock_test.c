/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <time.h>

static void clock_reads_ns(void **state)
{
	struct timespec before, after;
	uint64_t ns = 0;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &ns), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_in_range(ns, (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec,
			(uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
}

static void unknown_clock_is_an_error(void **state)
{
	uint64_t ns = 7;

	(void)state;
	assert_int_equal(pm_clock_ns(15, &ns), -EINVAL);
	assert_int_equal(ns, 7);
}

static void tightest_bracket_wins(void **state)
{
	const struct pm_clock_bracket brackets[] = {
		{ 1000, 9999, 1500 },
		{ 2000, 52010, 2020 },
		{ 3000, 1, 3021 },
	};
	struct pm_clock_offset offset;

	(void)state;
	assert_int_equal(pm_clock_offset(brackets, 3, &offset), 0);
	assert_int_equal(offset.offset, 50000);
	assert_int_equal(offset.half_width, 10);
}

static void offset_may_be_negative_and_odd(void **state)
{
	const struct pm_clock_bracket bracket = { 1000, 3, 1005 };
	struct pm_clock_offset offset;

	(void)state;
	assert_int_equal(pm_clock_offset(&bracket, 1, &offset), 0);
	assert_int_equal(offset.offset, -999);
	/* the true middle is 1002.5, so [offset - half, offset + half] must hold -997 and -1002 */
	assert_int_equal(offset.half_width, 3);
}

static void brackets_must_make_sense(void **state)
{
	const struct pm_clock_bracket backward[] = { { 10, 10, 10 }, { 10, 5, 9 } };
	struct pm_clock_offset offset = { 1, 2 };

	(void)state;
	assert_int_equal(pm_clock_offset(backward, 0, &offset), -EINVAL);
	assert_int_equal(pm_clock_offset(backward, 2, &offset), -EINVAL);
	assert_int_equal(offset.offset, 1);
	assert_int_equal(offset.half_width, 2);
	assert_int_equal(pm_clock_offset(backward, 1, &offset), 0);
	assert_int_equal(offset.half_width, 0);
}

static void offset_survives_the_ends_of_the_range(void **state)
{
	const struct pm_clock_bracket bracket = { UINT64_MAX - 10, 5, UINT64_MAX };
	struct pm_clock_offset offset;

	(void)state;
	assert_int_equal(pm_clock_offset(&bracket, 1, &offset), 0);
	assert_int_equal(offset.offset, 11);
	assert_int_equal(offset.half_width, 5);
}

#ifdef __SIZEOF_INT128__
static void tsc_agrees_with_wide_arithmetic(void **state)
{
	const uint64_t tscs[] = { 0, 1, 999, 1ull << 31, 123456789012345, 1ull << 62 };
	const uint16_t shifts[] = { 0, 1, 10, 31, 32 };
	const uint32_t mults[] = { 1, 3, 1431655765u, UINT32_MAX };

	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tscs); t++)
		for (size_t s = 0; s < ARRAY_SIZE(shifts); s++)
			for (size_t m = 0; m < ARRAY_SIZE(mults); m++) {
				__extension__ unsigned __int128 wide = tscs[t];

				wide = wide * mults[m] >> shifts[s];
				assert_true(pm_clock_from_tsc(tscs[t], 17, mults[m], shifts[s]) ==
					    (uint64_t)wide + 17);
			}
}
#endif

static void tsc_with_a_shift_that_cannot_be(void **state)
{
	(void)state;
	assert_int_equal(pm_clock_from_tsc(1234, 17, 1, 64), 17);
	assert_int_equal(pm_clock_from_tsc(1234, 17, 1, 65535), 17);
	assert_int_equal(pm_clock_from_tsc(1ull << 63, 17, 1, 63), 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_reads_ns),
		cmocka_unit_test(unknown_clock_is_an_error),
		cmocka_unit_test(tightest_bracket_wins),
		cmocka_unit_test(offset_may_be_negative_and_odd),
		cmocka_unit_test(brackets_must_make_sense),
		cmocka_unit_test(offset_survives_the_ends_of_the_range),
#ifdef __SIZEOF_INT128__
		cmocka_unit_test(tsc_agrees_with_wide_arithmetic),
#endif
		cmocka_unit_test(tsc_with_a_shift_that_cannot_be),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
