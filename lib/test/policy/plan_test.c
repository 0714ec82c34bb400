/* SPDX-License-Identifier: MIT */
/*
 * Choosing: what facts, options, limits and refusals do to the plan, and what is said about it;
 * and a kernel that accepts everything and delivers nothing.
 */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BETWEEN_IOCTL
#include "../../perfmodes.h"
#include "between.h"

/* ------------------------------------------------------------ a kernel and a filter of our own */

static struct {
	bool mute;			/* events are never enabled, and nobody is told */
	int refuse_errno;		/* to every open: a system call filter */
	int refuse_kernel;		/* to opens without exclude_kernel */
	int refuse_hardware;
	int refuse_inherit;
	uint64_t refuse_sample_type;	/* EINVAL to these bits */
	bool refuse_clockid;
} kernel;

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	if (kernel.mute && request == PERF_EVENT_IOC_ENABLE)
		return 0;
	return real(fd, request, argument);
}

static int refusal(const struct perf_event_attr *attr)
{
	if (kernel.refuse_errno)
		return kernel.refuse_errno;
	if (attr == NULL)
		return 0;
	if (kernel.refuse_kernel && !attr->exclude_kernel)
		return kernel.refuse_kernel;
	if (kernel.refuse_hardware && attr->type == PERF_TYPE_HARDWARE)
		return kernel.refuse_hardware;
	if (kernel.refuse_inherit && attr->inherit)
		return kernel.refuse_inherit;
	if ((attr->sample_type & kernel.refuse_sample_type) ||
	    (kernel.refuse_clockid && attr->use_clockid))
		return EINVAL;
	return 0;
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	int err = refusal(attr);

	if (kernel.mute && attr != NULL && attr->inherit)
		attr->disabled = 1;
	return err != 0 ? refuse_with(err) : open_really(real, args);
}

/* -------------------------------------------------------------------------------------- helpers */

static const struct pm_event_spec faults = {
	.size = sizeof(faults), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
	.period = 1, .tid = PM_ALL_THREADS,
};

static const struct pm_event_spec cycles = {
	.size = sizeof(cycles), .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
	.frequency = 1000, .tid = PM_ALL_THREADS,
};

#define BIT(strategy) (1u << PM_STRATEGY_##strategy)

/* What is left are the rows that any machine with perf offers to any user. */
static const unsigned int usual = ~(BIT(PER_CPU) | BIT(PER_THREAD) | BIT(COUNTERS) | BIT(TIMERS));

static const struct pm_session_opts everything = {
	.size = sizeof(everything), .allow = PM_ALLOW_ALL, .descriptors_percent = 100,
	.forbid = usual,
};

static struct pm_profile *profile;
static char said[4096];

static int setup(void **state)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	profile = pm_profile_create();
	return pm_profile_probe(profile, NULL, 0) < 0 ||
		pm_profile_lookup(profile, "perm.available.opens", &fact) < 0;
}

static int teardown(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	pm_profile_destroy(profile);
	return 0;
}

static bool perf_is_here(void)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	return pm_profile_lookup(profile, "perm.available.opens", &fact) == 0 &&
		fact.verdict == PM_YES;
}

static void say_of(const char *key, enum pm_verdict verdict, enum pm_rank rank)
{
	assert_int_equal(pm_profile_set(profile, &(struct pm_fact){
		.size = sizeof(struct pm_fact), .key = key, .verdict = verdict, .rank = rank }), 1);
}

static void say(const char *key, enum pm_verdict verdict)
{
	say_of(key, verdict, PM_RANK_RUNTIME);
}

/* The chosen strategy, or -errno; what there is to say about it in `said`. */
static int chosen(const struct pm_event_spec *spec, const struct pm_session_opts *opts)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	int err = pm_plan_make(spec, 1, opts, profile, &diag, &plan), length;

	if (err < 0) {
		snprintf(said, sizeof(said), "%s", diag.text);
		assert_true(diag.cause != PM_CAUSE_NONE);
		return err;
	}
	err = pm_plan_strategy(plan);
	length = pm_plan_explain(plan, said, sizeof(said));
	assert_int_equal(length, strlen(said));
	assert_int_equal(pm_plan_explain(plan, said, 10), length);
	assert_int_equal(strlen(said), 9);
	pm_plan_explain(plan, said, sizeof(said));
	pm_plan_destroy(plan);
	return err;
}

static void assert_said(const char *what)
{
	if (strstr(said, what) == NULL)
		fail_msg("\"%s\" not in:\n%s", what, said);
}

/* ---------------------------------------------------------------------------------------- tests */

static void first_row_that_holds(void **state)
{
	(void)state;
	if (!perf_is_here())
		skip();
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
	assert_said("chosen: per_cpu");
	assert_said("passed over: per_thread: comes after");
	say("inherit.ring.thread", PM_BROKEN);
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_THREAD);
	assert_said("passed over: per_cpu: inherit.ring.thread is broken");
	say("output.chain.one_link", PM_NO);
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_COUNTERS);
	assert_said("passed over: per_thread: output.chain.one_link is no");
	say("inherit.follow.thread.counts_alive", PM_HAZARD);
	assert_int_equal(chosen(&faults, &everything), -ENOTSUP);
	assert_said("counts_alive is hazard");
}

/* Another build of the series may have been mended, or not yet broken. */
static void another_build_rules_out_nothing(void **state)
{
	static const enum pm_rank ranks[] = { PM_RANK_NONE, PM_RANK_BUILTIN, PM_RANK_HINT };

	(void)state;
	if (!perf_is_here())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		say_of("inherit.ring.thread", PM_BROKEN, ranks[i]);
		say_of("output.chain.one_link", PM_YES, ranks[i]);
		say_of("inherit.follow.thread.counts_alive", PM_YES, ranks[i]);
		assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_THREAD);
		assert_said("per_cpu: inherit.ring.thread was broken on another build");
		say_of("output.chain.one_link", PM_NO, ranks[i]);
		assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_COUNTERS);
		say_of("inherit.follow.thread.counts_alive", PM_NO, ranks[i]);
		assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
		assert_said("nothing better is left: inherit.ring.thread was broken");
	}
	say_of("inherit.ring.thread", PM_BROKEN, PM_RANK_RELEASE);
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_THREAD);
	say_of("output.chain.one_link", PM_HAZARD, PM_RANK_BUILTIN);
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_COUNTERS);
	assert_said("passed over: per_thread: output.chain.one_link was hazard on another build");
}

/* Nor does what policy blocked when the profile was made: this time everything opens. */
static void blocked_once_is_no_reason(void **state)
{
	(void)state;
	if (!perf_is_here())
		skip();
	say_of("inherit.ring.thread", PM_BLOCKED, PM_RANK_BUILD);
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
}

static void without_permission_to_fall_back(void **state)
{
	struct pm_session_opts none = { .size = sizeof(none), .forbid = usual };
	struct pm_event_spec own = faults;

	(void)state;
	own.flags = PM_SPEC_USER_ONLY;
	if (!perf_is_here())
		skip();
	say("inherit.ring.thread", PM_NO);
	say("output.chain.one_link", PM_NO);
	assert_int_equal(chosen(&own, &none), -ENOTSUP);
	assert_said("counts are not allowed");
	assert_said("timers are not allowed");
	none.forbid |= BIT(PER_CPU);
	assert_int_equal(chosen(&own, &none), -ENOTSUP);
	assert_said("forbidden by the caller");
}

static void refused_by_a_filter(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		kernel.refuse_errno = i ? ENOSYS : EPERM;
		assert_int_equal(chosen(&faults, &everything), -ENOTSUP);
		assert_said(i ? "ENOSYS" : "filter");
		assert_said("page-faults");
		assert_int_equal(chosen(&cycles, &everything), PM_STRATEGY_TIMERS);
		assert_said("passed over: per_cpu: perf_event_open(cycles");
	}
}

static void user_mode_only(void **state)
{
	struct pm_session_opts opts = everything;
	struct pm_event_spec switches = faults, tracepoint = faults;

	(void)state;
	if (!perf_is_here())
		skip();
	kernel.refuse_kernel = EACCES;
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
	assert_said("event 0, page-faults: user mode only");
	opts.allow &= ~(unsigned int)PM_ALLOW_USER_ONLY;
	assert_int_equal(chosen(&faults, &opts), -ENOTSUP);
	/* They would open, and count nothing. */
	switches.config = PERF_COUNT_SW_CGROUP_SWITCHES;
	assert_int_equal(chosen(&switches, &everything), -ENOTSUP);
	assert_said("EACCES");
	switches.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	assert_int_equal(chosen(&switches, &everything), -ENOTSUP);
	say_of("strategy.user_only.software_zero", PM_BLOCKED, PM_RANK_BUILD);
	assert_int_equal(chosen(&switches, &everything), -ENOTSUP);
	say_of("strategy.user_only.software_zero", PM_BROKEN, PM_RANK_HINT);
	assert_int_equal(chosen(&switches, &everything), -ENOTSUP);
	say("strategy.user_only.software_zero", PM_BROKEN);
	assert_int_equal(chosen(&switches, &everything), PM_STRATEGY_PER_CPU);
	tracepoint.type = PERF_TYPE_TRACEPOINT;
	assert_int_equal(chosen(&tracepoint, &everything), -ENOTSUP);
	assert_said("EACCES");
}

static void a_clock_for_missing_hardware(void **state)
{
	static const int errors[] = { ENOENT, ENODEV, ENXIO, EOPNOTSUPP };
	struct pm_event_spec exact = cycles;

	(void)state;
	if (!perf_is_here())
		skip();
	exact.flags = PM_SPEC_EXACT;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		kernel.refuse_hardware = errors[i];
		assert_int_equal(chosen(&cycles, &everything), PM_STRATEGY_PER_CPU);
		assert_said("event 0, cycles: cpu-clock instead");
		assert_int_equal(chosen(&exact, &everything), -ENOTSUP);
		assert_said("(cycles,");
	}
}

static void older_kernels_lack_bits(void **state)
{
	(void)state;
	if (!perf_is_here())
		skip();
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
	assert_said("clock: CLOCK_MONOTONIC");
	kernel.refuse_clockid = true;
	kernel.refuse_sample_type = PERF_SAMPLE_IDENTIFIER;
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
	assert_said("clock: perf's own");
	kernel.refuse_sample_type = PERF_SAMPLE_IP;
	assert_int_equal(chosen(&faults, &everything), -ENOTSUP);
	assert_said("does not know");
}

/* The errno is that of a wish that makes no sense, but it is the kernel that cannot do it. */
static void inheritance_that_is_refused(void **state)
{
	struct pm_session_opts opts = everything;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	(void)state;
	if (!perf_is_here())
		skip();
	kernel.refuse_inherit = EINVAL;
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_THREAD);
	assert_said("passed over: per_cpu: event 0 opens, but not with attr.inherit (EINVAL)");
	opts.forbid = ~BIT(PER_CPU);
	assert_int_equal(pm_plan_make(&faults, 1, &opts, profile, &diag, &plan), -ENOTSUP);
	assert_int_equal(diag.cause, PM_CAUSE_UNSUPPORTED);
	assert_non_null(strstr(diag.text, "attr.inherit"));
}

/* The limit that the diagnosis tells is the lowest with which it works. */
static void too_few_descriptors(void **state)
{
	struct pm_session_opts opts = everything;
	struct rlimit limit, low;
	const char *advice;

	(void)state;
	if (!perf_is_here())
		skip();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 8;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	opts.allow &= ~(unsigned int)PM_ALLOW_RAISE_NOFILE;
	opts.descriptors_percent = 30;
	opts.forbid = ~(BIT(PER_CPU) | BIT(CGROUP));
	assert_int_equal(chosen(&faults, &opts), -ENOTSUP);
	assert_said("no strategy: per_cpu: ");
	advice = strstr(said, "ulimit -n ");
	assert_non_null(advice);
	assert_null(strstr(said, "is to observe"));	/* what serves others needs no word */
	low.rlim_cur = strtoul(advice + strlen("ulimit -n "), NULL, 10);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(chosen(&faults, &opts), PM_STRATEGY_PER_CPU);
	low.rlim_cur--;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(chosen(&faults, &opts), -ENOTSUP);
	assert_int_equal(chosen(&faults, &everything), PM_STRATEGY_PER_CPU);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void costs(void **state)
{
	struct pm_cost cost = { .size = sizeof(cost) };
	struct pm_plan *plan;

	(void)state;
	if (!perf_is_here())
		skip();
	assert_int_equal(pm_plan_make(&faults, 1, &everything, profile, NULL, &plan), 0);
	assert_int_equal(pm_plan_cost(plan, &cost), 0);
	assert_true(cost.threads >= 1 && cost.cpus >= 1);
	assert_int_equal(cost.rings, cost.cpus);
	assert_int_equal(cost.descriptors, cost.threads * cost.cpus + 1);
	assert_int_equal(cost.locked_bytes,
			 cost.rings * 129 * (uint64_t)sysconf(_SC_PAGESIZE));
	pm_plan_destroy(plan);
}

/* What only counts on each CPU has no rings to be locked. */
static void costs_of_counting(void **state)
{
	const struct pm_event_spec all = { .size = sizeof(all), .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_PAGE_FAULTS, .tid = PM_SYSTEM };
	struct pm_cost cost = { .size = sizeof(cost) };
	struct pm_plan *plan;

	(void)state;
	if (pm_plan_make(&all, 1, NULL, profile, NULL, &plan) < 0)
		skip();
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_CPU_WIDE);
	assert_int_equal(pm_plan_cost(plan, &cost), 0);
	assert_int_equal(cost.descriptors, cost.cpus + 1);
	assert_int_equal(cost.rings, 0);
	assert_int_equal(cost.locked_bytes, 0);
	pm_plan_destroy(plan);
}

static void senseless_wishes(void **state)
{
	struct pm_event_spec both = faults, negative = faults, sizeless = faults;
	struct pm_event_spec flagged = faults, wanting = faults;
	struct pm_session_opts pages = everything;
	struct pm_plan *plan;

	(void)state;
	both.frequency = 1;
	negative.tid = PM_CGROUP - 1;
	sizeless.size = 0;
	flagged.flags = PM_SPEC_PRECISE_2 << 1;	/* of a later release */
	wanting.want = PM_WANT_GROUP << 1;
	pages.ring_pages = 3;
	assert_int_equal(chosen(&both, &everything), -EINVAL);
	assert_said("plan: event 0: period and frequency exclude each other");
	assert_int_equal(chosen(&negative, &everything), -EINVAL);
	assert_said("event 0: tid is no thread's");
	assert_int_equal(chosen(&sizeless, &everything), -EINVAL);
	assert_said("event 0: size is not set");
	assert_int_equal(chosen(&flagged, &everything), -EINVAL);
	flagged.flags = PM_SPEC_USER_ONLY | PM_SPEC_NO_USER;	/* nothing happens in no mode */
	assert_int_equal(chosen(&flagged, &everything), -EINVAL);
	flagged.flags = PM_SPEC_NO_HOST | PM_SPEC_NO_GUEST;
	assert_int_equal(chosen(&flagged, &everything), -EINVAL);
	assert_int_equal(chosen(&wanting, &everything), -EINVAL);
	assert_int_equal(chosen(&faults, &pages), -EINVAL);
	assert_said("plan: option ring_pages is no power of two");
	assert_int_equal(pm_plan_make(&faults, 0, NULL, profile, NULL, &plan), -EINVAL);
	assert_int_equal(pm_plan_make(&faults, 33, NULL, profile, NULL, &plan), -EINVAL);
}

/* Nothing refuses, nothing comes: each strategy must notice and hand over to the next. */
static void silence_is_noticed(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;

	(void)state;
	if (!perf_is_here())
		skip();
	assert_int_equal(pm_plan_make(&faults, 1, &everything, profile, NULL, &plan), 0);
	session = pm_session_create(plan, NULL, NULL);
	kernel.mute = true;
	assert_int_equal(pm_session_attach(session, &diag), -EIO);
	assert_int_equal(diag.cause, PM_CAUSE_SILENCE);
	assert_int_equal(pm_session_poll(session, 0), -ENOTCONN);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	kernel.refuse_hardware = ENOENT;
	assert_int_equal(chosen(&cycles, &everything), PM_STRATEGY_TIMERS);
	assert_said("per_cpu: strategy.per_cpu.every_sample_once is broken");
	assert_said("counters: strategy.any_cpu.inherit_any_cpu_count is broken");
}

static void silence_ends_in_timers(void **state)
{
	struct pm_session *session;
	struct pm_plan *plan;

	(void)state;
	if (!perf_is_here())
		skip();
	kernel.refuse_hardware = ENOENT;
	kernel.mute = true;
	assert_int_equal(pm_plan_make(&cycles, 1, &everything, profile, NULL, &plan), 0);
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_TIMERS);
	pm_plan_explain(plan, said, sizeof(said));
	assert_said("chosen: timers");
	assert_said("passed over: per_cpu: per_cpu: all opened, but");
	assert_said("passed over: counters: counters: all opened, but");
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(first_row_that_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(another_build_rules_out_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(blocked_once_is_no_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(without_permission_to_fall_back, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_by_a_filter, setup, teardown),
		cmocka_unit_test_setup_teardown(user_mode_only, setup, teardown),
		cmocka_unit_test_setup_teardown(a_clock_for_missing_hardware, setup, teardown),
		cmocka_unit_test_setup_teardown(older_kernels_lack_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(inheritance_that_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(too_few_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(costs, setup, teardown),
		cmocka_unit_test_setup_teardown(costs_of_counting, setup, teardown),
		cmocka_unit_test_setup_teardown(senseless_wishes, setup, teardown),
		cmocka_unit_test_setup_teardown(silence_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(silence_ends_in_timers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
