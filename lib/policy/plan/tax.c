/* SPDX-License-Identifier: MIT */
/*
 * The tax on making threads: the kernel opens each inherited event again for each new thread. How
 * long that takes depends on kernel, machine and events, so it is measured.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../spec/now.h"
#include "cpus.h"
#include "hybrid.h"
#include "open.h"
#include "weigh.h"

#define THREADS 24		/* of which the fastest counts: the others were disturbed */

static void *nothing(void *context)
{
	return context;
}

/* ns that a thread takes to be made and joined, at best. 0: none could be made. */
static uint64_t fastest(void)
{
	uint64_t least = 0;
	pthread_t thread;

	for (int i = 0; i < THREADS; i++) {
		const uint64_t begin = pm_now();
		uint64_t took;

		if (pthread_create(&thread, NULL, nothing, NULL) != 0)
			return 0;
		(void)pthread_join(thread, NULL);
		took = pm_now() - begin;
		if (least == 0 || took < least)
			least = took;
	}
	return least;
}

struct opened {
	int *fds;
	size_t count;
};

/* Opens what a new thread inherits from its parent, here on the calling thread. */
static int open_inherited(const struct pm_plan *plan, const struct pm_cpus *cpus,
			  struct opened *ret)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		for (size_t k = 0; event->spec.tid == PM_ALL_THREADS && k < cpus->count; k++) {
			struct perf_event_attr attr = event->attr;
			int fd;

			if (!pm_plan_is_on(event, cpus->list[k]))
				continue;
			pm_plan_set_inherit(plan, &attr, true);
			attr.disabled = 0;
			fd = pm_plan_open(plan, event, &attr, 0, cpus->list[k]);
			if (fd < 0)
				return fd;
			ret->fds[ret->count++] = fd;
		}
	}
	return 0;
}

static int measure(const struct pm_plan *plan, const struct pm_cpus *cpus, uint64_t *ret)
{
	struct opened opened = { calloc(plan->count * cpus->count, sizeof(int)), 0 };
	uint64_t before = fastest(), after = 0;
	int err = opened.fds ? open_inherited(plan, cpus, &opened) : -ENOMEM;

	if (err == 0)
		after = fastest();
	for (size_t i = 0; i < opened.count; i++)
		close(opened.fds[i]);
	free(opened.fds);
	if (err < 0)
		return err;
	*ret = after > before ? after - before : 0;
	return before == 0 || after == 0 ? -EAGAIN : 0;
}

int pm_tax_of(const struct pm_plan *plan, const struct strategy *strategy, uint64_t *ret)
{
	int any = -1, err;
	struct pm_cpus cpus = { &any, 1 };

	if (!(strategy->able & INHERITS)) {
		*ret = 0;
		return 0;
	}
	if (!(strategy->able & BY_CPU))
		return measure(plan, &cpus, ret);
	err = pm_cpus_list(plan->cpus, NULL, &cpus);
	if (err < 0)
		return err;
	err = measure(plan, &cpus, ret);
	free(cpus.list);
	return err;
}

int pm_plan_thread_tax(const struct pm_plan *plan, uint64_t *ret)
{
	return pm_tax_of(plan, plan->chosen->strategy, ret);
}
