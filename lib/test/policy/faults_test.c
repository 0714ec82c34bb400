/* SPDX-License-Identifier: MIT */
/*
 * Each allocation and each system call of the library failing once, in turn, in each thing it does:
 * nothing crashes, nothing stays behind, an error has a reason, and a session that attached
 * delivers or tells what it lacks. PM_SCENARIO=name runs one, PM_SOAK adds EPERM;
 * how often calls failed is printed.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "faulty_libc.h"
#include "../../policy/engine/engine.h"
#include "sessions.h"

#define FAULTS 60
#define LANES 4

/* What a scenario says went wrong beside what is looked at for all; NULL: nothing. */
typedef const char *scenario_fn(enum pm_strategy strategy);

/* ----------------------------------------------------------------------------------- sessions */

static uint64_t told;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	(void)sample;
	told++;
}

static bool says_why(const struct pm_diag *diag, int err)
{
	return err == -ENOMEM || strlen(diag->text) > 10;
}

static uint64_t findings(const struct pm_stats *stats)
{
	return stats->lost + stats->lost_samples + stats->dropped + stats->corrupt +
		stats->unknown + stats->silent_events + stats->silent_threads +
		stats->unproven_events + stats->unproven_rings + stats->full_rings +
		stats->incomplete_events;
}

/* The work that is observed does not fail. */
static void work(void)
{
	const bool armed = fault.armed;

	fault.armed = false;
	cause_faults(FAULTS);
	fault.armed = armed;
}

/* Attached: it works, is read, loses a CPU and gets one, and ends. */
static const char *use(struct pm_session *session, bool clock)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_stats stats = { .size = sizeof(stats) };
	int err = 0, reads = 0;

	reads += pm_session_read(session, &before, 1) == 1;
	(void)pm_session_fd(session);
	if (!clock)
		work();
	err |= pm_session_poll(session, 1);
	session->cpus.seen_at = 0;
	session->followed_at = 0;
	err |= pm_session_poll(session, 1);
	reads += pm_session_read(session, &after, 1) == 1;
	(void)pm_session_detach(session);
	(void)pm_session_stats(session, &stats);
	if (clock || err < 0 || told >= FAULTS || findings(&stats) > 0 || reads == 1)
		return NULL;
	return reads == 2 && after.value - before.value >= FAULTS ? NULL : "silence";
}

static const char *session(enum pm_strategy strategy)
{
	struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .descriptors_percent = 100,
		.allow = PM_ALLOW_ALL | PM_ALLOW_ITIMER, .ring_pages = 8 };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	const bool clock = strategy >= PM_STRATEGY_TIMERS;
	struct pm_event_spec spec = clock ? clock_of_all : faults;
	struct pm_diag diag = { .size = sizeof(diag) };
	const char *wrong = NULL;
	struct pm_session *made;
	struct pm_plan *plan;
	int err;

	told = 0;
	opts.forbid = ~(1u << strategy);
	if (strategy == PM_STRATEGY_SIGNALS)
		spec.want = 0;
	err = pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan);
	if (err < 0)
		return says_why(&diag, err) ? NULL : "no plan, and no reason";
	made = pm_session_create(plan, &listener, NULL);
	err = made ? pm_session_attach(made, &diag) : -ENOMEM;
	if (err < 0 && !says_why(&diag, err))
		wrong = "not attached, and no reason";
	else if (err >= 0)
		wrong = use(made, clock);
	pm_session_destroy(made);
	pm_plan_destroy(plan);
	return wrong;
}

/* --------------------------------------------------------------------------------- the others */

static const char *profiles(enum pm_strategy unused)
{
	static const char text[] = "{\"schema\": 1, \"facts\": {}}";
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_profile *profile, *other;
	int out, err;

	(void)unused;
	err = pm_profile_load_default(&diag, &profile);
	if (err < 0)
		return says_why(&diag, err) ? NULL : "no profile, and no reason";
	(void)pm_profile_probe(profile, NULL, 0);
	out = memfd_create("profile", 0);
	if (pm_profile_save(profile, out) == 0) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
		if (pm_profile_load_file(path, &diag, &other) >= 0) {
			(void)pm_profile_merge(profile, other, PM_MERGE_UNION, NULL, NULL);
			pm_profile_destroy(other);
		}
	}
	__real_close(out, 0, 0, 0, 0, 0);
	if (pm_profile_load_text(text, sizeof(text) - 1, &diag, &other) >= 0)
		pm_profile_destroy(other);
	pm_profile_destroy(profile);
	return NULL;
}

static const char *counters(enum pm_strategy unused)
{
	struct pm_event_spec specs[2] = { faults, clock_of_all };
	struct pm_value value[2] = { { .size = sizeof(value[0]) } };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_counters *made;
	const char *wrong = NULL;
	int err;

	(void)unused;
	for (int i = 0; i < 2; i++)
		specs[i].period = specs[i].want = specs[i].tid = 0;
	err = pm_counters_open(specs, 2, 0, NULL, &diag, &made);
	if (err < 0)
		return says_why(&diag, err) ? NULL : "no counters, and no reason";
	err = pm_counters_start(made);
	work();
	if (err == 0 && pm_counters_read(made, value, 2) == 2 && value[0].value < FAULTS)
		wrong = "it read less than there was";
	(void)pm_counters_read_one(made, 1, value);
	(void)pm_counters_stop(made);
	pm_counters_destroy(made);
	return wrong;
}

static const char *traces(enum pm_strategy unused)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_trace_event *event;
	int err;

	(void)unused;
	err = pm_trace_event_load("sched", "sched_switch", &diag, &event);
	if (err == 0)
		pm_trace_event_destroy(event);
	else if (!says_why(&diag, err))
		return "no tracepoint, and no reason";
	(void)pm_event_parse("sched:sched_switch", &diag, &spec);
	(void)pm_event_parse("cycles:u", &diag, &spec);
	return NULL;
}

static const char *clocks(enum pm_strategy unused)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_clock_map *map;
	int err = pm_clock_map_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC, NULL, &diag, &map);

	(void)unused;
	if (err < 0)
		return says_why(&diag, err) ? NULL : "no map, and no reason";
	(void)pm_clock_map_update(map, &diag);
	pm_clock_map_destroy(map);
	return NULL;
}

static void *serve(void *socket)
{
	const struct pm_broker_opts opts = { .size = sizeof(opts), .allow = PM_BROKER_KERNEL };

	(void)pm_broker_serve(*(int *)socket, &opts);
	__real_close(*(int *)socket, 0, 0, 0, 0, 0);
	return NULL;
}

int pm_broker_open(int socket, const struct perf_event_attr *attr, pid_t tid, int cpu);

static const char *broker(enum pm_strategy unused)
{
	const struct perf_event_attr attr = { .type = 1, .size = 64, .config = 9 };
	pthread_t thread;
	int pair[2], fd;

	(void)unused;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return NULL;
	if (__real_pthread_create((long)&thread, 0, (long)serve, (long)&pair[1], 0, 0) != 0)
		return NULL;
	for (int i = 0; i < 2; i++) {
		fd = pm_broker_open(pair[0], &attr, pm_gettid(), -1);
		if (fd >= 0)
			__real_close(fd, 0, 0, 0, 0, 0);
	}
	__real_close(pair[0], 0, 0, 0, 0, 0);
	pthread_join(thread, NULL);
	return NULL;
}

static const struct scenario {
	const char *name;
	scenario_fn *run;
	enum pm_strategy strategy;
} scenarios[] = {
	{ "per_cpu", session, PM_STRATEGY_PER_CPU },
	{ "own_rings", session, PM_STRATEGY_OWN_RINGS },
	{ "per_thread", session, PM_STRATEGY_PER_THREAD },
	{ "cpu_wide", session, PM_STRATEGY_CPU_WIDE },
	{ "signals", session, PM_STRATEGY_SIGNALS },
	{ "counters", session, PM_STRATEGY_COUNTERS },
	{ "counters_per_cpu", session, PM_STRATEGY_COUNTERS_PER_CPU },
	{ "timers", session, PM_STRATEGY_TIMERS },
	{ "process_timer", session, PM_STRATEGY_PROCESS_TIMER },
	{ "profiles", profiles, 0 },
	{ "pm_counters", counters, 0 },
	{ "traces", traces, 0 },
	{ "clocks", clocks, 0 },
	{ "broker", broker, 0 },
};

/* ------------------------------------------------------------------------------------ each call */

struct rest {
	int descriptors, maps;
	bool timer, signal;		/* ITIMER_PROF runs; SIGPROF is somebody's */
	bool fatal;			/* it runs, and its signal will end the program */
};

static void look(struct rest *ret)
{
	struct itimerval timer;
	struct sigaction prof;

	ret->descriptors = count_descriptors();
	ret->maps = count_maps(NULL);
	(void)getitimer(ITIMER_PROF, &timer);
	ret->timer = timer.it_interval.tv_sec + timer.it_interval.tv_usec != 0;
	(void)sigaction(SIGPROF, NULL, &prof);
	ret->fatal = ret->timer && prof.sa_handler == SIG_DFL;
	ret->signal = prof.sa_handler != SIG_DFL && prof.sa_handler != SIG_IGN;
}

static bool check(const struct scenario *scenario, const struct rest *before, const char *wrong)
{
	struct rest after;

	look(&after);
	if (wrong == NULL && live != 0)
		wrong = "memory stays behind";
	if (wrong == NULL && after.descriptors != before->descriptors)
		wrong = "descriptors stay open";
	if (wrong == NULL && after.maps != before->maps)
		wrong = "rings stay mapped";
	if (wrong == NULL && after.fatal)
		wrong = "a timer will end the program";
	if (wrong == NULL && after.timer && strstr(fault.failed, "itimer") == NULL)
		wrong = "a timer runs on";
	if (wrong == NULL && after.signal && strcmp(fault.failed, "sigaction") != 0)
		wrong = "a handler stays behind";
	if (wrong != NULL)
		print_message("%s, call %u (%s: %s): %s\n", scenario->name, fault.at,
			      fault.failed, pm_errno_name(fault.error), wrong);
	return wrong != NULL;
}

/* How many calls were made to fail, and how often that went wrong. */
static int each_call(const struct scenario *scenario, int error, bool interrupts,
		     unsigned int *ret_calls)
{
	struct rest before;
	unsigned int calls = 1;
	int wrong = 0;

	look(&before);
	for (unsigned int at = 0; at <= calls; at++) {
		const char *said;
		unsigned int made;

		fault_arm(at, error, interrupts);
		said = scenario->run(scenario->strategy);
		made = fault_disarm();
		if (at == 0)
			calls = made;
		wrong += check(scenario, &before, said);
		/* What was refused to be stopped is not to be seen by the next. */
		(void)setitimer(ITIMER_PROF, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
		(void)signal(SIGPROF, SIG_IGN);		/* what is pending would end the test */
		(void)signal(SIGPROF, SIG_DFL);
	}
	*ret_calls = calls;
	return wrong;
}

static int run_scenario(const struct scenario *scenario)
{
	static const int errors[] = { ENOMEM, EINTR, EPERM };
	unsigned int calls[ARRAY_SIZE(errors)] = { 0 };
	const size_t kinds = getenv("PM_SOAK") != NULL ? 3 : 2;
	int wrong = 0;

	alarm(250);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGABRT, SIG_DFL);
	for (size_t i = 0; i < kinds; i++)
		wrong += each_call(scenario, errors[i], errors[i] == EINTR, &calls[i]);
	print_message("%s: %u calls failed with ENOMEM, %u with EINTR, %u with EPERM; %d wrong\n",
		      scenario->name, calls[0], calls[1], calls[2], wrong);
	return wrong;
}

static int run_lane(size_t lane)
{
	const char *only = getenv("PM_SCENARIO");
	int wrong = 0;

	for (size_t i = lane; i < ARRAY_SIZE(scenarios); i += LANES)
		if (only == NULL || strcmp(only, scenarios[i].name) == 0)
			wrong += run_scenario(&scenarios[i]);
	return wrong;
}

static void each_fails_once(void **state)
{
	pid_t lanes[LANES];
	int status, wrong = 0;

	(void)state;
	for (size_t lane = 0; lane < LANES; lane++) {
		lanes[lane] = fork();
		if (lanes[lane] == 0)
			_exit(run_lane(lane) != 0);
	}
	for (size_t lane = 0; lane < LANES; lane++) {
		assert_int_equal(waitpid(lanes[lane], &status, 0), lanes[lane]);
		if (status != 0)
			print_error("lane %zu: status %#x\n", lane, (unsigned int)status);
		wrong += status != 0;
	}
	assert_int_equal(wrong, 0);
}

/* --------------------------------------------------------------------------- the test's own */

static void *volatile kept;
static int kept_fd = -1;

static const char *keep_memory(enum pm_strategy unused)
{
	(void)unused;
	kept = malloc(1);
	return NULL;
}

static const char *keep_descriptor(enum pm_strategy unused)
{
	(void)unused;
	kept_fd = open("/dev/null", O_RDONLY);
	return NULL;
}

static const char *keep_timer(enum pm_strategy unused)
{
	const struct itimerval hour = { { 3600, 0 }, { 3600, 0 } };

	(void)unused;
	(void)setitimer(ITIMER_PROF, &hour, NULL);
	return NULL;
}

/* What stays behind is noticed, and a call that does not fail is no failure. */
static void the_look_can_fail(void **state)
{
	static scenario_fn *const all[] = { traces, keep_memory, keep_descriptor, keep_timer };
	struct rest before;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const struct scenario scenario = { "on purpose", all[i], 0 };

		look(&before);
		fault_arm(0, ENOMEM, false);
		assert_null(scenario.run(0));
		(void)fault_disarm();
		assert_int_equal(check(&scenario, &before, NULL), i > 0);
		free(kept);
		kept = NULL;
		close(kept_fd);
		(void)setitimer(ITIMER_PROF, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_look_can_fail),
		cmocka_unit_test(each_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
