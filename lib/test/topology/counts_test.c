/* SPDX-License-Identifier: MIT */
/*
 * Counts of this kernel by hardware thread. A worker touches a known number of fresh pages on each
 * of two CPUs and is sent from one to the other; its page faults, which the main thread reads while
 * the worker waits, are the truth.
 */
#include "worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIGRATIONS 1000

static bool refused;		/* no perf here */

static struct pm_event_spec faults_of(pid_t tid)
{
	return (struct pm_event_spec){ .size = sizeof(struct pm_event_spec),
				       .type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS,
				       .tid = tid, .flags = PM_SPEC_USER_ONLY };
}

/* A negative period is a frequency. */
static struct pm_topology *open_set(hwloc_topology_t topology, pid_t tid, unsigned int flags,
				    int64_t period)
{
	const struct pm_topology_opts opts = {
		.size = sizeof(opts), .flags = flags,
		.period = period > 0 ? (uint64_t)period : 0,
		.frequency = period < 0 ? (uint64_t)-period : 0,
	};
	const struct pm_event_spec spec = faults_of(tid);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_topology *set = NULL;
	int err = pm_topology_open(topology, &spec, 1, &opts, &diag, &set);

	if (err < 0)
		print_error("%s\n", diag.text);
	assert_int_equal(err, !(flags & PM_TOPOLOGY_SPLIT) ? PM_TOPOLOGY_EXACT :
			 period != 0 ? PM_TOPOLOGY_SAMPLED : PM_TOPOLOGY_LAST);
	assert_int_equal(err, pm_topology_source(set));
	err = pm_topology_start(set, &diag);
	if (err < 0)
		print_error("%s\n", diag.text);
	assert_int_equal(err, 0);
	return set;
}

/* The latest reading of one CPU. */
static struct pm_topology_value on_cpu(struct pm_topology *set, int cpu)
{
	struct pm_topology_value value = { .size = sizeof(value) };
	hwloc_bitmap_t only = hwloc_bitmap_alloc();

	hwloc_bitmap_only(only, (unsigned int)cpu);
	assert_int_equal(pm_topology_value(set, 0, only, PM_TOPOLOGY_LATEST, &value), 0);
	hwloc_bitmap_free(only);
	return value;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* This machine, if it can be asked. */
static hwloc_topology_t here(void)
{
	if (refused || cpus[1] < 0)
		skip();
	return machine(NULL);
}

/* --------------------------------------------------------------------------------------- exact */

/* The sum over hardware threads is the thread's own counter, and each is what happened there. */
static void exact_over_1000_migrations(void **state)
{
	hwloc_topology_t topology = here();
	hwloc_const_cpuset_t all = hwloc_get_root_obj(topology)->cpuset;
	struct pm_value total = { .size = sizeof(total) };
	struct pm_counters *counters;
	struct pm_event_spec spec;
	struct worker worker;
	struct pm_topology *set;

	(void)state;
	worker_start_with(&worker, MIGRATIONS * 5, true);
	spec = faults_of(worker.tid);
	set = open_set(topology, worker.tid, 0, 0);
	assert_int_equal(pm_counters_open(&spec, 1, 0, NULL, NULL, &counters), 0);
	assert_int_equal(pm_counters_start(counters), 0);
	let_work(&worker, MIGRATIONS, 3);
	assert_int_equal(pm_counters_read(counters, &total, 1), 1);
	assert_true(pm_topology_read(set, NULL) >= 2);
	assert_int_equal(value_of(set, 0, NULL), total.value);
	assert_int_equal(value_of(set, 0, all), total.value);
	assert_int_equal(on_cpu(set, cpus[0]).value, worker.pages[0]);
	assert_int_equal(on_cpu(set, cpus[1]).value, worker.pages[1]);
	assert_int_equal(worker.pages[0] + worker.pages[1], MIGRATIONS / 2 * 9);
	assert_false(on_cpu(set, cpus[0]).guess);
	print_message("exact: %" PRIu64 " + %" PRIu64 " page faults over %d migrations; "
		      "the thread's counter %" PRIu64 "\n", on_cpu(set, cpus[0]).value,
		      on_cpu(set, cpus[1]).value, MIGRATIONS, total.value);
	if (worker.events != PAPI_NULL) {
		assert_int_equal(worker.papi, total.value);
		print_message("PAPI_read of perf::PAGE-FAULTS: %lld\n", worker.papi);
	}
	pm_counters_destroy(counters);
	pm_topology_destroy(set);
	worker_end(&worker);
	hwloc_topology_destroy(topology);
}

/* Stopped it counts no more; started again it counts from 0; the readings stay. */
static void stop_and_start(void **state)
{
	hwloc_topology_t topology = here();
	struct pm_topology_value value = { .size = sizeof(value) };
	uint64_t first, second, third;
	struct worker worker;
	struct pm_topology *set;

	(void)state;
	worker_start(&worker, 1000);
	set = open_set(topology, worker.tid, 0, 0);
	assert_int_equal(pm_topology_start(set, NULL), -EALREADY);
	let_work(&worker, 2, 10);
	assert_true(pm_topology_read(set, &first) >= 2);
	let_work(&worker, 2, 10);
	assert_true(pm_topology_stop(set, &second) >= 2);
	assert_int_equal(value_of(set, 0, NULL), 60);
	assert_int_equal(pm_topology_stop(set, NULL), -ENOTCONN);
	assert_int_equal(pm_topology_read(set, NULL), -ENOTCONN);
	let_work(&worker, 2, 10);
	assert_int_equal(pm_topology_start(set, NULL), 0);
	let_work(&worker, 1, 7);
	assert_true(pm_topology_accumulate(set, &third) >= 2);
	assert_int_equal(value_of(set, 0, NULL), 7);
	assert_int_equal(on_cpu(set, cpus[0]).value, 7);
	assert_int_equal(pm_topology_window(set, 0, NULL, first, third, &value), 0);
	assert_int_equal(value.value, 37);
	assert_true(first < second && second < third);
	pm_topology_destroy(set);
	worker_end(&worker);
	hwloc_topology_destroy(topology);
}

static void all_threads_are_counted(void **state)
{
	hwloc_topology_t topology = here();
	struct pm_topology *set;
	struct worker worker;

	(void)state;
	set = open_set(topology, PM_ALL_THREADS, 0, 0);
	worker_start(&worker, 4000);	/* it is born while the set counts */
	let_work(&worker, 100, 20);
	assert_true(pm_topology_read(set, NULL) >= 2);
	assert_true(on_cpu(set, cpus[0]).value >= 50 * 20);
	assert_true(on_cpu(set, cpus[1]).value >= 50 * 40);
	worker_end(&worker);
	pm_topology_destroy(set);
	hwloc_topology_destroy(topology);
}

/* A process of its own with one thread: page faults on each CPU for each byte it gets. */
__attribute__((no_sanitize("address"))) static void serve(int from, int to, char *area)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), used = 0;
	char byte;

	while (read(from, &byte, 1) == 1) {
		for (int i = 0; i < 2; i++) {
			go_to(cpus[i]);
			for (int n = 0; n < 50 << i; n++)
				((volatile char *)area)[used++ * page] = 1;
		}
		if (write(to, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void ask(const int pipes[4])
{
	char byte = 0;

	assert_int_equal(write(pipes[1], &byte, 1), 1);
	assert_int_equal(read(pipes[2], &byte, 1), 1);
}

static void check_ways(hwloc_topology_t topology, pid_t child, const int pipes[4])
{
	static const struct { unsigned int flags; int64_t period; } ways[] = {
		{ 0, 0 }, { PM_TOPOLOGY_SPLIT, 1 }, { PM_TOPOLOGY_SPLIT, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct pm_topology *set = open_set(topology, child, ways[i].flags, ways[i].period);

		ask(pipes);
		assert_true(pm_topology_read(set, NULL) >= 1);
		/* It may cause a few of its own on the way. */
		assert_in_range(value_of(set, 0, NULL), 150, 160);
		if (i < 2) {
			assert_in_range(on_cpu(set, cpus[0]).value, 50, 60);
			assert_in_range(on_cpu(set, cpus[1]).value, 100, 110);
		}
		pm_topology_destroy(set);
	}
}

static void another_process(void **state)
{
	hwloc_topology_t topology = here();
	size_t bytes = 4000 * (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pipes[4], status;
	pid_t child;

	(void)state;
	madvise(area, bytes, MADV_NOHUGEPAGE);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	child = fork();
	if (child == 0) {
		close(pipes[1]);
		serve(pipes[0], pipes[3], area);
	}
	ask(pipes);
	check_ways(topology, child, pipes);
	close(pipes[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(pipes[0]);
	close(pipes[2]);
	close(pipes[3]);
	munmap(area, bytes);
	hwloc_topology_destroy(topology);
}

/* -------------------------------------------------------------------------------------- guesses */

/* Pages of CPU 0 that a set has put elsewhere, or the other way round. */
static uint64_t error_of(struct pm_topology *set, const struct worker *worker)
{
	struct pm_topology_value here = on_cpu(set, cpus[0]), there = on_cpu(set, cpus[1]);
	uint64_t error = distance(here.value, worker->pages[0]);

	assert_int_equal(here.value + there.value, worker->pages[0] + worker->pages[1]);
	assert_int_equal(error, distance(there.value, worker->pages[1]));
	/* What is told to be uncertain covers it. */
	assert_true(error <= here.uncertain + there.uncertain);
	assert_true(here.guess == (here.uncertain > 0));
	return error;
}

static void error_with_period(hwloc_topology_t topology, int64_t period)
{
	struct worker worker;
	struct pm_topology *set;
	uint64_t error, all;

	worker_start(&worker, 40000);
	set = open_set(topology, worker.tid, PM_TOPOLOGY_SPLIT, period);
	for (int n = 0; n < 10; n++) {
		let_work(&worker, 21, 70);
		assert_true(pm_topology_read(set, NULL) >= 1);
	}
	error = error_of(set, &worker);
	all = value_of(set, 0, NULL);
	print_message("%6lld %s: %5" PRIu64 " of %" PRIu64 " faults on the wrong CPU (%.1f %%), "
		      "%" PRIu64 " told to be uncertain\n",
		      (long long)(period < 0 ? -period : period),
		      period == 0 ? "(the CPU at each reading)" : period < 0 ? "samples a second" :
		      "faults a sample", error, all, 100.0 * (double)error / (double)all,
		      on_cpu(set, cpus[0]).uncertain + on_cpu(set, cpus[1]).uncertain);
	/* Each of 210 moves puts at most a period elsewhere, and a period of 1 nothing. */
	assert_true(period != 1 || error == 0);
	assert_true(period <= 0 || error <= 10 * 21 * (uint64_t)period);
	pm_topology_destroy(set);
	worker_end(&worker);
}

/*
 * The thread moves after every 70 or 140 faults; it is read after 21 moves. One set at a time:
 * Linux 6.18 gives samples of several software events that one fault hits the id of one of them.
 */
static void error_of_guesses(void **state)
{
	static const int64_t periods[] = { 0, -1000, -4000, -16000, 1, 30 };
	hwloc_topology_t topology = here();
	int64_t rate = 4000;

	(void)state;
	(void)pm_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &rate);
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++)
		if (-periods[i] <= rate)
			error_with_period(topology, periods[i]);
	hwloc_topology_destroy(topology);
}

/* Where migrations are counted and there was none, a split is exact, and says so. */
static void no_migration_no_guess(void **state)
{
	static const int64_t periods[] = { 0, 9 };
	hwloc_topology_t topology = geteuid() == 0 ? here() : (skip(), NULL);
	struct worker worker;

	(void)state;
	worker_start(&worker, 4000);
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		struct pm_topology *set;

		let_work(&worker, 1, 1);
		worker.pages[0] = worker.pages[1] = 0;
		set = open_set(topology, worker.tid, PM_TOPOLOGY_SPLIT, periods[i]);
		let_work(&worker, 1, 100);
		assert_int_equal(pm_topology_read(set, NULL), 1);
		assert_int_equal(on_cpu(set, cpus[0]).value, 100);
		assert_false(on_cpu(set, cpus[0]).guess);
		let_work(&worker, 2, 100);
		assert_true(pm_topology_read(set, NULL) >= 1);
		assert_true(on_cpu(set, cpus[0]).guess || on_cpu(set, cpus[1]).guess);
		assert_int_equal(value_of(set, 0, NULL), 400);
		pm_topology_destroy(set);
	}
	worker_end(&worker);
	hwloc_topology_destroy(topology);
}

/* ----------------------------------------------------------------------------------------- PAPI */

#ifdef PM_HAVE_PAPI
/* The thread itself reads: PAPI's counter against the set, share by share of two CPUs. */
static void papi_by_last_cpu(hwloc_topology_t topology, int events, char *area, size_t page)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	uint64_t there, guess;
	struct pm_topology *set;
	long long papi = 0;

	assert_int_equal(pm_topology_open_papi(topology, events, NULL, &diag, &set),
			 PM_TOPOLOGY_PAPI);
	assert_non_null(strstr(pm_topology_event(set, 0), "PAGE-FAULTS"));
	assert_int_equal(pm_topology_start(set, &diag), 0);
	for (int i = 0; i < 20; i++) {
		go_to(cpus[i % 2]);
		for (int n = 0; n < 10; n++)
			((volatile char *)area)[(size_t)(10 * i + n) * page] = 1;
		assert_true(pm_topology_accumulate(set, NULL) >= 1);
	}
	assert_int_equal(PAPI_read(events, &papi), PAPI_OK);
	there = on_cpu(set, cpus[1]).value;
	guess = on_cpu(set, cpus[1]).uncertain;
	assert_true(there >= 100 && value_of(set, 0, NULL) >= 200);
	assert_true((uint64_t)papi >= value_of(set, 0, NULL) && guess > 0);
	print_message("PAPI, read after each move: %" PRIu64 " of 100 faults and our own on the "
		      "second CPU, %" PRIu64 " of them uncertain\n", there, guess);
	assert_true(pm_topology_stop(set, NULL) >= 2);
	pm_topology_destroy(set);
}

static void papi_as_a_source(void **state)
{
	hwloc_topology_t topology = machine(NULL);
	struct pm_diag diag = { .size = sizeof(diag) };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int events = papi_open();
	struct pm_topology *set;
	char *area;

	(void)state;
	assert_int_equal(pm_topology_open_papi(topology, 4711, NULL, &diag, &set), -EINVAL);
	assert_non_null(strstr(diag.text, "PAPI_list_events"));
	if (events != PAPI_NULL && cpus[1] >= 0) {
		area = mmap(NULL, 200 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		madvise(area, 200 * page, MADV_NOHUGEPAGE);
		papi_by_last_cpu(topology, events, area, page);
		munmap(area, 200 * page);
		papi_close(events);
	}
	hwloc_topology_destroy(topology);
	if (events == PAPI_NULL)
		skip();
}
#else
static void papi_as_a_source(void **state)
{
	hwloc_topology_t topology = machine(NULL);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_topology *set;

	(void)state;
	assert_int_equal(pm_topology_open_papi(topology, 1, NULL, &diag, &set), -ENOSYS);
	assert_non_null(strstr(diag.text, "libpapi-dev"));
	hwloc_topology_destroy(topology);
}
#endif

/* ------------------------------------------------------------------------------------- refusals */

static void refused_with_a_reason(void **state)
{
	const struct pm_topology_opts opts = { .size = sizeof(opts),
					       .flags = PM_TOPOLOGY_SPLIT };
	hwloc_topology_t topology = machine(NULL);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec specs[2] = { faults_of(0), faults_of(1) };
	struct pm_topology *set;

	(void)state;
	assert_int_equal(pm_topology_open(topology, specs, 2, NULL, &diag, &set), -EINVAL);
	assert_non_null(strstr(diag.text, "same tid"));
	specs[0].tid = PM_ALL_THREADS;
	assert_int_equal(pm_topology_open(topology, specs, 1, &opts, &diag, &set), -EINVAL);
	assert_non_null(strstr(diag.text, "name a thread"));
	specs[0].period = 1;
	assert_int_equal(pm_topology_open(topology, specs, 1, NULL, &diag, &set), -EINVAL);
	assert_int_equal(pm_topology_open(topology, specs, 0, NULL, &diag, &set), -EINVAL);
	assert_int_equal(diag.error, EINVAL);
	hwloc_topology_destroy(topology);
}

static int look_around(void **state)
{
	const struct pm_event_spec spec = faults_of(0);
	struct pm_counters *counters;
	cpu_set_t allowed;
	int n = 0;

	(void)state;
#ifdef PM_HAVE_PAPI
	if (PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT)
		PAPI_thread_init((unsigned long (*)(void))pthread_self);
#endif
	cpus[0] = cpus[1] = -1;
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	refused = pm_counters_open(&spec, 1, 0, NULL, NULL, &counters) < 0;
	if (!refused)
		pm_counters_destroy(counters);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_over_1000_migrations),
		cmocka_unit_test(stop_and_start),
		cmocka_unit_test(all_threads_are_counted),
		cmocka_unit_test(another_process),
		cmocka_unit_test(error_of_guesses),
		cmocka_unit_test(no_migration_no_guess),
		cmocka_unit_test(papi_as_a_source),
		cmocka_unit_test(refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, look_around, NULL);
}
