/* SPDX-License-Identifier: MIT */
/* Copies and checks what a caller asks for. */
#include "options.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/plan/make.h"
#include "../../policy/spec/spec.h"

#define RING_PAGES 128
#define RING_PAGES_MAX 65536
#define PROCESSES 65536
#define DELAY_NS 10000000
#define DESCRIPTORS_PERCENT 50
#define STACK_MAX 65528		/* sample_stack_user: below 64 KiB, a multiple of 8 */

static int wrong(struct pm_diag *diag, const char *what)
{
	return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "sampler: %s", what);
}

/* ------------------------------------------------------------------------------------- options */

static void set_defaults(struct pm_sampler_opts *opts)
{
	if (opts->ring_pages == 0)
		opts->ring_pages = RING_PAGES;
	if (opts->processes == 0)
		opts->processes = PROCESSES;
	if (opts->delay == 0)
		opts->delay = DELAY_NS;
	if (opts->descriptors_percent == 0)
		opts->descriptors_percent = DESCRIPTORS_PERCENT;
	if (opts->clock == 0)
		opts->clock = 1 + CLOCK_MONOTONIC;
	if (opts->want & PM_WANT_DEFERRED)
		opts->want |= PM_WANT_CALLCHAIN;
}

static int check(const struct pm_sampler_opts *opts, struct pm_diag *diag)
{
	const unsigned int both = PM_SAMPLER_ONLY_CPUS | PM_SAMPLER_ONLY_THREADS;

	if ((opts->flags & both) == both || opts->flags >= 2 * PM_SAMPLER_BROKER ||
	    opts->want >= 2 * PM_WANT_DEFERRED || opts->side >= 2 * PM_SIDE_CHAIN)
		return wrong(diag, "a flag that makes no sense");
	if (opts->shards != 0 && opts->shard >= opts->shards)
		return wrong(diag, "shard has to be less than shards");
	if (opts->ring_pages > RING_PAGES_MAX || (opts->ring_pages & (opts->ring_pages - 1)))
		return wrong(diag, "ring_pages is no power of two up to 65536");
	if (opts->stack % 8 != 0 || opts->stack > STACK_MAX)
		return wrong(diag, "stack is no multiple of 8 up to 65528");
	if (opts->flags & PM_SAMPLER_BROKER ? opts->broker < 0 : opts->broker > 0)
		return wrong(diag, "broker is no socket, or PM_SAMPLER_BROKER is not set");
	if (opts->descriptors_percent > 100 || opts->frames > UINT16_MAX || opts->clock < 0)
		return wrong(diag, "an option is too large");
	return 0;
}

int pm_watch_take_opts(struct pm_sampler *sampler, const struct pm_sampler_opts *from,
		       struct pm_diag *diag)
{
	struct pm_sampler_opts *opts = &sampler->opts;

	if (from != NULL && !pm_take(opts, sizeof(*opts), from,
				     offsetof(struct pm_sampler_opts, shard)))
		return wrong(diag, "the size of the options is not set");
	set_defaults(opts);
	if (pm_plan_take_cpus(sampler->plan, &opts->cpus) < 0)
		return wrong(diag, "cpus is no list like \"0-3,8\"");
	sampler->pages = opts->ring_pages;
	sampler->broker.socket = opts->flags & PM_SAMPLER_BROKER ? opts->broker : -1;
	return check(opts, diag);
}

int pm_watch_take_listener(struct pm_sampler *sampler, const struct pm_sampler_listener *listener,
			   void *context, struct pm_diag *diag)
{
	sampler->context = context;
	if (listener != NULL && !pm_take(&sampler->listener, sizeof(sampler->listener), listener,
					 offsetof(struct pm_sampler_listener, side)))
		return wrong(diag, "the size of the listener is not set");
	return 0;
}

/* -------------------------------------------------------------------------------------- events */

/* What a spec wants of a session, samples here have by the options. */
static int take_leader(struct pm_sampler *sampler, size_t index, unsigned int leader,
		       struct pm_diag *diag)
{
	struct plan_event *event = &sampler->plan->events[index];

	event->led_by = leader ? leader : (uint32_t)index + 1;
	if (leader > index || !pm_watch_leads(sampler, event->led_by - 1))
		return wrong(diag, "a leader comes before its members, and leads itself");
	if (leader && event->sampled)
		return wrong(diag, "members of a group are counted: no period, no frequency");
	return 0;
}

static int take_event(struct pm_sampler *sampler, size_t index, const void *from,
		      struct pm_diag *diag)
{
	struct plan_event *event = &sampler->plan->events[index];
	struct pm_sampler_event asked;

	if (!pm_take(&asked, sizeof(asked), from, offsetof(struct pm_sampler_event, leader)) ||
	    asked.spec == NULL || !pm_spec_take(asked.spec, 0, &event->spec))
		return wrong(diag, "an event or its spec makes no sense, or has no size");
	if (asked.precise > 3 || (asked.flags & ~(unsigned int)PM_EVENT_EXCLUSIVE))
		return wrong(diag, "precise is up to 3, and the only flag is PM_EVENT_EXCLUSIVE");
	event->spec.tid = PM_SYSTEM;
	if (pm_plan_take_spec(sampler->plan, event) < 0)
		return wrong(diag, "an event has a period or a frequency, not both; filters are "
			     "of tracepoints, and up to 511 bytes");
	event->exclusive |= asked.flags & PM_EVENT_EXCLUSIVE;
	if (asked.precise != 0)
		event->precise_most = asked.precise;
	sampler->opts.want |= event->spec.want &
		(PM_WANT_ADDRESS | PM_WANT_CALLCHAIN | PM_WANT_RAW);
	return take_leader(sampler, index, asked.leader, diag);
}

static void add_side(struct plan_event *side, size_t index)
{
	side->spec = (struct pm_event_spec){
		.size = sizeof(side->spec), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY, .flags = PM_SPEC_USER_ONLY,
	};
	side->led_by = (uint32_t)index + 1;
	side->trial = -1;
	side->side = true;
}

/* What holds for all events. A mapping is told with its build id, and an exec as one. */
static void set_plan(struct pm_sampler *sampler)
{
	const struct pm_sampler_opts *opts = &sampler->opts;
	const uint32_t bytes = opts->ring_pages * (uint32_t)sysconf(_SC_PAGESIZE);
	struct pm_plan *plan = sampler->plan;

	plan->opts.ring_pages = opts->ring_pages;
	plan->opts.clock = opts->clock;
	plan->opts.side = opts->side | PM_SIDE_EXEC;
	if (opts->side & (PM_SIDE_MMAP | PM_SIDE_MMAP_DATA))
		plan->opts.side |= PM_SIDE_BUILD_ID;
	if (opts->flags & PM_SAMPLER_USER_ONLY)
		plan->opts.allow = PM_ALLOW_USER_ONLY;
	plan->want = opts->want;
	for (size_t i = 0; i < sampler->count; i++)
		plan->events[i].spec.want = opts->want;
	plan->apart.wake_at = opts->flags & PM_SAMPLER_NO_WAKEUP ? bytes : bytes / 4;
	plan->apart.frames = opts->frames;
	plan->apart.stack = opts->stack;
	plan->apart.registers = opts->registers;
	plan->apart.branches = opts->branches;
}

int pm_watch_take_events(struct pm_sampler *sampler, const struct pm_sampler_event *events,
			 size_t count, struct pm_diag *diag)
{
	int err = 0;

	if (count == 0 || count > EVENTS_MAX)
		return wrong(diag, "1 to 32 events");
	for (; err == 0 && sampler->count < count; sampler->count++)
		err = take_event(sampler, sampler->count,
				 (const char *)events + sampler->count * events->size, diag);
	add_side(&sampler->plan->events[count], count);
	sampler->plan->count = count + 1;
	set_plan(sampler);
	return err;
}

/* ------------------------------------------------------------------------------------- targets */

static bool names_self(const struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].target.by == PM_BY_PID && !targets->list[i].target.exclude &&
		    targets->list[i].target.number == getpid())
			return true;
	return false;
}

int pm_watch_take_targets(struct pm_sampler *sampler, const struct pm_target *targets,
			  size_t count, struct pm_diag *diag)
{
	struct rules *rules = &sampler->processes.rules;
	int err = pm_targets_take(targets, count, diag, &rules->targets);

	if (err < 0)
		return err;
	rules->children = sampler->opts.flags & PM_SAMPLER_CHILDREN;
	rules->shard = sampler->opts.shard;
	rules->shards = sampler->opts.shards;
	rules->first = sampler->opts.first;
	rules->self = (sampler->opts.flags & PM_SAMPLER_SELF) || names_self(&rules->targets) ?
		0 : (uint32_t)getpid();
	return 0;
}
