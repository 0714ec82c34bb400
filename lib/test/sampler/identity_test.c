/* SPDX-License-Identifier: MIT */
/* Who is who: a process that becomes another program, and a pid that is given to others. */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "watching.h"

/* -------------------------------------------------------------------------------------- targets */

static const struct {
	const char *text;
	int err;
	int64_t number;
} texts[] = {
	{ "any", 0, 0 }, { "kernel", 0, 0 }, { "42", 0, 42 }, { "!pid:42", 0, 42 },
	{ "uid:0", 0, 0 },
	{ "pid:0", -ERANGE, 0 }, { "pid:-1", -ERANGE, 0 }, { "pid:2147483648", -ERANGE, 0 },
	{ "uid:-1", -ERANGE, 0 }, { "uid:4294967295", -ERANGE, 0 },
	{ "pid:99999999999999999999999", -ERANGE, 0 },
	{ "", -EINVAL, 0 }, { "!", -EINVAL, 0 }, { "!!any", -EINVAL, 0 }, { "pid:", -EINVAL, 0 },
	{ "pid:-", -EINVAL, 0 }, { "pid:--1", -EINVAL, 0 }, { "pid:4 2", -EINVAL, 0 },
	{ "cmd:", -EINVAL, 0 }, { "cgroup:x", -EINVAL, 0 }, { "nonsense", -EINVAL, 0 },
};

static void texts_of_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pm_target target = { .size = sizeof(target) };
		struct pm_diag diag = { .size = sizeof(diag) };

		if (pm_target_parse(texts[i].text, &diag, &target) != texts[i].err ||
		    -diag.error != texts[i].err || target.number != texts[i].number)
			fail_msg("\"%s\": %d, %s", texts[i].text, -diag.error, diag.text);
	}
}

/* ----------------------------------------------------------------------------- another program */

/* In both programs, and in no one's way: sanitizers begin at 0x500000000000 or 0x600000000000. */
#define AREA ((char *)0x300000000000)
#define SHARED_FD 200
#define FIRST 500			/* pages that the first program touches, */
#define SECOND 300			/* and the second */

/* What both programs share survives the exec as a descriptor. */
static void share_crowd(void)
{
	crowd = mmap(NULL, crowd_page(), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	crowd_area = AREA;
	assert_true(crowd != (void *)MAP_FAILED);
}

static int run_program(const char *name)
{
	const bool first = strcmp(name, "pm-crowd-one") == 0;

	share_crowd();
	if (mmap(AREA, AREA_PAGES * crowd_page(), PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != AREA)
		return 9;
	(void)madvise(AREA, AREA_PAGES * crowd_page(), MADV_NOHUGEPAGE);
	if (first) {
		crowd->done++;
		crowd_wait(1);
	}
	crowd_touch(0, first ? FIRST : SECOND);
	if (first)
		execl("/proc/self/exe", "pm-crowd-two", "again", NULL);
	return first ? 9 : 0;
}

static pid_t start_program(void)
{
	const int fd = memfd_create("crowd", 0);
	pid_t child;

	assert_true(fd >= 0 && ftruncate(fd, (off_t)crowd_page()) == 0);
	assert_int_equal(dup2(fd, SHARED_FD), SHARED_FD);
	close(fd);
	share_crowd();
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "pm-crowd-one", NULL);
		_exit(9);
	}
	while (crowd->done == 0) {
		assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
		usleep(200);
	}
	return child;
}

/* `target` is of the first program's pid where it has none. NULL: refused. */
static struct pm_sampler *watch_exec(struct pm_target target, unsigned int way)
{
	pid_t child = start_program();
	struct pm_sampler *sampler;

	target.size = sizeof(target);
	if (target.by == PM_BY_PID)
		target.number = child;
	sampler = watch(&target, 1, (struct pm_sampler_opts){ .flags = way });
	crowd->go = 1;
	if (sampler == NULL) {
		(void)waitpid(child, NULL, 0);
	} else {
		watch_child(sampler, child);
		(void)pm_sampler_stop(sampler);
	}
	close(SHARED_FD);
	return sampler;
}

/* Returns whether the second program's command line was read: it may have ended before. */
static bool stays_itself(unsigned int way)
{
	struct pm_sampler *sampler = watch_exec((struct pm_target){ .by = PM_BY_PID }, way);
	const bool read = strcmp(heard.cmdline, "pm-crowd-two again") == 0;

	if (sampler == NULL)
		skip();
	everything_was_told(sampler);
	assert_int_equal(crowd->caused, FIRST + SECOND);
	assert_int_equal(heard.found, 1);
	assert_true(heard.execs <= 1 && heard.ended <= 1 && heard.tid_count == 1);
	if (stats_of(sampler).lost == 0)
		assert_true(heard.execs == 1 && heard.ended == 1);
	/* Never the first program's. */
	assert_true(read || heard.execs == 0 || heard.cmdline[0] == '\0');
	pm_sampler_destroy(sampler);
	munmap(crowd, crowd_page());
	return read;
}

static void a_process_stays_itself_over_an_exec(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		for (unsigned int tries = 0; !stays_itself(ways[i]) && tries < 3; tries++)
			;
	}
}

/* The first program alone is meant, then the second alone. */
static void only_the_program_that_is_meant(void **state)
{
	/* One that has ended before it was looked at is judged by its name, which is "exe". */
	static const struct { enum pm_target_by by; const char *text; uint64_t pages; } cases[] = {
		{ PM_BY_CMDLINE, "pm-crowd-one", FIRST },
		{ PM_BY_CMDLINE_REGEX, "^(pm-crowd-two again|exe)$", SECOND },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pm_sampler *sampler = watch_exec((struct pm_target){
			.by = cases[i].by, .text = cases[i].text,
		}, PM_SAMPLER_ONLY_CPUS);

		if (sampler == NULL)
			skip();
		if (stats_of(sampler).lost == 0)
			assert_int_equal(heard.in_area, cases[i].pages);
		assert_true(heard.in_area <= cases[i].pages);
		pm_sampler_destroy(sampler);
		munmap(crowd, crowd_page());
	}
}

/* --------------------------------------------------------------------------- a pid for many */

#define TIMES 60

struct clone3_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	uint64_t set_tid, set_tid_size, cgroup;
};

/* A child under a given pid (v5.5); 0 in the child. */
static pid_t fork_as(pid_t pid)
{
	struct clone3_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* The same pid again and again: each time more pages. */
static void one_pid_for_all(void)
{
	crowd->done++;
	crowd_wait(1);
	for (size_t i = 1; i <= TIMES; i++) {
		const pid_t child = fork_as(300);

		if (child == 0) {
			crowd_touch(0, i);
			_exit(0);
		}
		if (child != 300 || waitpid(child, NULL, 0) != child)
			_exit(9);
	}
	_exit(0);
}

static int count_each(struct pm_sampler *sampler)
{
	size_t with = 0;

	for (size_t pages = 1; pages <= TIMES; pages++)
		for (size_t serial = 0; serial < SERIALS; serial++)
			with += heard.of[serial] == pages;
	print_message("%zu of %d processes told apart, %llu faults of %llu, pids reused %llu\n",
		      with, TIMES, (unsigned long long)heard.in_area,
		      (unsigned long long)crowd->caused,
		      (unsigned long long)stats_of(sampler).pids_reused);
	if (stats_of(sampler).lost > 0)
		return 0;
	return with == TIMES && heard.in_area == crowd->caused && heard.born == TIMES &&
		stats_of(sampler).pids_reused >= TIMES / 2 ? 0 : 1;
}

static int watch_reuse(unsigned int way)
{
	struct pm_sampler *sampler;
	struct pm_target target;
	int err, status = 0;
	pid_t child;

	crowd_begin();
	child = fork();
	if (child == 0)
		one_pid_for_all();
	while (crowd->done == 0)
		usleep(200);
	target = the_pid(child);
	sampler = watch(&target, 1, (struct pm_sampler_opts){
		.flags = way | PM_SAMPLER_CHILDREN,
	});
	crowd->go = 1;
	if (sampler == NULL)
		return 77;
	while (waitpid(child, &status, WNOHANG) == 0)
		(void)pm_sampler_poll(sampler, 20);
	(void)pm_sampler_stop(sampler);
	err = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? count_each(sampler) : 77;
	pm_sampler_destroy(sampler);
	crowd_end();
	return err;
}

/* In a PID namespace with a /proc of its own, where a pid may be asked for. */
static int in_namespace(unsigned int way)
{
	int status = 0;
	pid_t child;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
		return 77;
	child = fork();
	if (child == 0) {
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) != 0)
			_exit(77);
		_exit(watch_reuse(way));
	}
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

#define TRIES 8

/*
 * A page fault that another program's event samples as well has the pid of that program's PID
 * namespace in both samples (see the probe sample.shared_hit), and is nobody's here: once more.
 */
static int in_one_of_some_namespaces(unsigned int way)
{
	int status = 1;

	for (int i = 0; i < TRIES && status == 1; i++) {
		const pid_t child = fork();

		if (child == 0)
			_exit(in_namespace(way));
		(void)waitpid(child, &status, 0);
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 9;
	}
	return status;
}

static void a_pid_that_comes_again_is_another_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const int status = in_one_of_some_namespaces(ways[i]);

		if (status == 77) {
			print_message("no PID namespace, no clone3(2) with a pid, or no events\n");
			skip();
		}
		assert_int_equal(status, 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_targets),
		cmocka_unit_test(a_process_stays_itself_over_an_exec),
		cmocka_unit_test(only_the_program_that_is_meant),
		cmocka_unit_test(a_pid_that_comes_again_is_another_process),
	};

	if (argc > 0 && strncmp(argv[0], "pm-crowd-", 9) == 0)
		return run_program(argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
