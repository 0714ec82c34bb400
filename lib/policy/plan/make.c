/* SPDX-License-Identifier: MIT */
/* Making a plan of what was asked for. */
#include "make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/diag.h"
#include "../diagnosis/words.h"
#include "../profile/profile.h"
#include "breakpoint.h"
#include "choose.h"
#include "group.h"
#include "hybrid.h"
#include "limits.h"
#include "modify.h"
#include "negotiate.h"

#define ROUNDS 8
#define DESCRIPTORS_PERCENT 50
#define RING_PAGES 128
#define RING_PAGES_MAX 65536
#define SIDE_ALL ((unsigned int)(PM_SIDE_MMAP | PM_SIDE_BUILD_ID | PM_SIDE_EXEC | \
				 PM_SIDE_SWITCH | PM_SIDE_CGROUP | PM_SIDE_KSYMBOL))

static int senseless(struct pm_plan *plan, const char *what)
{
	plan->senseless = what;
	return -EINVAL;
}

int pm_plan_take_spec(struct pm_plan *plan, struct plan_event *event)
{
	struct pm_event_spec *spec = &event->spec;

	if (spec->tid < PM_CGROUP)
		return senseless(plan, "tid is no thread's, and none of the constants");
	if (spec->period != 0 && spec->frequency != 0)
		return senseless(plan, "period and frequency exclude each other");
	if (spec->tid == PM_CGROUP && plan->opts.cgroup < 0)
		return senseless(plan, "PM_CGROUP takes option cgroup");
	if (spec->filter != NULL) {
		if (spec->type != PERF_TYPE_TRACEPOINT)
			return senseless(plan, "only tracepoints have a filter");
		if (strlen(spec->filter) >= FILTER_SIZE)
			return senseless(plan, "filter has more than 511 bytes");
		spec->filter = strcpy(event->filter, spec->filter);
	}
	if (spec->name != NULL)
		pm_put_plain(spec->name, event->name, sizeof(event->name));
	spec->name = NULL;
	event->trial = -1;
	event->precise_most = pm_spec_precise(spec);
	event->exclusive = spec->flags & PM_SPEC_EXCLUSIVE;
	event->sampled = spec->period != 0 || spec->frequency != 0;
	plan->samples |= event->sampled;
	plan->want |= spec->want & PM_WANT_CALLCHAIN ? spec->want :
		spec->want & ~(unsigned int)PM_WANT_KERNEL_FRAMES;
	return 0;
}

static int take_specs(struct pm_plan *plan, const struct pm_event_spec *specs, size_t count)
{
	int err = count == 0 || count > PLAN_EVENTS_MAX ?
		senseless(plan, "there are 1 to 32 events") : 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		err = pm_spec_take(specs, i, &plan->events[i].spec) ?
			pm_plan_take_spec(plan, &plan->events[i]) :
			senseless(plan, "size is not set, flags or want have bits that are not "
				  "known, or no mode is left in which it happens");
		plan->events[i].asked = (uint32_t)i;
		plan->asked = plan->count = i + 1;
	}
	return err;
}

int pm_plan_take_cpus(struct pm_plan *plan, const char **cpus)
{
	if (*cpus == NULL)
		return 0;
	if (strlen(*cpus) >= CPUS_SIZE || pm_cpulist_each(*cpus, NULL, NULL) <= 0)
		return -EINVAL;
	*cpus = strcpy(plan->cpus, *cpus);
	return 0;
}

static int take_opts(struct pm_plan *plan, const struct pm_session_opts *from)
{
	struct pm_session_opts *opts = &plan->opts;

	if (from != NULL && !pm_take(opts, sizeof(*opts), from,
				     offsetof(struct pm_session_opts, wakeup)))
		return senseless(plan, "the size of the options is not set");
	/* Descriptor 0 is one; another without the flag is from before there was one. */
	if (opts->allow & PM_ALLOW_BROKER ? opts->broker < 0 : opts->broker > 0)
		return senseless(plan, "option broker and PM_ALLOW_BROKER go together");
	if (!(opts->allow & PM_ALLOW_BROKER))
		opts->broker = -1;
	if (opts->side & ~SIDE_ALL)
		return senseless(plan, "option side has kinds that are not of sessions");
	if (opts->prove > PM_PROVE_NEVER)
		return senseless(plan, "option prove is none of enum pm_prove");
	if (pm_plan_take_cpus(plan, &opts->cpus) < 0)
		return senseless(plan, "option cpus is no list like \"0-3,8\" of up to 255 bytes");
	if (opts->rounds == 0)
		opts->rounds = ROUNDS;
	if (opts->descriptors_percent == 0)
		opts->descriptors_percent = DESCRIPTORS_PERCENT;
	if (opts->ring_pages == 0)
		opts->ring_pages = RING_PAGES;
	if (opts->descriptors_percent > 100)
		return senseless(plan, "option descriptors_percent is up to 100");
	if (opts->ring_pages > RING_PAGES_MAX || (opts->ring_pages & (opts->ring_pages - 1)))
		return senseless(plan, "option ring_pages is no power of two up to 65536");
	return 0;
}

/* What the caller got wrong, and of which event. */
static int say_senseless(const struct pm_plan *plan, struct pm_diag *diag)
{
	if (plan->count == 0)
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "plan: %s", plan->senseless);
	return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "plan: event %zu: %s", plan->count - 1,
			   plan->senseless);
}

static int load_profile(struct pm_plan *plan, struct pm_diag *diag)
{
	struct pm_diag said = { .size = sizeof(said) };
	int err = pm_profile_load_default(&said, &plan->profile);

	plan->owns_profile = true;
	if (err < 0)
		return pm_diag_say(diag, -err, said.cause, "%s", said.text);
	if (err > 0)
		snprintf(plan->profile_says, sizeof(plan->profile_says), "%s", said.text);
	return 0;
}

static int decide(struct pm_plan *plan, struct pm_diag *diag)
{
	int err;

	pm_hybrid_expand(plan);
	pm_modify_begin(plan);
	pm_plan_negotiate(plan);
	err = pm_plan_choose(plan, diag);
	if (err < 0 && pm_group_give_up(plan)) {
		pm_plan_negotiate(plan);
		err = pm_plan_choose(plan, diag);
	}
	return err;
}

static int make(struct pm_plan *plan, struct pm_diag *diag)
{
	int err = plan->profile ? 0 : load_profile(plan, diag);

	if (err < 0)
		return err;
	for (size_t i = 0; i < plan->count; i++) {
		err = pm_breakpoint_try(&plan->events[i].spec, diag);
		if (err < 0)
			return err;
	}
	pm_limit_look(plan);
	err = pm_profile_probe_for_plan(plan->profile, &plan->kept);
	if (err >= 0)
		err = decide(plan, diag);
	pm_plan_let_go(plan);
	return err;
}

struct pm_plan *pm_plan_blank(void)
{
	struct pm_plan *plan = calloc(1, sizeof(*plan));

	if (plan == NULL)
		return NULL;
	plan->kept = plan->opts.broker = -1;
	plan->refusal.size = sizeof(plan->refusal);
	return plan;
}

int pm_plan_make_of(const struct ranked *strategies, const struct pm_event_spec *specs,
		    size_t count, const struct pm_session_opts *opts, struct pm_profile *profile,
		    struct pm_diag *diag, struct pm_plan **ret)
{
	struct pm_plan *plan = pm_plan_blank();
	int err;

	if (plan == NULL)
		return -ENOMEM;
	plan->profile = profile;
	for (int i = 0; i < STRATEGIES; i++) {
		plan->candidates[i].strategy = strategies[i].strategy;
		plan->candidates[i].number = strategies[i].number;
	}
	err = take_opts(plan, opts);
	if (err == 0)
		err = take_specs(plan, specs, count);
	if (err < 0)
		(void)say_senseless(plan, diag);
	else
		err = make(plan, diag);
	if (err < 0) {
		pm_plan_destroy(plan);
		return err;
	}
	*ret = plan;
	return 0;
}

void pm_plan_destroy(struct pm_plan *plan)
{
	if (plan != NULL && plan->owns_profile)
		pm_profile_destroy(plan->profile);
	free(plan);
}

enum pm_strategy pm_plan_strategy(const struct pm_plan *plan)
{
	return plan->chosen->number;
}
