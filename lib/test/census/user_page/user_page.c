/* SPDX-License-Identifier: MIT */
/*
 * Counters that the library reads in user space, on a real kernel: does each value lie between two
 * read(2) around it, whatever happens to the thread meanwhile, and does the library fall back to
 * read(2) where the page says so? At the end each point is asked again with readings that are
 * wrong on purpose, which it must notice.
 *
 *   user_page [--describe]
 *
 * arm64 needs kernel.perf_user_access=1, which is set where that is allowed, and put back.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../verdict.h"
#include "access.h"
#include "stories.h"

static const char declaration[] =
	"id=library.user_page\n"
	"title=counters read in user space, beside read(2)\n"
	"since=3.4\n"
	"disturbs=perf_user_access for all tasks\n"
	"needs=pmu\n"
	"point=between.running a value read in user space lies between two read(2) around it\n"
	"point=between.switched the same when the thread sleeps meanwhile\n"
	"point=between.migrated the same when the thread changes its CPU meanwhile\n"
	"needs=cpu2\n"
	"point=between.reset the same after the counters were reset\n"
	"point=between.group the same of each event of a group\n"
	"point=between.multiplexed the same of more events than there are counters\n"
	"point=falls_back.multiplexed an event without a counter at the moment is read by read(2)\n"
	"point=falls_back.stopped so is one that is stopped, and its value stays\n"
	"point=falls_back.forked a forked process reads by read(2) what its parent counted\n"
	"point=falls_back.thread another thread of the process reads by read(2)\n"
	"point=falls_back.off so does everybody while the administrator's switch is off\n"
	"point=cost.less a reading in user space takes less time than one by read(2)\n"
	"point=lies.noticed each point above fails when readings are wrong\n"
	"fact=user_ns int ns a reading in user space, median of rounds\n"
	"fact=call_ns int ns a reading of the same event by read(2), median of rounds\n"
	"fact=ratio int permille of user_ns to call_ns, median of the rounds' own ratios\n";

const char verdict_of[] = "user_page";

/* ----------------------------------------------------------------------------------- the points */

static unsigned int noticed, asked;
static char unnoticed[300];

/* Again, with readings that are wrong. */
static void ask_with(const struct story *story, enum lie lie)
{
	struct outcome outcome = { .kind = YES };

	lie_now = lie;
	story->run(&outcome);
	lie_now = LIE_NONE;
	if (outcome.kind != YES && outcome.kind != BROKEN)
		return;
	asked++;
	noticed += outcome.kind == BROKEN;
	if (outcome.kind != BROKEN)
		snprintf(unnoticed + strlen(unnoticed), sizeof(unnoticed) - strlen(unnoticed),
			 " %s(%d)", story->point, lie);
}

static void ask_each(void)
{
	for (size_t i = 0; i < stories_count; i++) {
		struct outcome outcome = { .kind = YES };

		stories[i].run(&outcome);
		verdict(stories[i].point, outcome.kind, "%s", outcome.text);
		for (size_t k = 0; outcome.kind == YES && k < LIES_EACH; k++)
			if (stories[i].lies[k] != LIE_NONE)
				ask_with(&stories[i], stories[i].lies[k]);
	}
	verdict("lies.noticed", asked == 0 ? ABSENT : noticed == asked ? YES : BROKEN,
		"%u of %u wrong readings%s", noticed, asked, unnoticed);
}

static int say_all(enum kind kind, const char *text)
{
	for (size_t i = 0; i < stories_count; i++)
		verdict(stories[i].point, kind, "%s", text);
	verdict("lies.noticed", kind, "%s", text);
	return 0;
}

int main(int argc, char **argv)
{
	char text[200];
	enum kind kind;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	printf("TAP version 13\n1..%zu\n", stories_count + 1);
	kind = access_open(getenv("PERFMODES_MAY_DISTURB") != NULL, text, sizeof(text));
	if (kind == YES)
		kind = stories_possible(text, sizeof(text));
	if (kind != YES) {
		access_restore();
		return say_all(kind, text);
	}
	ask_each();
	access_restore();
	return verdicts_failed > 0;
}
