/* SPDX-License-Identifier: MIT */
/*
 * A broker: opens perf events for those who may not. Run it with CAP_PERFMON; a client connects
 * and hands the socket to its session or sampler. cc perfmodes-broker.c -lperfmodes
 *
 * --uid: serve that user only, else everybody who can reach the socket. --kernel: also what
 * happens in kernel mode. --others: threads of other processes (it needs CAP_SYS_PTRACE, too).
 * --system: whole CPUs. --stacks: copies of user stacks. Ends on SIGTERM and SIGINT.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <perfmodes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static int listen_at_path(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s", path) >= (int)sizeof(at.sun_path))
		return -1;
	return bind(fd, (void *)&at, sizeof(at)) == 0 && listen(fd, 16) == 0 ? fd : -1;
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

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "uid", required_argument, NULL, 'u' },
		{ "kernel", no_argument, NULL, PM_BROKER_KERNEL },
		{ "others", no_argument, NULL, PM_BROKER_OTHERS },
		{ "system", no_argument, NULL, PM_BROKER_SYSTEM },
		{ "stacks", no_argument, NULL, PM_BROKER_STACKS }, { 0 }
	};
	struct pm_broker_opts opts = { .size = sizeof(opts) };
	int listener, option, peers = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return 2;
		opts.allow |= option == 'u' ? 0 : (unsigned int)option;
		only_uid = option == 'u' ? atol(optarg) : only_uid;
	}
	if (optind + 1 != argc)
		return fprintf(stderr, "usage: perfmodes-broker SOCKET [--uid N] [--kernel] "
			       "[--others] [--system] [--stacks]\n"), 2;
	path = argv[optind];
	if ((listener = listen_at_path()) < 0)
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
