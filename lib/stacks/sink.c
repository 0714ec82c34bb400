/* SPDX-License-Identifier: MIT */
/* Output: whatever the reader of a pipe does, everything is written or an error is kept. */
#include "sink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int sink_open(struct sink *sink, int fd, bool gzip)
{
	memset(sink, 0, offsetof(struct sink, buffer));
	sink->fd = fd;
	sink->gzip = gzip;
	if (!gzip)
		return 0;
	/* 16 + 15: the largest window, and gzip's header and not zlib's */
	if (deflateInit2(&sink->stream, Z_BEST_SPEED, Z_DEFLATED, 31, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	return 0;
}

static void wait_for(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLOUT };

	(void)poll(&one, 1, -1);
}

static void push(struct sink *sink)
{
	size_t done = 0;

	while (done < sink->used && sink->error == 0) {
		const ssize_t put = write(sink->fd, sink->buffer + done, sink->used - done);

		if (put > 0)
			done += (size_t)put;
		else if (put < 0 && errno == EAGAIN)
			wait_for(sink->fd);
		else if (put < 0 && errno != EINTR)
			sink->error = -errno;
	}
	sink->used = 0;
}

static void write_plain(struct sink *sink, const unsigned char *data, size_t size)
{
	while (size > 0 && sink->error == 0) {
		const size_t room = sizeof(sink->buffer) - sink->used;
		const size_t now = size < room ? size : room;

		memcpy(sink->buffer + sink->used, data, now);
		sink->used += now;
		data += now;
		size -= now;
		if (sink->used == sizeof(sink->buffer))
			push(sink);
	}
}

static int squeeze(struct sink *sink, int flush)
{
	int done;

	do {
		sink->stream.next_out = sink->buffer + sink->used;
		sink->stream.avail_out = (uInt)(sizeof(sink->buffer) - sink->used);
		done = deflate(&sink->stream, flush);
		sink->used = sizeof(sink->buffer) - sink->stream.avail_out;
		if (sink->stream.avail_out == 0)
			push(sink);
	} while (sink->error == 0 && (sink->stream.avail_in > 0 ||
				      (flush == Z_FINISH && done == Z_OK)));
	return done;
}

void sink_write(struct sink *sink, const void *data, size_t size)
{
	if (!sink->gzip) {
		write_plain(sink, data, size);
		return;
	}
	sink->stream.next_in = (unsigned char *)(uintptr_t)data;
	sink->stream.avail_in = (uInt)size;
	if (size > 0 && sink->error == 0)
		squeeze(sink, Z_NO_FLUSH);
}

void sink_complete(struct sink *sink)
{
	if (sink->gzip && sink->error == 0) {
		squeeze(sink, Z_FINISH);
		(void)deflateReset(&sink->stream);
	}
	push(sink);
}

int sink_close(struct sink *sink)
{
	if (sink->gzip && sink->error == 0)
		squeeze(sink, Z_FINISH);
	push(sink);
	if (sink->gzip)
		deflateEnd(&sink->stream);
	return sink->error;
}
