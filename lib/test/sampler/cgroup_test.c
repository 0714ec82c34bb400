/* SPDX-License-Identifier: MIT */
/*
 * A cgroup as the target: events of the cgroup itself, and a cgroup that is not there. The cgroup
 * is a child that is removed again; a hierarchy that is mounted nowhere is mounted in a namespace
 * of this process alone.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "watching.h"

#define PAGES 2000

static char group[64], folder[128];
static bool own;		/* the controller of perf has a hierarchy of its own */

/* Whether the line of /proc/self/cgroup begins a hierarchy of the controller alone. */
static bool has_own_hierarchy(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4200];
	bool found = false;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		found = found || strstr(line, ":perf_event:") != NULL;
	if (file != NULL)
		(void)fclose(file);
	return found;
}

static bool is_mounted(void)
{
	return access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0;
}

static bool mount_one(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	if (!own)
		return mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL) == 0;
	return mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL) == 0 &&
		mkdir("/sys/fs/cgroup/perf_event", 0755) == 0 &&
		mount("cgroup", "/sys/fs/cgroup/perf_event", "cgroup", 0, "perf_event") == 0;
}

static bool make_group(void)
{
	own = has_own_hierarchy();
	if (getuid() != 0 || ((own || !is_mounted()) && !mount_one()))
		return false;
	(void)snprintf(group, sizeof(group), "/perfmodes-test-%d", (int)getpid());
	(void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s%s", own ? "/perf_event" : "",
		       group);
	return mkdir(folder, 0755) == 0;
}

/* A child that has been moved leaves with a delay. */
static void remove_group(void)
{
	for (int i = 0; rmdir(folder) != 0 && i < 2000; i++)
		usleep(5000);
}

static void enter_group(void)
{
	char path[160];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	file = fopen(path, "we");
	if (file == NULL || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0)
		_exit(6);
}

static void touch(void)
{
	crowd->done++;
	crowd_wait(1);
	crowd_touch(0, PAGES);
	_exit(0);
}

static void touch_inside(void)
{
	enter_group();
	touch();
}

static char said[4096];

/* One process inside and one outside touch the same number of pages. */
static void watch_group(const char *of, unsigned int flags, const char *way)
{
	const struct pm_target target = { .size = sizeof(target), .by = PM_BY_CGROUP, .text = of };
	struct pm_sampler *sampler;
	pid_t inside, outside;

	crowd_begin();
	inside = fork_into(touch_inside);
	outside = fork_into(touch);
	sampler = watch(&target, 1, (struct pm_sampler_opts){ .flags = flags });
	crowd->go = 1;
	if (sampler == NULL) {		/* refused: the reason is printed */
		(void)waitpid(inside, NULL, 0);
		(void)waitpid(outside, NULL, 0);
		crowd_end();
		skip();
	}
	(void)pm_sampler_explain(sampler, said, sizeof(said));
	watch_child(sampler, inside);
	watch_child(sampler, outside);
	(void)pm_sampler_stop(sampler);
	/* Somebody mounted the controller elsewhere meanwhile: a probe, for one. */
	if (has_own_hierarchy() != own)
		skip();
	assert_true(heard.in_area <= PAGES);
	assert_true(heard.in_area + stats_of(sampler).lost >= PAGES);
	assert_int_equal(heard.tid_count, 1);
	assert_int_equal(heard.tids[0], inside);
	pm_sampler_destroy(sampler);
	if (strstr(said, way) == NULL)
		fail_msg("\"%s\" is not told by\n%s", way, said);
	crowd_end();
}

static bool there;

static void events_of_the_cgroup(void **state)
{
	(void)state;
	if (!there)
		skip();
	watch_group(group, 0, "by events of the cgroup on each CPU");
}

static void by_thread(void **state)
{
	(void)state;
	if (!there)
		skip();
	watch_group(group, PM_SAMPLER_ONLY_THREADS, "not by events of the cgroup");
}

/* It is no cgroup here: nobody can be in it, and the reason names the folder. */
static void a_cgroup_that_is_not_there(void **state)
{
	const struct pm_target target = { .size = sizeof(target), .by = PM_BY_CGROUP,
					  .text = "/perfmodes-is-not-there" };
	struct pm_sampler *sampler;

	(void)state;
	if (!there)
		skip();
	sampler = watch(&target, 1, (struct pm_sampler_opts){ .flags = 0 });
	if (sampler == NULL)
		skip();
	(void)pm_sampler_explain(sampler, said, sizeof(said));
	assert_non_null(strstr(said, "/perfmodes-is-not-there: ENOENT"));
	pm_sampler_destroy(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_the_cgroup),
		cmocka_unit_test(by_thread),
		cmocka_unit_test(a_cgroup_that_is_not_there),
	};
	int failed;

	there = make_group();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (there)
		remove_group();
	return failed;
}
