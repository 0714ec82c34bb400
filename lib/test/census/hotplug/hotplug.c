/* SPDX-License-Identifier: MIT */
/*
 * The census while a CPU goes offline and comes back: is every page fault of the crowd told once,
 * but for those of a gap that the session owns up to?
 *
 *   hotplug [--describe]
 *
 * Only where it is allowed (PERFMODES_MAY_DISTURB), and in guests. The CPU is put back by a process
 * that does nothing else, whatever happens to this one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../perfmodes.h"
#include "../../../pm_sys.h"
#include "../crowd.h"
#include "../verdict.h"
#include "switch.h"

static const char declaration[] =
	"id=library.hotplug\n"
	"title=a session that goes on when a CPU comes and goes\n"
	"since=2.6.31\n"
	"disturbs=CPU hotplug\n"
	"needs=hotplug\n"
	"point=session.comes a CPU that was offline at the attach is attached, the gap is told\n"
	"point=session.returns a CPU goes and comes back: nothing is missing, or it is told\n"
	"point=own_rings.comes as session.comes, with a ring for each event\n"
	"point=cpu_wide.returns events die with the CPU and are opened anew, the gap is told\n"
	"point=cpu_wide.flaps the same of a CPU that is back before anybody looks\n"
	"point=cpu_wide.sleeps the reader sleeps while the CPU is away\n"
	"fact=late_cpus int - gaps that the session owned up to in session.comes\n"
	"fact=gap int events page faults from switching the CPU on until it was noticed\n"
	"fact=gap_missing int events of them not told\n"
	"fact=reader_cpu int ns CPU time of the reader in 2 s in which the CPU was away\n";

const char verdict_of[] = "hotplug";

/* ---------------------------------------------------------------------------------- the session */

struct story {
	const char *point;
	unsigned int forbid;
	bool away_first;		/* at the attach */
	unsigned int away_ms;		/* else so long later */
	bool must_notice;
};

static uint64_t told_there;		/* samples of that CPU */

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	crowd_tell(sample->address);
	told_there += (int)sample->cpu == switch_cpu;
}

static uint64_t late_cpus(const struct pm_session *session)
{
	struct pm_stats stats = { .size = sizeof(stats) };

	(void)pm_session_stats(session, &stats);
	return stats.late_cpus + stats.unwatched_cpus;
}

/* True as soon as the session has noticed something about CPUs. */
static bool poll_for(struct pm_session *session, unsigned int ms, bool until_noticed)
{
	const uint64_t end = now_ns() + ms * 1000000ull, before = late_cpus(session);

	do
		if (pm_session_poll(session, 20) < 0)
			return false;
	while (now_ns() < end && !(until_noticed && late_cpus(session) != before));
	return late_cpus(session) != before;
}

struct outcome {
	int switched;		/* 0 or the error of the switch */
	uint64_t gap, told_after;
	bool noticed;
	struct tally tally;
};

static void observe(struct pm_session *session, const struct story *story, struct outcome *ret)
{
	uint64_t before, under_way;
	bool before_back = false;

	crowd_go();
	(void)poll_for(session, 500, false);
	if (!story->away_first) {
		ret->switched = switch_write('0');
		if (story->away_ms > 0)
			before_back = poll_for(session, story->away_ms, false);
	}
	before = crowd_caused(&under_way);
	if (ret->switched == 0)
		ret->switched = switch_write('1');
	ret->noticed = poll_for(session, 4000, story->must_notice) || before_back;
	if (ret->noticed)
		ret->gap = crowd_caused(&under_way) - before + under_way;
	told_there = 0;
	(void)poll_for(session, 1500, false);
	ret->told_after = told_there;
	while (!crowd_is_over())
		(void)pm_session_poll(session, 20);
	(void)poll_for(session, 100, false);
	(void)pm_session_detach(session);
	crowd_end(&ret->tally);
}

static void judge(const struct story *story, const struct pm_session *session,
		  const struct pm_plan *plan, const struct outcome *outcome)
{
	const struct tally *tally = &outcome->tally;
	const uint64_t missing = tally->caused - tally->told;
	struct pm_stats s = { .size = sizeof(s) };
	bool right;

	(void)pm_session_stats(session, &s);
	right = outcome->switched == 0 && tally->more == 0 && outcome->told_after > 0 &&
		missing <= outcome->gap + s.lost && outcome->noticed == story->must_notice &&
		s.corrupt == 0 && s.unwatched_cpus == 0;
	if (strcmp(story->point, "session.comes") == 0)
		printf("#:perfmodes: late_cpus=%" PRIu64 "\n#:perfmodes: gap=%" PRIu64
		       "\n#:perfmodes: gap_missing=%" PRIu64 "\n", s.late_cpus, outcome->gap,
		       missing);
	verdict(story->point, right ? YES : BROKEN,
		"%s: %" PRIu64 " page faults, %" PRIu64 " told once, %" PRIu64 " more often, %"
		PRIu64 " missing, %" PRIu64 " of a gap; switch %d; %" PRIu64 " told on cpu %d "
		"after that; late cpus %" PRIu64 ", unwatched %" PRIu64 ", lost %" PRIu64
		", duplicates %" PRIu64 ", leaders gone %" PRIu64,
		pm_strategy_name(pm_plan_strategy(plan)), tally->caused, tally->told, tally->more,
		missing, outcome->gap, outcome->switched, outcome->told_after, switch_cpu,
		s.late_cpus, s.unwatched_cpus, s.lost, s.duplicates, s.leaders_gone);
}

static int attach(unsigned int forbid, struct pm_plan **plan, struct pm_session **session,
		  struct pm_diag *diag)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = 1, .config = 2, .period = 1, .tid = PM_ALL_THREADS,
		.want = PM_WANT_ADDRESS,
	};
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
					.forbid = forbid };
	int err = pm_plan_make(&spec, 1, &opts, NULL, diag, plan);

	if (err < 0)
		return err;
	*session = pm_session_create(*plan, &listener, NULL);
	return *session != NULL ? pm_session_attach(*session, diag) : -ENOMEM;
}

static void refused(const char *point, const struct pm_diag *diag)
{
	if (is_gate(diag->cause))
		verdict(point, diag->cause == PM_CAUSE_NOT_BUILT ? NO : BLOCKED, "%s", diag->text);
	else
		verdict(point, BROKEN, "names no gate: %s", diag->text);
}

static void tell(const struct story *story)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;
	struct outcome outcome = { 0 };
	int err = switch_write(story->away_first ? '0' : '1');

	if (err < 0) {
		verdict(story->point, BLOCKED, "cpu %d cannot be switched: %s", switch_cpu,
			strerror(-err));
		return;
	}
	err = crowd_begin();
	if (err == 0)
		err = attach(story->forbid, &plan, &session, &diag);
	if (err < 0) {
		crowd_end(&outcome.tally);
		refused(story->point, &diag);
	} else {
		observe(session, story, &outcome);
		judge(story, session, plan, &outcome);
	}
	(void)switch_write('1');
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void sleeps(const char *point, unsigned int forbid)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;
	uint64_t before = 0, after = 0;

	if (attach(forbid, &plan, &session, &diag) < 0) {
		refused(point, &diag);
	} else if (switch_write('0') < 0) {
		verdict(point, BLOCKED, "cpu %d cannot be switched off", switch_cpu);
	} else {
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &before);
		(void)poll_for(session, 2000, false);
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &after);
		printf("#:perfmodes: reader_cpu=%" PRIu64 "\n", after - before);
		verdict(point, after - before < 500000000 ? YES : BROKEN,
			"%" PRIu64 " ms of 2 s", (after - before) / 1000000);
	}
	(void)switch_write('1');
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

#define ONLY(strategy) (~(1u << (strategy)))

static const struct story stories[] = {
	{ "session.comes", 0, true, 0, true },
	{ "session.returns", 0, false, 1500, false },
	{ "own_rings.comes", ONLY(PM_STRATEGY_OWN_RINGS), true, 0, true },
	{ "cpu_wide.returns", ONLY(PM_STRATEGY_CPU_WIDE), false, 1500, true },
	{ "cpu_wide.flaps", ONLY(PM_STRATEGY_CPU_WIDE), false, 0, true },
};

#define STORIES (sizeof(stories) / sizeof(stories[0]))

/* All points alike: there is no leave, or nothing to switch. */
static int say_all(enum kind kind, const char *text)
{
	for (size_t i = 0; i < STORIES; i++)
		verdict(stories[i].point, kind, "%s", text);
	verdict("cpu_wide.sleeps", kind, "%s", text);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	switch_find();
	printf("TAP version 13\n1..%zu\n", STORIES + 1);
	if (getenv("PERFMODES_MAY_DISTURB") == NULL)
		return say_all(BLOCKED, "would disturb CPU hotplug; runs only with --may-disturb");
	if (switch_cpu < 0)
		return say_all(ABSENT, "no CPU here can be switched off");
	if (!switch_is_allowed())
		return say_all(BLOCKED, "CPUs may be switched by root only");
	switch_stand_guard();
	for (size_t i = 0; i < STORIES; i++)
		tell(&stories[i]);
	sleeps("cpu_wide.sleeps", ONLY(PM_STRATEGY_CPU_WIDE));
	return verdicts_failed > 0;
}
