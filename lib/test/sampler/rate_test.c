/* SPDX-License-Identifier: MIT */
/*
 * Rates that change while a sampler runs: each sample tells the period by which it was taken, and
 * the kernel takes them by it: those of a thread take at least the time of their periods (they may
 * take more, where the thread waits or a host takes the CPUs away). Of the child one thread was
 * there at the start, one has inherited the event before the change and one behind it.
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../perfmodes_sampler.h"

#define MS 1000000ull
#define FAST 1000ull			/* samples a second */
#define SLOW 125ull
#define ENOUGH 40			/* samples of the first thread in each part */

static struct { uint64_t fast, slow, others, fast_of_first, slow_of_first, begun, ended; } heard;
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

static void on_sample(void *context, const struct pm_sampled *sample)
{
	const bool fast = sample->period == 1000 * MS / FAST;
	const bool slow = sample->period == 1000 * MS / SLOW;
	const bool of_first = sample->tid == (uint32_t)child;

	(void)context;
	heard.fast += fast;
	heard.slow += slow;
	heard.others += !fast && !slow;
	heard.fast_of_first += fast && of_first;
	heard.slow_of_first += slow && of_first;
	if (slow && of_first) {
		heard.begun = heard.begun ? heard.begun : sample->time;
		heard.ended = sample->time;
	}
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

/* Until the first thread has been sampled so often again. */
static void follow(struct pm_sampler *sampler, const uint64_t *samples)
{
	const uint64_t end = *samples + ENOUGH;

	while (*samples < end)
		assert_true(pm_sampler_poll(sampler, 10) >= 0);
}

static void begin(void)
{
	atomic_store(threads, 0);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);	/* a check that fails leaves it */
		live();
	}
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
	/* By CPU the timers of two may tick for a thread that moves from one to the other. */
	const uint64_t timers = way == PM_SAMPLER_ONLY_CPUS ? 2 : 1;
	uint64_t least;

	begin();
	sampler = watch(&spec, way);
	if (!sampler) {
		end();
		return;
	}
	atomic_store(threads, more);
	follow(sampler, &heard.fast_of_first);
	assert_int_equal(heard.slow, 0);
	assert_int_equal(pm_sampler_rate(sampler, 0, frequency ? 0 : 1000 * MS / SLOW,
					 frequency ? SLOW : 0), 0);
	atomic_store(threads, 2 * more);
	follow(sampler, &heard.slow_of_first);
	assert_int_equal(pm_sampler_rate(sampler, 0, 1000 * MS / FAST, 0), 0);
	follow(sampler, &heard.fast_of_first);
	kill(child, SIGSTOP);
	assert_true(pm_sampler_stop(sampler) >= 0);
	least = (heard.slow_of_first - 2) * (1000 * MS / SLOW) / timers;
	print_message("%llu fast samples; %llu slow ones of one thread in %llu ms, at least %llu\n",
		      (unsigned long long)heard.fast, (unsigned long long)heard.slow_of_first,
		      (unsigned long long)((heard.ended - heard.begun) / MS),
		      (unsigned long long)(least / MS));
	assert_int_equal(heard.others, 0);
	assert_true(heard.ended - heard.begun >= least);
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
