/* SPDX-License-Identifier: MIT */
/* The user page's protocol, with a simulated page and machine. */
#include "../test.h"

#include <errno.h>
#include <string.h>

#include "../../policy/count/user_page.h"

#define WIDTH 48

static struct perf_event_mmap_page page;
static uint64_t counter, cycles;
static uint32_t asked;
static unsigned int reads;
static bool can_count, has_cycles;
static void (*meanwhile)(void);	/* what the kernel does while the counter is read */

static bool fake_counter(uint32_t index, uint64_t *ret)
{
	asked = index;
	reads++;
	*ret = counter;
	if (meanwhile != NULL)
		meanwhile();
	return can_count;
}

static bool fake_cycles(uint64_t *ret)
{
	*ret = cycles;
	return has_cycles;
}

static const struct pm_registers machine = { fake_counter, fake_cycles };

static int setup(void **state)
{
	(void)state;
	memset(&page, 0, sizeof(page));
	page.lock = 2;
	page.index = 4;
	page.offset = 1000;
	page.pmc_width = WIDTH;
	page.cap_bit0_is_deprecated = page.cap_user_rdpmc = 1;
	page.time_enabled = page.time_running = 70;
	counter = 7;
	cycles = reads = 0;
	can_count = has_cycles = true;
	meanwhile = NULL;
	return 0;
}

static int value_of_page(struct pm_value *ret)
{
	*ret = (struct pm_value){ sizeof(*ret), 99, 99, 99 };
	return pm_user_value(&page, &machine, ret);
}

static void offset_and_counter(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.value, 1007);
	assert_int_equal(asked, 3);	/* the page counts from 1 */
}

/* Counters start below zero so that they overflow after a period. */
static void counter_is_signed(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	counter = ((uint64_t)1 << WIDTH) - 5;
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.value, 995);
	counter = UINT64_MAX - 4;	/* bits above the width are not the counter's */
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.value, 995);
	page.pmc_width = 64;
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.value, 995);
	page.pmc_width = 32;
	counter = 0xfffffffbu;
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.value, 995);
}

static void expect_refusal(void)
{
	struct pm_value value = { .size = sizeof(value) };

	assert_int_equal(value_of_page(&value), -EAGAIN);
	assert_true(value.value == 99 && value.enabled == 99 && value.running == 99);
	(void)setup(NULL);
}

static void page_says_no(void **state)
{
	(void)state;
	page.index = 0;
	expect_refusal();
	page.cap_user_rdpmc = 0;
	expect_refusal();
	page.cap_bit0_is_deprecated = 0;	/* before v3.12 */
	expect_refusal();
	page.pmc_width = 0;
	expect_refusal();
	page.pmc_width = 65;
	expect_refusal();
	can_count = false;
	expect_refusal();
}

/* The thread moves to another CPU between the page and the register. */
static void migrate(void)
{
	page.lock += 2;
	page.index = 2;
	page.offset = 5000;
	counter = 11;
	meanwhile = NULL;
}

static void migration(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	meanwhile = migrate;
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.value, 5011);
	assert_int_equal(reads, 2);
	assert_int_equal(asked, 1);
}

static void lose_counter(void)
{
	page.lock += 2;
	page.index = 0;
	meanwhile = NULL;
}

static void counter_lost_meanwhile(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	meanwhile = lose_counter;
	assert_int_equal(value_of_page(&value), -EAGAIN);
	assert_int_equal(reads, 1);
}

static void never_still(void)
{
	page.lock += 2;
}

static void restless_page(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	meanwhile = never_still;
	assert_int_equal(value_of_page(&value), -EAGAIN);
	assert_in_range(reads, 2, 1000);
	(void)setup(NULL);
	page.lock = 3;		/* the kernel is at it, for ever */
	assert_int_equal(value_of_page(&value), -EAGAIN);
	assert_int_equal(reads, 0);
}

static void no_clock(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	assert_int_equal(value_of_page(&value), 0);
	assert_true(value.enabled == 0 && value.running == 0);
	page.time_running = 69;		/* multiplexed: the share is needed, and not known */
	assert_int_equal(value_of_page(&value), -EAGAIN);
}

static void clock_in_page(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	page.cap_user_time = 1;
	page.time_shift = 10;
	page.time_mult = 2048;		/* 2 ns a cycle */
	page.time_offset = (uint64_t)-1000;
	page.time_running = 30;
	cycles = 520;
	assert_int_equal(value_of_page(&value), 0);
	assert_int_equal(value.enabled, 70 + 40);
	assert_int_equal(value.running, 30 + 40);
	has_cycles = false;
	assert_int_equal(value_of_page(&value), -EAGAIN);
}

static void conversion(void **state)
{
	struct pm_user_time time;

	(void)state;
	assert_int_equal(pm_user_time(&page, &time), -ENOTSUP);
	page.cap_user_time = page.cap_user_time_zero = 1;
	page.time_zero = 100;
	page.time_shift = 1;
	page.time_mult = 3;
	assert_int_equal(pm_user_time(&page, &time), 0);
	assert_int_equal(pm_user_time_at(&time, 1000), 1600);
	page.lock = 5;
	assert_int_equal(pm_user_time(&page, &time), -ENOTSUP);
}

/* A counter of 32 bits that has wrapped since time_cycles. */
static void narrow_clock(void **state)
{
	struct pm_user_time time;

	(void)state;
	page.cap_user_time = page.cap_user_time_zero = page.cap_user_time_short = 1;
	page.time_shift = 0;
	page.time_mult = 1;
	page.time_cycles = 0x1fffffff0;
	page.time_mask = 0xffffffff;
	assert_int_equal(pm_user_time(&page, &time), 0);
	assert_true(pm_user_time_at(&time, 0x10) == 0x200000010);
	assert_true(pm_user_time_at(&time, 0xfffffff8) == 0x1fffffff8);
}

/* The instructions of this machine, as far as any process may use them. */
static void this_machine(void **state)
{
	uint64_t first, second;

	(void)state;
	if (!pm_registers.cycles(&first))
		skip();
	assert_true(pm_registers.cycles(&second));
	assert_true(second >= first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(offset_and_counter, setup),
		cmocka_unit_test_setup(counter_is_signed, setup),
		cmocka_unit_test_setup(page_says_no, setup),
		cmocka_unit_test_setup(migration, setup),
		cmocka_unit_test_setup(counter_lost_meanwhile, setup),
		cmocka_unit_test_setup(restless_page, setup),
		cmocka_unit_test_setup(no_clock, setup),
		cmocka_unit_test_setup(clock_in_page, setup),
		cmocka_unit_test_setup(conversion, setup),
		cmocka_unit_test_setup(narrow_clock, setup),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
