/* SPDX-License-Identifier: MIT */
/*
 * An app with the doctor in its process, under a filter that traps all calls but those of
 * app_calls.h (made from allowed.txt). Arguments: the limit in ms, and what to do besides:
 *   plain      no filter
 *   ignored    SIGCHLD is ignored, as some apps do
 *   closed     descriptors 0 to 2 are closed meanwhile
 *   deaf       what it is to write to can only be read
 *   SKIP       the number of one call more that is trapped
 * Prints what the doctor said, then a line "end ERR SIGNAL TRAPPED CALL LEFT" where LEFT tells in
 * words what was left behind, "nothing" as a rule.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmodes_doctor.h"

static const int calls[] = {
#include "app_calls.h"
};
#define COUNT (sizeof(calls) / sizeof(calls[0]))

static struct sock_filter code[2 * COUNT + 2];

static void put(unsigned short *n, unsigned short op, unsigned char yes, unsigned char no,
		unsigned int value)
{
	code[(*n)++] = (struct sock_filter){ .code = op, .jt = yes, .jf = no, .k = value };
}

static int install(int skip)
{
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	put(&n, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT; i++) {
		if (calls[i] == skip)
			continue;
		put(&n, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned int)calls[i]);
		put(&n, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	}
	put(&n, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void mine(int signal)
{
	(void)signal;
	_exit(99);
}

static const char *left(int descriptors)
{
	struct sigaction now;

	if (open_descriptors() != descriptors)
		return "descriptors";
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		return "children";
	if (sigaction(SIGSYS, NULL, &now) < 0 || now.sa_handler != mine)
		return "handler";
	return "nothing";
}

int main(int argc, char **argv)
{
	struct pm_doctor_end end = { .size = sizeof(end) };
	const char *word = argc > 2 ? argv[2] : "";
	const bool closed = strcmp(word, "closed") == 0;
	const int out = closed ? dup(STDOUT_FILENO) :
		strcmp(word, "deaf") == 0 ? open("/dev/null", O_RDONLY) : STDOUT_FILENO;
	int descriptors, err;

	for (int fd = STDIN_FILENO; closed && fd <= STDERR_FILENO; fd++)
		close(fd);
	descriptors = open_descriptors();
	signal(SIGSYS, mine);
	if (strcmp(word, "ignored") == 0)
		signal(SIGCHLD, SIG_IGN);
	if (strcmp(word, "plain") != 0 && install(atoi(word) > 0 ? atoi(word) : -1) < 0)
		return 4;
	printf("not yet written, ");
	err = pm_doctor_run(out, 0, argc > 1 ? atoi(argv[1]) : 60000, &end);
	printf("end %d %d %u %d %s\n", err, end.signal, end.trapped, end.call, left(descriptors));
	if (closed)
		(void)dup2(out, STDOUT_FILENO);
	return fflush(stdout) != 0;
}
