/* SPDX-License-Identifier: MIT */
/*
 * A machine with two kinds of cores: CPU 0 is of cpu_core, the others of cpu_atom. Its kernel takes
 * generic events of a kind, on that kind's CPUs alone, and counts minor faults for them.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>

#include "../../perfmodes.h"
#include "../fake_files.h"
#include "between.h"
#include "sessions.h"

#define DEVICES "/sys/bus/event_source/devices"
#define CORE 4u
#define ATOM 10u
#define PAGES 64

static struct {
	bool refuses_atom;
	unsigned int strays;		/* opened on the CPU of another kind */
	unsigned int bare;		/* without a kind */
} machine;

static long open_kind(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const struct perf_event_attr asked = *attr;
	const uint64_t kind = attr->config >> 32;
	const int cpu = (int)args[2];
	long fd;

	machine.bare += kind == 0;
	if (cpu >= 0 && (cpu == 0) != (kind == CORE)) {
		machine.strays++;
		return refuse_with(ENOENT);
	}
	if ((kind != CORE && kind != ATOM) || (kind == ATOM && machine.refuses_atom))
		return refuse_with(ENOENT);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	fd = open_really(real, args);
	attr->type = asked.type;
	attr->config = asked.config;
	return fd;
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	return attr->type == PERF_TYPE_HARDWARE ? open_kind(real, attr, args) :
		open_really(real, args);
}

static int setup(void **state)
{
	memset(&machine, 0, sizeof(machine));
	if (fake_setup(state))
		return -1;
	fake_only = DEVICES;
	fake_file(DEVICES "/cpu_core/type", "4\n");
	fake_file(DEVICES "/cpu_core/cpus", "0\n");
	fake_file(DEVICES "/cpu_core/format/event", "config:0-7\n");
	fake_file(DEVICES "/cpu_atom/type", "10\n");
	fake_file(DEVICES "/cpu_atom/cpus", "1-4095\n");
	fake_file(DEVICES "/uncore/type", "23\n");
	fake_file(DEVICES "/uncore/cpumask", "0\n");
	return 0;
}

static struct pm_event_spec parsed(const char *name, uint64_t period)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .period = period,
				      .tid = PM_ALL_THREADS };
	struct pm_diag diag = { .size = sizeof(diag) };

	if (pm_event_parse(name, &diag, &spec) < 0)
		fail_msg("%s", diag.text);
	return spec;
}

static void touch_pages(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	(void)madvise(pages, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		pages[i * page] = 1;
	munmap(pages, PAGES * page);
}

static bool says(const struct pm_plan *plan, const char *what)
{
	char text[8192];

	(void)pm_plan_explain(plan, text, sizeof(text));
	return strstr(text, what) != NULL;
}

/* Both kinds count each fault here, where on a real machine one of them would. */
static void counts_of_both_kinds_are_added(void **state)
{
	const struct pm_event_spec specs[] = { parsed("cycles", 0), parsed("page-faults", 0) };
	struct pm_value before[3] = { { .size = sizeof(before[0]) } };
	struct pm_value after[3] = { { .size = sizeof(after[0]) } };
	struct pm_plan *plan = plan_of(specs, 2, PM_STRATEGY_COUNTERS, NULL);
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	assert_true(says(plan, "event 0, cpu_core/cycles/: on the cores of cpu_core; what it "
			 "counts on 2 kinds of cores is added\n"));
	assert_true(says(plan, "on the cores of cpu_atom"));
	session = pm_session_create(plan, NULL, NULL);
	assert_true(pm_session_attach(session, NULL) >= 0);
	assert_int_equal(pm_session_read(session, before, 3), 2);
	touch_pages();
	assert_int_equal(pm_session_read(session, after, 3), 2);
	assert_true(after[1].value - before[1].value >= PAGES);
	/* Reading the three events is not one moment. */
	assert_in_range(after[0].value - before[0].value,
			2 * (after[1].value - before[1].value) - 8,
			2 * (after[1].value - before[1].value) + 8);
	assert_true(after[0].running > after[0].enabled);
	assert_true(after[0].enabled < after[1].enabled + after[1].enabled / 2);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static uint64_t seen[2];

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	assert_true(sample->event < 2);
	seen[sample->event]++;
}

static void samples_are_of_what_was_asked(void **state)
{
	const struct pm_event_spec specs[] = { parsed("cycles", 1), parsed("page-faults", 1) };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_plan *plan = plan_of(specs, 2, PM_STRATEGY_PER_CPU, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	memset(seen, 0, sizeof(seen));
	session = pm_session_create(plan, &listener, NULL);
	if (pm_session_attach(session, &diag) != PM_STRATEGY_PER_CPU)
		fail_msg("%s", diag.text);
	touch_pages();
	assert_int_equal(pm_session_detach(session), 0);
	assert_int_equal(pm_session_stats(session, &stats), 0);
	assert_true(seen[1] >= PAGES);
	/* Each CPU is of one kind, so each fault is sampled once by the two together. */
	if (stats.lost == 0)
		assert_true(seen[0] >= PAGES);
	assert_in_range(seen[0], PAGES / 2, seen[1] + seen[1] / 4 + 16);
	assert_int_equal(machine.strays, 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void a_kind_that_does_not_open(void **state)
{
	const struct pm_event_spec spec = parsed("cycles", 0);
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	(void)state;
	machine.refuses_atom = true;
	/* What is left is the bare event, which this kernel does not have. */
	assert_int_equal(pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan), -ENOTSUP);
	assert_true(machine.bare > 0);
}

static void a_kind_that_was_named(void **state)
{
	const struct pm_event_spec spec = parsed("cpu_atom/cycles/", 0);
	struct pm_plan *plan;

	(void)state;
	assert_true(spec.type == PM_TYPE_HARDWARE && spec.config == (uint64_t)ATOM << 32);
	plan = plan_of(&spec, 1, PM_STRATEGY_COUNTERS, NULL);
	if (plan == NULL)
		skip();
	assert_int_equal(machine.bare, 0);
	assert_false(says(plan, "cpu_core"));
	pm_plan_destroy(plan);
}

/* 32 events have room; of 17 bare ones the last are left as they are. */
static void more_events_than_there_is_room_for(void **state)
{
	struct pm_event_spec specs[20];
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan = NULL;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		specs[i] = parsed("cycles", 0);
	assert_int_equal(pm_plan_make(specs, 20, &opts, NULL, &diag, &plan), -ENOTSUP);
	assert_true(machine.bare > 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_of_both_kinds_are_added),
		TEST(samples_are_of_what_was_asked),
		TEST(a_kind_that_does_not_open),
		TEST(a_kind_that_was_named),
		TEST(more_events_than_there_is_room_for),
	};

	return cmocka_run_group_tests_name("hybrid", tests, NULL, NULL);
}
