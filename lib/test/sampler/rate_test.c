/* SPDX-License-Identifier: MIT */
/*
 * Rates that change while a sampler runs: fewer samples come, and their periods still add up to the
 * CPU time of the child, of which one thread was there at the start, one has inherited the event
 * before the change and one behind it.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../perfmodes_sampler.h"

#define MS 1000000ull
#define FAST 1000ull			/* samples a second */
#define SLOW 125ull

static struct { uint64_t samples, weight, of_first; } heard;
static atomic_uint *threads;		/* that the child is to have besides its first */
static pid_t child;

static void *burn(void *none)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return none;
}

static void live(void)
{
	unsigned int made = 0;
	pthread_t thread;

	for (volatile unsigned long i = 0;; i++)
		if (i % 1024 == 0 && made < atomic_load(threads)) {
			(void)pthread_create(&thread, NULL, burn, NULL);
			made++;
		}
}

static uint64_t cpu_time(void)
{
	struct timespec now;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(child, &clock), 0);
	assert_int_equal(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void on_sample(void *context, const struct pm_sampled *sample)
{
	(void)context;
	heard.samples++;
	heard.weight += sample->period;
	heard.of_first += sample->tid == (uint32_t)child;
}

static struct pm_sampler *watch(const struct pm_event_spec *spec, unsigned int way)
{
	const struct pm_sampler_listener listener = { .size = sizeof(listener),
						      .sample = on_sample };
	const struct pm_sampler_event event = { .size = sizeof(event), .spec = spec };
	const struct pm_target target = { .size = sizeof(target), .by = PM_BY_PID,
					  .number = child };
	const struct pm_sampler_opts opts = { .size = sizeof(opts), .flags = way };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler;

	memset(&heard, 0, sizeof(heard));
	if (pm_sampler_open(&event, 1, &target, 1, &opts, NULL, &listener, NULL, &diag,
			    &sampler) < 0) {
		print_message("%s\n", diag.text);
		return NULL;
	}
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	return sampler;
}

/* Until the child has used so much more. Returns the samples of its first thread. */
static uint64_t follow(struct pm_sampler *sampler, uint64_t ns)
{
	const uint64_t end = cpu_time() + ns, before = heard.of_first;

	while (cpu_time() < end)
		assert_true(pm_sampler_poll(sampler, 10) >= 0);
	return heard.of_first - before;
}

static void begin(void)
{
	atomic_store(threads, 0);
	child = fork();
	if (child == 0)
		live();
	assert_true(child > 0);
}

static void end(void)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* By a frequency, or a period where that is 0; the child has one thread, or more as time goes. */
static void check_clock(unsigned int way, uint64_t frequency, bool more)
{
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PM_TYPE_SOFTWARE, .config = PM_SW_TASK_CLOCK,
		.frequency = frequency, .period = frequency ? 0 : 1000 * MS / FAST,
	};
	struct pm_sampler *sampler;
	uint64_t begun, used, fast, slow;

	begin();
	sampler = watch(&spec, way);
	if (!sampler) {
		end();
		return;
	}
	begun = cpu_time();
	atomic_store(threads, more);
	fast = follow(sampler, 400 * MS);
	assert_int_equal(pm_sampler_rate(sampler, 0, frequency ? 0 : 1000 * MS / SLOW,
					 frequency ? SLOW : 0), 0);
	atomic_store(threads, 2 * more);
	slow = follow(sampler, 1200 * MS);
	assert_int_equal(pm_sampler_rate(sampler, 0, 1000 * MS / FAST, 0), 0);
	(void)follow(sampler, 400 * MS);
	kill(child, SIGSTOP);
	assert_true(pm_sampler_stop(sampler) >= 0);
	used = cpu_time() - begun;
	print_message("fast %llu, slow %llu samples of the first thread; weight %llu of %llu ms\n",
		      (unsigned long long)fast, (unsigned long long)slow,
		      (unsigned long long)(heard.weight / MS), (unsigned long long)(used / MS));
	assert_true(heard.weight > used / 100 * 85 && heard.weight < used / 100 * 115);
	assert_true(more || slow < fast);	/* three times as long, at an eighth of the rate */
	pm_sampler_destroy(sampler);
	end();
}

static void clocks_by_cpu(void **state)
{
	(void)state;
	check_clock(PM_SAMPLER_ONLY_CPUS, FAST, true);
	check_clock(PM_SAMPLER_ONLY_CPUS, 0, false);
}

static void clocks_by_thread(void **state)
{
	(void)state;
	check_clock(PM_SAMPLER_ONLY_THREADS, FAST, false);
	check_clock(PM_SAMPLER_ONLY_THREADS, FAST, true);
	check_clock(PM_SAMPLER_ONLY_THREADS, 0, true);
}

static void what_cannot_be_changed(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE,
				      .config = PM_SW_PAGE_FAULTS, .period = 1 };
	struct pm_sampler *sampler;

	(void)state;
	begin();
	sampler = watch(&spec, PM_SAMPLER_ONLY_THREADS);
	if (sampler) {
		assert_int_equal(pm_sampler_rate(sampler, 0, 2, 0), -ENOTSUP);
		assert_int_equal(pm_sampler_rate(sampler, 0, 0, 2), -EINVAL);
		assert_int_equal(pm_sampler_rate(sampler, 0, 0, 0), -EINVAL);
		assert_int_equal(pm_sampler_rate(sampler, 0, 1, 1), -EINVAL);
		assert_int_equal(pm_sampler_rate(sampler, 1, 1, 0), -EINVAL);
		assert_int_equal(pm_sampler_rate(sampler, 0, 1ull << 63, 0), -EINVAL);
		pm_sampler_destroy(sampler);
	}
	spec.period = 64;
	sampler = watch(&spec, PM_SAMPLER_ONLY_THREADS);
	if (sampler) {
		assert_int_equal(pm_sampler_rate(sampler, 0, 128, 0), -ENOTSUP);
		pm_sampler_destroy(sampler);
	}
	sampler = watch(&spec, PM_SAMPLER_ONLY_CPUS);
	if (sampler) {
		assert_int_equal(pm_sampler_rate(sampler, 0, 128, 0), 0);
		pm_sampler_destroy(sampler);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_by_cpu),
		cmocka_unit_test(clocks_by_thread),
		cmocka_unit_test(what_cannot_be_changed),
	};

	threads = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return threads == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
