/* SPDX-License-Identifier: MIT */
/*
 * A kernel as that of 3.10, which has no PERF_SAMPLE_IDENTIFIER, no dummy event, no ioctl(2) that
 * tells an id and no close-on-exec: this one's answers, and refusals of what came later. Samples
 * and records of side-band have their ids and times at other places there.
 */
#define _GNU_SOURCE
#define BETWEEN_IOCTL
#include "../test.h"

#include <stdio.h>
#include <string.h>

#include "../policy/between.h"
#include "watching.h"

#define KNOWN_SAMPLE ((uint64_t)PERF_SAMPLE_IDENTIFIER - 1)
#define KNOWN_FLAGS 7ul		/* PERF_FLAG_FD_CLOEXEC came with v3.14 */

static unsigned int opened;

/* MMAP2, COMM_EXEC, a clock, switches and what else is a bit behind exclude_callchain_user. */
static bool is_newer(const struct perf_event_attr *attr)
{
	struct perf_event_attr old = { .type = 0 };
	const unsigned char *bytes = (const unsigned char *)attr;

	if (attr->mmap2 || attr->comm_exec || attr->use_clockid || attr->context_switch ||
	    attr->write_backward || attr->namespaces || attr->ksymbol || attr->bpf_event ||
	    attr->aux_output || attr->cgroup || attr->text_poke || attr->build_id ||
	    attr->inherit_thread || attr->remove_on_exec || attr->sigtrap ||
	    (attr->sample_type & ~KNOWN_SAMPLE) || attr->read_format > 15)
		return true;
	for (size_t i = PERF_ATTR_SIZE_VER3; i < attr->size && i < sizeof(old); i++)
		if (bytes[i] != 0)
			return true;
	return false;
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	long fd;

	if (((unsigned long)args[4] & ~KNOWN_FLAGS) || (attr != NULL && is_newer(attr)))
		return refuse_with(EINVAL);
	if (attr != NULL && attr->type == PERF_TYPE_SOFTWARE &&
	    attr->config >= PERF_COUNT_SW_DUMMY)
		return refuse_with(ENOENT);
	fd = open_really(real, args);
	opened += fd >= 0;
	return fd;
}

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	return request == PERF_EVENT_IOC_ID ? (int)refuse_with(ENOTTY) :
		real(fd, request, argument);
}

#define THREADS 5
#define PAGES 300
#define ROUNDS 4

static void *work(void *context)
{
	for (int i = 0; i < ROUNDS; i++)
		crowd_touch((size_t)(uintptr_t)context * PAGES, PAGES);
	return NULL;
}

static void live(void)
{
	pthread_t threads[THREADS];

	crowd->done++;
	crowd_wait(1);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			_exit(9);
	for (size_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	_exit(0);
}

static void is_told(unsigned int way)
{
	struct pm_sampler *sampler;

	opened = 0;
	crowd_begin();
	sampler = watch_life(fork_into(live), 1, (struct pm_sampler_opts){ .flags = way });
	assert_true(opened > 0);
	assert_true(crowd->caused == THREADS * PAGES * ROUNDS);
	everything_was_told(sampler);
	/* Without a clock that it can read itself, a sampler tells how often it could not wait. */
	assert_true(heard.backwards <= stats_of(sampler).unordered);
	assert_int_equal(heard.found, 1);
	if (stats_of(sampler).lost == 0)
		assert_int_equal(heard.ended, 1);
	pm_sampler_destroy(sampler);
	crowd_end();
}

static void by_cpu(void **state)
{
	(void)state;
	is_told(PM_SAMPLER_ONLY_CPUS);
}

static void by_thread(void **state)
{
	(void)state;
	is_told(PM_SAMPLER_ONLY_THREADS);
}

/* ------------------------------------------------------ who causes as much as can be delivered */

static unsigned int caused;

/* Each sample that is delivered makes another. */
static void cause_one(void *context, const struct pm_sampled *sample)
{
	(void)context;
	if (!crowd_has(sample->address))
		return;
	caused++;
	crowd_touch(0, 1);
}

/* A turn ends, although there is always one more: there is no time to tell it by. */
static void a_turn_ends(void **state)
{
	const struct pm_sampler_listener causes = { .size = sizeof(causes), .sample = cause_one };
	const struct pm_sampler_opts opts = { .size = sizeof(opts), .want = PM_WANT_ADDRESS,
					      .flags = PM_SAMPLER_SELF };
	const struct pm_target target = the_pid(getpid());
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler;
	int err;

	(void)state;
	crowd_begin();
	caused = 0;
	err = pm_sampler_open(&fault_event, 1, &target, 1, &opts, NULL, &causes, NULL, &diag,
			      &sampler);
	if (is_refused(err))
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	crowd_touch(0, 1);
	for (unsigned int before = 0; caused < 20; before = caused) {
		assert_true(pm_sampler_poll(sampler, 1) >= 0);
		/* A poll takes two turns at most, and each finds the one that the last has left. */
		assert_in_range(caused - before, 0, 10);
	}
	assert_true(pm_sampler_stop(sampler) >= 0);
	pm_sampler_destroy(sampler);
	crowd_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_cpu),
		cmocka_unit_test(by_thread),
		cmocka_unit_test(a_turn_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
