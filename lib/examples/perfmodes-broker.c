/* SPDX-License-Identifier: MIT */
/*
 * A broker: opens perf events for processes that may not open them, on their own threads.
 * Run it with CAP_PERFMON; the client connects and hands the socket to its session or sampler
 * (`broker`).
 *
 *   cc perfmodes-broker.c -lperfmodes && ./a.out SOCKET [--uid N] [--kernel] [--others] ...
 *
 * --uid: serve that user only, else everybody who can reach the socket. --kernel: also what
 * happens in kernel mode. --others: threads of other processes, for which it needs CAP_SYS_PTRACE,
 * too. --system: whole CPUs. --stacks: copies of user stacks. Ends on SIGTERM and SIGINT.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <perfmodes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERS 64	/* served at a time */

static const char *path;
static long only_uid = -1;

static void end(int number)
{
	(void)number;
	unlink(path);
	_exit(0);
}

static int listen_at(const char *at)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(at) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, at);
	if (fd < 0 || bind(fd, (const void *)&address, sizeof(address)) != 0 || listen(fd, 16) != 0)
		return -1;
	return fd;
}

static int may_come(int peer)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0 &&
		(only_uid < 0 || cred.uid == (uid_t)only_uid);
}

/* One process a peer: nothing that happens to one touches the others. Returns 1 if there is one. */
static int serve(int peer, const struct pm_broker_opts *opts)
{
	pid_t child = may_come(peer) ? fork() : -1;

	if (child == 0) {
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		_exit(pm_broker_serve(peer, opts) < 0);
	}
	close(peer);
	return child > 0;
}

/* Returns what an option adds to what is served; 0: it is none of these. */
static unsigned int allowed_by(const char *option)
{
	static const struct {
		const char *name;
		unsigned int allow;
	} options[] = {
		{ "--kernel", PM_BROKER_KERNEL }, { "--others", PM_BROKER_OTHERS },
		{ "--system", PM_BROKER_SYSTEM }, { "--stacks", PM_BROKER_STACKS },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(option, options[i].name) == 0)
			return options[i].allow;
	return 0;
}

int main(int argc, char **argv)
{
	struct pm_broker_opts opts = { .size = sizeof(opts) };
	int listener, peers = 0;

	for (int i = 2; i < argc; i++) {
		if (allowed_by(argv[i]) != 0)
			opts.allow |= allowed_by(argv[i]);
		else if (strcmp(argv[i], "--uid") == 0 && i + 1 < argc)
			only_uid = atol(argv[++i]);
		else
			argc = 0;
	}
	if (argc < 2)
		return fprintf(stderr, "usage: perfmodes-broker SOCKET [--uid N] [--kernel] "
			       "[--others] [--system] [--stacks]\n"), 2;
	path = argv[1];
	listener = listen_at(path);
	if (listener < 0)
		return perror("perfmodes-broker"), 1;
	signal(SIGTERM, end);
	signal(SIGINT, end);
	for (;;) {
		int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (peer >= 0)
			peers += serve(peer, &opts);
		while (peers > 0 && waitpid(-1, NULL, peers < PEERS ? WNOHANG : 0) > 0)
			peers--;
	}
}
