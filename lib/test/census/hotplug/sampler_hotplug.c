/* SPDX-License-Identifier: MIT */
/*
 * The crowd under a sampler while a CPU goes offline and comes back: is every page fault told once,
 * but for those of a gap that the sampler owns up to? The process watches itself.
 *
 *   sampler_hotplug [--describe]
 *
 * As hotplug.c: only where it is allowed, and in guests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../perfmodes_sampler.h"
#include "../crowd.h"
#include "../verdict.h"
#include "switch.h"

static const char declaration[] =
	"id=library.sampler_hotplug\n"
	"title=a sampler that goes on when a CPU comes and goes\n"
	"since=2.6.31\n"
	"disturbs=CPU hotplug\n"
	"needs=hotplug\n"
	"point=cpus.comes by CPU: one that was offline at the start is watched, the gap is told\n"
	"point=cpus.returns by CPU: events die with the CPU and are opened anew, the gap is told\n"
	"point=cpus.flaps by CPU: the same of a CPU that is back before anybody looks\n"
	"point=threads.comes by thread: as cpus.comes\n"
	"point=threads.returns by thread: a CPU goes and comes back, and nothing is missing\n"
	"point=threads.flaps by thread: the same of a CPU that is back at once\n";

const char verdict_of[] = "sampler_hotplug";

struct story {
	const char *point;
	unsigned int way;		/* PM_SAMPLER_ONLY_... */
	bool away_first;		/* at the start */
	unsigned int away_ms;		/* else so long later */
	bool must_notice;
};

static const struct story stories[] = {
	{ "cpus.comes", PM_SAMPLER_ONLY_CPUS, true, 0, true },
	{ "cpus.returns", PM_SAMPLER_ONLY_CPUS, false, 1500, true },
	{ "cpus.flaps", PM_SAMPLER_ONLY_CPUS, false, 0, true },
	{ "threads.comes", PM_SAMPLER_ONLY_THREADS, true, 0, true },
	{ "threads.returns", PM_SAMPLER_ONLY_THREADS, false, 1500, false },
	{ "threads.flaps", PM_SAMPLER_ONLY_THREADS, false, 0, false },
};

#define STORIES (sizeof(stories) / sizeof(stories[0]))

static uint64_t told_there;		/* samples of that CPU */

static void on_sample(void *context, const struct pm_sampled *sample)
{
	(void)context;
	crowd_tell(sample->address);
	told_there += (int)sample->cpu == switch_cpu;
}

static struct pm_sampler_stats stats_of(struct pm_sampler *sampler)
{
	struct pm_sampler_stats stats = { .size = sizeof(stats) };

	(void)pm_sampler_stats(sampler, &stats);
	return stats;
}

/* True as soon as the sampler has noticed something about CPUs. */
static bool poll_for(struct pm_sampler *sampler, unsigned int ms, bool until_noticed)
{
	const uint64_t end = now_ns() + ms * 1000000ull, before = stats_of(sampler).late_cpus;

	do
		if (pm_sampler_poll(sampler, 20) < 0)
			return false;
	while (now_ns() < end && !(until_noticed && stats_of(sampler).late_cpus != before));
	return stats_of(sampler).late_cpus != before;
}

struct outcome {
	int switched;		/* 0 or the error of the switch */
	uint64_t gap, told_after;
	bool noticed;
	struct tally tally;
};

static void observe(struct pm_sampler *sampler, const struct story *story, struct outcome *ret)
{
	uint64_t before, under_way;

	crowd_go();
	(void)poll_for(sampler, 500, false);
	if (!story->away_first) {
		ret->switched = switch_write('0');
		if (story->away_ms > 0)
			(void)poll_for(sampler, story->away_ms, false);
	}
	before = crowd_caused(&under_way);
	if (ret->switched == 0)
		ret->switched = switch_write('1');
	ret->noticed = poll_for(sampler, 4000, story->must_notice);
	if (ret->noticed)
		ret->gap = crowd_caused(&under_way) - before + under_way;
	told_there = 0;
	(void)poll_for(sampler, 1500, false);
	ret->told_after = told_there;
	while (!crowd_is_over())
		(void)pm_sampler_poll(sampler, 20);
	(void)poll_for(sampler, 100, false);
	(void)pm_sampler_stop(sampler);
	crowd_end(&ret->tally);
}

static void judge(const struct story *story, struct pm_sampler *sampler,
		  const struct outcome *outcome)
{
	const struct tally *tally = &outcome->tally;
	const uint64_t missing = tally->caused - tally->told;
	const struct pm_sampler_stats stats = stats_of(sampler);
	const bool right = outcome->switched == 0 && tally->more == 0 && outcome->told_after > 0 &&
		missing <= outcome->gap + stats.lost && outcome->noticed == story->must_notice &&
		stats.corrupt == 0 && stats.unwatched == 0;

	verdict(story->point, right ? YES : BROKEN,
		"%" PRIu64 " page faults, %" PRIu64 " told once, %" PRIu64 " more often, %" PRIu64
		" missing, %" PRIu64 " of a gap; switch %d; %" PRIu64 " told on cpu %d after "
		"that; late cpus %" PRIu64 ", unwatched %" PRIu64 ", lost %" PRIu64
		", duplicates %" PRIu64,
		tally->caused, tally->told, tally->more, missing, outcome->gap, outcome->switched,
		outcome->told_after, switch_cpu, stats.late_cpus, stats.unwatched, stats.lost,
		stats.duplicates);
}

static int start(unsigned int way, struct pm_diag *diag, struct pm_sampler **ret)
{
	const struct pm_sampler_listener listener = { .size = sizeof(listener),
						      .sample = on_sample };
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = 1, .config = 2,
					    .period = 1 };
	const struct pm_sampler_event event = { .size = sizeof(event), .spec = &spec };
	const struct pm_target target = { .size = sizeof(target), .by = PM_BY_PID,
					  .number = getpid() };
	const struct pm_sampler_opts opts = { .size = sizeof(opts), .want = PM_WANT_ADDRESS,
					      .flags = PM_SAMPLER_SELF | way };
	int err = pm_sampler_open(&event, 1, &target, 1, &opts, NULL, &listener, NULL, diag, ret);

	return err < 0 ? err : pm_sampler_start(*ret, diag);
}

static void tell(const struct story *story)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;
	struct outcome outcome = { 0 };
	int err = switch_write(story->away_first ? '0' : '1');

	if (err < 0) {
		verdict(story->point, BLOCKED, "cpu %d cannot be switched: %s", switch_cpu,
			strerror(-err));
		return;
	}
	err = crowd_begin();
	if (err == 0)
		err = start(story->way, &diag, &sampler);
	if (err < 0) {
		crowd_end(&outcome.tally);
		verdict(story->point, is_gate(diag.cause) ? BLOCKED : BROKEN, "%s", diag.text);
	} else {
		observe(sampler, story, &outcome);
		judge(story, sampler, &outcome);
	}
	(void)switch_write('1');
	pm_sampler_destroy(sampler);
}

static int say_all(enum kind kind, const char *text)
{
	for (size_t i = 0; i < STORIES; i++)
		verdict(stories[i].point, kind, "%s", text);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	switch_find();
	printf("TAP version 13\n1..%zu\n", STORIES);
	if (getenv("PERFMODES_MAY_DISTURB") == NULL)
		return say_all(BLOCKED, "would disturb CPU hotplug; runs only with --may-disturb");
	if (switch_cpu < 0)
		return say_all(ABSENT, "no CPU here can be switched off");
	if (!switch_is_allowed())
		return say_all(BLOCKED, "CPUs may be switched by root only");
	switch_stand_guard();
	for (size_t i = 0; i < STORIES; i++)
		tell(&stories[i]);
	return verdicts_failed > 0;
}
