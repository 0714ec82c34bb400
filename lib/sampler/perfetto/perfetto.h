/* SPDX-License-Identifier: MIT */
/* A trace that is being written; not installed. */
#ifndef PM_PERFETTO_H
#define PM_PERFETTO_H

#include "../../perfmodes_perfetto.h"
#include "../../wire/packet.h"
#include "intern.h"
#include "sink.h"

#define FOLLOWERS 32
#define FRAMES 8192		/* of one stack */

struct pm_perfetto {
	struct sink sink;
	struct intern intern;
	struct packet packet;	/* the one that is being made, as the field of a trace */
	struct packet defaults;	/* TracePacketDefaults: told again whenever numbers begin anew */
	uint32_t clock;		/* BuiltinClock */
	bool cleared;		/* numbers begin anew with the next packet */
	bool first;
	uint64_t frames[FRAMES];	/* of the stack that is being made, outermost first */
};

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
