/* SPDX-License-Identifier: MIT */
/* Sessions in one call: names to numbers and samples, and one call that ends all of it. */
#include "../test.h"

#include <time.h>

#include "sessions.h"

#define PAGES 64

static struct pm_session *opened(const char *events, const struct pm_listener *listener,
				 void *context)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	int err = pm_session_open(events, NULL, listener, context, &diag, &session);

	if (err == -ENOTSUP)
		print_message("%s\n", diag.text);
	else
		assert_true(err >= 0 && err == (int)pm_plan_strategy(pm_session_plan(session)));
	return session;
}

static void names_are_counted_in_their_order(void **state)
{
	struct pm_session *session = opened(" task-clock\tpage-faults:u  ", NULL, NULL);
	struct pm_value values[3] = { { .size = sizeof(values[0]) } };
	const int before = count_descriptors();

	(void)state;
	if (session == NULL)
		skip();
	cause_faults(PAGES);
	assert_int_equal(pm_session_read(session, values, 3), 2);
	assert_true(values[1].value >= PAGES && values[0].value > values[1].value);
	pm_session_destroy(session);
	assert_true(count_descriptors() < before);
	assert_int_equal(count_maps(NULL), 0);
}

struct seen {
	size_t samples;
	uint64_t sum;
};

static void on_sample(void *context, const struct pm_observed *sample)
{
	struct seen *seen = context;

	seen[sample->event].samples++;
	seen[sample->event].sum += sample->period;
}

static void each_occurrence_is_sampled_and_time_at_a_rate(void **state)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct seen seen[2] = { { 0 } };
	struct pm_session *session = opened("page-faults:u task-clock:u", &listener, seen);
	struct timespec now, end;

	(void)state;
	if (session == NULL)
		skip();
	cause_faults(PAGES);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	end.tv_sec++;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (pm_session_poll(session, 0) >= 0 && seen[1].samples == 0 &&
	       (now.tv_sec < end.tv_sec || now.tv_nsec < end.tv_nsec));
	assert_true(seen[0].samples >= PAGES);
	/* Faults one by one; of time some 1,000,000 ns each. */
	assert_int_equal(seen[0].sum, seen[0].samples);
	assert_true(seen[1].samples > 0 && seen[1].sum / seen[1].samples > 100000);
	pm_session_destroy(session);
}

static void a_name_may_tell_its_rate(void **state)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct seen seen[2] = { { 0 } };
	struct pm_session *session = opened("page-faults/period=4/u task-clock/period=10000000/u",
					    &listener, seen);

	(void)state;
	if (session == NULL)
		skip();
	cause_faults(8 * PAGES);
	assert_true(pm_session_poll(session, 0) >= 0);
	assert_true(seen[0].samples >= PAGES && seen[0].sum == 4 * seen[0].samples);
	assert_true(seen[1].sum == 10000000 * seen[1].samples);
	pm_session_destroy(session);
}

static void what_is_no_event_is_named(void **state)
{
	static const struct {
		const char *events, *said;
	} wrong[] = {
		{ "page-faults nonsense", "nonsense" }, { "", "no event" }, { "  \n", "no event" },
	};
	struct pm_session *untouched = (struct pm_session *)&wrong;
	char many[33 * 13 + 1] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_session *session = untouched;

		assert_int_equal(pm_session_open(wrong[i].events, NULL, NULL, NULL, &diag,
						 &session), -EINVAL);
		assert_non_null(strstr(diag.text, wrong[i].said));
		assert_ptr_equal(session, untouched);
	}
	for (int i = 0; i < 33; i++)
		strcat(many, " page-faults");
	assert_int_equal(pm_session_open(many, NULL, NULL, NULL, NULL, &untouched), -EINVAL);
}

static void options_are_the_callers(void **state)
{
	const struct pm_session_opts none = { .size = sizeof(none), .forbid = ~0u };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;

	(void)state;
	assert_int_equal(pm_session_open("page-faults", &none, NULL, NULL, &diag, &session),
			 -ENOTSUP);
	assert_true(session == NULL && diag.text[0] != '\0');
}

/* What an older program did not know reads as 0; what a newer one asks for is not passed over. */
static void options_of_other_releases(void **state)
{
	struct {
		struct pm_session_opts opts;
		uint64_t later;
	} newer = { .opts = { .size = sizeof(newer), .allow = PM_ALLOW_ALL } };
	struct pm_session_opts older = { .size = offsetof(struct pm_session_opts, prove),
		.allow = PM_ALLOW_ALL, .prove = 3 };
	struct pm_session *session = NULL;
	int err = pm_session_open("page-faults:u", &older, NULL, NULL, NULL, &session);

	(void)state;
	if (err == -ENOTSUP)
		skip();
	assert_true(err >= 0);
	pm_session_destroy(session);
	older.size = sizeof(older);
	assert_int_equal(pm_session_open("page-faults:u", &older, NULL, NULL, NULL, &session),
			 -EINVAL);
	assert_true(pm_session_open("page-faults:u", &newer.opts, NULL, NULL, NULL, &session) >= 0);
	pm_session_destroy(session);
	newer.later = 1;
	assert_int_equal(pm_session_open("page-faults:u", &newer.opts, NULL, NULL, NULL, &session),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_counted_in_their_order),
		cmocka_unit_test(each_occurrence_is_sampled_and_time_at_a_rate),
		cmocka_unit_test(a_name_may_tell_its_rate),
		cmocka_unit_test(what_is_no_event_is_named),
		cmocka_unit_test(options_are_the_callers),
		cmocka_unit_test(options_of_other_releases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
