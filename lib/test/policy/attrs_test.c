/* SPDX-License-Identifier: MIT */
/*
 * What strategies ask of the kernel, seen by a kernel of our own between them and the real one:
 * the attr by facts and options, the calls that must never be made, and silence that each of them
 * has to notice.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#define BETWEEN_IOCTL
#include "../../policy/plan/plan.h"
#include "../../policy/strategy/order.h"
#include "between.h"
#include "sessions.h"

#define FDS 4096

static struct {
	bool mute;			/* nothing is ever enabled, and nobody is told */
	uint64_t refuse_format;		/* EINVAL to these bits of read_format */
	int refuse_clock;		/* EINVAL to this clockid; -1: none */
	bool faults_for_cycles;		/* a hardware event is one of page faults */
	unsigned int refreshes, opens;
	struct { bool inherit; int cpu; } of[FDS];	/* of the descriptor's event */
	unsigned int wrong_outputs;
	struct perf_event_attr last;
} kernel;

static bool is_enabling(unsigned long request)
{
	return request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_REFRESH;
}

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	kernel.refreshes += request == PERF_EVENT_IOC_REFRESH;
	/* To -1 nothing is forwarded: that asks whether it is an event at all. */
	if (request == PERF_EVENT_IOC_SET_OUTPUT && (long)argument >= 0 && fd < FDS &&
	    kernel.of[fd].inherit && kernel.of[fd].cpu < 0)
		kernel.wrong_outputs++;
	if (kernel.mute && is_enabling(request))
		return 0;
	return real(fd, request, argument);
}

static bool is_refused(const struct perf_event_attr *attr)
{
	return (attr->read_format & kernel.refuse_format) ||
		(attr->use_clockid && attr->clockid == kernel.refuse_clock);
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	long fd;

	if (attr != NULL && is_refused(attr))
		return refuse_with(EINVAL);
	if (attr != NULL && kernel.mute && attr->disabled == 0)
		attr->disabled = 1;
	if (attr != NULL && kernel.faults_for_cycles && attr->type == PERF_TYPE_HARDWARE) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	}
	fd = open_really(real, args);
	if (fd < 0 || attr == NULL)
		return fd;
	kernel.opens++;
	kernel.last = *attr;
	if (fd < FDS) {
		kernel.of[fd].inherit = attr->inherit;
		kernel.of[fd].cpu = (int)args[2];
	}
	return fd;
}

/* -------------------------------------------------------------------------------------- fixture */

static struct pm_profile *profile;
static struct pm_plan *plan;

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.refuse_clock = -1;
	plan = NULL;
	profile = pm_profile_create();
	return pm_profile_probe(profile, NULL, 0) < 0;
}

static int teardown(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	pm_plan_destroy(plan);
	pm_profile_destroy(profile);
	return 0;
}

static void know_of(const char *key, enum pm_verdict verdict, enum pm_rank rank)
{
	assert_true(pm_profile_set(profile, &(struct pm_fact){
		.size = sizeof(struct pm_fact),
		.key = key, .verdict = verdict, .rank = rank }) >= 0);
}

static void know(const char *key, enum pm_verdict verdict)
{
	know_of(key, verdict, PM_RANK_RUNTIME);
}

static const struct perf_event_attr *attr_by(const struct pm_event_spec *spec,
					     struct pm_session_opts opts)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	if (pm_profile_lookup(profile, "perm.available.opens", &fact) < 0 ||
	    fact.verdict != PM_YES)
		skip();
	opts.size = sizeof(opts);
	opts.allow = PM_ALLOW_ALL;
	opts.descriptors_percent = 100;
	pm_plan_destroy(plan);
	plan = NULL;
	assert_int_equal(pm_plan_make(spec, 1, &opts, profile, NULL, &plan), 0);
	return &plan->events[0].attr;
}

static void assert_explained(const char *what)
{
	char text[8000];

	pm_plan_explain(plan, text, sizeof(text));
	if (strstr(text, what) == NULL)
		fail_msg("\"%s\" not in:\n%s", what, text);
}

/* ---------------------------------------------------------------------------------------- attrs */

static void wake_ups(void **state)
{
	const struct perf_event_attr *attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	(void)state;
	assert_true(attr->watermark && attr->wakeup_watermark == 32 * page);
	attr = attr_by(&faults, (struct pm_session_opts){ .ring_pages = 8 });
	assert_true(attr->watermark && attr->wakeup_watermark == 2 * page);
	attr = attr_by(&faults, (struct pm_session_opts){ .wakeup = 5 });
	assert_true(!attr->watermark && attr->wakeup_events == 5);
	know("ring.wakeup.watermark_counts_bytes", PM_BROKEN);
	attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	assert_true(!attr->watermark && attr->wakeup_events == 0);
	assert_explained("without wake-ups by bytes: "
			 "ring.wakeup.watermark_counts_bytes is broken\n");
}

static void clocks(void **state)
{
	const struct pm_session_opts boot = { .clock = CLOCK_BOOTTIME + 1 };
	const struct perf_event_attr *attr = attr_by(&faults, boot);

	(void)state;
	assert_true(attr->use_clockid && attr->clockid == CLOCK_BOOTTIME);
	assert_explained("clock: CLOCK_BOOTTIME\n");
	kernel.refuse_clock = CLOCK_BOOTTIME;
	attr = attr_by(&faults, boot);
	assert_true(attr->use_clockid && attr->clockid == CLOCK_MONOTONIC);
	assert_explained("clock: CLOCK_MONOTONIC (CLOCK_BOOTTIME is refused (EINVAL))");
	kernel.refuse_clock = -1;
	assert_int_equal(pm_profile_set(profile, &(struct pm_fact){
		.size = sizeof(struct pm_fact),
		.key = "clock.clockid.boottime.stamps", .verdict = PM_BROKEN,
		.rank = PM_RANK_HINT }), 1);
	attr = attr_by(&faults, boot);
	assert_true(attr->use_clockid && attr->clockid == CLOCK_MONOTONIC);
	assert_explained("(clock.clockid.boottime.stamps was broken on another build)");
	know("clock.clockid.monotonic.stamps", PM_BROKEN);
	attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	assert_true(attr->use_clockid && attr->clockid == CLOCK_MONOTONIC_RAW);
	know("clock.clockid.monotonic.stamps", PM_YES);
	know("clock.clockid.monotonic_raw.stamps", PM_NO);
	attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	assert_explained("clock: CLOCK_MONOTONIC\n");
	know("clock.clockid.monotonic.stamps", PM_BROKEN);
	attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	assert_false(attr->use_clockid);
	assert_explained("clock: perf's own (");
}

static void identifiers(void **state)
{
	const struct perf_event_attr *attr = attr_by(&faults, (struct pm_session_opts){ 0 });

	(void)state;
	assert_true((attr->sample_type & PERF_SAMPLE_IDENTIFIER) &&
		    !(attr->sample_type & PERF_SAMPLE_ID) &&
		    !(attr->read_format & PERF_FORMAT_ID));
	know("attr.sample_type_bits.identifier", PM_NO);
	attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	assert_true(!(attr->sample_type & PERF_SAMPLE_IDENTIFIER) &&
		    (attr->sample_type & PERF_SAMPLE_ID) && (attr->read_format & PERF_FORMAT_ID));
}

/* A kernel that takes a bit by itself may refuse it in this very event. */
static void refused_though_known(void **state)
{
	const struct perf_event_attr *attr;

	(void)state;
	know("attr.read_format_bits.lost", PM_YES);
	kernel.refuse_format = PERF_FORMAT_LOST;
	attr = attr_by(&faults, (struct pm_session_opts){ 0 });
	assert_false(attr->read_format & PERF_FORMAT_LOST);
	assert_true(attr->use_clockid && attr->watermark &&
		    (attr->sample_type & PERF_SAMPLE_IDENTIFIER));
	assert_explained("loss: records (it is refused (EINVAL))");
	kernel.refuse_format |= PERF_FORMAT_TOTAL_TIME_ENABLED;
	assert_int_equal(pm_plan_make(&faults, 1, NULL, profile, NULL, &plan), -ENOTSUP);
}

static void sizes_of_callers(void **state)
{
	struct { struct pm_event_spec spec; uint64_t later; } newer = { faults, 0 };
	struct pm_event_spec older[2] = { faults, faults };
	char stride[2 * sizeof(faults)];
	size_t small = offsetof(struct pm_event_spec, filter);

	(void)state;
	(void)attr_by(&faults, (struct pm_session_opts){ 0 });
	pm_plan_destroy(plan);
	plan = NULL;
	newer.spec.size = sizeof(newer);
	newer.spec.flags = older[0].flags = older[1].flags = PM_SPEC_USER_ONLY;
	assert_int_equal(pm_plan_make(&newer.spec, 1, NULL, profile,
				      NULL, &plan), 0);
	pm_plan_destroy(plan);
	plan = NULL;
	newer.later = 1;
	assert_int_equal(pm_plan_make(&newer.spec, 1, NULL, profile, NULL, &plan), -EINVAL);
	/* Two of an older release, without the last field. */
	older[0].size = older[1].size = small;
	older[1].config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	memcpy(stride, &older[0], small);
	memcpy(stride + small, &older[1], small);
	assert_int_equal(pm_plan_make((void *)stride, 2, NULL, profile, NULL, &plan), 0);
	assert_int_equal(plan->count, 2);
	assert_int_equal(plan->events[1].spec.config, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	assert_null(plan->events[1].spec.filter);
}

/* ------------------------------------------------------------------------------- every strategy */

static int attach_by(enum pm_strategy strategy, const struct pm_event_spec *spec,
		     struct pm_diag *diag)
{
	struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .allow = PM_ALLOW_ALL,
					.descriptors_percent = 100 };
	struct pm_session *session;
	int err;

	opts.forbid = ~(1u << strategy);
	pm_plan_destroy(plan);
	plan = NULL;
	err = pm_plan_make(spec, 1, &opts, profile, diag, &plan);
	if (err < 0)
		return err;
	session = pm_session_create(plan, NULL, NULL);
	err = pm_session_attach(session, diag);
	pm_session_destroy(session);
	return err;
}

static struct pm_event_spec spec_for(enum pm_strategy strategy)
{
	struct pm_event_spec spec = faults;

	spec.want = 0;
	if (strategy >= PM_STRATEGY_TIMERS)
		spec = clock_of_all;
	return spec;
}

/* Copies on several CPUs would write one ring at once, whose writer is to be alone on its CPU. */
static void inherited_events_of_any_cpu_are_never_forwarded(void **state)
{
	unsigned int attached = 0;

	(void)state;
	(void)attr_by(&faults, (struct pm_session_opts){ 0 });
	for (int i = 0; i <= PM_STRATEGY_PROCESS_TIMER; i++) {
		struct pm_event_spec spec = spec_for(i);
		struct pm_diag diag = { .size = sizeof(diag) };

		attached += attach_by(i, &spec, &diag) >= 0;
	}
	/* Own threads at least, by whoever runs this. */
	assert_true(attached >= 6);
	assert_int_equal(kernel.wrong_outputs, 0);
}

static void forwarding_is_seen(void **state)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .exclude_kernel = 1,
					.config = PERF_COUNT_SW_DUMMY, .inherit = 1 };
	int fd = pm_open(&attr, 0, -1, -1, 0);

	(void)state;
	if (fd < 0)
		skip();
	(void)pm_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd);
	assert_int_equal(kernel.wrong_outputs, 1);
	close(fd);
}

static void each_notices_silence(void **state)
{
	unsigned int noticed = 0;

	(void)state;
	(void)attr_by(&faults, (struct pm_session_opts){ 0 });
	kernel.mute = true;
	for (int i = 0; i < PM_STRATEGY_TIMERS; i++) {
		struct pm_event_spec spec = spec_for(i);
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_fact fact = { .size = sizeof(fact) };
		int err = attach_by(i, &spec, &diag);

		if (err == -ENOTSUP)
			continue;
		if (err != -EIO || diag.cause != PM_CAUSE_SILENCE)
			fail_msg("%s: %d", pm_strategy_name(i), err);
		assert_int_equal(pm_profile_lookup(profile, pm_strategy_of(i)->proof, &fact), 0);
		assert_int_equal(fact.verdict, PM_BROKEN);
		assert_int_equal(count_maps(NULL), 0);
		noticed++;
	}
	assert_true(noticed >= 4);
}

static unsigned int hits;

static void on_hit(void *context, const struct pm_observed *sample)
{
	(void)context;
	hits += sample->tid == (uint32_t)pm_gettid();
}

/* Samples of 20 calls, delivered by signal. */
static unsigned int hits_of(const struct pm_event_spec *spec, void (*cause)(void))
{
	const struct pm_listener each = { .size = sizeof(each), .sample = on_hit };
	struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .allow = PM_ALLOW_ALL,
					.descriptors_percent = 100 };
	struct pm_session *session;

	opts.forbid = ~(1u << PM_STRATEGY_SIGNALS);
	pm_plan_destroy(plan);
	plan = NULL;
	if (pm_plan_make(spec, 1, &opts, profile, NULL, &plan) < 0)
		skip();
	session = pm_session_create(plan, &each, NULL);
	if (pm_session_attach(session, NULL) < 0) {
		pm_session_destroy(session);
		skip();
	}
	hits = kernel.refreshes = 0;
	for (unsigned int i = 0; i < 20; i++)
		cause();
	pm_session_destroy(session);
	return hits;
}

static volatile int watched;

static void write_it(void)
{
	watched++;
}

static void breakpoints_are_never_refreshed(void **state)
{
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PERF_TYPE_BREAKPOINT, .config = HW_BREAKPOINT_W,
		.config1 = (uintptr_t)&watched, .config2 = sizeof(watched), .period = 1,
	};

	(void)state;
	if (!breakpoints_fire())
		skip();
	(void)attr_by(&faults, (struct pm_session_opts){ 0 });
	know("signal.refresh.limit_is_exact", PM_YES);
	assert_int_equal(hits_of(&spec, write_it), 20);
	assert_int_equal(kernel.refreshes, 0);
}

static void fault_once(void)
{
	cause_faults(1);
}

/* Page faults stand in for a counter that this machine may not have. */
static void counters_are_refreshed_where_it_works(void **state)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .period = 1 };

	(void)state;
	(void)attr_by(&faults, (struct pm_session_opts){ 0 });
	kernel.faults_for_cycles = true;
	assert_in_range(hits_of(&spec, fault_once), 20, 60);
	assert_int_equal(kernel.refreshes, 0);
	know_of("signal.refresh.limit_is_exact", PM_YES, PM_RANK_HINT);	/* another build's word */
	assert_in_range(hits_of(&spec, fault_once), 20, 60);
	assert_int_equal(kernel.refreshes, 0);
	know("signal.refresh.limit_is_exact", PM_YES);
	assert_in_range(hits_of(&spec, fault_once), 20, 60);
	assert_in_range(kernel.refreshes, 20, 60);
	know("signal.refresh.limit_is_exact", PM_HAZARD);
	assert_in_range(hits_of(&spec, fault_once), 20, 60);
	assert_int_equal(kernel.refreshes, 0);
}

static void clocks_are_never_refreshed(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	(void)attr_by(&faults, (struct pm_session_opts){ 0 });
	know("signal.refresh.limit_is_exact", PM_YES);
	assert_int_equal(attach_by(PM_STRATEGY_SIGNALS, &clock_of_all, &diag),
			 PM_STRATEGY_SIGNALS);
	assert_int_equal(kernel.refreshes, 0);
}

/* ------------------------------------------------------------------------------ tax of threads */

static uint64_t tax_by(enum pm_strategy strategy)
{
	uint64_t tax = UINT64_MAX;

	(void)attr_by(&faults, (struct pm_session_opts){
		.forbid = ~(1u << strategy) });
	assert_int_equal(pm_plan_thread_tax(plan, &tax), 0);
	return tax;
}

#define TRIES 200		/* opening an event takes microseconds; a busy machine hides them */

static void inheriting_slows_threads_down(void **state)
{
	int before = count_descriptors();
	uint64_t tax = 0;

	(void)state;
	for (int i = 0; i < TRIES && tax < 200; i++)
		tax = tax_by(PM_STRATEGY_PER_CPU);
	assert_in_range(tax, 200, 100000000);
	assert_int_equal(tax_by(PM_STRATEGY_PER_THREAD), 0);
	assert_int_equal(count_descriptors(), before);
	for (int i = 0; i < TRIES; i++) {
		(void)attr_by(&faults, (struct pm_session_opts){ .thread_tax = 1 });
		if (pm_plan_strategy(plan) == PM_STRATEGY_PER_THREAD)
			break;
	}
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_PER_THREAD);
	assert_explained("passed over: per_cpu: making a thread takes ");
	(void)attr_by(&faults, (struct pm_session_opts){ .thread_tax = 1000000000 });
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_PER_CPU);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wake_ups),
		TEST(clocks),
		TEST(identifiers),
		TEST(refused_though_known),
		TEST(sizes_of_callers),
		TEST(inherited_events_of_any_cpu_are_never_forwarded),
		TEST(forwarding_is_seen),
		TEST(each_notices_silence),
		TEST(breakpoints_are_never_refreshed),
		TEST(counters_are_refreshed_where_it_works),
		TEST(clocks_are_never_refreshed),
		TEST(inheriting_slows_threads_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
