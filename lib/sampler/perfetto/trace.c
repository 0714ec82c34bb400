/* SPDX-License-Identifier: MIT */
/* The packets of a trace, each a field of its own: a file that ends early is read up to there. */
#define _GNU_SOURCE
#include "perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../pm_sys.h"
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

static int builtin_clock(int clock, uint32_t *ret)
{
	switch (clock == 0 ? CLOCK_MONOTONIC : clock - 1) {
	case CLOCK_REALTIME: *ret = BUILTIN_REALTIME; return 0;
	case CLOCK_MONOTONIC: *ret = BUILTIN_MONOTONIC; return 0;
	case CLOCK_MONOTONIC_RAW: *ret = BUILTIN_MONOTONIC_RAW; return 0;
	case CLOCK_BOOTTIME: *ret = BUILTIN_BOOTTIME; return 0;
	default: return -EINVAL;
	}
}

static void put_clock(struct packet *packet, uint32_t id, int clock)
{
	size_t mark = packet_begin(packet, CLOCKS_CLOCK);
	uint64_t now = 0;

	(void)pm_clock_ns(clock, &now);
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

static void put_timebase(struct packet *packet, const struct pm_perfetto_opts *opts)
{
	size_t mark = packet_begin(packet, PERF_TIMEBASE);

	if (opts->poll_ms != 0)
		packet_number(packet, TIMEBASE_POLL_MS, opts->poll_ms);
	else if (opts->frequency != 0)
		packet_number(packet, TIMEBASE_FREQUENCY, opts->frequency);
	else
		packet_number(packet, TIMEBASE_PERIOD, opts->period);
	if (opts->event)
		packet_text(packet, TIMEBASE_NAME, opts->event, strlen(opts->event));
	packet_end(packet, mark);
}

static int make_defaults(struct pm_perfetto *trace, const struct pm_perfetto_opts *opts)
{
	struct packet *packet = &trace->defaults;
	size_t mark;

	packet_number(packet, DEFAULTS_CLOCK_ID, trace->clock);
	mark = packet_begin(packet, DEFAULTS_PERF);
	put_timebase(packet, opts);
	if (opts->shards != 0) {
		packet_number(packet, PERF_SHARDS, opts->shards);
		packet_number(packet, PERF_SHARD, opts->shard);
	}
	for (size_t i = 0; i < opts->follower_count; i++) {
		size_t follower = packet_begin(packet, PERF_FOLLOWER);

		packet_text(packet, FOLLOWER_NAME, opts->followers[i],
			    strlen(opts->followers[i]));
		packet_end(packet, follower);
	}
	packet_end(packet, mark);
	return packet->error;
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
	err = builtin_clock(own.clock, &trace->clock);
	if (err == 0)
		err = intern_init(&trace->intern, own.memory ? own.memory : 4 << 20);
	if (err == 0)
		err = make_defaults(trace, &own);
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
