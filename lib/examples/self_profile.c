/* SPDX-License-Identifier: MIT */
/*
 * A program that profiles itself: samples of the CPU clock of all its threads, folded by address
 * (and by call chain where the kernel gives one), ready for a flame graph. Where perf is refused,
 * timers do it, and the explanation says why.
 *
 *   cc self_profile.c -lperfmodes -pthread -ldl && ./a.out >folded
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <perfmodes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CONTEXT_MARK ((uint64_t)-4096)	/* values from here on are marks and no addresses */

static const struct pm_event_spec cycles = {
	.size = sizeof(cycles), .type = PM_TYPE_HARDWARE,
	.config = PM_HW_CYCLES, .frequency = 500,
	.tid = PM_ALL_THREADS, .want = PM_WANT_CALLCHAIN,
};

static void print_frame(uint64_t address)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)address, &info) && info.dli_sname != NULL)
		printf(";%s", info.dli_sname);
	else
		printf(";0x%llx", (unsigned long long)address);
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	unsigned int *count = context;

	++*count;
	printf("thread-%u", sample->tid);
	for (size_t i = sample->callchain_count; i-- > 0;)
		if (sample->callchain[i] < CONTEXT_MARK)
			print_frame(sample->callchain[i]);
	if (sample->callchain_count < 2)
		print_frame(sample->ip);
	printf(" 1\n");
}

void *busy(void *unused);	/* global, so that -rdynamic names it */
void *busy(void *unused)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec == 0 && now.tv_nsec < 200000000);
	return unused;
}

static int profile(struct pm_session *session)
{
	pthread_t worker;
	int err = 0;

	if (pthread_create(&worker, NULL, busy, NULL) != 0)
		return 1;
	for (int i = 0; i < 40 && err >= 0; i++)
		err = pm_session_poll(session, 10);
	pthread_join(worker, NULL);
	return err < 0;
}

int main(void)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	unsigned int samples = 0;
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_session *session;
	struct pm_plan *plan;
	char text[2000];
	int status = 1;

	if (pm_plan_make(&cycles, 1, &opts, NULL, &diag, &plan) < 0) {
		fprintf(stderr, "self_profile: %s\n", diag.text);
		return 2;
	}
	session = pm_session_create(plan, &listener, &samples);
	if (session != NULL && pm_session_attach(session, &diag) >= 0)
		status = profile(session);
	pm_session_destroy(session);
	pm_plan_explain(plan, text, sizeof(text));
	fprintf(stderr, "%u samples\n%s", samples, text);
	pm_plan_destroy(plan);
	return status || samples == 0;
}
