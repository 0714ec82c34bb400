/* SPDX-License-Identifier: MIT */
/* The table compiled into the library: chosen by architecture and series, ranked below files. */
#include "../test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../policy/profile/profile.h"

static struct pm_profile *filled(const char *arch, const char *release, int *count)
{
	struct pm_profile *profile = pm_profile_create();

	assert_non_null(profile);
	*count = pm_profile_builtin_of(profile, arch, release);
	return profile;
}

static enum pm_verdict of(const char *arch, const char *release, const char *key)
{
	struct pm_fact fact = { .size = sizeof(fact),
				.verdict = PM_UNKNOWN, .rank = PM_RANK_BUILTIN };
	int count;
	struct pm_profile *profile = filled(arch, release, &count);

	(void)pm_profile_lookup(profile, key, &fact);
	assert_int_equal(fact.rank, PM_RANK_BUILTIN);
	pm_profile_destroy(profile);
	return fact.verdict;
}

/* PERF_SAMPLE_READ of inherited events came with commit 7e8b255650fc, after 6.1. */
static void test_series_differ(void **state)
{
	(void)state;
	assert_int_equal(of("x86_64", "6.1.0-18-amd64", "inherit.sample_read.with_tid"), PM_NO);
	assert_int_equal(of("x86_64", "6.12.94", "inherit.sample_read.with_tid"), PM_YES);
	assert_int_equal(of("x86_64", "6.12", "inherit.sample_read.with_tid"), PM_YES);
}

static void test_strangers_get_nothing(void **state)
{
	static const char *const strangers[][2] = {
		{ "z80", "6.12.94" }, { "x86_64", "1.2.3" }, { "x86_64", "6.120" },
		{ "x86_64", "" }, { "", "6.12" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		int count;
		struct pm_profile *profile = filled(strangers[i][0], strangers[i][1], &count);

		assert_int_equal(count, 0);
		assert_int_equal(pm_profile_count(profile), 0);
		assert_int_equal(pm_profile_rank(profile), PM_RANK_NONE);
		pm_profile_destroy(profile);
	}
}

static void test_gives_way_to_what_is_known_better(void **state)
{
	const char *key = "inherit.sample_read.with_tid";
	int count;
	struct pm_profile *profile = filled("x86_64", "6.12.94", &count);
	struct pm_fact fact = { .size = sizeof(fact),
				.key = key, .verdict = PM_NO, .rank = PM_RANK_RUNTIME };

	(void)state;
	assert_true(count > 0);
	assert_int_equal(pm_profile_rank(profile), PM_RANK_BUILTIN);
	assert_int_equal(pm_profile_set(profile, &fact), 1);
	assert_int_equal(pm_profile_lookup(profile, key, &fact), 0);
	assert_int_equal(fact.verdict, PM_NO);
	assert_int_equal(fact.rank, PM_RANK_RUNTIME);
	pm_profile_destroy(profile);
}

static void test_default_uses_it_for_this_kernel_or_is_empty(void **state)
{
	struct pm_profile *profile, *builtin;
	struct utsname names;
	int count;

	(void)state;
	unsetenv("PERFMODES_PROFILE");
	assert_int_equal(uname(&names), 0);
	assert_int_equal(pm_profile_load_default(NULL, &profile), 0);
	if (pm_profile_rank(profile) > PM_RANK_BUILTIN) {
		pm_profile_destroy(profile);
		skip();		/* this machine has a profile installed */
	}
	builtin = filled(names.machine, names.release, &count);
	assert_int_equal(pm_profile_count(profile), count);
	assert_int_equal(pm_profile_rank(profile), pm_profile_rank(builtin));
	pm_profile_destroy(builtin);
	pm_profile_destroy(profile);
}

/* ------------------------------------------------------------------------------ files before it */

#define NOT_HERE 77

/* Profiles of this kernel; `version` makes it this very build or another one. */
static void install(const char *place, const char *version, int which)
{
	struct utsname names;
	char path[64];
	FILE *file;

	(void)uname(&names);
	snprintf(path, sizeof(path), "%s/perfmodes", place);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/perfmodes/p.json", place);
	file = fopen(path, "w");
	if (file == NULL)
		_exit(NOT_HERE);
	fprintf(file, "{\"format\": 1, \"kind\": \"profile\", \"identity\": {\"arch\": \"%s\","
		" \"release\": \"%s\", \"version\": \"%s\"},"
		" \"kernel\": {\"which.place.it_is\": %d}}",
		names.machine, names.release, version ? version : names.version, which);
	fclose(file);
}

/* Which place the default comes from, or 0. */
static int64_t place(void)
{
	struct pm_profile *profile;
	struct pm_fact fact = { .size = sizeof(fact), .number = 0 };

	if (pm_profile_load_default(NULL, &profile) == 0)
		(void)pm_profile_lookup(profile, "which.place.it_is", &fact);
	return fact.number;
}

static void look_in_empty_places(void)
{
	static const char *const places[] = { "/etc", "/usr/local/share", "/usr/share" };

	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		_exit(NOT_HERE);
	for (int i = 0; i < 3; i++)
		if (mount("none", places[i], "tmpfs", 0, NULL) != 0)
			_exit(NOT_HERE);
	if (place() != 0)
		_exit(1);
	install("/etc", "#0 other", 1);
	if (place() != 1)
		_exit(2);
	install("/usr/share", NULL, 3);
	if (place() != 3)
		_exit(3);
	install("/usr/local/share", NULL, 2);
	if (place() != 2)
		_exit(4);
	install("/etc", NULL, 1);
	_exit(place() == 1 ? 0 : 5);
}

static void test_the_best_of_what_is_installed(void **state)
{
	int status;
	pid_t child;

	(void)state;
	unsetenv("PERFMODES_PROFILE");
	child = fork();
	if (child == 0)
		look_in_empty_places();
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series_differ),
		cmocka_unit_test(test_strangers_get_nothing),
		cmocka_unit_test(test_gives_way_to_what_is_known_better),
		cmocka_unit_test(test_default_uses_it_for_this_kernel_or_is_empty),
		cmocka_unit_test(test_the_best_of_what_is_installed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
