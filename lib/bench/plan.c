/* SPDX-License-Identifier: MIT */
/*
 * Making a plan, from nothing: with the compiled-in profile, with one from a file, and with none,
 * where the quick probes find out. Beside it the least that any program does which wants to know
 * that its event opens: opening it, and opening it as it is inherited.
 *
 *   plan [rounds [file]]
 */
#include <errno.h>
#include <unistd.h>

#include "../perfmodes.h"
#include "../pm_sys.h"
#include "bench.h"

#define PLANS 20	/* of which the mean counts */
#define USUAL "lib/test/policy/data/profile_fuzz/real.json"

static const struct pm_event_spec faults = { .size = sizeof(faults), .type = 1, .config = 2,
					     .period = 1, .tid = PM_ALL_THREADS };
static uint64_t sum;		/* so that nothing is optimised away */

static void make(struct pm_profile *profile)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	if (pm_plan_make(&faults, 1, NULL, profile, &diag, &plan) < 0)
		bench_fail(diag.text, ENOTSUP);
	sum += (uint64_t)pm_plan_strategy(plan);
	pm_plan_destroy(plan);
}

static void make_by_default(void)
{
	make(NULL);
}

static void make_of_nothing(void)
{
	struct pm_profile *profile = pm_profile_create();

	make(profile);
	pm_profile_destroy(profile);
}

static void open_twice(void)
{
	struct perf_event_attr attr = { .type = 1, .config = 2, .sample_period = 1,
					.disabled = 1 };

	for (int inherit = 0; inherit < 2; inherit++) {
		int fd;

		attr.inherit = (unsigned int)inherit;
		fd = pm_open(&attr, 0, -1, -1, 0);
		if (fd < 0)
			bench_fail("perf_event_open", fd);
		close(fd);
		sum += (uint64_t)fd;
	}
}

static void measure(const char *name, const char *subject, void (*work)(void))
{
	struct bench_watch since = bench_start();

	for (int i = 0; i < PLANS; i++)
		work();
	bench_stop(since, "make a plan", name, subject, PLANS);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "compiled-in profile", "profile from a file" };
	unsigned int rounds = bench_argument(argc, argv, 1, 41);
	const char *file = argc > 2 ? argv[2] : USUAL;

	if (access("/etc/perfmodes", F_OK) == 0 || access("/usr/share/perfmodes", F_OK) == 0 ||
	    access("/usr/local/share/perfmodes", F_OK) == 0)
		fprintf(stderr, "bench: profiles are installed here; the first of them is used "
			"where the compiled-in one is meant\n");
	for (unsigned int i = 0; i < rounds; i++) {
		for (int from_file = 0; from_file < 2; from_file++) {
			if (from_file)
				setenv("PERFMODES_PROFILE", file, 1);
			measure(names[from_file], "perfmodes", make_by_default);
			unsetenv("PERFMODES_PROFILE");
			measure(names[from_file], "the event opened twice", open_twice);
		}
		measure("quick probes alone", "perfmodes", make_of_nothing);
		measure("quick probes alone", "the event opened twice", open_twice);
	}
	return sum == 0;
}
