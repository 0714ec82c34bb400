/* SPDX-License-Identifier: MIT */
/* Starts the program behind the filter, or traced; and passes signals on to it. */
#define _GNU_SOURCE
#include "explain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rights.h"

static const int passed[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD };

static sigset_t before;

static void block_signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(&mask, passed[i]);
	(void)sigprocmask(SIG_BLOCK, &mask, &before);
}

int signals_open(void)
{
	/* Stops are waited for; a signal for each would be read and thrown away. */
	const struct sigaction ends_alone = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP };
	sigset_t mask;
	int fd;

	(void)sigaction(SIGCHLD, &ends_alone, NULL);
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(&mask, passed[i]);
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : -errno;
}

void signals_pass(int fd, struct start *start)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && info.ssi_code <= 0 && !start->ended)
			(void)kill(start->pid, (int)info.ssi_signo);
}

/* ------------------------------------------------------------------------------- the program */

static _Noreturn void become(struct start *start, int line)
{
	int fd = -1, error;
	char byte;

	if (start->ptrace) {
		(void)write(line, "", 1);
		(void)read(line, &byte, 1);	/* until it is seized */
	} else {
		struct { int fd; bool no_new_privs; } told = { -1, false };

		fd = notify_install(&told.no_new_privs);
		(void)write(line, told.no_new_privs ? "n" : "-", 1);
		if (rights_send(line, fd) != 0 || fd < 0)
			_exit(3);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)execvp(start->argv[0], start->argv);
	error = errno;
	(void)write(line, &error, sizeof(error));
	_exit(error == ENOENT ? 127 : 126);
}

int start_program(struct start *start)
{
	int line[2];
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0)
		return -errno;
	block_signals();
	start->listener = -1;
	start->pid = fork();
	if (start->pid < 0)
		return -errno;
	if (start->pid == 0)
		become(start, line[1]);
	(void)close(line[1]);
	start->line = line[0];
	if (read(line[0], &byte, 1) != 1)
		return -EPIPE;
	start->no_new_privs = byte == 'n';
	if (start->ptrace)
		return 0;
	start->listener = rights_receive(line[0]);
	return start->listener < 0 ? start->listener : 0;
}

int start_error(const struct start *start)
{
	int error = 0;

	return recv(start->line, &error, sizeof(error), MSG_DONTWAIT) == sizeof(error) ? error : 0;
}
