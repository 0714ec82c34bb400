/* SPDX-License-Identifier: MIT */
/*
 * The socket between a producer and Perfetto's traced: frames of a length and a message, calls of
 * the service ProducerPort and their replies (protos/perfetto/ipc of Perfetto's tree). Not
 * installed.
 */
#ifndef PRODUCER_IPC_H
#define PRODUCER_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../wire/field.h"
#include "../../wire/packet.h"

#define IPC_FRAME (128u << 10)		/* the longest that either side sends */
#define IPC_ERROR 256

/* What is called, by the names that traced lists; their numbers are its own. */
enum ipc_method {
	IPC_INITIALIZE, IPC_REGISTER, IPC_COMMIT, IPC_COMMANDS, IPC_STARTED, IPC_STOPPED,
	IPC_METHODS
};

struct ipc_command {
	struct ipc_command *next;
	size_t size;
	unsigned char bytes[];
};

struct ipc {
	int fd;
	int passed;			/* a descriptor that came with a frame; -1: none */
	uint64_t service, methods[IPC_METHODS];
	uint64_t request, answered;	/* numbers of the last call, and of the last reply */
	uint64_t commands;		/* the call whose replies are commands */
	bool refused;			/* the last reply was a refusal */
	struct ipc_command *first, *last;	/* that nobody has taken yet */
	size_t waiting;			/* how many they are */
	size_t used;
	unsigned char held[IPC_FRAME + 4];	/* of frames that are not whole yet */
	char error[IPC_ERROR];
};

/*
 * Connects, and asks for the numbers of the methods. `path` NULL: $PERFETTO_PRODUCER_SOCK_NAME or,
 * without it, where Debian, Android and Perfetto's own builds have it. -errno with a sentence in
 * `error`.
 */
int ipc_connect(struct ipc *ipc, const char *path);
void ipc_close(struct ipc *ipc);

/* A call. Its number is ipc->request then. */
int ipc_call(struct ipc *ipc, enum ipc_method method, const struct packet *arguments);

/* The same, until its reply has come; commands that come meanwhile wait. -EPROTO: refused. */
int ipc_ask(struct ipc *ipc, enum ipc_method method, const struct packet *arguments);

/* Reads what is there. -EPIPE: traced has closed the connection; -EPROTO: that is no frame. */
int ipc_read(struct ipc *ipc);

/* The oldest command, to be freed; NULL: none. */
struct ipc_command *ipc_take(struct ipc *ipc);

#endif
