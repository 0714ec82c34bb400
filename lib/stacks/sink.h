/* SPDX-License-Identifier: MIT */
/* A descriptor that is written through a buffer, compressed or not. Not installed. */
#ifndef PM_STACKS_SINK_H
#define PM_STACKS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct sink {
	int fd, error;			/* the first -errno; nothing is written from then on */
	bool gzip;
	z_stream stream;
	size_t used;
	unsigned char buffer[32768];	/* what goes to the descriptor next */
};

/* 0 or -ENOMEM. */
int sink_open(struct sink *sink, int fd, bool gzip);
void sink_write(struct sink *sink, const void *data, size_t size);

/* Writes what has come: what the descriptor has had is whole, with gzip a member of its own. */
void sink_complete(struct sink *sink);

/* Writes what is left. Returns 0 or the first error. */
int sink_close(struct sink *sink);

#endif
