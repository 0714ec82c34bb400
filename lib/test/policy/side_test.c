/* SPDX-License-Identifier: MIT */
/*
 * Records beside the samples, and bits of the attr, that a caller asks for: delivered where the
 * kernel has them, told where it does not.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>

#include "../../perfmodes.h"
#include "../../policy/plan/choose.h"
#include "between.h"
#include "sessions.h"

#define SIDE_ALL ((unsigned int)(PM_SIDE_MMAP | PM_SIDE_BUILD_ID | PM_SIDE_EXEC | PM_SIDE_SWITCH | \
				 PM_SIDE_CGROUP | PM_SIDE_KSYMBOL))

/* A kernel that has fewer bits, and one whose CPU has a precise event or branches. */
static struct {
	bool no_build_id, no_side;
	unsigned int most_precise;	/* 1 + the highest precise_ip; 0: any */
	bool has_branches;
	bool no_pinned, no_kernel_frames, no_clock_of_clocks;
	int refuses;			/* everything, with this errno */
} kernel;

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const bool side = attr->mmap || attr->mmap2 || attr->build_id || attr->comm_exec ||
		attr->context_switch || attr->cgroup || attr->ksymbol;

	if ((kernel.no_build_id && attr->build_id) || (kernel.no_side && side))
		return refuse_with(EINVAL);
	if (kernel.refuses)
		return refuse_with(kernel.refuses);
	if (kernel.no_pinned && attr->pinned)
		return refuse_with(EINVAL);
	if (kernel.no_kernel_frames && (attr->sample_type & PERF_SAMPLE_CALLCHAIN) &&
	    !attr->exclude_callchain_kernel)
		return refuse_with(EINVAL);
	if (kernel.no_clock_of_clocks && attr->use_clockid && attr->type == PERF_TYPE_SOFTWARE &&
	    attr->config == PERF_COUNT_SW_TASK_CLOCK)
		return refuse_with(EINVAL);
	if (kernel.most_precise != 0 && attr->precise_ip >= kernel.most_precise)
		return refuse_with(EOPNOTSUPP);
	if (!kernel.has_branches && (attr->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return refuse_with(EOPNOTSUPP);
	return open_really(real, args);
}

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	return 0;
}

static struct pm_plan *side_plan(const struct pm_event_spec *spec, unsigned int side,
				 enum pm_strategy strategy, char *text, size_t size)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
					.descriptors_percent = 100, .side = side };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	opts.forbid = ~(1u << strategy);
	if (pm_plan_make(spec, 1, &opts, NULL, &diag, &plan) < 0) {
		print_message("%s\n", diag.text);
		skip();
	}
	(void)pm_plan_explain(plan, text, size);
	return plan;
}

static struct {
	unsigned int mmap, build_ids, switches;
} seen;

static void on_other(void *context, const void *record, size_t size)
{
	const struct perf_event_header *header = record;

	(void)context;
	assert_true(header->size == size);
	seen.mmap += header->type == PERF_RECORD_MMAP2;
	seen.build_ids += header->type == PERF_RECORD_MMAP2 &&
		(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
	seen.switches += header->type == PERF_RECORD_SWITCH;
}

static void map_this_program(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(map != MAP_FAILED);
	munmap(map, 4096);
	close(fd);
}

static void records_that_were_asked_for(void **state)
{
	const struct pm_listener listener = { .size = sizeof(listener), .other = on_other };
	struct pm_session *session;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	for (unsigned int side = 0; side <= SIDE_ALL; side += SIDE_ALL) {
		memset(&seen, 0, sizeof(seen));
		plan = side_plan(&faults, side, PM_STRATEGY_PER_CPU, text, sizeof(text));
		session = pm_session_create(plan, &listener, NULL);
		if (pm_session_attach(session, &diag) < 0)
			fail_msg("%s", diag.text);
		map_this_program();
		usleep(1000);
		assert_int_equal(pm_session_detach(session), 0);
		if (side == 0)
			assert_true(seen.mmap == 0 && seen.switches == 0);
		else if (!strstr(text, "without MMAP2") && !strstr(text, "without SWITCH"))
			assert_true(seen.mmap > 0 && seen.switches > 0);
		if (side != 0 && !strstr(text, "without build ids"))
			assert_true(seen.build_ids > 0);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

static void what_is_not_had_is_told(void **state)
{
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	kernel.no_build_id = true;
	plan = side_plan(&faults, PM_SIDE_BUILD_ID, PM_STRATEGY_PER_CPU, text, sizeof(text));
	assert_non_null(strstr(text, "without build ids in MMAP2 records: it is refused (EINVAL)"));
	assert_null(strstr(text, "without MMAP"));
	assert_true(plan->events[0].attr.mmap2 && !plan->events[0].attr.build_id);
	pm_plan_destroy(plan);
	kernel.no_side = true;
	plan = side_plan(&faults, PM_SIDE_SWITCH | PM_SIDE_CGROUP, PM_STRATEGY_PER_CPU, text,
			 sizeof(text));
	assert_non_null(strstr(text, "without SWITCH records: it is refused (EINVAL)"));
	assert_non_null(strstr(text, "without CGROUP records: it is refused (EINVAL)"));
	assert_null(strstr(text, "without MMAP"));
	assert_null(strstr(text, "without the mark"));
	pm_plan_destroy(plan);
}

static void counters_have_no_side(void **state)
{
	const struct pm_event_spec counted = {
		.size = sizeof(counted), .type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS,
		.tid = PM_ALL_THREADS,
	};
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	plan = side_plan(&counted, PM_SIDE_MMAP, PM_STRATEGY_COUNTERS, text, sizeof(text));
	assert_non_null(strstr(text, "without side-band: no event is sampled"));
	pm_plan_destroy(plan);
}

/* Where samples cannot be had it is counted, by events that interrupt nobody. */
static void counted_instead_of_sampled(void **state)
{
	char text[8192];
	struct pm_plan *plan = side_plan(&faults, PM_SIDE_MMAP, PM_STRATEGY_COUNTERS, text,
					 sizeof(text));
	const struct perf_event_attr *attr = &plan->events[0].attr;

	(void)state;
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_COUNTERS);
	assert_true(attr->sample_period == 0 && attr->sample_type == 0 && attr->read_format != 0);
	assert_true(!attr->comm && !attr->task && !attr->mmap && !attr->sample_id_all);
	for (size_t i = 0; i < STRATEGIES; i++)
		plan->candidates[i].fits |= plan->candidates[i].number == PM_STRATEGY_PER_CPU;
	assert_int_equal(pm_plan_next(plan, "said so"), 0);
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_PER_CPU);
	assert_true(attr->sample_period == 1 && attr->sample_type != 0 && attr->comm && attr->mmap);
	assert_memory_equal(attr, &plan->events[0].negotiated, sizeof(*attr));
	pm_plan_destroy(plan);
}

static void unknown_options_are_refused(void **state)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .side = SIDE_ALL + 1 };
	struct pm_plan *plan;

	(void)state;
	assert_int_equal(pm_plan_make(&faults, 1, &opts, NULL, NULL, &plan), -EINVAL);
}

static void precision_by_the_ladder(void **state)
{
	struct pm_event_spec spec = faults;
	char text[8192], want[40];

	(void)state;
	spec.flags = PM_SPEC_PRECISE | PM_SPEC_PINNED;
	for (unsigned int most = 0; most <= 3; most++) {
		struct pm_plan *plan;

		kernel.most_precise = most + 1;
		plan = side_plan(&spec, 0, PM_STRATEGY_PER_CPU, text, sizeof(text));
		snprintf(want, sizeof(want), "precise_ip %u of 3\n", most);
		assert_non_null(strstr(text, want));
		assert_true(plan->events[0].attr.precise_ip == most);
		assert_true(plan->events[0].attr.pinned);
		pm_plan_destroy(plan);
	}
}

static void branches_where_there_is_no_such_hardware(void **state)
{
	struct pm_event_spec spec = faults;
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	spec.want = PM_WANT_BRANCHES;
	plan = side_plan(&spec, 0, PM_STRATEGY_PER_CPU, text, sizeof(text));
	assert_non_null(strstr(text, "without branches: it is refused (EOPNOTSUPP)"));
	assert_false(plan->events[0].attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	pm_plan_destroy(plan);
}

static void frames_of_the_kernel(void **state)
{
	struct pm_event_spec spec = faults;
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	spec.want = PM_WANT_CALLCHAIN;
	plan = side_plan(&spec, 0, PM_STRATEGY_PER_CPU, text, sizeof(text));
	assert_true(plan->events[0].attr.exclude_callchain_kernel ||
		    !pm_plan_takes(plan, MODIFIER(CALLCHAIN)));
	pm_plan_destroy(plan);
	spec.want |= PM_WANT_KERNEL_FRAMES;
	plan = side_plan(&spec, 0, PM_STRATEGY_PER_CPU, text, sizeof(text));
	assert_false(plan->events[0].attr.exclude_callchain_kernel);
	pm_plan_destroy(plan);
}

/* What the diagnosis of a refused open says of a spec that asks for bits of the attr. */
static const char *blamed(unsigned int flags, unsigned int want, int error)
{
	static struct pm_diag diag;
	struct pm_event_spec spec = faults;

	diag.size = sizeof(diag);
	spec.tid = 0;
	spec.flags = flags | PM_SPEC_USER_ONLY;
	spec.want = want;
	(void)pm_diag_open(&diag, &spec, -1, error);
	return diag.text;
}

static void the_refused_bit_is_told(void **state)
{
	(void)state;
	if (refusal_here() != 0)
		skip();
	assert_non_null(strstr(blamed(0, PM_WANT_BRANCHES, EOPNOTSUPP), "PM_WANT_BRANCHES"));
	assert_non_null(strstr(blamed(PM_SPEC_PINNED, PM_WANT_BRANCHES, EOPNOTSUPP),
			       "PM_WANT_BRANCHES (PERF_SAMPLE_BRANCH_STACK) is refused"));
	kernel.most_precise = 1;
	assert_non_null(strstr(blamed(PM_SPEC_PRECISE, 0, EOPNOTSUPP), "PM_SPEC_PRECISE"));
	kernel.no_pinned = true;
	assert_non_null(strstr(blamed(PM_SPEC_PINNED, 0, EINVAL), "PM_SPEC_PINNED"));
	kernel.no_kernel_frames = true;
	assert_non_null(strstr(blamed(0, PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES, EINVAL),
			       "PM_WANT_KERNEL_FRAMES"));
	/* Two at once, of which neither alone is the reason. */
	assert_non_null(strstr(blamed(PM_SPEC_PRECISE | PM_SPEC_PINNED, 0, EINVAL),
			       "(attr.precise_ip) and PM_SPEC_PINNED (attr.pinned)"));
}

static void no_bit_is_blamed_for_the_event(void **state)
{
	(void)state;
	assert_null(strstr(blamed(0, PM_WANT_CALLCHAIN, EINVAL), "PM_WANT"));
	assert_null(strstr(blamed(PM_SPEC_PINNED, 0, ENOENT), "PM_SPEC"));
	/* By now it opens. */
	assert_null(strstr(blamed(PM_SPEC_PINNED, 0, EINVAL), "PM_SPEC"));
	kernel.refuses = EINVAL;
	assert_null(strstr(blamed(PM_SPEC_PINNED | PM_SPEC_PRECISE, 0, EINVAL), "PM_SPEC"));
}

/* A group has one clock, says the kernel: the leader does without what its member is refused. */
static void a_member_without_a_clock(void **state)
{
	struct pm_event_spec specs[2] = { faults, {
		.size = sizeof(specs[0]), .type = PM_TYPE_SOFTWARE, .config = PM_SW_TASK_CLOCK,
		.want = PM_WANT_GROUP, .tid = PM_ALL_THREADS,
	} };
	const struct pm_session_opts opts = {
		.size = sizeof(opts), .descriptors_percent = 100,
		.forbid = ~(1u << PM_STRATEGY_PER_THREAD),
	};
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	specs[0].want = PM_WANT_GROUP;
	if (pm_plan_make(specs, 2, &opts, NULL, NULL, &plan) < 0)
		skip();
	pm_plan_destroy(plan);
	kernel.no_clock_of_clocks = true;
	assert_int_equal(pm_plan_make(specs, 2, &opts, NULL, NULL, &plan), 0);
	(void)pm_plan_explain(plan, text, sizeof(text));
	assert_non_null(strstr(text, "clock: perf's own"));
	assert_non_null(strstr(text, "event 0 leads 1"));
	pm_plan_destroy(plan);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_that_were_asked_for),
		TEST(what_is_not_had_is_told),
		TEST(counters_have_no_side),
		TEST(counted_instead_of_sampled),
		TEST(unknown_options_are_refused),
		TEST(precision_by_the_ladder),
		TEST(branches_where_there_is_no_such_hardware),
		TEST(frames_of_the_kernel),
		TEST(a_member_without_a_clock),
		TEST(the_refused_bit_is_told),
		TEST(no_bit_is_blamed_for_the_event),
	};

	return cmocka_run_group_tests_name("side", tests, NULL, NULL);
}
