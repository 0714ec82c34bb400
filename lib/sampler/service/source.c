/* SPDX-License-Identifier: MIT */
/* A data source: from its start to its stop, in order or at once. */
#define _GNU_SOURCE
#include "service.h"
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"

#define POLL_RECORDS 512	/* delivered before the clock is looked at again */
#define READ_MS 100		/* often enough for any rate that rings are not too small for */
#define DRAIN_NS 10000000000ull	/* for the worker, when a source stops in order */

/* --------------------------------------------------------------------------------------- start */

uint64_t source_now(const struct source *source)
{
	return pm_now_by(config_clock(source->config));
}

/* Where an event may come in an NMI the kernel reads no other clocks (34f439278cef, v4.1). */
static bool clock_fits(const struct source *source, const struct events *events)
{
	for (size_t i = 0; i < events->count && source->config->clock >= SOURCE_BOOTTIME; i++)
		if (events->specs[i].type != PM_TYPE_SOFTWARE &&
		    events->specs[i].type != PM_TYPE_TRACEPOINT)
			return false;
	return true;
}

static unsigned int wants(const struct source_config *config)
{
	unsigned int want = config->follower_count ? PM_WANT_GROUP : 0;

	if (config->kernel)
		want |= PM_WANT_KERNEL_FRAMES;
	if (config->stacks == STACKS_FRAMES)
		want |= PM_WANT_CALLCHAIN;
	if (config->stacks == STACKS_DWARF)
		want |= PM_WANT_REGISTERS | PM_WANT_STACK;
	return want;
}

static struct pm_sampler_opts options(const struct source *source)
{
	const struct source_config *config = source->config;

	return (struct pm_sampler_opts){
		.size = sizeof(struct pm_sampler_opts),
		.flags = PM_SAMPLER_NO_WAKEUP | PM_SAMPLER_USER_ONLY |
			(config->children ? PM_SAMPLER_CHILDREN : 0) |
			(source->service->broker > 0 ? PM_SAMPLER_BROKER : 0),
		.want = wants(config), .side = PM_SIDE_COMM | PM_SIDE_TASK |
			(config->stacks == STACKS_NONE ? 0 : PM_SIDE_MMAP),
		.shard = (unsigned int)config->shard, .shards = (unsigned int)config->shards,
		.first = (unsigned int)config->first,
		.ring_pages = (unsigned int)config->ring_pages,
		.turn = POLL_RECORDS, .stack = (unsigned int)config->stack_bytes & ~7u,
		.registers = config->stacks == STACKS_DWARF ? pm_unwinder_registers() : 0,
		.cpus = config->cpus, .broker = source->service->broker,
		.clock = 1 + config_clock(config),
	};
}

static int said(struct source *source, const struct pm_diag *diag, const char *what, int err)
{
	(void)snprintf(source->service->error, sizeof(source->service->error),
		       "source \"%s\": %.100s: %s", source->config->name, what,
		       diag->text[0] ? diag->text : pm_errno_name(err));
	return err;
}

/* The event's own followers, then those that are listed. */
static int parse_events(struct source *source, struct events *ret, struct pm_diag *diag)
{
	const struct source_config *config = source->config;
	int err = events_read(config->event, diag, ret);

	if (err < 0)
		return said(source, diag, config->event, err);
	if (ret->leaders > 1 && config->follower_count > 0)
		return said(source, diag, "several events have no followers", -EINVAL);
	if (ret->count + config->follower_count - config->member_count > EVENTS)
		return said(source, diag, "too many events", -E2BIG);
	for (size_t i = config->member_count; i < config->follower_count; i++) {
		struct pm_event_spec *spec = &ret->specs[ret->count];

		*spec = (struct pm_event_spec){ .size = sizeof(*spec) };
		ret->listed[ret->count++].leader = 1;
		err = pm_event_parse(config->followers[i], diag, spec);
		if (err < 0)
			return said(source, diag, config->followers[i], err);
		spec->period = spec->frequency = 0;
	}
	if (!clock_fits(source, ret))
		return said(source, diag, "this event is stamped by monotonic or monotonic_raw",
			    -EINVAL);
	for (size_t i = 0; i < ret->leaders; i++) {
		if (ret->specs[i].period || ret->specs[i].frequency)
			continue;
		ret->specs[i].period = (uint64_t)config->period;
		ret->specs[i].frequency = (uint64_t)config->frequency;
	}
	for (size_t i = 0; i < ret->leaders && config->filter; i++) {
		if (ret->specs[i].type != PM_TYPE_TRACEPOINT)
			return said(source, diag, "only tracepoints have a filter", -EINVAL);
		ret->specs[i].filter = config->filter;
	}
	for (size_t i = 0; i < ret->leaders; i++) {
		source->periods[i] = ret->specs[i].period;
		source->frequencies[i] = ret->specs[i].frequency;
	}
	source->leaders = ret->leaders;
	return 0;
}

static int parse_targets(struct source *source, struct pm_target *targets, struct pm_diag *diag)
{
	for (size_t i = 0; i < source->config->target_count; i++) {
		int err;

		targets[i] = (struct pm_target){ .size = sizeof(targets[i]) };
		err = pm_target_parse(source->config->targets[i], diag, &targets[i]);
		if (err < 0)
			return said(source, diag, source->config->targets[i], err);
	}
	return 0;
}

/* What it takes to open a sampler once more, for fewer. */
struct asked {
	struct events events;
	struct pm_sampler_event list[EVENTS];
	struct pm_target targets[TARGETS];
	struct pm_sampler_opts opts;
};

static int open_asked(struct source *source, struct asked *asked, struct pm_diag *diag)
{
	return pm_sampler_open(asked->list, asked->events.count, asked->targets,
			       source->config->target_count, &asked->opts, NULL,
			       &source_listener, source,
			       diag, &source->sampler);
}

/* Instead of all processes those of this user. False: nothing of that kind was asked for. */
static bool narrow(const struct source *source, struct asked *asked)
{
	bool any = false;

	for (size_t i = 0; i < source->config->target_count; i++) {
		struct pm_target *target = &asked->targets[i];

		if (target->by != PM_BY_ANY || target->exclude)
			continue;
		target->by = PM_BY_UID;
		target->number = getuid();
		any = true;
	}
	return any;
}

/* Who may not watch everybody is told why, and watches what is its own. */
static int open_own(struct source *source, struct asked *asked, struct pm_diag *diag)
{
	struct pm_diag first = *diag;
	int err = narrow(source, asked) ? open_asked(source, asked, diag) : -EACCES;

	if (err < 0) {
		*diag = first;
		return -EACCES;
	}
	report_event(&source->service->report, "narrowed", "source", source->config->name, "why",
		     first.text, "#uid", (int64_t)getuid(), NULL);
	if (source->service->brief)
		fprintf(stderr, "perfmodes-sampler: only processes of uid %u are watched: %s\n",
			(unsigned int)getuid(), first.text);
	return 0;
}

static int open_sampler(struct source *source)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct asked asked = { .opts = options(source) };
	int err = parse_events(source, &asked.events, &diag);

	if (err == 0)
		err = parse_targets(source, asked.targets, &diag);
	if (err == 0 && scope_init(&source->scope, source->config, &diag) < 0)
		err = said(source, &diag, "stack_targets", -EINVAL);
	if (err < 0)
		return err;
	if (asked.events.count > asked.events.leaders)
		asked.opts.want |= PM_WANT_GROUP;
	for (size_t i = 0; i < asked.events.count; i++)
		asked.list[i] = (struct pm_sampler_event){
			.size = sizeof(asked.list[i]), .spec = &asked.events.specs[i],
			.leader = asked.events.listed[i].leader,
		};
	err = open_asked(source, &asked, &diag);
	if ((err == -EACCES || err == -EPERM) && geteuid() != 0)
		err = open_own(source, &asked, &diag);
	if (err < 0)
		return said(source, &diag, source->config->event, err);
	err = pm_sampler_start(source->sampler, &diag);
	return err < 0 ? said(source, &diag, source->config->event, err) : 0;
}

int source_start(struct source *source)
{
	char why[2048] = "counters are read by the clock";
	int err = source->config->poll_ms ? polling_open(source, &source->polling) :
		open_sampler(source);

	if (err < 0) {
		source->state = SOURCE_FAILED;
		report_event(&source->service->report, "failed", "source", source->config->name,
			     "why", source->service->error, NULL);
		return err;
	}
	source->state = SOURCE_STARTED;
	source->next = pm_now();
	if (source->sampler)
		(void)pm_sampler_explain(source->sampler, why, sizeof(why));
	report_event(&source->service->report, "started", "source", source->config->name, "how",
		     why, NULL);
	return 0;
}

/* ------------------------------------------------------------------------------------- reading */

static uint64_t interval(const struct source *source)
{
	uint64_t read_ms = (uint64_t)source->config->read_ms;

	if (source->config->poll_ms)
		return 1000000ull * (uint64_t)source->config->poll_ms;
	/* Rings that fill more slowly need no looking after. */
	for (unsigned int i = 0; i < source->halved && 2 * read_ms <= READ_MS; i++)
		read_ms *= 2;
	return 1000000ull * read_ms;
}

/* The next reading is on the beat, and late ones are left out. */
static void schedule(struct source *source, uint64_t now)
{
	uint64_t every = interval(source);

	source->next += every;
	if (source->next <= now)
		source->next += (now - source->next) / every * every + every;
}

bool source_read(struct source *source)
{
	const struct source_config *config = source->config;
	uint64_t begin = pm_now(), now = begin, most = (uint64_t)config->turn_us * 1000;
	int64_t records = 0;
	int got = 1;

	source->counts.turns++;
	if (source->polling) {
		polling_read(source);
		schedule(source, begin);
		return true;
	}
	while (got > 0 && records < config->turn_records && now - begin < most) {
		got = pm_sampler_poll(source->sampler, 0);
		records += got > 0 ? got : 0;
		now = pm_now();
	}
	if (got < 0) {
		(void)snprintf(source->service->error, sizeof(source->service->error),
			       "source \"%s\": %s", config->name, pm_errno_name(got));
		source_purge(source, source->service->error);
		source->service->failed = true;
		return true;
	}
	schedule(source, now);
	if (got == 0)
		return true;
	/* More is there: the others get their turn first. */
	source->counts.capped++;
	source->next = now + 1000000;
	return false;
}

/* ---------------------------------------------------------------------------------------- stop */

static void close_sampler(struct source *source)
{
	source->stats.size = sizeof(source->stats);
	if (source->sampler)
		(void)pm_sampler_stats(source->sampler, &source->stats);
	pm_sampler_destroy(source->sampler);
	polling_close(source->polling);
	source->sampler = NULL;
	source->polling = NULL;
}

void source_stop(struct source *source)
{
	if (source->state == SOURCE_WAITING)
		source->state = SOURCE_STOPPED;
	if (source->state != SOURCE_STARTED)
		return;
	if (source->sampler)
		(void)pm_sampler_stop(source->sampler);
	if (source->polling)
		polling_read(source);
	close_sampler(source);
	source->state = SOURCE_DRAINING;
	source->deadline = pm_now() + DRAIN_NS +
		1000000ull * (uint64_t)source->service->config.timeout_ms;
}

static void finish(struct source *source, enum source_state state, const char *event,
		   const char *why)
{
	source->state = state;
	report_event(&source->service->report, event, "source", source->config->name, "why", why,
		     "#samples", (int64_t)source->counts.samples, "#lost",
		     (int64_t)source->counts.lost, "#purged", (int64_t)source->counts.purged,
		     NULL);
}

/* First the answers, then the queue: the barrier is behind everything that was put. */
void source_drain(struct source *source)
{
	if (source->state != SOURCE_DRAINING)
		return;
	if (pm_now() > source->deadline) {
		source_purge(source, "the worker did not finish in time");
		return;
	}
	if (!source->barrier && procs_waiting(source) == 0) {
		procs_close(source, false);
		source->barrier = send_note(source, &(struct note){ .kind = NOTE_BARRIER });
	}
	if (atomic_load(&source->drained))
		finish(source, SOURCE_STOPPED, "stopped", "in order");
}

void source_purge(struct source *source, const char *why)
{
	if (source->state != SOURCE_STARTED && source->state != SOURCE_DRAINING)
		return;
	atomic_store(&source->discard, true);
	close_sampler(source);
	procs_close(source, true);
	finish(source, SOURCE_PURGED, "purged", why);
}

bool source_is_over(const struct source *source)
{
	return source->state == SOURCE_STOPPED || source->state == SOURCE_PURGED ||
		source->state == SOURCE_FAILED;
}
