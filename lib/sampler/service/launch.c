/* SPDX-License-Identifier: MIT */
/* The command: its process waits for a byte before it becomes the program. */
#define _GNU_SOURCE
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 250		/* looks, 20 ms apart, after SIGTERM */

/* What becomes of the exec is told by TELL, which it closes where it succeeds. */
static void become(int gate, int tell, char **command)
{
	char byte;
	ssize_t got;
	int err;

	do
		got = read(gate, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(0);	/* nothing is watched: the reason is told by the other side */
	/* What is seen of the exec itself is the command's already. */
	(void)prctl(PR_SET_NAME, basename(command[0]));
	(void)execvp(command[0], command);
	err = errno;
	dprintf(STDERR_FILENO, "perfmodes-sampler: %s: %s\n", command[0], strerror(err));
	(void)!write(tell, "", 1);
	_exit(err == ENOENT ? 127 : 126);
}

int launch_prepare(struct launch *launch, char **command)
{
	int ends[2], told[2];

	*launch = (struct launch){ .gate = -1, .told = -1 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(told, O_CLOEXEC | O_NONBLOCK) != 0) {
		int err = -errno;

		close(ends[0]);
		close(ends[1]);
		return err;
	}
	(void)signal(SIGCHLD, SIG_DFL);	/* ignored, it would take the status with it */
	launch->pid = fork();
	if (launch->pid < 0) {
		int err = -errno;

		launch->pid = 0;
		for (int i = 0; i < 2; i++) {
			close(ends[i]);
			close(told[i]);
		}
		return err;
	}
	if (launch->pid == 0) {
		close(ends[1]);
		close(told[0]);
		become(ends[0], told[1], command);
	}
	close(ends[0]);
	close(told[1]);
	launch->gate = ends[1];
	launch->told = told[0];
	return 0;
}

void launch_begin(struct launch *launch)
{
	if (launch->pid == 0 || launch->gate < 0)
		return;
	launch->begun = write(launch->gate, "", 1) == 1;
	close(launch->gate);
	launch->gate = -1;
}

bool launch_ended(struct launch *launch)
{
	if (launch->pid == 0)
		return launch->ended;
	if (waitpid(launch->pid, &launch->status, WNOHANG) == launch->pid) {
		char byte;

		launch->ended = true;
		launch->pid = 0;
		launch->refused = read(launch->told, &byte, 1) == 1;
	}
	return launch->ended;
}

int launch_close(struct launch *launch)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	if (launch->gate >= 0)
		close(launch->gate);
	launch->gate = -1;
	if (!launch_ended(launch) && launch->pid != 0 && launch->begun)
		(void)kill(launch->pid, SIGTERM);
	for (int i = 0; i < PATIENCE && launch->pid != 0 && !launch_ended(launch); i++)
		(void)nanosleep(&pause, NULL);
	if (launch->pid != 0)
		fprintf(stderr, "perfmodes-sampler: process %d, which was run, goes on\n",
			(int)launch->pid);
	if (launch->told >= 0)
		close(launch->told);
	launch->told = -1;
	if (!launch->ended || !launch->begun)
		return 0;
	return WIFSIGNALED(launch->status) ? 128 + WTERMSIG(launch->status) :
		WEXITSTATUS(launch->status);
}
