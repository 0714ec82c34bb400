/* SPDX-License-Identifier: MIT */
/* A tracepoint as its files share it; not installed. */
#ifndef PM_TRACEPOINT_H
#define PM_TRACEPOINT_H

#include "../../perfmodes.h"

#define FORMAT_BYTES_MAX 65536
#define FIELDS_MAX 512
#define RECORD_BYTES_MAX 65536		/* PERF_SAMPLE_RAW counts its bytes in a record of 64 KiB */

struct field {
	const char *name, *type;	/* in the event's own texts */
	uint32_t offset, bytes, element_size, count;
	unsigned int flags;		/* enum pm_trace_flags */
	bool relative;			/* __rel_loc: counted from the end of its word */
};

struct pm_trace_event {
	uint32_t id;
	char name[128];
	struct field *fields;
	size_t count;
	uint32_t type_offset, type_bytes;	/* common_type; 0 bytes: it has none */
	char *texts;
	size_t texts_used;
};

/*
 * Understands a declaration such as "__data_loc char[] name" of a field whose offset, bytes and
 * PM_TRACE_SIGNED are known already; its texts go to `texts`, which has room for all of it and two
 * more. Returns the bytes used there; 0: not understood.
 */
size_t pm_trace_declare(const char *text, size_t size, struct field *field, char *texts);

#endif
