/* SPDX-License-Identifier: MIT */
/*
 * Profiles that lie, and kernels that do: each fact that a decision is made by is turned each way,
 * and what a session then delivers must be all of it, or a loss that is told, or a refusal that
 * names a reason. Never nothing.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <poll.h>
#include <stdatomic.h>

#define BETWEEN_IOCTL
#include "../../policy/strategy/order.h"
#include "between.h"
#include "sessions.h"

#define PAGES 50

/* -------------------------------------------------------------- what the kernel may do to us */

static struct {
	bool mute;			/* inheriting events are opened and never enabled */
	bool no_redirect;		/* SET_OUTPUT is taken and does nothing */
	bool no_flag;			/* PERF_FLAG_FD_OUTPUT is taken and does nothing */
	int refuse_flag;		/* errno, to that flag */
	bool no_wakeup;			/* poll sleeps its time out, whatever comes */
	int refuse_redirect;		/* errno */
	int refuse_cpu;			/* errno, to events of one CPU */
	int opened;			/* events that inherit; refused ones of the flag left out */
} kernel;

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	if (request == PERF_EVENT_IOC_SET_OUTPUT && kernel.refuse_redirect)
		return (int)refuse_with(kernel.refuse_redirect);
	if ((request == PERF_EVENT_IOC_SET_OUTPUT && kernel.no_redirect) ||
	    (request == PERF_EVENT_IOC_ENABLE && kernel.mute))
		return 0;
	return real(fd, request, argument);
}

int poll(struct pollfd *polled, nfds_t count, int timeout)
{
	static int (*real)(struct pollfd *polled, nfds_t count, int timeout);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "poll");
	return real(polled, kernel.no_wakeup && count > 1 ? 1 : count, timeout);
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	if (kernel.refuse_cpu && (int)args[2] >= 0)
		return refuse_with(kernel.refuse_cpu);
	if (kernel.mute && attr != NULL && attr->inherit)
		attr->disabled = 1;
	if ((args[4] & PERF_FLAG_FD_OUTPUT) && kernel.refuse_flag)
		return refuse_with(kernel.refuse_flag);
	kernel.opened += attr != NULL && attr->inherit;
	if ((args[4] & PERF_FLAG_FD_OUTPUT) && kernel.no_flag)
		return real(SYS_perf_event_open, args[0], args[1], args[2], -1,
			    args[4] & ~(long)(PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP));
	return open_really(real, args);
}

/* ------------------------------------------------------------- two threads, known work */

static char *areas[2];
static unsigned int told[2][PAGES];
static size_t page_size;
static atomic_bool may_work;

static void *work(void *context)
{
	char *area = context;

	while (!may_work)
		usleep(200);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)area)[i * page_size] = 1;
	return NULL;
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	for (size_t i = 0; i < 2; i++) {
		uint64_t at = (sample->address - (uintptr_t)areas[i]) / page_size;

		if (sample->address >= (uintptr_t)areas[i] && at < PAGES)
			told[i][at]++;
	}
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

/* What came of it, in a few words for a message. */
struct outcome {
	int err;
	const char *strategy;
	unsigned int once, more;
	uint64_t lost, late, counted;
	char text[480];
};

static void work_observed(struct pm_session *session, pthread_t old, struct outcome *ret)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_stats stats = { .size = sizeof(stats) };
	pthread_t young;

	(void)pm_session_read(session, &before, 1);
	may_work = true;
	assert_int_equal(pthread_create(&young, NULL, work, areas[1]), 0);
	for (int i = 0; i < 3; i++)
		assert_true(pm_session_poll(session, 5) >= 0);
	pthread_join(old, NULL);
	pthread_join(young, NULL);
	assert_true(pm_session_poll(session, 5) >= 0);
	(void)pm_session_read(session, &after, 1);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	ret->lost = stats.lost + stats.lost_samples + stats.dropped;
	ret->late = stats.late_threads;
	ret->counted = after.value - before.value;
}

static void begin(pthread_t *ret_old)
{
	may_work = false;
	memset(told, 0, sizeof(told));
	for (size_t i = 0; i < 2; i++) {
		areas[i] = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(areas[i] != MAP_FAILED);
		(void)madvise(areas[i], PAGES * page_size, MADV_NOHUGEPAGE);
	}
	assert_int_equal(pthread_create(ret_old, NULL, work, areas[0]), 0);
}

static void end(struct outcome *ret)
{
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < PAGES; k++)
			told[i][k] > 1 ? ret->more++ : (ret->once += told[i][k]);
		munmap(areas[i], PAGES * page_size);
	}
}

static struct outcome observe_with(struct pm_profile *profile, unsigned int allow)
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .allow = allow };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct outcome outcome = { .strategy = "none" };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;
	pthread_t old;

	begin(&old);
	outcome.err = pm_plan_make(&faults, 1, &opts, profile, &diag, &plan);
	if (outcome.err == 0) {
		session = pm_session_create(plan, &listener, NULL);
		outcome.err = pm_session_attach(session, &diag);
	}
	if (outcome.err >= 0) {
		outcome.strategy = pm_strategy_name((enum pm_strategy)outcome.err);
		work_observed(session, old, &outcome);
	} else {
		may_work = true;
		pthread_join(old, NULL);
	}
	end(&outcome);
	snprintf(outcome.text, sizeof(outcome.text), "%s", diag.text);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return outcome;
}

static void expect_no_silence(const struct outcome *outcome, const char *lie, const char *how)
{
	bool counts = strncmp(outcome->strategy, "count", 5) == 0;
	bool all = counts ? outcome->counted >= 2 * PAGES : outcome->once == 2 * PAGES;
	bool said = outcome->once + outcome->lost >= 2 * PAGES || outcome->late > 0;

	if (outcome->more > 0)
		fail_msg("%s %s: %s told %u more than once", lie, how, outcome->strategy,
			 outcome->more);
	if (outcome->err < 0 ? strlen(outcome->text) < 20 : !(all || said))
		fail_msg("%s %s: %s, error %d (%s), %u of %u told, counted %llu, lost %llu", lie,
			 how, outcome->strategy, outcome->err, outcome->text, outcome->once,
			 2 * PAGES, (unsigned long long)outcome->counted,
			 (unsigned long long)outcome->lost);
}

/* ------------------------------------------------------------------------------------ profiles */

static const char *const modifiers[] = {
	"ring.wakeup.watermark_counts_bytes", "attr.sample_type_bits.identifier",
	"attach.cloexec.sets_flag", "attr.flag_bits.exclude_callchain_kernel",
	"attr.flag_bits.use_clockid", "attr.read_format_bits.lost",
	"clock.clockid.monotonic.stamps", "clock.clockid.monotonic_raw.stamps",
	"strategy.user_only.software_zero",
};

static const struct { enum pm_verdict verdict; const char *name; } ways[] = {
	{ PM_YES, "yes" }, { PM_NO, "no" }, { PM_BROKEN, "broken" }, { PM_HAZARD, "hazard" },
	{ PM_BLOCKED, "blocked" },
};

static struct pm_profile *profile_with(const char *key, enum pm_verdict verdict)
{
	struct pm_profile *profile = pm_profile_create();
	const struct pm_fact fact = { .size = sizeof(fact),
				      .key = key, .verdict = verdict, .rank = PM_RANK_RUNTIME };

	assert_true(pm_profile_use_persona(profile, NULL) >= 0);
	assert_int_equal(pm_profile_set(profile, &fact), 1);
	return profile;
}

/* One fact, each way; returns what the session did at best. */
static void turn(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct pm_profile *profile = profile_with(key, ways[i].verdict);
		struct outcome outcome = observe_with(profile, PM_ALLOW_ALL);

		expect_no_silence(&outcome, key, ways[i].name);
		pm_profile_destroy(profile);
	}
}

static bool perf_is_here(void)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);

	pm_plan_destroy(plan);
	return plan != NULL;
}

static void each_fact_each_way(void **state)
{
	size_t turned = 0;

	(void)state;
	if (!perf_is_here())
		skip();
	for (size_t row = 0; row < STRATEGIES; row++)
		for (const struct need *need = pm_strategies[row].strategy->needs; need->key;
		     need++) {
			turn(need->key);
			turned++;
		}
	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++)
		turn(modifiers[i]);
	assert_true(turned > 20);
}

static struct pm_profile *profile_of_all(enum pm_verdict verdict)
{
	struct pm_profile *profile = pm_profile_create();
	struct pm_fact fact = { .size = sizeof(fact), .verdict = verdict, .rank = PM_RANK_RUNTIME };

	assert_true(pm_profile_use_persona(profile, NULL) >= 0);
	for (size_t row = 0; row < STRATEGIES; row++)
		for (const struct need *need = pm_strategies[row].strategy->needs; need->key;
		     need++) {
			fact.key = need->key;
			(void)pm_profile_set(profile, &fact);
		}
	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++) {
		fact.key = modifiers[i];
		(void)pm_profile_set(profile, &fact);
	}
	return profile;
}

static void all_facts_at_once(void **state)
{
	(void)state;
	if (!perf_is_here())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct pm_profile *profile = profile_of_all(ways[i].verdict);
		struct outcome outcome = observe_with(profile, PM_ALLOW_ALL);

		expect_no_silence(&outcome, "everything", ways[i].name);
		pm_profile_destroy(profile);
	}
}

/* On a machine so busy that all of the time is gone before anything was tried. */
static void no_time_to_find_out(void **state)
{
	struct pm_fact fact = { .size = sizeof(fact) };
	struct pm_profile *profile;

	(void)state;
	if (!perf_is_here())
		skip();
	profile = pm_profile_create();
	assert_int_equal(pm_profile_probe(profile, NULL, 1), 1);
	assert_int_equal(pm_profile_lookup(profile, "perm.available.opens", &fact), 0);
	assert_int_equal(fact.verdict, PM_YES);
	pm_profile_destroy(profile);
}

/* A file that is no profile is told of, and what the library has of its own is taken. */
static void expect_instead(const char *path, const char *bytes, size_t size, size_t times)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	FILE *file = fopen(path, "w");
	struct pm_plan *plan;
	char text[12000];

	for (size_t i = 0; i < times; i++)
		assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(pm_plan_make(&clock_of_all, 1, &(struct pm_session_opts){
		.size = sizeof(struct pm_session_opts), .allow = PM_ALLOW_ALL }, NULL, &diag,
		&plan), 0);
	pm_plan_explain(plan, text, sizeof(text));
	if (strstr(text, path) == NULL || strstr(text, "built in instead") == NULL)
		fail_msg("%.40s: %s", bytes, text);
	pm_plan_destroy(plan);
}

static void hostile_profiles(void **state)
{
#define FACTS(text) "{\"format\": 1, \"kind\": \"profile\", \"kernel\": {" text "}}"
	static const char *const texts[] = {
		"", "[", FACTS("\"a.b\": NaN"), FACTS("\"a.b\": \"\xff\xfe\""),
		FACTS("\"a.b\": \"yes\", \"a.b\": \"no\""), FACTS("\"a.b\": [1]"),
		"{\"format\": 1, \"kind\": \"profile\", \"kernel\": 3}",
	};
	char path[] = "/tmp/perfmodes-lies-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	setenv("PERFMODES_PROFILE", path, 1);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		expect_instead(path, texts[i], strlen(texts[i]), 1);
	expect_instead(path, "[", 1, 1000000);
	expect_instead(path, "{\"a\":", 5, 100000);
	expect_instead(path, "                    ", 20, 10 << 20 >> 4);
	unsetenv("PERFMODES_PROFILE");
	unlink(path);
}

/* ------------------------------------------------------------------------------------- kernels */

static int setup(void **state)
{
	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	memset(&kernel, 0, sizeof(kernel));
	return 0;
}

/* The profile says that all is well; the kernel says so too, and does nothing. */
static void a_mute_kernel(void **state)
{
	struct pm_profile *profile;
	struct outcome outcome;

	(void)state;
	if (!perf_is_here())
		skip();
	profile = profile_of_all(PM_YES);
	kernel.mute = true;
	outcome = observe_with(profile, PM_ALLOW_ALL);
	expect_no_silence(&outcome, "all is well", "mute");
	assert_string_not_equal(outcome.strategy, "per_cpu");
	pm_profile_destroy(profile);
}

/* Counters of CPUs that count nothing are refused, and nothing of them stays behind. */
static void mute_counters(void **state)
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .forbid = ~(1u << PM_STRATEGY_CPU_WIDE) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;
	int before;

	(void)state;
	spec.tid = PM_SYSTEM;
	spec.period = 0;
	if (pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	before = count_descriptors();
	kernel.mute = true;
	assert_int_equal(pm_session_attach(session, &diag), -EIO);
	assert_non_null(strstr(diag.text, "was not counted"));
	assert_int_equal(count_descriptors(), before);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void refusals_lead_on(void **state)
{
	struct pm_profile *profile;
	struct outcome outcome;

	(void)state;
	if (!perf_is_here())
		skip();
	profile = profile_of_all(PM_YES);
	kernel.refuse_redirect = kernel.refuse_flag = EINVAL;
	outcome = observe_with(profile, PM_ALLOW_ALL);
	expect_no_silence(&outcome, "all is well", "SET_OUTPUT refused");
	assert_string_not_equal(outcome.strategy, "per_cpu");
	kernel.refuse_redirect = kernel.refuse_flag = 0;
	kernel.refuse_cpu = EACCES;
	outcome = observe_with(profile, PM_ALLOW_ALL);
	expect_no_silence(&outcome, "all is well", "events of one CPU refused");
	assert_true(outcome.err >= 0);
	pm_profile_destroy(profile);
}

/* Nobody wakes us: rings are looked at all the same. */
static void no_wakeups(void **state)
{
	struct outcome outcome;

	(void)state;
	if (!perf_is_here())
		skip();
	kernel.no_wakeup = true;
	outcome = observe_with(NULL, PM_ALLOW_ALL);
	expect_no_silence(&outcome, "nothing", "no wake-ups");
	assert_int_equal(outcome.once, 2 * PAGES);
}

/* Records of other threads than the leader's go nowhere. */
static void redirecting_does_nothing(void **state)
{
	struct outcome outcome;

	(void)state;
	if (!perf_is_here())
		skip();
	kernel.no_redirect = kernel.no_flag = true;
	outcome = observe_with(NULL, PM_ALLOW_ALL);
	expect_no_silence(&outcome, "nothing", "SET_OUTPUT does nothing");
	assert_string_not_equal(outcome.strategy, "per_cpu");
}

/*
 * The flag is ignored or refused: then there is the ioctl(2). A refusal, be it of the flag or of a
 * leader whose event has ended, does not make the session begin anew.
 */
static void redirecting_by_ioctl(void **state)
{
	const int refusals[] = { 0, EINVAL, ENODEV };
	int opened[3] = { 0 };
	struct outcome outcome;

	(void)state;
	if (!perf_is_here())
		skip();
	for (int i = 0; i < 3; i++) {
		kernel.no_flag = i == 0;
		kernel.refuse_flag = refusals[i];
		kernel.opened = 0;
		outcome = observe_with(NULL, PM_ALLOW_ALL);
		opened[i] = kernel.opened;
		expect_no_silence(&outcome, "nothing", "PERF_FLAG_FD_OUTPUT does nothing");
		assert_string_equal(outcome.strategy, "per_cpu");
		assert_int_equal(outcome.once, 2 * PAGES);
	}
	assert_true(opened[1] > 0);
	assert_int_equal(opened[2], opened[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_fact_each_way, setup),
		cmocka_unit_test_setup(all_facts_at_once, setup),
		cmocka_unit_test_setup(no_time_to_find_out, setup),
		cmocka_unit_test_setup(hostile_profiles, setup),
		cmocka_unit_test_setup(a_mute_kernel, setup),
		cmocka_unit_test_setup(mute_counters, setup),
		cmocka_unit_test_setup(refusals_lead_on, setup),
		cmocka_unit_test_setup(no_wakeups, setup),
		cmocka_unit_test_setup(redirecting_does_nothing, setup),
		cmocka_unit_test_setup(redirecting_by_ioctl, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
