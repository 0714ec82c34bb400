/* SPDX-License-Identifier: MIT */
/*
 * Counts event-based branches of Power: ebb_count [EVENT [PERIOD]]
 *
 * An event is cycles, instructions@2, run_cycles, a raw code as r1001e, or a name of sysfs with the
 * counter behind it. Elsewhere than on Power it says so.
 *
 *   cc -O2 ebb_count.c -lperfmodes && ./a.out cycles 1000000
 */
#include <errno.h>
#include <perfmodes_ebb.h>
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long spun;

int main(int argc, char **argv)
{
	const char *event = argc > 1 ? argv[1] : "cycles";
	struct pm_ebb_counter counter = {
		.size = sizeof(counter), .period = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000000,
	};
	const struct pm_ebb_opts opts = {
		.size = sizeof(opts), .counters = &counter, .count = 1, .flags = PM_EBB_USER_ONLY,
	};
	struct pm_ebb_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_ebb *ebb = NULL;

	if (pm_ebb_code(event, &diag, &counter.code) < 0 || pm_ebb_open(&opts, &diag, &ebb) < 0 ||
	    pm_ebb_start(ebb, &diag) < 0) {
		printf("%s\n", diag.text);
		pm_ebb_destroy(ebb);
		return diag.error == EOPNOTSUPP ? 0 : 1;
	}
	for (spun = 0; spun < 100000000; spun++)
		;
	(void)pm_ebb_stop(ebb);
	(void)pm_ebb_stats(ebb, &stats);
	printf("%s: %llu branches, each after %llu events; %llu more periods in the kernel\n",
	       event, (unsigned long long)stats.branches, (unsigned long long)counter.period,
	       (unsigned long long)stats.missed);
	pm_ebb_destroy(ebb);
	return 0;
}
