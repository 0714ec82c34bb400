/* SPDX-License-Identifier: MIT */
/* The loop between traced and the processes that serve its consumers. */
#define _GNU_SOURCE
#include "producer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demand.h"
#include "ipc.h"
#include "shared.h"
#include "source.h"

#define SOURCES 8
#define FLUSHES 32
#define SHARED_BYTES (1u << 20)
#define PAGE_BYTES 16384u

enum { INITIALIZE_PAGE = 1, INITIALIZE_SIZE = 2, INITIALIZE_NAME = 3, INITIALIZE_SCRAPING = 4,
       SCRAPING_OFF = 2 };
enum { REGISTER_DESCRIPTOR = 1, DESCRIPTOR_NAME = 1, DESCRIPTOR_TELLS_STOP = 2,
       DESCRIPTOR_TELLS_START = 3, DESCRIPTOR_FORGETS = 4 };
enum { REQUEST_FLUSH = 3, NOTIFY_ID = 1 };
enum command { COMMAND_START = 1, COMMAND_STOP = 2, COMMAND_SETUP_TRACING = 3, COMMAND_FLUSH = 5,
	       COMMAND_SETUP = 6, COMMAND_FORGET = 7 };
enum { SETUP_PAGE_KB = 1, SETUP_ID = 1, SETUP_CONFIG = 2, FLUSH_ID = 1, FLUSH_REQUEST = 2,
       FORGET_ID = 1 };

/* A flush that waits for the marks of some sources. */
struct flush {
	uint64_t request;
	unsigned int waiting, sent;	/* bits: sources whose mark is awaited; was asked for it */
};

struct producer {
	struct ipc ipc;
	struct shared shared;
	struct data_source sources[SOURCES];
	struct flush flushes[FLUSHES];
	size_t flush_count;
	uint32_t writers;
	unsigned int stop;		/* signals that asked for it */
	int err;
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)fputs("perfmodes-sampler: ", stderr);
	(void)vfprintf(stderr, format, list);
	(void)fputc('\n', stderr);
	va_end(list);
}

static unsigned int bit_of(const struct producer *producer, const struct data_source *source)
{
	return 1u << (source - producer->sources);
}

static struct data_source *find(struct producer *producer, uint64_t id)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (producer->sources[i].id == id)
			return &producer->sources[i];
	return NULL;
}

/* ------------------------------------------------------------------------------------ to traced */

static void failed(struct producer *producer, int err)
{
	if (err < 0 && producer->err == 0)
		producer->err = err;
}

/* What is complete is traced's; `flush` 0: none is answered. */
static void commit(struct producer *producer, uint64_t flush)
{
	struct packet *moves = &producer->shared.moves;

	if (producer->err < 0 || (producer->shared.complete == 0 && flush == 0))
		return;
	if (flush != 0)
		packet_number(moves, REQUEST_FLUSH, flush);
	failed(producer, ipc_ask(&producer->ipc, IPC_COMMIT, moves));
	moves->size = 0;
	producer->shared.complete = 0;
}

static void finish_all(struct producer *producer)
{
	for (size_t i = 0; i < SOURCES; i++)
		shared_finish(&producer->shared, &producer->sources[i].writer);
}

static void notify(struct producer *producer, enum ipc_method method, uint64_t id)
{
	struct packet packet = { .size = 0 };

	packet_number(&packet, NOTIFY_ID, id);
	if (producer->err == 0)
		failed(producer, ipc_ask(&producer->ipc, method, &packet));
	free(packet.bytes);
}

static void tell_start(struct producer *producer, struct data_source *source)
{
	if (!source->told_start)
		notify(producer, IPC_STARTED, source->id);
	source->told_start = true;
}

/* Flushes for which nobody is waited any more. */
static void answer_flushes(struct producer *producer)
{
	for (size_t i = 0; i < producer->flush_count;) {
		if (producer->flushes[i].waiting != 0) {
			i++;
			continue;
		}
		finish_all(producer);
		commit(producer, producer->flushes[i].request);
		producer->flushes[i] = producer->flushes[--producer->flush_count];
	}
}

/* One mark may be on its way: who asked later waits for the next one. */
static void ask_for_mark(struct producer *producer, struct data_source *source)
{
	const unsigned int bit = bit_of(producer, source);
	bool wanted = false;

	if (source->asked)
		return;
	for (size_t i = 0; i < producer->flush_count; i++) {
		wanted = wanted || producer->flushes[i].waiting & bit;
		producer->flushes[i].sent |= producer->flushes[i].waiting & bit;
	}
	if (wanted)
		data_source_flush(source);
}

/* ---------------------------------------------------------------------------------- commands */

static void set_up_tracing(struct producer *producer, struct fields fields)
{
	uint64_t page_kb = 4;
	struct field field;
	int err;

	while (field_next(&fields, &field))
		if (field.number == SETUP_PAGE_KB)
			page_kb = field.value;
	if (producer->shared.base)
		return;
	err = producer->ipc.passed < 0 ? -EBADF : page_kb > 64 ? -EINVAL :
		shared_map(&producer->shared, producer->ipc.passed, page_kb * 1024);
	if (err < 0)
		say("traced: its shared memory cannot be used: %s", strerror(-err));
	failed(producer, err);
}

static void set_up(struct producer *producer, struct fields fields)
{
	struct field field, config = { .number = 0 };
	struct data_source *source;
	struct demand demand;
	char error[256];
	uint64_t id = 0;
	int err;

	while (field_next(&fields, &field)) {
		if (field.number == SETUP_ID)
			id = field.value;
		else if (field.number == SETUP_CONFIG)
			config = field;
	}
	source = id != 0 && !find(producer, id) ? find(producer, 0) : NULL;
	if (!source) {
		say("traced: more than %d consumers at a time", SOURCES);
		return;
	}
	fields = field_message(&config);
	err = demand_read(fields.at, (size_t)(fields.end - fields.at), &demand, error,
			  sizeof(error));
	*source = (struct data_source){ .id = id, .fd = -1, .json = demand.json };
	source->writer.id = producer->writers++ % UINT16_MAX + 1;
	source->writer.buffer = (uint32_t)demand.buffer;
	if (err < 0)
		say("traced: what is asked for cannot be done: %s",
		    error[0] ? error : strerror(-err));
	else if (demand.left_out[0])
		say("traced: left out: %s", demand.left_out);
}

static void start(struct producer *producer, struct data_source *source)
{
	const int err = !source->json ? -EINVAL : source->pid ? 0 : data_source_start(source);

	if (err < 0 && source->json)
		say("traced: no process for a data source: %s", strerror(-err));
	if (err < 0)
		tell_start(producer, source);	/* who waits for all is not to wait for this one */
}

static void stop(struct producer *producer, struct data_source *source)
{
	if (source->fd >= 0) {
		data_source_stop(source);
		return;
	}
	notify(producer, IPC_STOPPED, source->id);
	data_source_free(source);
}

static void flush(struct producer *producer, struct fields fields)
{
	struct flush flush = { .request = 0 };
	struct field field;

	while (field_next(&fields, &field)) {
		const struct data_source *source = field.number == FLUSH_ID && field.value != 0 ?
			find(producer, field.value) : NULL;

		if (field.number == FLUSH_REQUEST)
			flush.request = field.value;
		if (source && source->fd >= 0 && !source->stopping)
			flush.waiting |= bit_of(producer, source);
	}
	if (producer->flush_count == FLUSHES) {	/* the oldest has what there is */
		producer->flushes[0].waiting = 0;
		answer_flushes(producer);
	}
	producer->flushes[producer->flush_count++] = flush;
	for (size_t i = 0; i < SOURCES; i++)
		if (flush.waiting & 1u << i)
			ask_for_mark(producer, &producer->sources[i]);
	answer_flushes(producer);
}

static void forget(struct producer *producer, struct fields fields)
{
	struct data_source *source;
	struct field field;

	while (field_next(&fields, &field)) {
		source = field.number == FORGET_ID && field.value != 0 ?
			find(producer, field.value) : NULL;
		if (source)
			data_source_forget(source);
	}
}

static void obey(struct producer *producer, const struct ipc_command *command)
{
	struct fields fields = { command->bytes, command->bytes + command->size }, inner;
	struct data_source *source = NULL;
	struct field field, id;

	while (field_next(&fields, &field)) {
		inner = field_message(&field);
		if (field.number == COMMAND_START || field.number == COMMAND_STOP) {
			while (field_next(&inner, &id))
				if (id.number == SETUP_ID && id.value != 0)
					source = find(producer, id.value);
			if (source && field.number == COMMAND_START)
				start(producer, source);
			else if (source)
				stop(producer, source);
		} else if (field.number == COMMAND_SETUP_TRACING) {
			set_up_tracing(producer, inner);
		} else if (field.number == COMMAND_SETUP) {
			set_up(producer, inner);
		} else if (field.number == COMMAND_FLUSH) {
			flush(producer, inner);
		} else if (field.number == COMMAND_FORGET) {
			forget(producer, inner);
		}
	}
}

/* ------------------------------------------------------------------------------------ sources */

static void has_mark(struct producer *producer, struct data_source *source)
{
	const unsigned int bit = bit_of(producer, source);

	source->asked = false;
	tell_start(producer, source);
	for (size_t i = 0; i < producer->flush_count; i++)
		if (producer->flushes[i].sent & bit)
			producer->flushes[i].waiting &= ~bit;
	answer_flushes(producer);
	ask_for_mark(producer, source);
}

static void is_over(struct producer *producer, struct data_source *source)
{
	const unsigned int bit = bit_of(producer, source);
	int status = 0;

	close(source->fd);
	source->fd = -1;
	while (waitpid(source->pid, &status, 0) < 0 && errno == EINTR)
		;
	source->pid = 0;
	if (!source->stopping && status != 0)
		say("traced: the process of a data source has ended with %s %d",
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	shared_finish(&producer->shared, &source->writer);
	commit(producer, 0);
	tell_start(producer, source);
	for (size_t i = 0; i < producer->flush_count; i++)
		producer->flushes[i].waiting &= ~bit;
	answer_flushes(producer);
	if (source->stopping) {
		notify(producer, IPC_STOPPED, source->id);
		data_source_free(source);
	}
}

/* Twice full with all committed is a traced that takes nothing. */
static void serve(struct producer *producer, struct data_source *source)
{
	for (int full = 0; producer->err == 0;) {
		const size_t done = source->done, at = source->packet_at;
		const enum source_turn turn = data_source_turn(source, &producer->shared);

		if (turn == SOURCE_MARK)
			has_mark(producer, source);
		if (turn == SOURCE_OVER)
			is_over(producer, source);
		if (turn == SOURCE_MORE || turn == SOURCE_OVER)
			break;
		full = turn == SOURCE_FULL && done == source->done && at == source->packet_at ?
			full + 1 : 0;
		if (full == 3) {
			(void)snprintf(producer->ipc.error, sizeof(producer->ipc.error),
				       "it does not take what is in the shared memory");
			failed(producer, -ENOSPC);
		}
		if (turn == SOURCE_FULL) {
			finish_all(producer);
			commit(producer, 0);
		}
	}
	commit(producer, 0);
}

static bool has_ended(const struct producer *producer)
{
	bool running = false;

	for (size_t i = 0; i < SOURCES; i++)
		running = running || producer->sources[i].fd >= 0;
	return producer->err < 0 || producer->stop > 1 || (producer->stop == 1 && !running);
}

static void on_signals(struct producer *producer, int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		producer->stop++;
	for (size_t i = 0; i < SOURCES && producer->stop > 0; i++)
		data_source_stop(&producer->sources[i]);
}

static void loop(struct producer *producer, int signals)
{
	struct ipc_command *command;

	while (!has_ended(producer)) {
		struct pollfd ready[SOURCES + 2] = {
			[SOURCES] = { .fd = producer->ipc.fd, .events = POLLIN },
			[SOURCES + 1] = { .fd = signals, .events = POLLIN },
		};

		while (producer->err == 0 && (command = ipc_take(&producer->ipc))) {
			obey(producer, command);
			free(command);
		}
		if (has_ended(producer))
			return;
		for (size_t i = 0; i < SOURCES; i++)
			ready[i] = (struct pollfd){ .fd = producer->sources[i].fd,
						    .events = POLLIN };
		if (poll(ready, SOURCES + 2, -1) < 0 && errno != EINTR)
			failed(producer, -errno);
		if (ready[SOURCES].revents)
			failed(producer, ipc_read(&producer->ipc));
		on_signals(producer, signals);
		for (size_t i = 0; i < SOURCES; i++)
			if (ready[i].revents && producer->sources[i].fd >= 0)
				serve(producer, &producer->sources[i]);
	}
}

/* -------------------------------------------------------------------------- beginning and end */

static int introduce(struct ipc *ipc, const char *name)
{
	struct packet packet = { .size = 0 };
	size_t mark;
	int err;

	packet_number(&packet, INITIALIZE_PAGE, PAGE_BYTES);
	packet_number(&packet, INITIALIZE_SIZE, SHARED_BYTES);
	packet_text(&packet, INITIALIZE_NAME, "perfmodes-sampler", strlen("perfmodes-sampler"));
	packet_number(&packet, INITIALIZE_SCRAPING, SCRAPING_OFF);
	err = ipc_ask(ipc, IPC_INITIALIZE, &packet);
	packet.size = 0;
	if (err == 0)
		err = ipc_call(ipc, IPC_COMMANDS, &packet);
	mark = packet_begin(&packet, REGISTER_DESCRIPTOR);
	packet_text(&packet, DESCRIPTOR_NAME, name, strlen(name));
	packet_number(&packet, DESCRIPTOR_TELLS_STOP, 1);
	packet_number(&packet, DESCRIPTOR_TELLS_START, 1);
	packet_number(&packet, DESCRIPTOR_FORGETS, 1);
	packet_end(&packet, mark);
	if (err == 0)
		err = ipc_ask(ipc, IPC_REGISTER, &packet);
	free(packet.bytes);
	return err;
}

/* Those that ask processes for something are blocked, as each process is born with this mask. */
static int take_signals(void)
{
	sigset_t set, requests;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);	/* ignored, it would take the status of processes with it */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&requests);
	sigaddset(&requests, SIGUSR1);
	sigaddset(&requests, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &requests, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int producer_run(const char *socket, const char *data_source)
{
	static struct producer producer;
	const int signals = take_signals();
	int err = signals < 0 ? -errno : ipc_connect(&producer.ipc, socket);

	for (size_t i = 0; i < SOURCES; i++)
		producer.sources[i].fd = -1;
	if (err == 0)
		err = introduce(&producer.ipc, data_source);
	if (err == 0) {
		say("traced has \"%s\" from here; SIGINT or SIGTERM ends it", data_source);
		loop(&producer, signals);
		err = producer.err;
	}
	if (err < 0)
		say("traced: %s", producer.ipc.error[0] ? producer.ipc.error : strerror(-err));
	for (size_t i = 0; i < SOURCES; i++)
		data_source_free(&producer.sources[i]);
	shared_free(&producer.shared);
	ipc_close(&producer.ipc);
	if (signals >= 0)
		close(signals);
	return err < 0;
}
