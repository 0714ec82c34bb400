/* SPDX-License-Identifier: MIT */
/* A sampler in a process of its own: what it writes to its standard output goes to traced. */
#define _GNU_SOURCE
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../wire/field.h"

#define READ_BYTES 65536u
#define TRACE_PACKET 1
#define PACKET_SEQUENCE 10	/* trusted_packet_sequence_id: traced's own to give */
#define JSON_MAX 60000u		/* fits into a pipe, which nobody reads yet */

/* ------------------------------------------------------------------------------------ process */

static void become(int config, int out)
{
	char path[32];
	sigset_t requests;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Those that come before somebody listens are kept: the parent has blocked them, too. */
	sigemptyset(&requests);
	sigaddset(&requests, SIGUSR1);
	sigaddset(&requests, SIGUSR2);
	(void)sigprocmask(SIG_SETMASK, &requests, NULL);
	if (dup2(out, STDOUT_FILENO) < 0 || fcntl(config, F_SETFD, 0) != 0)
		_exit(1);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", config);
	(void)execl("/proc/self/exe", "perfmodes-sampler", path, NULL);
	dprintf(STDERR_FILENO, "perfmodes-sampler: /proc/self/exe: %s\n", strerror(errno));
	_exit(1);
}

/* The configuration is written before anybody reads it. */
static int put_config(const char *json, int ends[2])
{
	const size_t size = strlen(json);

	if (size > JSON_MAX)
		return -E2BIG;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	if (write(ends[1], json, size) != (ssize_t)size) {
		close(ends[0]);
		close(ends[1]);
		return -EIO;
	}
	close(ends[1]);
	return 0;
}

int data_source_start(struct data_source *source)
{
	int config[2], out[2], err = put_config(source->json, config);

	if (err < 0)
		return err;
	if (pipe2(out, O_CLOEXEC) != 0) {
		err = -errno;
		close(config[0]);
		return err;
	}
	source->pid = fork();
	if (source->pid == 0)
		become(config[0], out[1]);
	err = source->pid < 0 ? -errno : 0;
	close(config[0]);
	close(out[1]);
	if (err < 0) {
		source->pid = 0;
		close(out[0]);
		return err;
	}
	source->fd = out[0];
	(void)fcntl(source->fd, F_SETFL, O_NONBLOCK);
	data_source_flush(source);	/* its mark tells that it has started */
	return 0;
}

void data_source_flush(struct data_source *source)
{
	if (source->pid > 0 && source->fd >= 0)
		source->asked = kill(source->pid, SIGUSR1) == 0;
}

void data_source_forget(struct data_source *source)
{
	if (source->pid > 0 && source->fd >= 0)
		(void)kill(source->pid, SIGUSR2);
}

void data_source_stop(struct data_source *source)
{
	source->stopping = true;
	if (source->pid > 0)
		(void)kill(source->pid, SIGTERM);
}

void data_source_free(struct data_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	if (source->pid > 0) {
		(void)kill(source->pid, source->stopping ? SIGKILL : SIGTERM);
		while (waitpid(source->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(source->held);
	free(source->json);
	*source = (struct data_source){ .fd = -1 };
}

/* ------------------------------------------------------------------------------------ packets */

/* The packet without what only traced may say, in place. Returns its size. */
static size_t keep_allowed(unsigned char *bytes, size_t size)
{
	struct fields fields = { bytes, bytes + size };
	struct field field;
	unsigned char *to = bytes;

	for (;;) {
		const unsigned char *start = fields.at;
		size_t length;

		if (!field_next(&fields, &field))
			break;
		length = (size_t)(fields.at - start);
		if (field.number == PACKET_SEQUENCE)
			continue;
		memmove(to, start, length);
		to += length;
	}
	return (size_t)(to - bytes);
}

/*
 * The first packet that is held: 1 and where it is, 0 when it is not whole, -1 for what is none.
 * A packet of no bytes is a mark.
 */
static int first_packet(const struct data_source *source, size_t *ret_at, size_t *ret_size)
{
	const unsigned char *at = source->held + source->packet_at;
	const size_t left = source->used - source->packet_at;
	uint64_t size;
	size_t head;

	if (left < 2)
		return 0;
	if (at[0] != (TRACE_PACKET << 3 | 2))
		return -1;
	head = field_varint(at + 1, left - 1, &size);
	if (head == 0)
		return left > 10 ? -1 : 0;
	if (size > PACKET_MAX)
		return -1;
	*ret_at = source->packet_at + 1 + head;
	*ret_size = (size_t)size;
	return left - 1 - head >= size;
}

/* What is held goes to its front, and room is made for more. -ENOMEM. */
static int make_room(struct data_source *source)
{
	unsigned char *held;

	memmove(source->held, source->held + source->packet_at, source->used - source->packet_at);
	source->used -= source->packet_at;
	source->packet_at = 0;
	if (source->room - source->used >= READ_BYTES)
		return 0;
	held = realloc(source->held, source->used + 2 * READ_BYTES);
	if (!held)
		return -ENOMEM;
	source->held = held;
	source->room = source->used + 2 * READ_BYTES;
	return 0;
}

/* SOURCE_MORE: what is held has no whole packet any more. */
static enum source_turn write_held(struct data_source *source, struct shared *shared)
{
	size_t at, size;
	int whole;

	while ((whole = first_packet(source, &at, &size)) > 0) {
		if (size == 0) {
			source->packet_at = at;
			return SOURCE_MARK;
		}
		/* Taken up again, it is the same: nothing is left in it that could go. */
		const size_t kept = keep_allowed(source->held + at, size);

		if (kept < size)
			memset(source->held + at + kept, 0, size - kept);
		if (shared->base && shared_write(shared, &source->writer, source->held + at,
						 kept, &source->done) != 0)
			return SOURCE_FULL;
		source->done = 0;
		source->packet_at = at + size;
	}
	return whole < 0 ? SOURCE_OVER : SOURCE_MORE;
}

enum source_turn data_source_turn(struct data_source *source, struct shared *shared)
{
	enum source_turn turn = write_held(source, shared);
	ssize_t got;

	while (turn == SOURCE_MORE) {
		if (make_room(source) < 0)
			return SOURCE_OVER;
		got = read(source->fd, source->held + source->used, READ_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return SOURCE_MORE;
		if (got <= 0)
			return SOURCE_OVER;
		source->used += (size_t)got;
		turn = write_held(source, shared);
	}
	return turn;
}
