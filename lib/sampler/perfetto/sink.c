/* SPDX-License-Identifier: MIT */
/* Writing in large pieces; a piece that does not fit is taken back. */
#define _GNU_SOURCE
#include "sink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

void sink_init(struct sink *sink, int fd)
{
	sink->fd = fd;
	sink->error = 0;
	sink->used = 0;
	sink->end = lseek(fd, 0, SEEK_CUR);
}

static int write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EAGAIN) {
			struct pollfd room = { .fd = fd, .events = POLLOUT };

			(void)poll(&room, 1, -1);
			continue;
		}
		if (done < 0 && errno != EINTR)
			return -errno;
		bytes += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static int write_out(struct sink *sink, const void *bytes, size_t size)
{
	sink->error = write_all(sink->fd, bytes, size);
	if (sink->error == 0 && sink->end >= 0) {
		sink->end += (int64_t)size;
	} else if (sink->error != 0 && sink->end >= 0 && ftruncate(sink->fd, sink->end) == 0) {
		(void)lseek(sink->fd, sink->end, SEEK_SET);
	}
	return sink->error;
}

int sink_flush(struct sink *sink)
{
	size_t used = sink->used;

	if (sink->error != 0 || used == 0)
		return sink->error;
	sink->used = 0;
	return write_out(sink, sink->held, used);
}

int sink_put(struct sink *sink, const void *bytes, size_t size)
{
	if (size > SINK_BYTES - sink->used && sink_flush(sink) != 0)
		return sink->error;
	if (sink->error != 0)
		return sink->error;
	if (size > SINK_BYTES)
		return write_out(sink, bytes, size);
	memcpy(sink->held + sink->used, bytes, size);
	sink->used += size;
	return 0;
}
