/* SPDX-License-Identifier: MIT */
/* What samples and side-band of other processes carry, and how a loop hears of them. */
#define _GNU_SOURCE
#include "../test.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../../sampler/watch/watch.h"
#include "watching.h"

#define PAGES 300

/* Touches pages, makes a thread, and becomes another program, which maps libraries. */
static void *touch_some(void *unused)
{
	crowd_touch(PAGES, PAGES);
	return unused;
}

static void live(void)
{
	pthread_t thread;

	crowd->done++;
	crowd_wait(1);
	crowd_touch(0, PAGES);
	if (pthread_create(&thread, NULL, touch_some, NULL) == 0)
		pthread_join(thread, NULL);
	execl("/bin/true", "true", NULL);
	_exit(9);
}

static pid_t start_life(void)
{
	crowd_begin();
	return fork_into(live);
}

static void side_band_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const pid_t child = start_life();
		struct pm_sampler *sampler = watch_life(child, 1, (struct pm_sampler_opts){
			.flags = ways[i], .side = PM_SIDE_MMAP | PM_SIDE_COMM | PM_SIDE_TASK |
				PM_SIDE_SWITCH,
		});

		everything_was_told(sampler);
		print_message("mmap %llu (%llu with build ids), comm %llu, task %llu, switch %llu"
			      "\n",
			      (unsigned long long)heard.sides[0],
			      (unsigned long long)heard.build_ids,
			      (unsigned long long)heard.sides[2],
			      (unsigned long long)heard.sides[3],
			      (unsigned long long)heard.sides[4]);
		if (stats_of(sampler).lost == 0) {
			/* The program, its loader, the C library; a thread and two ends. */
			assert_true(heard.sides[0] >= 3 && heard.sides[2] >= 1);
			assert_true(heard.sides[3] >= 3 && heard.sides[4] >= 2);
			assert_int_equal(heard.sides[1], 0);
		}
		pm_sampler_destroy(sampler);
		crowd_end();
	}
}

/* -------------------------------------------------------------------------------------- groups */

static struct pm_sampler *watch_group(pid_t child, unsigned int way)
{
	static const struct pm_event_spec clock = {
		.size = sizeof(clock), .type = PM_TYPE_SOFTWARE, .config = PM_SW_TASK_CLOCK,
	};
	const struct pm_sampler_event events[] = {
		{ .size = sizeof(events[0]), .spec = &fault_spec },
		{ .size = sizeof(events[0]), .spec = &clock, .leader = 1 },
	};
	struct pm_sampler_opts opts = {
		.size = sizeof(opts), .flags = way, .ring_pages = 2048,
		.want = PM_WANT_ADDRESS | PM_WANT_GROUP,
	};
	const struct pm_target target = the_pid(child);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;
	int err;

	memset(&heard, 0, sizeof(heard));
	err = pm_sampler_open(events, 2, &target, 1, &opts, NULL, &listener, NULL, &diag,
			      &sampler);
	if (is_refused(err))
		return NULL;
	if (err < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	return sampler;
}

/* The first element tells the size of each, as of all arrays. */
static void sums_are_read(struct pm_sampler *sampler)
{
	struct pm_value sums[2] = { { .size = sizeof(sums[0]) } };

	assert_int_equal(pm_sampler_read(sampler, sums, 2), 2);
	assert_true(sums[0].value > 0 && sums[1].value > 0);
	assert_int_equal(sums[1].size, sizeof(sums[1]));
	sums[0].size = sizeof(size_t);
	assert_int_equal(pm_sampler_read(sampler, sums, 2), -EINVAL);
}

/* By thread an old kernel refuses values of inherited events: then explain says so. */
static void samples_carry_the_group(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const pid_t child = start_life();
		struct pm_sampler *sampler = watch_group(child, ways[i]);
		char text[2048];

		crowd->go = 1;
		if (sampler == NULL) {
			(void)waitpid(child, NULL, 0);
			skip();
		}
		watch_child(sampler, child);
		(void)pm_sampler_stop(sampler);
		(void)pm_sampler_explain(sampler, text, sizeof(text));
		print_message("%s", text);
		assert_non_null(strstr(text, "event 1: task-clock"));
		if (heard.values == 0)
			assert_non_null(strstr(text, "without group values"));
		else
			assert_true(heard.values == 2 && heard.value[0] > 0 && heard.value[1] > 0);
		if (ways[i] == PM_SAMPLER_ONLY_THREADS)
			sums_are_read(sampler);
		assert_true(heard.in_area > 0);
		pm_sampler_destroy(sampler);
		crowd_end();
	}
}

/* --------------------------------------------------------------------------------------- loops */

/* An event loop that does nothing but wait for the descriptor gets everything. */
static void a_loop_hears_of_it(void **state)
{
	static const unsigned int flags[] = { 0, PM_SAMPLER_NO_WAKEUP };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const pid_t child = start_life();
		const struct pm_target target = the_pid(child);
		struct pm_sampler *sampler = watch(&target, 1, (struct pm_sampler_opts){
			.flags = flags[i],
		});
		struct pollfd polled = { .events = POLLIN };

		crowd->go = 1;
		if (sampler == NULL) {
			(void)waitpid(child, NULL, 0);
			skip();
		}
		polled.fd = pm_sampler_fd(sampler);
		while (heard.ended == 0) {
			assert_int_equal(poll(&polled, 1, 300000), 1);
			assert_true(pm_sampler_poll(sampler, 0) >= 0);
			(void)waitpid(child, NULL, WNOHANG);
		}
		everything_was_told(sampler);
		assert_true(heard.backwards <= stats_of(sampler).unordered);
		(void)pm_sampler_stop(sampler);
		assert_int_equal(pm_sampler_poll(sampler, 0), -ENOTCONN);
		pm_sampler_destroy(sampler);
		crowd_end();
	}
}

static uint64_t count_events(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char link[64] = "";

		(void)!readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		count += strcmp(link, "anon_inode:[perf_event]") == 0;
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

/* In a child that is forked: no call touches the rings, and nothing of the child's own goes. */
static void be_a_copy(struct pm_sampler *sampler, const struct ring_set *rings)
{
	struct pm_value value = { .size = sizeof(value) };
	const bool refused = pm_sampler_poll(sampler, 0) == -ECHILD &&
		pm_sampler_start(sampler, NULL) == -ECHILD && pm_sampler_stop(sampler) == -ECHILD &&
		pm_sampler_read(sampler, &value, 1) == -ECHILD;
	char *own = rings->list[0].ring.base;

	own = mmap(own, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0);
	if (!refused || own == MAP_FAILED)
		_exit(1);
	*own = 1;
	pm_sampler_destroy(sampler);
	*own = 2;
	_exit(0);
}

static void a_forked_child_has_no_rings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const pid_t child = start_life();
		const struct pm_target target = the_pid(child);
		struct pm_sampler *sampler = watch(&target, 1, (struct pm_sampler_opts){
			.flags = ways[i],
		});
		const pid_t copy = sampler != NULL ? fork() : -1;
		struct pm_sampler_stats stats;
		int status = -1;

		if (copy == 0)
			be_a_copy(sampler, &sampler->rings);
		assert_true(copy < 0 || waitpid(copy, &status, 0) == copy);
		crowd->go = 1;
		if (sampler == NULL) {
			(void)waitpid(child, NULL, 0);
			skip();
		}
		assert_int_equal(status, 0);
		stats = stats_of(sampler);
		assert_int_equal(count_events(), stats.descriptors +
				 (ways[i] == PM_SAMPLER_ONLY_THREADS ? stats.rings : 0));
		watch_child(sampler, child);
		(void)pm_sampler_stop(sampler);
		everything_was_told(sampler);
		pm_sampler_destroy(sampler);
		crowd_end();
	}
}

/* A turn that is limited leaves the rest for the next, and loses nothing. */
static void a_turn_has_its_limit(void **state)
{
	const pid_t child = start_life();
	const struct pm_target target = the_pid(child);
	struct pm_sampler *sampler = watch(&target, 1, (struct pm_sampler_opts){
		.turn = 50, .flags = PM_SAMPLER_ONLY_THREADS,
	});
	int status, count, most = 0;

	(void)state;
	crowd->go = 1;
	if (sampler == NULL) {
		(void)waitpid(child, NULL, 0);
		skip();
	}
	do {
		count = pm_sampler_poll(sampler, 20);
		most = count > most ? count : most;
	} while (waitpid(child, &status, WNOHANG) == 0 || count > 0);
	(void)pm_sampler_stop(sampler);
	assert_int_equal(most, 50);
	everything_was_told(sampler);
	pm_sampler_destroy(sampler);
	crowd_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(side_band_is_told),
		cmocka_unit_test(samples_carry_the_group),
		cmocka_unit_test(a_loop_hears_of_it),
		cmocka_unit_test(a_turn_has_its_limit),
		cmocka_unit_test(a_forked_child_has_no_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
