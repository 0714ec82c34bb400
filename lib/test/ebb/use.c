/* SPDX-License-Identifier: MIT */
/* One thread and its counters. */
#include "points.h"

#include <errno.h>
#include <string.h>

#include "../census/verdict.h"
#include "../../pm_sys.h"
#include "work.h"

#define SOME 50
#define PERIOD 20011

static char stack[65536] __attribute__((aligned(16)));

static void ask_delivers(unsigned int flags)
{
	struct work work = { .flags = flags, .period = PERIOD };
	struct pm_diag diag = { .size = sizeof(diag) };
	int err = work_start(&work, &diag);

	if (err < 0) {
		verdict("use.delivers", BROKEN, "%s", diag.text);
		return;
	}
	(void)work_wait(&work, SOME);
	work_end(&work);
	verdict("use.delivers", work.callbacks >= SOME && work.stats.spurious == 0 &&
		work.stats.overflows[0] == work.callbacks &&
		work.stats.overflows[0] + work.stats.missed == work.periods ? YES : BROKEN,
		"%llu branches, %llu callbacks for %llu periods, %llu events late",
		(unsigned long long)work.stats.branches, (unsigned long long)work.callbacks,
		(unsigned long long)work.periods, (unsigned long long)work.stats.late);
}

static void spend(uint64_t ns)
{
	const uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static void ask_stop(void)
{
	struct work work = { .period = PERIOD, .stop_at = SOME };
	struct pm_diag diag = { .size = sizeof(diag) };
	uint64_t at_stop, stopped, itself;
	bool again;

	if (work_start(&work, &diag) < 0) {
		verdict("use.stops_and_starts", BROKEN, "%s", diag.text);
		return;
	}
	(void)work_wait(&work, SOME);
	spend(50 * PERIOD);
	itself = work.callbacks;		/* the callback asked for it */
	work.stop_at = 0;
	again = pm_ebb_start(work.ebb, &diag) == 0 && work_wait(&work, 2 * SOME);
	(void)pm_ebb_stop(work.ebb);
	at_stop = work.callbacks;
	spend(50 * PERIOD);
	stopped = work.callbacks;
	again = again && pm_ebb_state(work.ebb) == PM_EBB_STOPPED &&
		pm_ebb_start(work.ebb, &diag) == 0 && work_wait(&work, stopped + SOME);
	work_end(&work);
	verdict("use.stops_and_starts", again && itself == SOME && at_stop == stopped ? YES :
		BROKEN, "%llu until the callback said stop, %llu after a stop, then %s",
		(unsigned long long)itself, (unsigned long long)(stopped - at_stop),
		again ? "started" : diag.text);
}

static void ask_stack(void)
{
	struct work work = {
		.flags = PM_EBB_VECTORS | PM_EBB_PRCTL, .period = PERIOD, .stack = stack,
		.stack_size = sizeof(stack),
	};
	struct pm_diag diag = { .size = sizeof(diag) };

	if (work_start(&work, &diag) < 0) {
		verdict("use.own_stack", BROKEN, "%s", diag.text);
		return;
	}
	(void)work_wait(&work, SOME);
	work_end(&work);
	verdict("use.own_stack", work.callbacks >= SOME && work.stack_seen > (uintptr_t)stack &&
		work.stack_seen < (uintptr_t)stack + sizeof(stack) ? YES : BROKEN,
		"%llu callbacks, enabled by prctl, %llu bytes below the top",
		(unsigned long long)work.callbacks,
		(unsigned long long)((uintptr_t)stack + sizeof(stack) - work.stack_seen));
}

/* The longer period is 5 / 2 of the other. */
static void ask_two(void)
{
	const struct pm_ebb_counter counters[] = {
		{ sizeof(counters[0]), 0x1001e, 20000 }, { sizeof(counters[0]), 0x2001e, 50000 },
	};
	struct work work = { .flags = 0 };
	const struct pm_ebb_opts opts = {
		.size = sizeof(opts), .counters = counters, .count = 2, .flags = PM_EBB_USER_ONLY,
		.callback = on_branch, .context = &work,
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	uint64_t one, two;

	if (pm_ebb_open(&opts, &diag, &work.ebb) < 0 || pm_ebb_start(work.ebb, &diag) < 0) {
		verdict("use.two_counters", BROKEN, "%s", diag.text);
		return;
	}
	(void)work_wait(&work, 700);
	work_end(&work);
	one = work.by_counter[0];
	two = work.by_counter[1];
	verdict("use.two_counters", one * 2 > two * 5 * 95 / 100 && one * 2 < two * 5 * 105 / 100 &&
		work.stats.overflows[0] == one && work.stats.overflows[1] == two ? YES : BROKEN,
		"%llu each 20000, %llu each 50000 cycles", (unsigned long long)one,
		(unsigned long long)two);
}

static void ask_names(void)
{
	static const struct {
		const char *name;
		uint64_t code;
		int err;
	} names[] = {
		{ "cycles", 0x1001e, 0 }, { "cycles@3", 0x3001e, 0 }, { "run_cycles", 0x600f4, 0 },
		{ "instructions@4", 0x40002, 0 }, { "r500fa", 0x500fa, 0 }, { "r1e@2", 0x2001e, 0 },
		{ "cycles@5", 0, -ERANGE }, { "r1001e@2", 0, -ERANGE }, { "r1e", 0, -ENOTUNIQ },
		{ "cycles@7", 0, -EINVAL }, { "cycles@", 0, -EINVAL }, { "", 0, -EINVAL },
		{ "no-such-event@1", 0, -ENOENT }, { "a/b", 0, -EINVAL }, { "r7001e", 0, -ERANGE },
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	size_t right = 0, count = sizeof(names) / sizeof(*names);
	const char *wrong = "";

	for (size_t i = 0; i < count; i++) {
		uint64_t code = 0;
		int err = pm_ebb_code(names[i].name, &diag, &code);

		if (err == names[i].err && code == names[i].code)
			right++;
		else
			wrong = names[i].name;
	}
	verdict("use.names", right == count ? YES : BROKEN, "%zu of %zu names%s%s", right, count,
		*wrong ? ", not " : "", wrong);
}

void ask_use(void)
{
	ask_delivers(0);
	ask_stop();
	ask_stack();
	ask_two();
	ask_names();
}
