/* SPDX-License-Identifier: MIT */
/* Frames to traced and from it. What it sends is bounded: a frame, a thousand commands. */
#define _GNU_SOURCE
#include "ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../rights.h"

#define COMMANDS 1024		/* that wait */

enum frame { FRAME_REQUEST = 2, FRAME_BIND = 3, FRAME_BOUND = 4, FRAME_INVOKE = 5,
	     FRAME_REPLY = 6, FRAME_ERROR = 7 };
enum { BIND_NAME = 1, BOUND_SUCCESS = 1, BOUND_SERVICE = 2, BOUND_METHOD = 3 };
enum { METHOD_ID = 1, METHOD_NAME = 2, ERROR_TEXT = 1 };
enum { INVOKE_SERVICE = 1, INVOKE_METHOD = 2, INVOKE_ARGUMENTS = 3 };
enum { REPLY_SUCCESS = 1, REPLY_BYTES = 3 };

static const char *const names[IPC_METHODS] = {
	[IPC_INITIALIZE] = "InitializeConnection", [IPC_REGISTER] = "RegisterDataSource",
	[IPC_COMMIT] = "CommitData", [IPC_COMMANDS] = "GetAsyncCommand",
	[IPC_STARTED] = "NotifyDataSourceStarted", [IPC_STOPPED] = "NotifyDataSourceStopped",
};

/* ------------------------------------------------------------------------------------- writing */

static int send_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -errno;
		bytes += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

/* Of a message that was begun with 4 bytes for its length. Frees it. */
static int send_frame(struct ipc *ipc, struct packet *frame)
{
	int err = frame->error;

	if (err == 0 && frame->size - 4 > IPC_FRAME)
		err = -E2BIG;
	for (size_t i = 0; i < 4 && err == 0; i++)
		frame->bytes[i] = (unsigned char)((frame->size - 4) >> (8 * i));
	if (err == 0)
		err = send_all(ipc->fd, frame->bytes, frame->size);
	free(frame->bytes);
	return err;
}

static void begin_frame(struct ipc *ipc, struct packet *frame)
{
	*frame = (struct packet){ .size = 0 };
	for (int i = 0; i < 4; i++)
		packet_varint(frame, 0);
	packet_number(frame, FRAME_REQUEST, ++ipc->request);
}

int ipc_call(struct ipc *ipc, enum ipc_method method, const struct packet *arguments)
{
	struct packet frame;
	size_t mark;

	begin_frame(ipc, &frame);
	mark = packet_begin(&frame, FRAME_INVOKE);
	packet_number(&frame, INVOKE_SERVICE, ipc->service);
	packet_number(&frame, INVOKE_METHOD, ipc->methods[method]);
	packet_bytes(&frame, INVOKE_ARGUMENTS, arguments->bytes, arguments->size);
	packet_end(&frame, mark);
	if (arguments->error != 0)
		frame.error = arguments->error;
	if (method == IPC_COMMANDS)
		ipc->commands = ipc->request;
	return send_frame(ipc, &frame);
}

/* ------------------------------------------------------------------------------------- reading */

static void copy_text(const struct field *field, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%.*s", (int)(field->size < size ? field->size : size - 1),
		       field->bytes ? (const char *)field->bytes : "");
	for (; *ret != '\0'; ret++)
		if (*ret < ' ' || *ret > '~')
			*ret = '?';
}

static void take_method(struct ipc *ipc, struct fields fields)
{
	struct field field;
	uint64_t id = 0;
	char name[64] = "";

	while (field_next(&fields, &field)) {
		if (field.number == METHOD_ID)
			id = field.value;
		else if (field.number == METHOD_NAME)
			copy_text(&field, name, sizeof(name));
	}
	for (int i = 0; i < IPC_METHODS; i++)
		if (strcmp(names[i], name) == 0)
			ipc->methods[i] = id;
}

static void take_bound(struct ipc *ipc, struct fields fields)
{
	struct field field;

	ipc->refused = true;
	while (field_next(&fields, &field)) {
		if (field.number == BOUND_SUCCESS)
			ipc->refused = field.value == 0;
		else if (field.number == BOUND_SERVICE)
			ipc->service = field.value;
		else if (field.number == BOUND_METHOD)
			take_method(ipc, field_message(&field));
	}
}

static int keep_command(struct ipc *ipc, const unsigned char *bytes, size_t size)
{
	struct ipc_command *command;

	if (ipc->waiting == COMMANDS) {
		(void)snprintf(ipc->error, sizeof(ipc->error), "over %d commands wait", COMMANDS);
		return -EPROTO;
	}
	command = malloc(sizeof(*command) + size);
	if (!command)
		return -ENOMEM;
	command->next = NULL;
	command->size = size;
	if (size > 0)
		memcpy(command->bytes, bytes, size);
	if (ipc->last)
		ipc->last->next = command;
	else
		ipc->first = command;
	ipc->last = command;
	ipc->waiting++;
	return 0;
}

static int take_reply(struct ipc *ipc, uint64_t request, struct fields fields)
{
	struct field field, reply = { .number = 0 };

	if (request != ipc->commands)
		ipc->refused = true;
	while (field_next(&fields, &field)) {
		if (field.number == REPLY_SUCCESS && request != ipc->commands)
			ipc->refused = field.value == 0;
		else if (field.number == REPLY_BYTES)
			reply = field;
	}
	return request == ipc->commands && reply.size > 0 ?
		keep_command(ipc, reply.bytes, reply.size) : 0;
}

static int take_frame(struct ipc *ipc, const unsigned char *bytes, size_t size)
{
	struct fields fields = { bytes, bytes + size };
	struct field field, message = { .number = 0 };
	uint64_t request = 0;
	int err = 0;

	while (field_next(&fields, &field)) {
		if (field.number == FRAME_REQUEST)
			request = field.value;
		else if (field.number >= FRAME_BIND && field.number <= FRAME_ERROR)
			message = field;
	}
	if (fields.at != fields.end) {
		(void)snprintf(ipc->error, sizeof(ipc->error), "what it sends is no frame");
		return -EPROTO;
	}
	if (message.number == FRAME_BOUND) {
		take_bound(ipc, field_message(&message));
	} else if (message.number == FRAME_REPLY) {
		err = take_reply(ipc, request, field_message(&message));
	} else if (message.number == FRAME_ERROR) {
		fields = field_message(&message);
		while (field_next(&fields, &field))
			if (field.number == ERROR_TEXT)
				copy_text(&field, ipc->error, sizeof(ipc->error));
		ipc->refused = true;
	}
	if (request != ipc->commands && request > ipc->answered)
		ipc->answered = request;
	return err;
}

/* All frames that are whole. */
static int take_frames(struct ipc *ipc)
{
	size_t at = 0;
	int err = 0;

	while (err == 0 && ipc->used - at >= 4) {
		const unsigned char *head = ipc->held + at;
		const uint32_t size = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
			(uint32_t)head[3] << 24;

		if (size > IPC_FRAME) {
			(void)snprintf(ipc->error, sizeof(ipc->error), "a frame of %u bytes", size);
			return -EPROTO;
		}
		if (ipc->used - at - 4 < size)
			break;
		err = take_frame(ipc, head + 4, size);
		at += 4 + size;
	}
	memmove(ipc->held, ipc->held + at, ipc->used - at);
	ipc->used -= at;
	return err;
}

int ipc_read(struct ipc *ipc)
{
	struct pm_rights rights;
	const ssize_t got = pm_rights_receive(ipc->fd, ipc->held + ipc->used,
					      sizeof(ipc->held) - ipc->used, 0, &rights);

	if (got == -EAGAIN || got == -EINTR)
		return 0;
	if (got <= 0) {
		const int err = got == 0 || got == -ECONNRESET ? -EPIPE : (int)got;

		(void)snprintf(ipc->error, sizeof(ipc->error), "%s", err == -EPIPE ?
			       "it has closed the connection" : strerror(-err));
		return err;
	}
	/* traced passes one, that of the shared memory. */
	pm_rights_close(&rights, 1);
	if (rights.count > 0 && ipc->passed >= 0)
		close(ipc->passed);
	if (rights.count > 0)
		ipc->passed = rights.fds[0];
	ipc->used += (size_t)got;
	return take_frames(ipc);
}

/* Until the last call is answered. */
static int await(struct ipc *ipc)
{
	int err = 0;

	while (err == 0 && ipc->answered < ipc->request)
		err = ipc_read(ipc);
	if (err == 0 && ipc->refused) {
		if (ipc->error[0] == '\0')
			(void)snprintf(ipc->error, sizeof(ipc->error), "it refuses the call");
		err = -EPROTO;
	}
	return err;
}

int ipc_ask(struct ipc *ipc, enum ipc_method method, const struct packet *arguments)
{
	int err = ipc_call(ipc, method, arguments);

	if (err < 0)
		(void)snprintf(ipc->error, sizeof(ipc->error), "%s", strerror(-err));
	return err < 0 ? err : await(ipc);
}

struct ipc_command *ipc_take(struct ipc *ipc)
{
	struct ipc_command *command = ipc->first;

	if (!command)
		return NULL;
	ipc->first = command->next;
	if (!ipc->first)
		ipc->last = NULL;
	ipc->waiting--;
	return command;
}

/* ------------------------------------------------------------------------- beginning and end */

/* A path, or behind an @ a name without a file. */
static int try_path(struct ipc *ipc, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t length = strlen(path);

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	ipc->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ipc->fd < 0)
		return -errno;
	if (connect(ipc->fd, (const struct sockaddr *)&address, (socklen_t)
		    (offsetof(struct sockaddr_un, sun_path) + length + (path[0] != '@'))) == 0)
		return 0;
	{
		const int err = -errno;

		close(ipc->fd);
		ipc->fd = -1;
		return err;
	}
}

static int try_paths(struct ipc *ipc, const char *path)
{
	static const char *const places[] = { "/run/perfetto/traced-producer.sock",
		"/dev/socket/traced_producer", "/tmp/perfetto-producer" };
	int err = -ENOENT;

	if (!path)
		path = getenv("PERFETTO_PRODUCER_SOCK_NAME");
	if (path && path[0] != '\0') {
		err = try_path(ipc, path);
		if (err < 0)
			(void)snprintf(ipc->error, sizeof(ipc->error), "%.150s: %s", path,
				       strerror(-err));
		return err;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && err != 0; i++) {
		const int now = try_path(ipc, places[i]);

		err = now == 0 || now != -ENOENT ? now : err;
		if (now == 0)
			return 0;
	}
	(void)snprintf(ipc->error, sizeof(ipc->error), "none of its sockets answers (%s, %s, %s): "
		       "is it running? --traced=SOCKET names another", places[0], places[1],
		       places[2]);
	return err;
}

static int bind_service(struct ipc *ipc)
{
	struct packet frame;
	size_t mark;
	int err;

	begin_frame(ipc, &frame);
	mark = packet_begin(&frame, FRAME_BIND);
	packet_text(&frame, BIND_NAME, "ProducerPort", strlen("ProducerPort"));
	packet_end(&frame, mark);
	err = send_frame(ipc, &frame);
	if (err == 0)
		err = await(ipc);
	for (int i = 0; i < IPC_METHODS && err == 0; i++) {
		if (ipc->methods[i] != 0)
			continue;
		(void)snprintf(ipc->error, sizeof(ipc->error), "it has no %s", names[i]);
		err = -ENOTSUP;
	}
	return err;
}

int ipc_connect(struct ipc *ipc, const char *path)
{
	int err;

	*ipc = (struct ipc){ .fd = -1, .passed = -1 };
	err = try_paths(ipc, path);
	if (err == 0)
		err = bind_service(ipc);
	if (err < 0) {
		if (ipc->error[0] == '\0')
			(void)snprintf(ipc->error, sizeof(ipc->error), "%s", strerror(-err));
		ipc_close(ipc);
	}
	return err;
}

void ipc_close(struct ipc *ipc)
{
	struct ipc_command *command;

	while ((command = ipc_take(ipc)))
		free(command);
	if (ipc->fd >= 0)
		close(ipc->fd);
	if (ipc->passed >= 0)
		close(ipc->passed);
	ipc->fd = ipc->passed = -1;
}
