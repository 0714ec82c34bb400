/* SPDX-License-Identifier: MIT */
/* Structures of callers that were built for an older or newer library. */
#include "../test.h"

#include <errno.h>

#include "../../policy/spec/spec.h"

struct later {
	struct pm_value value;
	uint64_t more;
};

static void giving_to_each_size(void **state)
{
	const struct pm_value from = { 99, 1, 2, 3 };
	struct later later = { .value = { .size = sizeof(later) }, .more = 7 };
	struct pm_value same = { .size = sizeof(same) };
	struct { size_t size; uint64_t value; } earlier = { .size = sizeof(earlier) };

	(void)state;
	assert_true(pm_give(&later, &from, sizeof(from), sizeof(from)));
	assert_true(later.value.size == sizeof(later) && later.value.running == 3);
	assert_int_equal(later.more, 7);
	assert_true(pm_give(&same, &from, sizeof(from), sizeof(from)));
	assert_true(same.size == sizeof(same) && same.value == 1 && same.running == 3);
	assert_true(pm_give(&earlier, &from, sizeof(from), sizeof(earlier)));
	assert_true(earlier.size == sizeof(earlier) && earlier.value == 1);
	assert_false(pm_give(&earlier, &from, sizeof(from), sizeof(from)));
	same.size = 0;
	assert_false(pm_give(&same, &from, sizeof(from), sizeof(from)));
	same.size = 4097;
	assert_false(pm_give(&same, &from, sizeof(from), sizeof(from)));
}

static void elements_have_the_size_of_the_first(void **state)
{
	struct later array[3] = { { .value = { .size = sizeof(array[0]) } } };

	(void)state;
	assert_ptr_equal(pm_element(array, 0), &array[0]);
	assert_ptr_equal(pm_element(array, 2), &array[2]);
}

/* A program of a later release reads its counters with this library. */
static void values_of_a_later_release(void **state)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE,
					    .config = PM_SW_TASK_CLOCK,
					    .flags = PM_SPEC_USER_ONLY };
	const struct pm_event_spec specs[2] = { spec, spec };
	struct later values[2] = { { .value = { .size = sizeof(values[0]) } }, { .more = 5 } };
	struct pm_value none = { .size = 0 };
	struct pm_counters *counters;

	(void)state;
	if (pm_counters_open(specs, 2, 0, NULL, NULL, &counters) < 0)
		skip();
	assert_int_equal(pm_counters_start(counters), 0);
	assert_int_equal(pm_counters_read(counters, &values[0].value, 2), 2);
	assert_true(values[1].value.size == sizeof(values[0]) && values[1].more == 5);
	assert_true(values[1].value.value > 0 && values[1].value.enabled > 0);
	assert_int_equal(pm_counters_read(counters, &none, 1), -EINVAL);
	assert_int_equal(pm_counters_read_one(counters, 0, &none), -EINVAL);
	assert_int_equal(pm_counters_accumulate(counters, &none, 1), -EINVAL);
	assert_int_equal(pm_counters_accumulate(counters, &values[0].value, 2), 2);
	pm_counters_destroy(counters);
}

static void facts_without_a_size(void **state)
{
	struct pm_profile *profile = pm_profile_create();
	struct pm_fact fact = { .size = sizeof(fact), .key = "a.b.c", .verdict = PM_YES,
				.rank = PM_RANK_BUILD };

	(void)state;
	assert_int_equal(pm_profile_set(profile, &fact), 1);
	fact.size = 0;
	assert_int_equal(pm_profile_set(profile, &fact), -EINVAL);
	assert_int_equal(pm_profile_lookup(profile, "a.b.c", &fact), -EINVAL);
	fact.size = sizeof(fact);
	assert_int_equal(pm_profile_lookup(profile, "a.b.c", &fact), 0);
	assert_int_equal(fact.size, sizeof(fact));
	pm_profile_destroy(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(giving_to_each_size),
		cmocka_unit_test(elements_have_the_size_of_the_first),
		cmocka_unit_test(values_of_a_later_release),
		cmocka_unit_test(facts_without_a_size),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
