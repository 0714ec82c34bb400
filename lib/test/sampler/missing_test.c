/* SPDX-License-Identifier: MIT */
/* A machine whose kernel has an event on some CPUs alone, as one with two types of cores. */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../perfmodes_sampler.h"
#include "../policy/between.h"

static struct {
	int without[2];			/* CPUs that have no such event; -1: none */
	unsigned int refused;
} machine;

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const int cpu = (int)args[2];

	if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_PAGE_FAULTS &&
	    cpu >= 0 && (cpu == machine.without[0] || cpu == machine.without[1])) {
		machine.refused++;
		return refuse_with(ENOENT);
	}
	return open_really(real, args);
}

static unsigned int of_first, of_second;
static int first = -1, second = -1;

static void on_sample(void *context, const struct pm_sampled *sample)
{
	(void)context;
	of_first += sample->cpu == (uint32_t)first;
	of_second += sample->cpu == (uint32_t)second;
}

/* Takes page faults, once on each of both CPUs in turn. */
static void live(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int at = first;; at = at == first ? second : first) {
		cpu_set_t one;
		char *page;

		CPU_ZERO(&one);
		CPU_SET(at, &one);
		if (sched_setaffinity(0, sizeof(one), &one) != 0)
			_exit(1);
		page = aligned_alloc(4096, 1 << 20);
		for (size_t i = 0; page && i < 1 << 20; i += 4096)
			*(volatile char *)(page + i) = 1;
		free(page);
	}
}

static int open_sampler(pid_t child, struct pm_diag *diag, struct pm_sampler **ret)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE,
					    .config = PM_SW_PAGE_FAULTS, .period = 16 };
	const struct pm_sampler_listener listener = { .size = sizeof(listener),
						      .sample = on_sample };
	const struct pm_sampler_event event = { .size = sizeof(event), .spec = &spec };
	const struct pm_target target = { .size = sizeof(target), .by = PM_BY_PID,
					  .number = child };
	const struct pm_sampler_opts opts = { .size = sizeof(opts),
					      .flags = PM_SAMPLER_ONLY_CPUS };

	return pm_sampler_open(&event, 1, &target, 1, &opts, NULL, &listener, NULL, diag, ret);
}

static void check(bool everywhere)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler;
	const pid_t child = fork();
	int err;

	if (child == 0)
		live();
	assert_true(child > 0);
	of_first = of_second = machine.refused = 0;
	err = open_sampler(child, &diag, &sampler);
	if (err == -EACCES || err == -EPERM) {
		print_message("%s\n", diag.text);
		goto out;
	}
	assert_int_equal(err, 0);
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	while (of_first < 50 || (everywhere && of_second < 50))
		assert_true(pm_sampler_poll(sampler, 10) >= 0);
	assert_true(everywhere || (of_second == 0 && machine.refused > 0));
	pm_sampler_destroy(sampler);
out:
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_cpu_without_the_event_is_left_out(void **state)
{
	(void)state;
	if (second < 0)
		skip();
	machine.without[0] = machine.without[1] = -1;
	check(true);
	machine.without[0] = second;
	check(false);
}

static void no_cpu_has_the_event(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler;
	int err;

	(void)state;
	if (second < 0 || sysconf(_SC_NPROCESSORS_ONLN) != 2)
		skip();
	machine.without[0] = first;
	machine.without[1] = second;
	err = open_sampler(getpid(), &diag, &sampler);
	print_message("%d: %s\n", err, diag.text);
	assert_true(err < 0 && diag.text[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_without_the_event_is_left_out),
		cmocka_unit_test(no_cpu_has_the_event),
	};
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 1;
	for (int cpu = 0; cpu < CPU_SETSIZE && second < 0; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		second = first < 0 ? second : cpu;
		first = first < 0 ? cpu : first;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
