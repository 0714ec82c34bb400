/* SPDX-License-Identifier: MIT */
/* A trace that is being written; not installed. */
#ifndef PM_PERFETTO_H
#define PM_PERFETTO_H

#include "../../perfmodes.h"
#include "../../perfmodes_perfetto.h"
#include "../../wire/packet.h"
#include "intern.h"
#include "sink.h"

#define FOLLOWERS 32
#define FRAMES 8192		/* of one stack */
#define NAME_BYTES 256

/* An event, as its packets name it. */
struct trace_event {
	bool known;			/* `spec` is filled in */
	struct pm_event_spec spec;
	char name[NAME_BYTES];		/* "": none */
	char tracepoint[NAME_BYTES];	/* "group:name"; "": it is none, or its name is not known */
	char filter[512];
};

struct pm_perfetto {
	struct sink sink;
	struct intern intern;
	struct packet packet;	/* the one that is being made, as the field of a trace */
	struct packet defaults;	/* TracePacketDefaults: told again whenever numbers begin anew */
	struct pm_perfetto_opts opts;	/* its pointers, but for the context, are not followed */
	struct trace_event event, followers[FOLLOWERS];
	uint32_t clock;		/* BuiltinClock */
	bool cleared;		/* numbers begin anew with the next packet */
	bool first;
	uint64_t frames[FRAMES];	/* of the stack that is being made, outermost first */
};

/* What is told of an event; `name` NULL: nothing. -EINVAL for a spec that is none. */
int event_take(struct trace_event *event, const struct pm_event_spec *specs, size_t index,
	       const char *name);

/* Field numbers of messages that have an event. */
struct event_fields { unsigned int counter, tracepoint, raw, modifier, name; };
extern const struct event_fields timebase_fields, follower_fields;
void event_put(struct packet *packet, const struct event_fields *fields,
	       const struct trace_event *event);

/* Numbers begin anew with the next packet. */
void trace_forget(struct pm_perfetto *trace);

/* A packet from its beginning to its end. Returns the mark for the end. */
size_t packet_start(struct pm_perfetto *trace);
int packet_finish(struct pm_perfetto *trace, size_t mark);

/*
 * The number of a stack; what is new in it goes to the packet as InternedData. -ENOSPC when there
 * is no room for it even in an empty table.
 */
int stack_intern(struct pm_perfetto *trace, const struct pm_perfetto_frame *frames, size_t count,
		 uint64_t *ret);

#endif
