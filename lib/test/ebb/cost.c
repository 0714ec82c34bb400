/* SPDX-License-Identifier: MIT */
/* What a branch costs the thread that it interrupts, against a signal; ns. */
#define _GNU_SOURCE
#include "points.h"

#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../census/verdict.h"
#include "work.h"

#define ROUNDS 5000000ul		/* of a loop, two instructions each */
#define PERIOD 20000
#define SIGNALS 500

static uint64_t loop_ns(void)
{
	unsigned long left = ROUNDS;
	const uint64_t begin = now_ns();

	__asm__ volatile("1: addic. %0, %0, -1\n	bne 1b" : "+r"(left) : : "cr0", "xer");
	return now_ns() - begin;
}

/* The best of three, like that of the loop without: a tick may fall into one. */
static uint64_t best_loop(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		const uint64_t took = loop_ns();

		best = took < best ? took : best;
	}
	return best;
}

static void on_overflow(void *context, const struct pm_ebb_branch *branch)
{
	*(uint64_t *)context += branch->periods;
}

/* 0: it could not be measured. */
static uint64_t cost_of(unsigned int flags, pm_ebb_callback callback, uint64_t plain)
{
	uint64_t periods = 0, took;
	const struct pm_ebb_counter counter = { sizeof(counter), 0x1001e, PERIOD };
	const struct pm_ebb_opts opts = {
		.size = sizeof(opts), .counters = &counter, .count = 1, .callback = callback,
		.flags = flags | PM_EBB_USER_ONLY, .context = &periods,
	};
	struct pm_ebb_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_ebb *ebb;

	if (pm_ebb_open(&opts, &diag, &ebb) < 0)
		return 0;
	if (pm_ebb_start(ebb, &diag) < 0) {
		pm_ebb_destroy(ebb);
		return 0;
	}
	(void)pm_ebb_stats(ebb, &before);
	took = best_loop();
	(void)pm_ebb_stop(ebb);
	(void)pm_ebb_stats(ebb, &after);
	pm_ebb_destroy(ebb);
	after.branches = (after.branches - before.branches) / 3;
	return after.branches > 0 && took > plain ? (took - plain) / after.branches : 0;
}

static void on_signal(int number)
{
	(void)number;
}

static uint64_t cost_of_signal(void)
{
	struct sigaction action = { .sa_flags = SA_RESTART }, before;
	uint64_t begin;

	action.sa_handler = on_signal;
	(void)sigaction(SIGRTMIN, &action, &before);
	begin = now_ns();
	for (int i = 0; i < SIGNALS; i++)
		(void)syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGRTMIN);
	begin = now_ns() - begin;
	(void)sigaction(SIGRTMIN, &before, NULL);
	return begin / SIGNALS;
}

void ask_cost(uint64_t forgotten)
{
	const uint64_t plain = best_loop();
	const uint64_t counted = cost_of(0, NULL, plain);
	const uint64_t callback = cost_of(0, on_overflow, plain);
	const uint64_t vectors = cost_of(PM_EBB_VECTORS, on_overflow, plain);
	const uint64_t signal = cost_of_signal();
	enum kind kind = vectors < signal / 2 ? YES : BROKEN;

	/* An emulator that forgets a branch ends a measurement. */
	if (counted == 0 || vectors == 0)
		kind = forgotten > 0 ? ABSENT : BROKEN;
	printf("#:perfmodes: cost_plain=%llu\n#:perfmodes: cost_callback=%llu\n"
	       "#:perfmodes: cost_vectors=%llu\n#:perfmodes: cost_signal=%llu\n",
	       (unsigned long long)counted, (unsigned long long)callback,
	       (unsigned long long)vectors, (unsigned long long)signal);
	verdict("cost.below_a_signal", kind, "ns of a branch: %llu counted, %llu with a callback, "
		"%llu with vectors kept; %llu of a signal; branches that an emulator forgot "
		"before: %llu", (unsigned long long)counted, (unsigned long long)callback,
		(unsigned long long)vectors, (unsigned long long)signal,
		(unsigned long long)forgotten);
}
