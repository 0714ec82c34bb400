/* SPDX-License-Identifier: MIT */
/* The packets of a trace, each a field of its own: a file that ends early is read up to there. */
#define _GNU_SOURCE
#include "perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../../policy/spec/now.h"
#include "../../policy/spec/spec.h"
#include "fields.h"

#define SEQUENCE 1		/* one writer: one sequence of packets */

size_t packet_start(struct pm_perfetto *trace)
{
	struct packet *packet = &trace->packet;
	size_t mark;

	packet->size = 0;
	packet->error = 0;
	mark = packet_begin(packet, TRACE_PACKET);
	packet_number(packet, PACKET_SEQUENCE, SEQUENCE);
	if (trace->first)
		packet_number(packet, PACKET_FIRST, 1);
	if (trace->cleared) {
		packet_number(packet, PACKET_FLAGS, FLAG_CLEARED | FLAG_NEEDS_STATE);
		packet_bytes(packet, PACKET_DEFAULTS, trace->defaults.bytes,
			     trace->defaults.size);
	} else {
		packet_number(packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
	}
	return mark;
}

int packet_finish(struct pm_perfetto *trace, size_t mark)
{
	packet_end(&trace->packet, mark);
	if (trace->packet.error != 0)
		return trace->packet.error;
	trace->cleared = trace->first = false;
	return sink_put(&trace->sink, trace->packet.bytes, trace->packet.size);
}

/* ------------------------------------------------------------------------------------ the head */

/* Of a clock as opts have it; NULL: it stamps no events. */
static const struct clock_numbers { int clock; uint32_t builtin, perf; } *numbers_of(int clock)
{
	static const struct clock_numbers all[] = {
		{ CLOCK_REALTIME, BUILTIN_REALTIME, PERF_CLOCK_REALTIME },
		{ CLOCK_MONOTONIC, BUILTIN_MONOTONIC, PERF_CLOCK_MONOTONIC },
		{ CLOCK_MONOTONIC_RAW, BUILTIN_MONOTONIC_RAW, PERF_CLOCK_RAW },
		{ CLOCK_BOOTTIME, BUILTIN_BOOTTIME, PERF_CLOCK_BOOTTIME },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].clock == (clock == 0 ? CLOCK_MONOTONIC : clock - 1))
			return &all[i];
	return NULL;
}

static void put_clock(struct packet *packet, uint32_t id, int clock)
{
	size_t mark = packet_begin(packet, CLOCKS_CLOCK);
	const uint64_t now = pm_now_by(clock);

	packet_number(packet, CLOCK_ID, id);
	packet_number(packet, CLOCK_TIME, now);
	packet_end(packet, mark);
}

/* The same instant on all clocks: readers translate by it. */
static int put_clocks(struct pm_perfetto *trace)
{
	size_t mark = packet_start(trace);
	size_t clocks = packet_begin(&trace->packet, PACKET_CLOCKS);

	put_clock(&trace->packet, BUILTIN_BOOTTIME, CLOCK_BOOTTIME);
	put_clock(&trace->packet, BUILTIN_MONOTONIC, CLOCK_MONOTONIC);
	put_clock(&trace->packet, BUILTIN_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW);
	put_clock(&trace->packet, BUILTIN_REALTIME, CLOCK_REALTIME);
	packet_number(&trace->packet, CLOCKS_PRIMARY, BUILTIN_BOOTTIME);
	packet_end(&trace->packet, clocks);
	return packet_finish(trace, mark);
}

static void put_timebase(struct pm_perfetto *trace, struct packet *packet)
{
	const struct pm_perfetto_opts *opts = &trace->opts;
	size_t mark = packet_begin(packet, PERF_TIMEBASE);

	if (opts->poll_ms != 0)
		packet_number(packet, TIMEBASE_POLL_MS, opts->poll_ms);
	else if (opts->frequency != 0)
		packet_number(packet, TIMEBASE_FREQUENCY, opts->frequency);
	else
		packet_number(packet, TIMEBASE_PERIOD, opts->period);
	event_put(packet, &timebase_fields, &trace->event);
	packet_number(packet, TIMEBASE_CLOCK, numbers_of(opts->clock)->perf);
	packet_end(packet, mark);
}

static int make_defaults(struct pm_perfetto *trace)
{
	const struct pm_perfetto_opts *opts = &trace->opts;
	struct packet *packet = &trace->defaults;
	size_t mark;

	packet->size = 0;
	packet_number(packet, DEFAULTS_CLOCK_ID, trace->clock);
	mark = packet_begin(packet, DEFAULTS_PERF);
	put_timebase(trace, packet);
	if (opts->shards != 0) {
		packet_number(packet, PERF_SHARDS, opts->shards);
		packet_number(packet, PERF_SHARD, opts->shard);
	}
	for (size_t i = 0; i < opts->follower_count; i++) {
		size_t follower = packet_begin(packet, PERF_FOLLOWER);

		event_put(packet, &follower_fields, &trace->followers[i]);
		packet_end(packet, follower);
	}
	packet_end(packet, mark);
	return packet->error;
}

int pm_perfetto_rate(struct pm_perfetto *trace, uint64_t period, uint64_t frequency)
{
	int err;

	trace->opts.period = period;
	trace->opts.frequency = frequency;
	err = make_defaults(trace);
	trace_forget(trace);
	return err < 0 ? err : trace->sink.error;
}

static int take_events(struct pm_perfetto *trace)
{
	const struct pm_perfetto_opts *opts = &trace->opts;
	int err = event_take(&trace->event, opts->spec, 0, opts->event);

	for (size_t i = 0; i < opts->follower_count && err == 0; i++)
		err = event_take(&trace->followers[i], opts->follower_specs, i,
				 opts->followers ? opts->followers[i] : NULL);
	return err;
}

static int take_clock(struct pm_perfetto *trace)
{
	const struct clock_numbers *numbers = numbers_of(trace->opts.clock);

	if (!numbers)
		return -EINVAL;
	trace->clock = numbers->builtin;
	return 0;
}

int pm_perfetto_open(const struct pm_perfetto_opts *opts, struct pm_perfetto **ret)
{
	struct pm_perfetto_opts own;
	struct pm_perfetto *trace;
	int err;

	if (!pm_take(&own, sizeof(own), opts, offsetof(struct pm_perfetto_opts, clock)) ||
	    own.follower_count > FOLLOWERS)
		return -EINVAL;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	sink_init(&trace->sink, own.fd);
	trace->cleared = trace->first = true;
	trace->opts = own;
	err = take_clock(trace);
	if (err == 0)
		err = take_events(trace);
	if (err == 0)
		err = intern_init(&trace->intern, own.memory ? own.memory : 4 << 20);
	if (err == 0)
		err = make_defaults(trace);
	if (err == 0)
		err = put_clocks(trace);
	if (err < 0) {
		trace->sink.error = err;
		(void)pm_perfetto_destroy(trace);
		return err;
	}
	*ret = trace;
	return 0;
}

int pm_perfetto_flush(struct pm_perfetto *trace)
{
	return sink_flush(&trace->sink);
}

int pm_perfetto_destroy(struct pm_perfetto *trace)
{
	int err;

	if (!trace)
		return 0;
	err = sink_flush(&trace->sink);
	intern_free(&trace->intern);
	free(trace->packet.bytes);
	free(trace->defaults.bytes);
	free(trace);
	return err;
}
