/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running one program to its end, whatever it does. See supervise.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "again.h"
#include "descendants.h"
#include "inherit.h"
#include "kernel_log.h"
#include "persona.h"
#include "supervise.h"

/*
 * The output is not read for this long. Most probes have ended by then, the pipe holds what they
 * wrote, and the reader has not preempted them.
 */
#define UNWATCHED_MS 100
#define GRACE_MS 1000			/* for children that end along with their probe */
#define LAST_MS 500			/* between SIGTERM and SIGKILL, to put things back */

struct ending {
	int exit, signal;
	bool timeout, truncated, main_gone;
	int write_error;		/* errno of the write that failed, or 0 */
	int leftover;			/* processes killed after the probe's own end */
	int complaints;			/* lines of the kernel's, or -1: its log cannot be read */
	long bytes;
	int64_t ms;
};

/* A running probe: its output, and where that goes. */
struct running {
	const struct bounds *bounds;
	pid_t probe;
	int from, to;
	int listener;			/* calls wait here for the interposer, or -1 */
	int log;			/* the kernel's, from the start of the probe on */
	struct ending end;
};

volatile sig_atomic_t supervise_interrupted;
static pid_t supervisor;

static void on_signal(int number)
{
	if (number != SIGCHLD)
		supervise_interrupted = number;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ waiting and killing all */

/* Reap what has ended; note how the probe itself did. Returns false when no child is left. */
static bool reap(struct running *run)
{
	int status;
	pid_t child;

	while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
		if (child != run->probe)
			continue;
		run->end.main_gone = true;
		if (WIFEXITED(status))
			run->end.exit = WEXITSTATUS(status);
		else
			run->end.signal = WTERMSIG(status);
	}
	return !(child < 0 && errno == ECHILD);
}

/* Wait until an entry is ready, a child has ended, a signal has come, or the time is over. */
static int wait_for(struct pollfd *entries, nfds_t count, int64_t ms)
{
	const struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };
	sigset_t none;

	sigemptyset(&none);
	return ppoll(entries, count, &wait, &none);
}

/* Wait that long for the remaining processes to end. */
static void let_end(struct running *run, int64_t ms)
{
	int64_t now = now_ms(), end = now + ms;

	while (now < end && reap(run)) {
		wait_for(NULL, 0, end - now);
		now = now_ms();
	}
}

/*
 * SIGKILL everything until nothing is left, for two seconds at most. Children that end along with
 * a probe that has ended have GRACE_MS before they count as left over.
 */
static void kill_all(struct running *run)
{
	const bool by_itself = run->end.main_gone;
	int64_t start;

	if (by_itself)
		let_end(run, GRACE_MS);
	start = now_ms();
	for (bool first = true; reap(run); first = false) {
		int killed = kill_descendants(SIGKILL);

		if (by_itself && first)
			run->end.leftover = killed;
		wait_for(NULL, 0, 2);
		if (now_ms() > start + 2000) {
			fprintf(stderr, "launch: a process of the probe cannot be killed "
					"(in the kernel?)\n");
			return;
		}
	}
}

void supervise_kill_all(void)
{
	struct running none = { .probe = -1 };

	kill_descendants(SIGTERM);
	let_end(&none, LAST_MS);
	kill_all(&none);
}

/* ------------------------------------------------------------------------------- the probe */

static noreturn void become_probe(const struct bounds *bounds, const struct persona *persona,
				  int program, char *const *arguments, int output, int socket)
{
	const struct rlimit none = { 0, 0 };
	const char *recording = getenv("PERFMODES_REPLAY");
	/* What is to be asked again is read by a persona that may not be able to reach its path. */
	int input = open(recording ? recording : "/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	setsid();
	inherit_signals();
	if (input >= 0)
		dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &none);
	if (bounds->between && bounds->between->before() < 0)
		_exit(126);
	if (persona && persona_assume(persona) < 0)
		_exit(126);
	if (bounds->between && bounds->between->inject(socket) < 0)
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != supervisor)
		_exit(126);		/* killed before this was asked for */
	/* By descriptor: the persona may not be able to reach the path, for example in /root. */
	fexecve(program, arguments, inherit_environment());
	dprintf(STDERR_FILENO, "# launch: cannot execute the probe: %s\n", strerror(errno));
	_exit(127);
}

/* Copy pending output. Returns 1 when there was some, 0 when not, -1 at its end. */
static int pass_output(struct running *run)
{
	struct ending *end = &run->end;
	char buffer[65536];
	ssize_t got = read(run->from, buffer, sizeof(buffer));

	if (got <= 0)
		return got < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
	end->bytes += got;
	if (end->bytes > run->bounds->output_limit) {
		got -= end->bytes - run->bounds->output_limit;
		end->truncated = true;
	}
	for (ssize_t done = 0, now; done < got; done += now) {
		now = write(run->to, buffer + done, got - done);
		if (now < 0 && errno != EINTR) {
			end->write_error = errno;
			return -1;
		}
		if (now < 0)
			now = 0;
	}
	return end->truncated ? -1 : 1;
}

/* Wait for the next event and handle it. Returns false when the probe must be cut off. */
static bool attend(struct running *run, struct pollfd *entries, int64_t ms)
{
	if (wait_for(entries, 2, ms) <= 0)
		return true;
	if (entries[1].revents & POLLIN)
		run->bounds->between->answer(run->listener);
	else if (entries[1].revents)
		entries[1].fd = -1;	/* no process is left that could call */
	else if (pass_output(run) < 0)
		entries[0].fd = run->from = -1;
	return !run->end.truncated && !run->end.write_error;
}

/*
 * Follow the probe until it has ended and its output is read, or until it is cut off because of
 * its time, its output or a signal. Then it gets SIGTERM first, so that it can put back what it
 * changed on the machine.
 */
static void follow(struct running *run)
{
	const int64_t start = now_ms(), watch = start + (run->listener < 0 ? UNWATCHED_MS : 0);
	int64_t now = start, deadline = start + (int64_t)(run->bounds->timeout * 1000);
	struct pollfd entries[] = { { .fd = -1, .events = POLLIN },
				    { .fd = run->listener, .events = POLLIN } };
	bool go_on = true, told = false;

	while (!run->end.main_gone && !(told && now >= deadline)) {
		if (!told && (!go_on || supervise_interrupted || now >= deadline)) {
			run->end.timeout = go_on && !supervise_interrupted;
			kill_descendants(SIGTERM);
			deadline = now + LAST_MS;
			told = true;
		}
		entries[0].fd = now < watch ? -1 : run->from;
		go_on = attend(run, entries,
			       (now < watch && watch < deadline ? watch : deadline) - now);
		reap(run);
		now = now_ms();
	}
	if (told)
		kill_descendants(SIGTERM);	/* again, for processes that were being forked */
	/* Processes that still hold the pipe after the probe's end are left over. */
	while (run->end.main_gone && run->from >= 0 && pass_output(run) > 0)
		;
	kill_all(run);
	run->end.ms = now_ms() - start;
}

/* ------------------------------------------------------------------------------ the result */

/* The footer, on a line of its own even when the probe did not end its last line. */
static bool write_footer(int fd, struct ending *end, int log)
{
	char last = '\n';

	if (end->bytes && pread(fd, &last, 1, lseek(fd, 0, SEEK_CUR) - 1) < 0)
		return false;
	if (last != '\n' && write(fd, "\n", 1) != 1)
		return false;
	end->complaints = kernel_log_tell(log, fd);
	return dprintf(fd, "#:launch: exit=%d signal=%d ms=%lld timeout=%d truncated=%d "
			   "leftover=%d kernel=%d bytes=%ld\n", end->exit, end->signal,
		       (long long)end->ms, end->timeout, end->truncated, end->leftover,
		       end->complaints, end->bytes) > 0;
}

static int finish(const char *part, const char *out, struct running *run)
{
	if (supervise_interrupted) {
		unlink(part);
		return 128 + supervise_interrupted;
	}
	errno = run->end.write_error;
	if (errno || !write_footer(run->to, &run->end, run->log) || rename(part, out) < 0) {
		fprintf(stderr, "launch: cannot write %s: %s\n", out, strerror(errno));
		unlink(part);
		return 3;
	}
	return 0;
}

/* Start the probe and follow it to its end. Returns 0 or -errno when it could not be started. */
static int start(struct running *run, const struct persona *persona, int program,
		 char *const *arguments)
{
	const struct interposer *between = run->bounds->between;
	int pipes[2], sockets[2] = { -1, -1 };

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	run->from = pipes[0];
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	if (between && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	run->probe = fork();
	if (run->probe == 0)
		become_probe(run->bounds, persona, program, arguments, pipes[1], sockets[1]);
	if (run->probe < 0)
		return -errno;
	close(pipes[1]);
	if (between) {
		close(sockets[1]);
		run->listener = between->listener(sockets[0]);
	}
	run->end = (struct ending){ 0 };
	follow(run);
	close(pipes[0]);
	if (between) {
		close(sockets[0]);
		close(run->listener);
	}
	return 0;
}

/* Not where it was cut off. */
static bool runs_again(const struct running *run)
{
	const struct ending *end = &run->end;

	return !end->signal && !end->timeout && !end->truncated && !end->write_error &&
		!supervise_interrupted && again_begin(run->to);
}

int supervise_run(const struct bounds *bounds, const struct persona *persona, const char *out,
		  char *const *arguments)
{
	struct running run = { .bounds = bounds, .listener = -1 };
	char part[4096];
	int status = 3, error, program = open(arguments[0], O_RDONLY | O_CLOEXEC);

	if (program < 0) {
		fprintf(stderr, "launch: %s: %s\n", arguments[0], strerror(errno));
		return 3;
	}
	snprintf(part, sizeof(part), "%s.part", out);
	run.log = kernel_log_open();
	unlink(part);			/* of a run that was killed, or a link to somewhere else */
	run.to = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	error = run.to < 0 ? -errno : start(&run, persona, program, arguments);
	for (int runs = 1; !error && runs < AGAIN_RUNS && runs_again(&run); runs++)
		error = start(&run, persona, program, arguments);
	if (error) {
		fprintf(stderr, "launch: %s: %s\n", part, strerror(-error));
		unlink(part);
	} else {
		status = finish(part, out, &run);
	}
	if (run.to >= 0)
		close(run.to);
	if (run.log >= 0)
		close(run.log);
	close(program);
	return status;
}

/* As nohup(1) has it for SIGHUP: who started us does not want it to end anything. */
static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void take_signal(int number, sigset_t *block)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(number, &action, NULL);
	sigaddset(block, number);
}

/*
 * Without ppoll and wait4 a probe is followed by no one, and no signal is heard: it never ends.
 * Without close no pipe ends, and a worker waits for its next job for ever.
 */
static int can_wait(void)
{
	const struct timespec none = { 0 };
	const char *call = NULL;
	int status;

	if (ppoll(NULL, 0, &none, NULL) < 0 && errno != EINTR)
		call = "ppoll";
	else if (waitpid(-1, &status, WNOHANG) < 0 && errno != ECHILD)
		call = "wait4";
	else if (close(-1) < 0 && errno != EBADF)
		call = "close";
	if (call)
		fprintf(stderr, "launch: %s(2): %s: nothing can be run here; does a system call "
				"filter refuse it?\n", call, strerror(errno));
	return call ? -1 : 0;
}

int supervise_begin(void)
{
	static const int own[] = { SIGCHLD, SUPERVISE_STOP },
			 callers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t block;

	supervisor = getpid();
	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		take_signal(own[i], &block);
	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers); i++)
		if (!is_ignored(callers[i]))
			take_signal(callers[i], &block);
	sigprocmask(SIG_BLOCK, &block, NULL);
	prctl(PR_SET_PDEATHSIG, SUPERVISE_STOP);	/* the runner was killed: end too */
	prctl(PR_SET_CHILD_SUBREAPER, 1);	/* v3.4; before, groups and sessions must do */
	return can_wait();
}

int supervise_prepare(void)
{
	if (supervise_begin() < 0)
		return -1;
	persona_see_tracefs();
	persona_tell_tracepoints();
	return 0;
}
