/* SPDX-License-Identifier: MIT */
/*
 * The census: is every page fault of a crowd of threads told once, or its loss? Asked of a session
 * by whatever strategy works here and of each strategy alone; what a fixed recipe (seed.h) tells is
 * a fact beside it. Where perf is refused, something must be delivered all the same and the gate be
 * named.
 *
 *   census [--describe | SECONDS]
 *
 * Speaks KTAP as probes do (suites/README.md), so it can be run on other kernels beside them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"
#include "crowd.h"
#include "seed.h"
#include "verdict.h"

static const char declaration[] =
	"id=library.census\n"
	"title=a session that tells every page fault of a crowd of threads\n"
	"since=2.6.31\n"
	"point=session.complete 99.9 % told once, or the loss, or who refuses\n"
	"point=per_thread.complete the same of a ring a thread, later threads counted as late\n"
	"point=own_rings.complete the same of a ring for each thread and CPU, descriptors closed\n"
	"point=cpu_wide.complete the same of all that runs on each CPU, the crowd picked out\n"
	"point=counters.complete the same of counters: all are counted\n"
	"point=counters_per_cpu.complete the same of a counter for each thread and CPU\n"
	"point=busy.delivers a busy thread is sampled by perf or by timers, and a gate is named\n"
	"fact=strategy string - the one in use\n"
	"fact=caused int events page faults of the crowd\n"
	"fact=told int events of them told once\n"
	"fact=seed_caused int events page faults of the crowd beside the fixed recipe\n"
	"fact=seed_told int events of them told once by the fixed recipe\n"
	"fact=seed_more int events told more than once by the fixed recipe\n"
	"fact=seed_spins int polls of 20 that came back at once after a leader's end\n";

const char verdict_of[] = "census";

static unsigned int seconds = 2;

/* -------------------------------------------------------------------------------- by a session */

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	crowd_tell(sample->address);
}

/* The crowd at work for some seconds, and its end; then what is left. */
static int observe(struct pm_session *session, struct tally *tally, struct pm_value *counted)
{
	uint64_t end = now_ns() + seconds * 1000000000ull;
	int err = 0;

	crowd_go();
	while (err >= 0 && (now_ns() < end || !crowd_is_over()))
		err = pm_session_poll(session, 20);
	/* A thread's ring is noticed to have ended by polling. */
	for (int i = 0; i < 5 && err >= 0; i++)
		err = pm_session_poll(session, 20);
	(void)pm_session_read(session, counted, 1);
	(void)pm_session_detach(session);
	crowd_end(tally);
	return err;
}

static void judge(const char *point, const struct pm_session *session, const struct pm_plan *plan,
		  const struct tally *tally, uint64_t counted)
{
	struct pm_stats s = { .size = sizeof(s) };
	uint64_t lost, missing = tally->caused - tally->told;
	bool complete, accounted, counts = pm_plan_strategy(plan) == PM_STRATEGY_COUNTERS ||
		pm_plan_strategy(plan) == PM_STRATEGY_COUNTERS_PER_CPU;

	(void)pm_session_stats(session, &s);
	lost = (s.lost > s.lost_counted ? s.lost : s.lost_counted) + s.lost_samples;
	complete = counts ? counted >= tally->caused : missing * 1000 <= tally->caused;
	/* Who was there from the beginning is not excused by others' coming late. */
	if (s.late_threads + s.unwatched_threads > 0)
		accounted = counts || tally->old_missing <= lost;
	else
		accounted = missing <= lost;
	complete = tally->more == 0 && tally->caused > 0 && (complete || accounted);
	verdict(point, complete ? YES : BROKEN,
		"%s: %" PRIu64 " page faults in %" PRIu64 " rounds, %" PRIu64 " told once, %" PRIu64
		" more often; lost %" PRIu64 ", counted %" PRIu64 ", late threads %" PRIu64
		", unwatched %" PRIu64 ", duplicates %" PRIu64 ", corrupt %" PRIu64
		", missing of old threads %" PRIu64,
		pm_strategy_name(pm_plan_strategy(plan)), tally->caused, tally->rounds, tally->told,
		tally->more, lost, counted, s.late_threads, s.unwatched_threads, s.duplicates,
		s.corrupt, tally->old_missing);
}

/* Of one strategy: limits and this kernel may refuse it, too, where another would have done. */
static bool is_own_gate(enum pm_cause cause)
{
	return cause == PM_CAUSE_DESCRIPTORS || cause == PM_CAUSE_LOCKED_MEMORY ||
		cause == PM_CAUSE_UNSUPPORTED;
}

/* No session: then the refusal must name who it was. */
static void judge_refusal(const char *point, bool alone, int err, const struct pm_diag *diag)
{
	bool no = diag->cause == PM_CAUSE_NOT_BUILT || diag->cause == PM_CAUSE_UNSUPPORTED;
	struct tally none;

	crowd_go();
	while (!crowd_is_over())
		usleep(1000);
	crowd_end(&none);
	if (is_gate(diag->cause) || (alone && is_own_gate(diag->cause)))
		verdict(point, no ? NO : BLOCKED, "%s", diag->text);
	else
		verdict(point, BROKEN, "error %d names no gate: %s", err, diag->text);
}

static void by_session(const char *point, unsigned int forbid)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = 1, .config = 2, .period = 1, .tid = PM_ALL_THREADS,
		.want = PM_WANT_ADDRESS,
	};
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
					.forbid = forbid };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;
	struct pm_value counted = { .size = sizeof(counted) };
	struct tally tally;
	int err = crowd_begin();

	if (err == 0)
		err = pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan);
	if (err == 0)
		session = pm_session_create(plan, &listener, NULL);
	if (err == 0)
		err = pm_session_attach(session, &diag);
	if (err < 0) {
		judge_refusal(point, forbid != 0, err, &diag);
	} else {
		err = observe(session, &tally, &counted);
		printf("#:perfmodes: strategy=%s\n#:perfmodes: caused=%" PRIu64 "\n"
		       "#:perfmodes: told=%" PRIu64 "\n", pm_strategy_name(pm_plan_strategy(plan)),
		       tally.caused, tally.told);
		judge(point, session, plan, &tally, counted.value);
	}
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ------------------------------------------------------------------------------ a busy thread */

static atomic_bool enough;
static atomic_int busy_tid;
static uint64_t busy_samples;

static void *be_busy(void *context)
{
	busy_tid = pm_gettid();
	while (!enough)
		;
	return context;
}

static void on_busy_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	busy_samples += (int)sample->tid == busy_tid;
}

/* Perf or not, the plan says so: a gate by name, where timers stand in for it. */
static void judge_busy(const char *point, const struct pm_plan *plan)
{
	static const char *const gates[] = { "perf_event_paranoid", "seccomp", "filter",
					     "no perf events", "LSM", "lockdown", "security" };
	bool perf = pm_plan_strategy(plan) < PM_STRATEGY_TIMERS, named = perf;
	char text[4000], *line;

	(void)pm_plan_explain(plan, text, sizeof(text));
	line = strstr(text, "passed over: per_cpu");
	for (size_t i = 0; line != NULL && i < sizeof(gates) / sizeof(gates[0]); i++)
		named |= strstr(line, gates[i]) != NULL;
	if (line != NULL && strchr(line, '\n') != NULL)
		*strchr(line, '\n') = '\0';
	verdict(point, busy_samples > 1 && named ? YES : BROKEN, "%s: %" PRIu64 " samples; %s",
		pm_strategy_name(pm_plan_strategy(plan)), busy_samples, line ? line : "");
}

static void by_whatever_works(const char *point)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_busy_sample };
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = 1, .config = 1, .frequency = 200,
		.tid = PM_ALL_THREADS,
	};
	const struct pm_session_opts opts = {
		.size = sizeof(opts),
		.allow = PM_ALLOW_ALL & ~(unsigned int)PM_ALLOW_COUNT,
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan = NULL;
	pthread_t thread;
	int err = pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan);

	if (err < 0) {
		verdict(point, BROKEN, "no plan: %s", diag.text);
		return;
	}
	session = pm_session_create(plan, &listener, NULL);
	err = pm_session_attach(session, &diag);
	if (err >= 0 && pthread_create(&thread, NULL, be_busy, NULL) == 0) {
		uint64_t end = now_ns() + 1000000000ull;

		while (pm_session_poll(session, 20) >= 0 && now_ns() < end)
			;
		enough = true;
		pthread_join(thread, NULL);
		(void)pm_session_detach(session);
	}
	if (err < 0)
		verdict(point, BROKEN, "no session: %s", diag.text);
	else
		judge_busy(point, plan);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ------------------------------------------------------------------------- by the fixed recipe */

/* What it tells of a crowd, where it can be attached. */
static void by_seed(void)
{
	static struct seed seed;
	const char *call;
	struct tally tally;
	uint64_t end;
	int err = crowd_begin();

	if (err == 0)
		err = seed_attach(&seed, &call);
	crowd_go();
	end = now_ns() + seconds * 1000000000ull;
	while (err >= 0 && now_ns() < end)
		(void)seed_poll(&seed, 20);
	while (!crowd_is_over())
		usleep(1000);
	if (err >= 0)
		for (int i = 0; i < 5; i++)
			(void)seed_poll(&seed, 0);
	crowd_end(&tally);
	if (err < 0) {
		printf("# the fixed recipe: %s: %s\n", call, strerror(-err));
		return;
	}
	seed_detach(&seed);
	printf("#:perfmodes: seed_caused=%" PRIu64 "\n#:perfmodes: seed_told=%" PRIu64
	       "\n#:perfmodes: seed_more=%" PRIu64 "\n", tally.caused, tally.told, tally.more);
}

static void seed_sleeps(void)
{
	const int spins = seed_spins(20);

	if (spins >= 0)
		printf("#:perfmodes: seed_spins=%d\n", spins);
}

int main(int argc, char **argv)
{
	static const enum pm_strategy alone[] = {
		PM_STRATEGY_PER_THREAD, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_CPU_WIDE,
		PM_STRATEGY_COUNTERS, PM_STRATEGY_COUNTERS_PER_CPU,
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	if (argc > 1 && atoi(argv[1]) > 0)
		seconds = (unsigned int)atoi(argv[1]);
	printf("TAP version 13\n1..7\n");
	by_session("session.complete", 0);
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		char point[64];

		snprintf(point, sizeof(point), "%s.complete", pm_strategy_name(alone[i]));
		by_session(point, ~(1u << alone[i]));
	}
	by_whatever_works("busy.delivers");
	by_seed();
	seed_sleeps();
	return verdicts_failed > 0;
}
