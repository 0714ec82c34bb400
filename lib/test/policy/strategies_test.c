/* SPDX-License-Identifier: MIT */
/*
 * The strategies beyond the usual ones, each on the running kernel: threads that cause exactly
 * known numbers of events, and sessions that are to see them or say that they do not.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "census.h"

static struct pm_plan *plan_with(const struct pm_event_spec *spec, enum pm_strategy strategy,
				 struct pm_session_opts opts)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan = NULL;

	opts.size = sizeof(opts);
	opts.allow = PM_ALLOW_ALL;
	opts.descriptors_percent = 100;
	opts.forbid = ~(1u << strategy);
	if (pm_plan_make(spec, 1, &opts, NULL, &diag, &plan) < 0)
		print_message("%s\n", diag.text);
	return plan;
}

/* ----------------------------------------------------------------------------------- own rings */

static void census_own_rings(void **state)
{
	(void)state;
	census(PM_STRATEGY_OWN_RINGS);
}

static void own_rings_hold_no_descriptors(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_OWN_RINGS, NULL);
	struct pm_cost cost = { .size = sizeof(cost) };
	int before = count_descriptors();
	struct pm_session *session;
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_OWN_RINGS);
	/* The channel to stop it by. */
	assert_int_equal(count_descriptors(), before + 1);
	pm_plan_cost(plan, &cost);
	assert_int_equal(count_maps(NULL), cost.rings);
	assert_int_equal(cost.opens, cost.rings);
	assert_int_equal(pm_session_read(session, &value, 1), -ENOTSUP);
	pm_session_destroy(session);
	assert_int_equal(count_maps(NULL), 0);
	pm_plan_destroy(plan);
}

#define MANY 300

static void *wait_for_end(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

/* What the header says: up to 64 MiB together, or 16 pages each where that is more. */
static void own_rings_are_held_together(void **state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct pm_cost cost = { .size = sizeof(cost) };
	pthread_t threads[MANY];
	struct pm_plan *plan;
	char text[8000] = "";
	size_t count = 0;

	(void)state;
	pthread_mutex_lock(&lock);
	while (count < MANY && pthread_create(&threads[count], NULL, wait_for_end, &lock) == 0)
		count++;
	plan = plan_of(&faults, 1, PM_STRATEGY_OWN_RINGS, NULL);
	if (plan != NULL) {
		pm_plan_cost(plan, &cost);
		(void)pm_plan_explain(plan, text, sizeof(text));
		pm_plan_destroy(plan);
	}
	pthread_mutex_unlock(&lock);
	while (count > 0)
		pthread_join(threads[--count], NULL);
	if (plan == NULL)
		skip();
	assert_true(cost.rings > MANY);
	assert_true(cost.locked_bytes <= 64 << 20 || cost.locked_bytes == cost.rings * 17 * page);
	assert_non_null(strstr(text, " of the 128 that were asked for: "));
}

/* ------------------------------------------------------------------------------------- cpu wide */

static void census_cpu_wide(void **state)
{
	(void)state;
	census(PM_STRATEGY_CPU_WIDE);
}

static unsigned int from[2];	/* this process, others */

static void note_pid(void *context, const struct pm_observed *sample)
{
	(void)context;
	from[sample->pid != (uint32_t)getpid()]++;
}

static void fault_in_a_child(size_t count)
{
	pid_t child = fork();

	if (child == 0) {
		cause_faults(count);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Attaches, has this process and a child fault, detaches. False: refused here. */
static bool faults_of_two(const struct pm_event_spec *spec, struct pm_session_opts opts,
			  enum pm_strategy strategy, struct pm_stats *stats)
{
	const struct pm_listener pids = { .size = sizeof(pids), .sample = note_pid };
	struct pm_plan *plan = plan_with(spec, strategy, opts);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	int err;

	if (plan == NULL)
		return false;
	memset(from, 0, sizeof(from));
	session = pm_session_create(plan, &pids, NULL);
	err = pm_session_attach(session, &diag);
	if (err < 0)
		fail_msg("%s", diag.text);
	cause_faults(50);
	fault_in_a_child(70);
	pm_session_detach(session);
	stats->size = sizeof(*stats);
	pm_session_stats(session, stats);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return true;
}

static void cpu_wide_drops_strangers(void **state)
{
	struct pm_stats stats;

	(void)state;
	if (!faults_of_two(&faults, (struct pm_session_opts){ 0 }, PM_STRATEGY_CPU_WIDE, &stats))
		skip();
	assert_true(from[0] >= 50 && from[1] == 0 && stats.foreign >= 70);
}

static void the_whole_machine(void **state)
{
	struct pm_event_spec spec = faults;
	struct pm_stats stats;

	(void)state;
	spec.tid = PM_SYSTEM;
	if (!faults_of_two(&spec, (struct pm_session_opts){ 0 }, PM_STRATEGY_CPU_WIDE, &stats))
		skip();
	assert_true(from[0] >= 50 && from[1] >= 70 && stats.foreign == 0);
}

static void set_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Two CPUs at least; the session observes the first only. */
static void some_cpus_only(void **state)
{
	static const enum pm_strategy able[] = {
		PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_CPU_WIDE,
	};
	cpu_set_t before;
	int seen = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(able); i++) {
		struct pm_session_opts opts = { .cpus = "0" };
		struct pm_stats stats;

		set_cpu(1);
		if (faults_of_two(&faults, opts, able[i], &stats)) {
			seen++;
			assert_int_equal(from[0], 0);
		}
		set_cpu(0);
		if (faults_of_two(&faults, opts, able[i], &stats))
			assert_true(from[0] >= 50);
		assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	}
	if (seen == 0)
		skip();
	assert_null(plan_with(&faults, PM_STRATEGY_PER_THREAD,
			      (struct pm_session_opts){ .cpus = "0" }));
	assert_null(plan_with(&faults, PM_STRATEGY_PER_CPU,
			      (struct pm_session_opts){ .cpus = "0-" }));
}

static void counts_of_the_machine(void **state)
{
	struct pm_event_spec spec = faults;
	struct pm_plan *plan;
	struct pm_session *session;
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	spec.tid = PM_SYSTEM;
	spec.period = 0;
	plan = plan_with(&spec, PM_STRATEGY_CPU_WIDE, (struct pm_session_opts){ 0 });
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_CPU_WIDE);
	assert_int_equal(count_maps(NULL), 0);
	fault_in_a_child(100);
	assert_int_equal(pm_session_read(session, &value, 1), 1);
	assert_true(value.value >= 100);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	/* What it would count for this process alone would be wrong. */
	spec.tid = PM_ALL_THREADS;
	assert_null(plan_with(&spec, PM_STRATEGY_CPU_WIDE, (struct pm_session_opts){ 0 }));
}

/*
 * Whether a strategy counts on one CPU is asked on that CPU, wherever the scheduler or the owner of
 * this process would have the asking thread. What cannot be asked is not taken for a lie.
 */
static void counts_of_a_cpu_elsewhere(void **state)
{
	static const struct { enum pm_strategy strategy; int tid; } kinds[] = {
		{ PM_STRATEGY_COUNTERS_PER_CPU, PM_ALL_THREADS },
		{ PM_STRATEGY_CPU_WIDE, PM_SYSTEM },
	};
	struct pm_event_spec spec = faults;
	cpu_set_t before;
	int seen = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		skip();
	spec.period = 0;
	for (int i = 0; i < 12; i++) {
		const struct pm_session_opts opts = { .cpus = i / 2 % 2 ? "1" : "0" };
		struct pm_session *session;
		struct pm_plan *plan;

		spec.tid = kinds[i % 2].tid;
		plan = plan_with(&spec, kinds[i % 2].strategy, opts);
		if (plan == NULL)
			continue;
		if (i >= 8)
			set_cpu(i / 2 % 2 ? 0 : 1);
		session = attached(plan, kinds[i % 2].strategy);
		seen++;
		assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	if (seen == 0)
		skip();
}

/* --------------------------------------------------------------------------------------- cgroup */

static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified",
				     "/sys/fs/cgroup/perf_event" };
static char group[128];

static bool make_group(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		char procs[160];

		snprintf(group, sizeof(group), "%s/perfmodes-test-%d", roots[i], (int)getpid());
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
		if (mkdir(group, 0755) != 0)
			continue;
		if (access(procs, W_OK) == 0)
			return true;
		rmdir(group);
	}
	return false;
}

static void enter(const char *directory)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "0\n");
	fclose(file);
}

static void fault_in_the_group(size_t count)
{
	pid_t child = fork();

	if (child == 0) {
		enter(group);
		cause_faults(count);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void observe_group(int fd)
{
	const struct pm_listener pids = { .size = sizeof(pids), .sample = note_pid };
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;

	spec.tid = PM_CGROUP;
	plan = plan_with(&spec, PM_STRATEGY_CGROUP, (struct pm_session_opts){ .cgroup = fd });
	if (plan == NULL)
		return;
	memset(from, 0, sizeof(from));
	session = pm_session_create(plan, &pids, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_CGROUP);
	cause_faults(50);
	fault_in_the_group(70);
	pm_session_detach(session);
	assert_int_equal(from[0], 0);
	assert_in_range(from[1], 70, 120);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void a_cgroup_and_nobody_else(void **state)
{
	int fd;

	(void)state;
	if (!make_group())
		skip();
	fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	observe_group(fd);
	close(fd);
	assert_int_equal(rmdir(group), 0);
}

/* -------------------------------------------------------------------------------- count per cpu */

static void *fault_on_each_cpu(void *context)
{
	set_cpu(0);
	cause_faults(4000);
	set_cpu(1);
	cause_faults(1000);
	return context;
}

static void counts_by_thread_and_cpu(void **state)
{
	struct pm_event_spec spec = faults;
	struct pm_part parts[64] = { { .size = sizeof(parts[0]) } };
	uint64_t on[2] = { 0, 0 };
	struct pm_session *session;
	struct pm_plan *plan;
	cpu_set_t before;
	pthread_t thread;
	int n;

	(void)state;
	spec.period = 0;
	spec.want = PM_WANT_CPU;
	assert_null(plan_with(&spec, PM_STRATEGY_COUNTERS, (struct pm_session_opts){ 0 }));
	plan = plan_with(&spec, PM_STRATEGY_COUNTERS_PER_CPU, (struct pm_session_opts){ 0 });
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (plan == NULL || !CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		skip();
	session = attached(plan, PM_STRATEGY_COUNTERS_PER_CPU);
	assert_int_equal(pthread_create(&thread, NULL, fault_on_each_cpu, NULL), 0);
	pthread_join(thread, NULL);
	n = pm_session_read_parts(session, parts, ARRAY_SIZE(parts));
	assert_in_range(n, 2, ARRAY_SIZE(parts));
	for (int i = 0; i < n; i++) {
		assert_true(parts[i].event == 0 && parts[i].tid == getpid());
		if (parts[i].cpu < 2)
			on[parts[i].cpu] += parts[i].value;
	}
	/* Making the thread faults a little, and sanitizers have a page for each eight. */
	assert_in_range(on[0], 4000, 4900);
	assert_in_range(on[1], 1000, 1500);
	assert_int_equal(pm_session_read_parts(session, parts, 1), n);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static int setup(void **state)
{
	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(census_own_rings),
		cmocka_unit_test(own_rings_hold_no_descriptors),
		cmocka_unit_test(own_rings_are_held_together),
		cmocka_unit_test(census_cpu_wide),
		cmocka_unit_test(cpu_wide_drops_strangers),
		cmocka_unit_test(the_whole_machine),
		cmocka_unit_test(some_cpus_only),
		cmocka_unit_test(counts_of_the_machine),
		cmocka_unit_test(counts_of_a_cpu_elsewhere),
		cmocka_unit_test(a_cgroup_and_nobody_else),
		cmocka_unit_test(counts_by_thread_and_cpu),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
