/* SPDX-License-Identifier: MIT */
/* A file that ends with a whole packet, also on a full disk; not installed. */
#ifndef PM_SINK_H
#define PM_SINK_H

#include <stddef.h>
#include <stdint.h>

#define SINK_BYTES 65536	/* held before they are written */

struct sink {
	int fd;
	int error;		/* the first one, negative */
	int64_t end;		/* file offset behind the last whole write; -1: not a file */
	size_t used;
	unsigned char held[SINK_BYTES];
};

void sink_init(struct sink *sink, int fd);

/* Adds bytes that belong together. Returns 0 or the first error. */
int sink_put(struct sink *sink, const void *bytes, size_t size);
int sink_flush(struct sink *sink);

#endif
