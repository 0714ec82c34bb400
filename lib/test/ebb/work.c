/* SPDX-License-Identifier: MIT */
#include "work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../census/verdict.h"

#define PATIENCE_NS 20000000000ull	/* without a branch */

int work_start(struct work *work, struct pm_diag *diag)
{
	struct pm_ebb_counter counter = {
		.size = sizeof(counter), .period = work->period ? work->period : EVERY,
	};
	const struct pm_ebb_opts opts = {
		.size = sizeof(opts), .counters = &counter, .count = 1,
		.flags = work->flags | PM_EBB_USER_ONLY,
		.callback = (work->flags & PM_EBB_VECTORS) || work->spoils ?
			on_branch_vectors : on_branch,
		.context = work, .stack = work->stack, .stack_size = work->stack_size,
	};
	int err = pm_ebb_code("cycles", diag, &counter.code);

	if (err == 0)
		err = pm_ebb_open(&opts, diag, &work->ebb);
	if (err < 0)
		return err;
	err = pm_ebb_start(work->ebb, diag);
	if (err < 0)
		pm_ebb_destroy(work->ebb);
	return err;
}

bool work_wait(const struct work *work, uint64_t branches)
{
	const uint64_t end = now_ns() + PATIENCE_NS;

	while (work->callbacks < branches && now_ns() < end)
		;
	return work->callbacks >= branches;
}

/* Other patterns in each pass and register; what a register cannot hold is left out. */
static void fill(struct registers *want, uint64_t seed)
{
	uint64_t *words = (uint64_t *)want;

	for (size_t i = 0; i < sizeof(*want) / sizeof(*words); i++)
		words[i] = (seed + i) * 0x9e3779b97f4a7c15ull;
	want->lr &= ~3ull;
	want->cr &= 0xffffffff;
	want->xer &= 0xe000007f;		/* SO, OV, CA, and the length of a string */
	want->fpscr = (seed & 3) | (seed & 0x7f) << 12;	/* rounding, class of the result */
	want->vscr[0] = (seed & 1) | (seed & 2) << 15;	/* SAT and NJ */
	want->vscr[1] = 0;
}

static void compare(struct work *work, const char *name, const void *want, const void *got,
		    size_t words)
{
	const uint64_t *w = want, *g = got;

	for (size_t i = 0; i < words; i++) {
		if (w[i] == g[i])
			continue;
		if (work->wrong++ == 0)
			snprintf(work->what, sizeof(work->what), "%s %zu: 0x%llx became 0x%llx",
				 name, i, (unsigned long long)w[i], (unsigned long long)g[i]);
	}
}

static void check(struct work *work, const struct registers *want, const struct registers *got)
{
	compare(work, "r", want->gpr, got->gpr, 32);
	compare(work, "lr", &want->lr, &got->lr, 1);
	compare(work, "ctr", &want->ctr, &got->ctr, 1);
	compare(work, "xer", &want->xer, &got->xer, 1);
	compare(work, "cr", &want->cr, &got->cr, 1);
	compare(work, "fpscr", &want->fpscr, &got->fpscr, 1);
	compare(work, "vscr", want->vscr, got->vscr, 2);
	compare(work, "half a vs", want->vsx, got->vsx, 128);
}

static void check_reservation(struct work *work)
{
	const uint64_t before = work->reserved;
	uint64_t word = 1;

	if (registers_reserve(&word) && work->reserved != before && work->wrong++ == 0)
		snprintf(work->what, sizeof(work->what), "a reservation outlived a branch");
}

int work_until(struct work *work, uint64_t branches)
{
	struct registers want, got;
	uint64_t seen = work->callbacks, end = now_ns() + PATIENCE_NS;

	memset(&got, 0, sizeof(got));
	while (work->callbacks < branches) {
		fill(&want, ++work->passes);
		registers_pass(&want, &got);
		check(work, &want, &got);
		check_reservation(work);
		if (work->callbacks != seen) {
			seen = work->callbacks;
			end = now_ns() + PATIENCE_NS;
		} else if (work->passes % 8 == 0 && pm_ebb_state(work->ebb) == PM_EBB_LOST) {
			work->stalls++;
			(void)pm_ebb_start(work->ebb, NULL);
		} else if (now_ns() > end) {
			return -ETIME;
		}
	}
	return work->wrong ? -EILSEQ : 0;
}

void work_end(struct work *work)
{
	work->stats.size = sizeof(work->stats);
	(void)pm_ebb_stop(work->ebb);
	(void)pm_ebb_stats(work->ebb, &work->stats);
	pm_ebb_destroy(work->ebb);
}
