/* SPDX-License-Identifier: MIT */
/* Other processes, watched by CPU and by thread: their known page faults are all told. */
#define _GNU_SOURCE
#include "../test.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "watching.h"

/* ------------------------------------------------------------------- a program of seven threads */

#define THREADS 7
#define PAGES 400
#define ROUNDS 5

static void *work(void *context)
{
	for (int i = 0; i < ROUNDS; i++)
		crowd_touch((size_t)(uintptr_t)context * PAGES, PAGES);
	return NULL;
}

/* Three threads exist before the sampler does, four come later; then all once more. */
static void *wait_and_work(void *context)
{
	crowd_wait(1);
	return work(context);
}

static void seven_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		if (i == 3) {
			crowd->done++;
			crowd_wait(1);
		}
		if (pthread_create(&threads[i], NULL, i < 3 ? wait_and_work : work, (void *)i))
			_exit(9);
	}
	for (size_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	crowd_touch(THREADS * PAGES, PAGES);
	_exit(0);
}

static void watch_seven(unsigned int way)
{
	struct pm_sampler *sampler;

	crowd_begin();
	sampler = watch_life(fork_into(seven_threads), 1, (struct pm_sampler_opts){ .flags = way });
	assert_true(crowd->caused == THREADS * PAGES * ROUNDS + PAGES);
	everything_was_told(sampler);
	assert_int_equal(heard.found, 1);
	/* A thread's end may be among what was lost. */
	if (stats_of(sampler).lost == 0) {
		assert_int_equal(heard.tid_count, THREADS + 1);
		assert_int_equal(heard.ended, 1);
	}
	pm_sampler_destroy(sampler);
	crowd_end();
}

static void seven_threads_by_cpu(void **state)
{
	(void)state;
	watch_seven(PM_SAMPLER_ONLY_CPUS);
}

static void seven_threads_by_thread(void **state)
{
	(void)state;
	watch_seven(PM_SAMPLER_ONLY_THREADS);
}

/* ---------------------------------------------------------------------- short-lived processes */

#define CHILDREN 1000
#define FEW 50

static void many_children(void)
{
	crowd->done++;
	crowd_wait(1);
	for (unsigned int i = 0, count = crowd->go == 1 ? CHILDREN : FEW; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			crowd_touch(0, 16);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			_exit(9);
	}
	_exit(0);
}

/* What all of them have counted is kept when their events are closed. */
static void counts_are_kept(struct pm_sampler *sampler, unsigned int way)
{
	struct pm_value sum = { .size = sizeof(sum) };

	if (way == PM_SAMPLER_ONLY_CPUS) {
		assert_int_equal(pm_sampler_read(sampler, &sum, 1), -ENOTSUP);
		return;
	}
	assert_int_equal(stats_of(sampler).descriptors, 0);
	assert_int_equal(pm_sampler_read(sampler, &sum, 1), 1);
	assert_true(sum.value >= crowd->caused);
	/* Of CPUs as of one: nothing was multiplexed. */
	assert_true(sum.running > 0 && sum.running == sum.enabled);
}

static void watch_many(unsigned int way)
{
	struct pm_sampler *sampler;

	crowd_begin();
	sampler = watch_life(fork_into(many_children), 1,
			     (struct pm_sampler_opts){ .flags = way | PM_SAMPLER_CHILDREN });
	assert_true(crowd->caused == CHILDREN * 16);
	everything_was_told(sampler);
	counts_are_kept(sampler, way);
	if (stats_of(sampler).lost == 0) {
		assert_int_equal(heard.born, CHILDREN);
		assert_int_equal(heard.ended, CHILDREN + 1);
		for (size_t i = 0, of = 0; i < SERIALS; i++, of = 0) {
			of = heard.of[i];
			assert_true(of == 0 || of == 16);
		}
	}
	pm_sampler_destroy(sampler);
	crowd_end();
}

static void a_thousand_processes_by_cpu(void **state)
{
	(void)state;
	watch_many(PM_SAMPLER_ONLY_CPUS);
}

static void a_thousand_processes_by_thread(void **state)
{
	(void)state;
	watch_many(PM_SAMPLER_ONLY_THREADS);
}

/* By thread not even their sums are among those of who was asked for, if the kernel knows how. */
static void sums_leave_children_out(struct pm_sampler *sampler)
{
	struct pm_value sum = { .size = sizeof(sum) };
	char said[4000];

	(void)pm_sampler_explain(sampler, said, sizeof(said));
	assert_int_equal(pm_sampler_read(sampler, &sum, 1), 1);
	print_message("counted %llu\n", (unsigned long long)sum.value);
	if (strstr(said, "without child processes left out of sums") != NULL)
		return;
	assert_true(sum.value > 0 && sum.value < FEW * 16);
	assert_int_equal(stats_of(sampler).skipped, 0);
}

/* Without the flag the children are nobody that was asked for. */
static void children_are_left_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct pm_sampler *sampler;

		crowd_begin();
		sampler = watch_life(fork_into(many_children), 2,
				     (struct pm_sampler_opts){ .flags = ways[i] });
		assert_int_equal(heard.in_area, 0);
		assert_int_equal(heard.born, 0);
		if (ways[i] == PM_SAMPLER_ONLY_THREADS)
			sums_leave_children_out(sampler);
		else
			assert_true(stats_of(sampler).skipped + stats_of(sampler).lost >=
				    FEW * 16);
		pm_sampler_destroy(sampler);
		crowd_end();
	}
}

/* ------------------------------------------------------------------------------ which way first */

static void wait_for_two(void)
{
	crowd->done++;
	crowd_wait(2);
	crowd_touch(0, PAGES);
	_exit(0);
}

static void touch_as_a_stranger(void)
{
	crowd->done++;
	crowd_wait(1);
	for (int i = 0; i < 10; i++)
		crowd_touch(PAGES, PAGES);
	_exit(0);
}

static void explains(const struct pm_sampler *sampler, const char *way, const char *why)
{
	char text[4096];

	assert_true(pm_sampler_explain(sampler, text, sizeof(text)) < (int)sizeof(text));
	if (strncmp(text, "by ", 3) != 0 || strncmp(text + 3, way, strlen(way)) != 0 ||
	    strstr(text, why) == NULL)
		fail_msg("not \"by %s\" or not \"%s\":\n%s", way, why, text);
}

/* A process that sleeps is no reason to sample everybody else. */
static void strangers_are_left_alone(void **state)
{
	struct pm_sampler *sampler;
	struct pm_target target;
	pid_t quiet, stranger;

	(void)state;
	crowd_begin();
	quiet = fork_into(wait_for_two);
	stranger = fork_into(touch_as_a_stranger);
	target = the_pid(quiet);
	sampler = watch(&target, 1, (struct pm_sampler_opts){ .flags = 0 });
	crowd->go = 1;
	assert_int_equal(waitpid(stranger, NULL, 0), stranger);
	crowd->go = 2;
	if (sampler == NULL) {
		(void)waitpid(quiet, NULL, 0);
		skip();
	}
	watch_child(sampler, quiet);
	(void)pm_sampler_stop(sampler);
	explains(sampler, "inherited events of each thread",
		 "not by events on each CPU: would interrupt every program for 1 thread\n");
	assert_int_equal(stats_of(sampler).skipped, 0);
	assert_int_equal(heard.in_area + stats_of(sampler).lost, PAGES);
	pm_sampler_destroy(sampler);
	crowd_end();
}

/* Everybody is watched by CPU where that is allowed, one pid also for what only CPUs tell. */
static void many_are_watched_by_cpu(void **state)
{
	const struct pm_target targets[] = {
		{ .size = sizeof(targets[0]), .by = PM_BY_ANY }, the_pid(getppid()),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct pm_sampler *sampler =
			watch(&targets[i], 1, (struct pm_sampler_opts){
				.side = i == 0 ? 0 : PM_SIDE_KSYMBOL,
			});

		if (sampler == NULL || geteuid() != 0)
			skip();
		explains(sampler, "events on each CPU", "not by events of the cgroup");
		pm_sampler_destroy(sampler);
	}
}

/* ------------------------------------------------------------------------------------- periods */

#define FAULTS 10240

static struct {
	uint64_t samples[2], other, want[2];
} told;

static void on_period(void *context, const struct pm_sampled *sample)
{
	(void)context;
	if (sample->tid != (uint32_t)gettid())
		return;
	told.samples[sample->event]++;
	told.other += told.want[sample->event] != 0 && sample->period != told.want[sample->event];
}

static void fault_often(struct pm_sampler *sampler)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (int turn = 0; turn < 10; turn++) {
		char *area = mmap(NULL, FAULTS / 10 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(area != MAP_FAILED);
		(void)madvise(area, FAULTS / 10 * page, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < FAULTS / 10; i++)
			((volatile char *)area)[i * page] = 1;
		munmap(area, FAULTS / 10 * page);
		assert_true(pm_sampler_poll(sampler, 0) >= 0);
	}
}

/* What the sampler causes itself, the more the more processes there are, is among them. */
static uint64_t own_faults(void)
{
	struct rusage usage = { .ru_minflt = 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

/* The second event hits with the first one, and its samples tell their periods. */
static void expect_periods(unsigned int way, uint64_t period, uint64_t second)
{
	const struct pm_sampler_listener by_period = {
		.size = sizeof(by_period), .sample = on_period,
	};
	struct pm_event_spec specs[] = { fault_spec, fault_spec };
	const struct pm_sampler_event events[] = {
		{ .size = sizeof(events[0]), .spec = &specs[0] },
		{ .size = sizeof(events[0]), .spec = &specs[1] },
	};
	struct pm_sampler_opts opts = { .size = sizeof(opts), .flags = way, .ring_pages = 512 };
	const struct pm_target target = the_pid(getpid());
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler;
	const uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct pm_sampler_stats stats;
	uint64_t missing, most = own_faults();
	int err;

	memset(&told, 0, sizeof(told));
	told.want[0] = specs[0].period = period;
	told.want[1] = specs[1].period = second;
	specs[1].config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	err = pm_sampler_open(events, second ? 2 : 1, &target, 1, &opts, NULL, &by_period, NULL,
			      &diag, &sampler);
	if (is_refused(err))
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	fault_often(sampler);
	assert_true(pm_sampler_stop(sampler) >= 0);
	stats = stats_of(sampler);
	most = own_faults() - most + 64;
	/* By CPU others may fill the ring. Unknown: another program's event hit the same fault. */
	missing = stats.unknown + stats.lost;
	/* And a period is of all that runs there: whose fault ends it is chance. */
	if (way == PM_SAMPLER_ONLY_CPUS && period > 1) {
		missing += stats.skipped;
		most += stats.skipped * period;
	}
	if (told.samples[0] + missing + cpus < FAULTS / period ||
	    told.samples[0] > most / period + cpus || told.other != 0)
		fail_msg("period %llu: %llu samples, %llu of another period, %llu unknown",
			 (unsigned long long)period, (unsigned long long)told.samples[0],
			 (unsigned long long)told.other, (unsigned long long)stats.unknown);
	assert_true(second == 0 || told.samples[1] + missing >= FAULTS / second - cpus);
	pm_sampler_destroy(sampler);
}

static void a_period_is_that_period(void **state)
{
	static const uint64_t periods[] = { 1, 2, 7, 100, 1000, 100000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(periods); k++)
			expect_periods(ways[i], periods[k], 0);
		expect_periods(ways[i], 100, 1);
	}
}

/* -------------------------------------------------------------------------------------- limits */

static void what_makes_no_sense_is_refused(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_target target = the_pid(getpid()), nobody = the_pid(INT32_MAX - 1);
	struct pm_sampler_opts opts = { .size = sizeof(opts), .shard = 2, .shards = 2 };
	struct pm_sampler_event member = { .size = sizeof(member), .spec = &fault_spec,
					   .leader = 1 };
	struct pm_sampler_event precise = { .size = sizeof(precise), .spec = &fault_spec,
					    .precise = 4 };
	/* What meant pinned before specs said it. */
	struct pm_sampler_event pinned = { .size = sizeof(pinned), .spec = &fault_spec,
					   .flags = 1 };
	struct pm_sampler *sampler = NULL;

	(void)state;
	assert_int_equal(pm_sampler_open(&fault_event, 0, &target, 1, NULL, NULL, NULL, NULL,
					 &diag, &sampler), -EINVAL);
	assert_int_equal(pm_sampler_open(&fault_event, 1, &target, 1, &opts, NULL, NULL, NULL,
					 &diag, &sampler), -EINVAL);
	assert_non_null(strstr(diag.text, "shard"));
	assert_int_equal(pm_sampler_open(&member, 1, &target, 1, NULL, NULL, NULL, NULL, &diag,
					 &sampler), -EINVAL);
	assert_int_equal(pm_sampler_open(&precise, 1, &target, 1, NULL, NULL, NULL, NULL, &diag,
					 &sampler), -EINVAL);
	assert_int_equal(pm_sampler_open(&pinned, 1, &target, 1, NULL, NULL, NULL, NULL, &diag,
					 &sampler), -EINVAL);
	assert_int_equal(pm_sampler_open(&fault_event, 1, &nobody, 1, NULL, NULL, NULL, NULL,
					 &diag, &sampler), -ESRCH);
	assert_non_null(strstr(diag.text, "2147483646"));
	assert_null(sampler);
}

/* What an earlier release's program has room for is written, and nothing behind it. */
static void stats_of_a_small_caller(void **state)
{
	const struct pm_target target = the_pid(getpid());
	struct pm_sampler *sampler = watch(&target, 1, (struct pm_sampler_opts){ .flags = 0 });
	struct pm_sampler_stats stats;

	(void)state;
	if (sampler == NULL)
		skip();
	memset(&stats, 0x5a, sizeof(stats));
	stats.size = offsetof(struct pm_sampler_stats, skipped);
	assert_int_equal(pm_sampler_stats(sampler, &stats), 0);
	assert_int_not_equal(stats.samples, 0x5a5a5a5a5a5a5a5a);
	assert_true(stats.skipped == 0x5a5a5a5a5a5a5a5a && stats.mistimed == stats.skipped);
	pm_sampler_destroy(sampler);
}

/* A clock of that period or frequency is watched, and the explanation says `wanted`. */
static void expect_said(uint64_t period, uint64_t frequency, const char *wanted)
{
	const struct pm_target self = the_pid(getpid());
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .flags = PM_SPEC_USER_ONLY,
		.period = period, .frequency = frequency,
	};
	const struct pm_sampler_event event = { .size = sizeof(event), .spec = &spec };
	struct pm_sampler *sampler;
	char said[4000];

	if (pm_sampler_open(&event, 1, &self, 1, NULL, NULL, &listener, NULL, NULL, &sampler) < 0)
		skip();
	(void)pm_sampler_explain(sampler, said, sizeof(said));
	if (strstr(said, wanted) == NULL)
		fail_msg("%s", said);
	pm_sampler_destroy(sampler);
}

/* More samples a second than the kernel takes. */
static void too_many_samples(void **state)
{
	char wanted[80];
	int64_t most;

	(void)state;
	if (pm_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) < 0)
		skip();
	snprintf(wanted, sizeof(wanted), "%lld samples a second instead of %lld: more than "
		 "kernel.perf_event_max", (long long)most, (long long)most + 1);
	expect_said(0, (uint64_t)most + 1, wanted);
}

static void no_timer_is_that_fast(void **state)
{
	(void)state;
	expect_said(1000, 0, "every 10000 ns instead: the kernel's timers are no faster");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_samples),
		cmocka_unit_test(no_timer_is_that_fast),
		cmocka_unit_test(seven_threads_by_cpu),
		cmocka_unit_test(seven_threads_by_thread),
		cmocka_unit_test(a_thousand_processes_by_cpu),
		cmocka_unit_test(a_thousand_processes_by_thread),
		cmocka_unit_test(children_are_left_out),
		cmocka_unit_test(strangers_are_left_alone),
		cmocka_unit_test(many_are_watched_by_cpu),
		cmocka_unit_test(a_period_is_that_period),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(stats_of_a_small_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
