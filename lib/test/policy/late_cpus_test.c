/* SPDX-License-Identifier: MIT */
/* CPUs that come and go during a session: what is reported of them, and what remains open. */
#define _GNU_SOURCE
#include "../test.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "../../policy/engine/engine.h"
#include "late_cpus.h"

/* Whether what a thread did on that CPU was told: each once, or nothing of it. */
static void expect_told(struct worker *worker, int on, bool told)
{
	hold(worker->thread, on);
	let_work(worker);
	poll_for(50);
	for (int i = 0; i < PAGES; i++)
		if (worker->seen[i] != told)
			fail_msg("page %d of a thread on cpu %d: %u times, not %d", i, on,
				 worker->seen[i], told);
	end_worker(worker);
}

/* A thread older than the session, one older than the CPU, and one born when it had come. */
static void told_on_late_cpu(enum pm_strategy strategy)
{
	begin(&faults, strategy, false);
	start_worker(&workers[0]);
	start_worker(&workers[1]);
	session = attached(plan, strategy);
	start_worker(&workers[2]);
	expect_told(&workers[0], cpu[1], false);
	poll_for(LOOK_MS);
	assert_int_equal(stats_now().late_cpus, 0);
	say_online(true);
	poll_for(LOOK_MS);
	assert_int_equal(stats_now().late_cpus, 1);
	start_worker(&workers[3]);
	start_worker(&workers[4]);
	expect_told(&workers[1], cpu[1], true);
	expect_told(&workers[2], cpu[1], true);
	expect_told(&workers[3], cpu[1], true);
	expect_told(&workers[4], cpu[0], true);
	poll_for(LOOK_MS);
	assert_int_equal(stats_now().late_cpus, 1);
	assert_int_equal(stats_now().unwatched_cpus, 0);
	end();
}

static void per_cpu(void **state)
{
	(void)state;
	told_on_late_cpu(PM_STRATEGY_PER_CPU);
}

static void own_rings(void **state)
{
	(void)state;
	told_on_late_cpu(PM_STRATEGY_OWN_RINGS);
}

static void two_events(void **state)
{
	const struct pm_event_spec both[] = { clock_of_all, faults };
	int before;

	(void)state;
	begin(&faults, PM_STRATEGY_PER_CPU, false);
	pm_plan_destroy(plan);
	plan = plan_of(both, 2, PM_STRATEGY_PER_CPU, NULL);
	session = attached(plan, PM_STRATEGY_PER_CPU);
	before = count_descriptors();
	say_online(true);
	poll_for(LOOK_MS);
	/* Two events of this one thread on one CPU more. */
	assert_int_equal(count_descriptors(), before + 2);
	start_worker(&workers[0]);
	expect_told(&workers[0], cpu[1], true);
	end();
}

static unsigned int readings;

static void read_inside(void *context, const struct pm_observed *sample)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)context;
	if ((int)sample->cpu != cpu[1])
		return;
	assert_int_equal(pm_session_read(session, &value, 1), 1);
	readings++;
}

/* Of the CPU whose ring is just read it turns out that it went: the ring stays until it is read. */
static void read_by_the_listener(void **state)
{
	const struct pm_listener reads = { .size = sizeof(reads), .sample = read_inside };
	struct pm_event_spec all = faults;

	(void)state;
	all.tid = PM_SYSTEM;
	begin(&all, PM_STRATEGY_CPU_WIDE, true);
	session = pm_session_create(plan, &reads, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_CPU_WIDE);
	hold(pthread_self(), cpu[1]);
	usleep(LOOK_MS * 1000);
	assert_true(pm_session_poll(session, 0) >= 0);
	say_online(false);
	cause_faults(100);
	readings = 0;
	usleep(LOOK_MS * 1000);
	assert_true(pm_session_poll(session, 0) > 0);
	assert_true(readings >= 100);
	assert_int_equal(count_maps(NULL), 1);
	hold(pthread_self(), cpu[0]);
	end();
}

/* What it cost is given back when the CPU goes, and it is taken again when it comes. */
static void cpu_wide(void **state)
{
	int before;

	(void)state;
	begin(&faults, PM_STRATEGY_CPU_WIDE, true);
	for (int i = 0; i < 3; i++)
		start_worker(&workers[i]);
	session = attached(plan, PM_STRATEGY_CPU_WIDE);
	before = count_descriptors();
	expect_told(&workers[0], cpu[1], true);
	before -= 4;	/* of the thread that has ended */
	poll_for(LOOK_MS);
	assert_int_equal(count_maps(NULL), 2);
	say_online(false);
	poll_for(LOOK_MS);
	assert_int_equal(count_maps(NULL), 1);
	assert_int_equal(count_descriptors(), before - 1);
	assert_int_equal(stats_now().late_cpus, 0);
	expect_told(&workers[1], cpu[1], false);
	say_online(true);
	poll_for(LOOK_MS);
	assert_int_equal(count_maps(NULL), 2);
	assert_int_equal(stats_now().late_cpus, 1);
	expect_told(&workers[2], cpu[1], true);
	end();
}

/* Counters that go with their CPU leave what they counted behind, in the sum and in the parts. */
static void sums_stay(void **state)
{
	const struct pm_event_spec counted = {
		.size = sizeof(counted), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .tid = PM_SYSTEM, .want = PM_WANT_CPU,
	};
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_part parts[8] = { { .size = sizeof(parts[0]) } };
	int count;

	(void)state;
	begin(&counted, PM_STRATEGY_CPU_WIDE, true);
	session = attached(plan, PM_STRATEGY_CPU_WIDE);
	hold(pthread_self(), cpu[1]);
	cause_faults(5000);
	hold(pthread_self(), cpu[0]);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	assert_true(before.value >= 5000);
	say_online(false);
	usleep(LOOK_MS * 1000);
	/* Nobody polls counters: reading them is what looks. */
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	assert_true(after.value >= before.value);
	count = pm_session_read_parts(session, parts, 8);
	assert_int_equal(count, 2);
	for (int i = 0; i < count; i++)
		if (parts[i].cpu == cpu[1])
			assert_true(parts[i].value >= 5000);
	end();
}

static void counted_on_late_cpu(void **state)
{
	struct pm_event_spec counted = faults;
	struct pm_value before = { .size = sizeof(before) }, after = before;

	(void)state;
	counted.period = 0;
	counted.want = PM_WANT_CPU;
	begin(&counted, PM_STRATEGY_COUNTERS_PER_CPU, false);
	session = attached(plan, PM_STRATEGY_COUNTERS_PER_CPU);
	hold(pthread_self(), cpu[1]);
	say_online(true);
	usleep(LOOK_MS * 1000);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	assert_int_equal(stats_now().late_cpus, 1);
	cause_faults(100);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	assert_in_range(after.value - before.value, 100, 200);
	hold(pthread_self(), cpu[0]);
	end();
}

/* No descriptor is left for the CPU: said once, and made good when there is one. */
static void short_of_descriptors(void **state)
{
	struct rlimit limit, none;
	struct pm_session_opts opts = { .size = sizeof(opts), .descriptors_percent = 100,
					.allow = PM_ALLOW_USER_ONLY,
					.forbid = ~(1u << PM_STRATEGY_PER_CPU) };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	begin(&faults, PM_STRATEGY_PER_CPU, false);
	pm_plan_destroy(plan);
	assert_int_equal(pm_plan_make(&faults, 1, &opts, NULL, &diag, &plan), 0);
	session = attached(plan, PM_STRATEGY_PER_CPU);
	start_worker(&workers[0]);
	/* One for the list of threads, none for an event. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)dup(0) + 1;
	close((int)none.rlim_cur - 1);
	say_online(true);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	poll_for(2 * LOOK_MS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(stats_now().unwatched_cpus, 1);
	assert_int_equal(stats_now().late_cpus, 0);
	poll_for(LOOK_MS);
	assert_int_equal(stats_now().unwatched_cpus, 1);
	assert_int_equal(stats_now().late_cpus, 1);
	expect_told(&workers[0], cpu[1], true);
	end();
}

/* It came a moment before the end: the gap is told all the same. */
static void noticed_at_the_end(void **state)
{
	(void)state;
	begin(&faults, PM_STRATEGY_PER_CPU, false);
	session = attached(plan, PM_STRATEGY_PER_CPU);
	poll_for(20);
	say_online(true);
	assert_int_equal(pm_session_detach(session), 0);
	assert_int_equal(stats_now().late_cpus, 1);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	fake_teardown(NULL);
	assert_int_equal(count_maps(NULL), 0);
}

/* Of two CPUs that the plan found online, the one that is to be observed goes before the attach. */
static void none_to_attach_to(void **state)
{
	static const enum pm_strategy kinds[] = {
		PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_CPU_WIDE,
		PM_STRATEGY_COUNTERS_PER_CPU,
	};
	char only[16], expected[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct pm_session_opts opts = { .size = sizeof(opts), .cpus = only,
						.allow = PM_ALLOW_COUNT | PM_ALLOW_USER_ONLY,
						.forbid = ~(1u << kinds[i]) };
		struct pm_diag diag = { .size = sizeof(diag) };
		int err;

		begin(&faults, PM_STRATEGY_PER_CPU, true);
		pm_plan_destroy(plan);
		snprintf(only, sizeof(only), "%d", cpu[1]);
		snprintf(expected, sizeof(expected), "no CPU of %d is online", cpu[1]);
		err = pm_plan_make(&faults, 1, &opts, NULL, &diag, &plan);
		if (err == 0) {
			say_online(false);
			session = pm_session_create(plan, NULL, NULL);
			assert_int_equal(pm_session_attach(session, &diag), -ENODEV);
			assert_int_equal(diag.error, ENODEV);
			assert_non_null(strstr(diag.text, expected));
			pm_session_destroy(session);
			pm_plan_destroy(plan);
		}
		fake_teardown(NULL);
		/* Whoever may watch itself may not watch a CPU. */
		if (err < 0 && kinds[i] != PM_STRATEGY_CPU_WIDE)
			fail_msg("%s", diag.text);
	}
}

static void work_in(const char *group)
{
	char procs[96];
	pid_t child = fork();
	FILE *file;

	if (child != 0) {
		assert_int_equal(waitpid(child, NULL, 0), child);
		return;
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	file = fopen(procs, "w");
	if (file == NULL || fputs("0\n", file) < 0 || fclose(file) != 0)
		_exit(1);
	hold(pthread_self(), cpu[0]);
	cause_faults(100);
	_exit(0);
}

/* An event of a cgroup stands still while nobody of it runs: that is no sign that its CPU went. */
static void idle_cgroup(void **state)
{
	struct pm_session_opts opts = { .size = sizeof(opts),
					.forbid = ~(1u << PM_STRATEGY_CGROUP) };
	struct pm_event_spec spec = faults;
	struct pm_diag diag = { .size = sizeof(diag) };
	char group[80];

	(void)state;
	snprintf(group, sizeof(group), "/sys/fs/cgroup%s/perfmodes-late-%d",
		 access("/sys/fs/cgroup/unified", F_OK) == 0 ? "/unified" : "", (int)getpid());
	if (mkdir(group, 0755) != 0)
		skip();
	opts.cgroup = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	spec.tid = PM_CGROUP;
	if (!find_cpus() || pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0) {
		close(opts.cgroup);
		rmdir(group);
		skip();
	}
	assert_int_equal(fake_setup(NULL), 0);
	say_online(true);
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, &diag), PM_STRATEGY_CGROUP);
	work_in(group);
	poll_for(3 * LOOK_MS);
	assert_int_equal(stats_now().late_cpus, 0);
	assert_int_equal(count_maps(NULL), 2);
	say_online(false);
	poll_for(LOOK_MS);
	assert_int_equal(count_maps(NULL), 1);
	assert_int_equal(stats_now().late_cpus, 0);
	end();
	close(opts.cgroup);
	assert_int_equal(rmdir(group), 0);
}

/* Where each CPU that the machine may ever have has events, nobody is woken to look for more. */
static void looked_for_while_more_may_come(void **state)
{
	char possible[2][64];

	(void)state;
	for (int more = 0; more < 2; more++) {
		begin(&faults, PM_STRATEGY_PER_CPU, true);
		snprintf(possible[0], sizeof(possible[0]), "%d,%d\n", cpu[0], cpu[1]);
		snprintf(possible[1], sizeof(possible[1]), "%d,%d\n", cpu[0], cpu[1] + 1);
		fake_file("/sys/devices/system/cpu/possible", possible[more]);
		session = attached(plan, PM_STRATEGY_PER_CPU);
		assert_true(pm_session_poll(session, 0) >= 0);
		assert_int_equal(pm_late_cpus_may_come(session), more);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(per_cpu),
		cmocka_unit_test(own_rings),
		cmocka_unit_test(two_events),
		cmocka_unit_test(read_by_the_listener),
		cmocka_unit_test(cpu_wide),
		cmocka_unit_test(sums_stay),
		cmocka_unit_test(counted_on_late_cpu),
		cmocka_unit_test(short_of_descriptors),
		cmocka_unit_test(noticed_at_the_end),
		cmocka_unit_test(none_to_attach_to),
		cmocka_unit_test(idle_cgroup),
		cmocka_unit_test(looked_for_while_more_may_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
