/* SPDX-License-Identifier: MIT */
/*
 * Event-based branches by lib/ebb, on a machine or guest that has them.
 *
 *   ebb [--describe | BRANCHES]
 *
 * Speaks KTAP as probes do (suites/README.md), so it can be run on other kernels beside them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../census/verdict.h"
#include "points.h"
#include "../../perfmodes_ebb.h"

#define BRANCHES 20000

static const char declaration[] =
	"id=library.ebb\n"
	"title=event-based branches by the library\n"
	"since=3.12\n"
	"point=use.delivers a callback for each overflow, at the place where the thread was\n"
	"point=use.stops_and_starts none after a stop, again after a start\n"
	"point=use.own_stack callbacks on a stack of their own\n"
	"point=use.two_counters each counter of a group branches by its own period\n"
	"point=use.names names and raw codes, and what is no name\n"
	"point=tasks.fork_is_empty a forked child has no branches, and opens its own\n"
	"point=tasks.other_thread another thread cannot start them, and has its own\n"
	"point=tasks.adopted another process opens the event of a willing thread\n"
	"point=tasks.not_scheduled a counter that another pinned event holds is not started\n"
	"point=tasks.evicted a counter that is taken away is told, and no SIGILL\n"
	"point=session.complete the strategy ebb gives 99 to 110 of 100 samples of a known loop\n"
	"point=session.refused where a pinned event has the PMU the next strategy is taken\n"
	"point=session.goes_on evicted, the session says so and goes on by the next strategy\n"
	"point=cost.below_a_signal a branch takes less than half of what a signal takes\n"
	"fact=cost_plain int ns of a branch that is counted\n"
	"fact=cost_callback int ns of a branch with a callback\n"
	"fact=cost_vectors int ns of one with a callback that may use vectors\n"
	"fact=cost_signal int ns of a signal, its handler and the return\n"
	"point=soak.notices the same passes notice a handler that keeps no vectors\n"
	"point=soak.registers_kept no register lost, no branch unaccounted for, in four threads\n";

const char verdict_of[] = "ebb";

int main(int argc, char **argv)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	uint64_t branches = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, forgotten;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	if (argc > 1 && strcmp(argv[1], "--child") == 0)
		return soak_child();
	printf("TAP version 13\n");
	if (pm_ebb_supported(&diag) < 0) {
		printf("1..1\n");
		verdict("use.delivers", is_gate(diag.cause) ? BLOCKED : ABSENT, "%s", diag.text);
		return 0;
	}
	printf("1..16\n");
	ask_use();
	ask_tasks();
	forgotten = ask_soak(branches ? branches : BRANCHES);
	ask_session(forgotten);
	ask_cost(forgotten);
	return verdicts_failed != 0;
}
