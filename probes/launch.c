/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch: run one probe as a persona, in bounded time, with bounded output, leaving no process
 * behind, and write what it said to a file whose last line says how it ended.
 *
 * The file appears under its name only when complete (FILE.part is renamed), so a run that was cut
 * off can be resumed by looking at which files are there. The launcher is the reaper of everything
 * the probe starts (PR_SET_CHILD_SUBREAPER): a process that left its group and session is still
 * its descendant, is found through /proc, and is killed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
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

#include "fault.h"
#include "persona.h"
#include "tee.h"

struct options {
	const char *persona;
	const char *out;
	const char *tee, *tee_name;	/* side channel and the file's name there, or NULL */
	const struct fault *fault;	/* or NULL */
	double timeout;			/* seconds */
	long output_limit;		/* bytes */
	bool old_kernel;
	char **program;
};

struct ending {
	int exit, signal;
	bool timeout, truncated, main_gone;
	int write_error;		/* errno of the write that failed, or 0 */
	int leftover;			/* processes killed after the probe's own end */
	long bytes;
	int64_t ms;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	if (number != SIGCHLD)
		interrupted = number;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ finding and killing all */

struct process {
	pid_t pid, parent;
	bool ours;
};

/*
 * The parent of a living process from /proc/<pid>/stat; the name in it may hold spaces and
 * brackets. 0 for what has ended already.
 */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512], *bracket;
	ssize_t length;
	int fd, parent;
	char state;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	bracket = strrchr(text, ')');
	if (!bracket || sscanf(bracket, ") %c %d", &state, &parent) != 2 || state == 'Z')
		return 0;
	return parent;
}

static size_t list_processes(struct process *list, size_t size)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (proc && count < size && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		list[count].pid = atoi(entry->d_name);
		list[count].parent = parent_of(entry->d_name);
		list[count++].ours = false;
	}
	if (proc)
		closedir(proc);
	return count;
}

/* Kill every descendant. Returns how many were alive. */
static int kill_descendants(int number)
{
	static struct process list[16384];
	const size_t count = list_processes(list, sizeof(list) / sizeof(*list));
	const pid_t self = getpid();
	int killed = 0;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < count; i++) {
			bool parent_ours = list[i].parent == self;

			for (size_t j = 0; j < count && !parent_ours; j++)
				parent_ours = list[j].ours && list[j].pid == list[i].parent;
			if (parent_ours && !list[i].ours)
				more = list[i].ours = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].ours)
			killed += kill(list[i].pid, number) == 0;
	return killed;
}

/* Reap what has ended; note how the probe itself did. Returns false when no child is left. */
static bool reap(pid_t probe, struct ending *end)
{
	int status;
	pid_t child;

	while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
		if (child != probe)
			continue;
		end->main_gone = true;
		if (WIFEXITED(status))
			end->exit = WEXITSTATUS(status);
		else
			end->signal = WTERMSIG(status);
	}
	return !(child < 0 && errno == ECHILD);
}

/*
 * SIGKILL everything until nothing is left, for two seconds at most. Children that end along with
 * a probe that ended by itself have 50 ms to do so before they count as left over.
 */
static void kill_all(pid_t probe, struct ending *end)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	const int grace = end->main_gone ? 25 : 0;

	for (int round = 0; round < 1000; round++) {
		if (!reap(probe, end))
			return;
		if (round >= grace) {
			int killed = kill_descendants(SIGKILL);

			if (grace && round == grace)
				end->leftover = killed;
		}
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "launch: a process of the probe cannot be killed (in the kernel?)\n");
}

/* ------------------------------------------------------------------------------- the probe */

static noreturn void become_probe(const struct options *options, int program, int output,
				  int socket)
{
	const struct rlimit none = { 0, 0 };
	sigset_t empty;
	int null = open("/dev/null", O_RDONLY);

	setsid();
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &none);
	persona_see_tracefs();
	persona_tell_tracepoints();
	if (persona_assume(options->persona, options->old_kernel) < 0)
		_exit(126);
	if (options->fault && fault_inject(options->fault, socket) < 0)
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* By descriptor: the persona need not be able to walk the path, say through /root. */
	fexecve(program, options->program, environ);
	dprintf(STDERR_FILENO, "# launch: cannot execute the probe: %s\n", strerror(errno));
	_exit(127);
}

/* Pass on what has come in. Returns false at end of file. */
static bool pass_output(int from, int to, const struct options *options, struct ending *end)
{
	char buffer[65536];
	ssize_t got = read(from, buffer, sizeof(buffer));

	if (got <= 0)
		return got < 0 && (errno == EINTR || errno == EAGAIN);
	end->bytes += got;
	if (end->bytes > options->output_limit) {
		got -= end->bytes - options->output_limit;
		end->truncated = true;
	}
	for (ssize_t done = 0, now; done < got; done += now) {
		now = write(to, buffer + done, got - done);
		if (now < 0 && errno != EINTR) {
			end->write_error = errno;
			return false;
		}
		if (now < 0)
			now = 0;
	}
	return !end->truncated;
}

/*
 * Follow the probe until it has ended and its output is read, or a bound is reached. On time-out
 * it gets SIGTERM first, so that what it changed on the machine can be put back.
 */
static void follow(const struct options *options, pid_t probe, int from, int to, int liar,
		   struct ending *end)
{
	const int64_t start = now_ms();
	int64_t deadline = start + (int64_t)(options->timeout * 1000);
	struct pollfd entries[] = { { .fd = from, .events = POLLIN },
				    { .fd = liar, .events = POLLIN } };
	sigset_t none;
	bool open = true;

	sigemptyset(&none);
	while (open && !interrupted) {
		const int64_t left = deadline - now_ms();
		const struct timespec wait = { left / 1000, left % 1000 * 1000000 };

		if (left <= 0 && end->timeout)
			break;
		if (left <= 0) {
			end->timeout = true;
			kill_descendants(SIGTERM);
			deadline = now_ms() + 500;
			continue;
		}
		const struct timespec at_once = { 0 };

		if (ppoll(entries, 2, end->main_gone ? &at_once : &wait, &none) <= 0) {
			if (end->main_gone)
				break;	/* all is read: who still holds the pipe is left over */
		} else if (entries[1].revents & POLLIN) {
			fault_answer(options->fault, liar);
		} else if (entries[0].revents) {
			open = pass_output(from, to, options, end);
		} else {
			entries[1].fd = -1;	/* nobody is left who could ask the liar */
		}
		reap(probe, end);
	}
	kill_all(probe, end);
	end->ms = now_ms() - start;
}

/* ------------------------------------------------------------------------------ the result */

/* The footer, on a line of its own even when the probe did not end its last line. */
static bool write_footer(int fd, const struct ending *end)
{
	char last = '\n';

	if (end->bytes && pread(fd, &last, 1, lseek(fd, 0, SEEK_CUR) - 1) < 0)
		return false;
	return dprintf(fd, "%s#:launch: exit=%d signal=%d ms=%lld timeout=%d truncated=%d "
			   "leftover=%d bytes=%ld\n", last == '\n' ? "" : "\n", end->exit,
		       end->signal, (long long)end->ms, end->timeout, end->truncated,
		       end->leftover, end->bytes) > 0;
}

static int finish(const struct options *options, const char *part, int fd,
		  const struct ending *end)
{
	if (interrupted) {
		unlink(part);
		return 128 + interrupted;
	}
	errno = end->write_error;
	if (errno || !write_footer(fd, end) || rename(part, options->out) < 0) {
		fprintf(stderr, "launch: cannot write %s: %s\n", options->out, strerror(errno));
		unlink(part);
		return 3;
	}
	if (options->tee && tee_file(fd, options->tee, options->tee_name) < 0) {
		fprintf(stderr, "launch: cannot write %s: %s\n", options->tee, strerror(errno));
		return 3;
	}
	return 0;
}

static int launch(const struct options *options)
{
	struct ending end = { 0 };
	char part[4096];
	int program, file, pipes[2], sockets[2], liar = -1;
	pid_t probe;

	snprintf(part, sizeof(part), "%s.part", options->out);
	program = open(options->program[0], O_RDONLY | O_CLOEXEC);
	if (program < 0) {
		fprintf(stderr, "launch: %s: %s\n", options->program[0], strerror(errno));
		return 3;
	}
	file = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0 || pipe2(pipes, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0) {
		fprintf(stderr, "launch: %s: %s\n", part, strerror(errno));
		return 3;
	}
	probe = fork();
	if (probe == 0)
		become_probe(options, program, pipes[1], sockets[1]);
	close(pipes[1]);
	close(sockets[1]);
	if (probe > 0 && options->fault)
		liar = fault_listener(options->fault, sockets[0]);
	if (probe < 0) {
		fprintf(stderr, "launch: fork: %s\n", strerror(errno));
		unlink(part);
		return 3;
	}
	follow(options, probe, pipes[0], file, liar, &end);
	return finish(options, part, file, &end);
}

/* --------------------------------------------------------------------------------- options */

static const char usage[] =
	"usage: launch --out FILE [options] -- PROBE [ARGUMENT...]\n"
	"  --persona NAME         root, perfmon, user, seccomp, or same (default: as we are)\n"
	"  --timeout SECONDS      end the probe and all it started after this long (default 60)\n"
	"  --output-limit BYTES   cut its output off there (default 1048576)\n"
	"  --tee FILE=NAME        append the finished file to FILE, framed under that name\n"
	"  --old-kernel           answer ENOSYS to system calls newer than Linux 3.10\n"
	"  --fault NAME           let the kernel lie to the probe (--fault list)\n"
	"  --check PERSONA        exit 0 if this process could assume the persona, else say why\n"
	"Exit: 0 FILE is complete, 2 usage, 3 could not run or write, 128+N ended by signal N.\n";

static int check_persona(const char *persona)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(persona_assume(persona, false) < 0 ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 3;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static const struct fault *take_fault(const char *name)
{
	const struct fault *fault = fault_find(name);

	if (!strcmp(name, "list"))
		fault_list(stdout);
	else if (!fault)
		fprintf(stderr, "launch: no fault called '%s' (--fault list)\n", name);
	if (!fault)
		exit(strcmp(name, "list") ? 2 : 0);
	return fault;
}

static int parse(int argc, char **argv, struct options *ret)
{
	static const struct option known[] = {
		{ "persona", required_argument, NULL, 'p' },
		{ "timeout", required_argument, NULL, 't' },
		{ "output-limit", required_argument, NULL, 'l' },
		{ "old-kernel", no_argument, NULL, 'k' },
		{ "out", required_argument, NULL, 'o' },
		{ "tee", required_argument, NULL, 'e' },
		{ "check", required_argument, NULL, 'c' },
		{ "fault", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", known, NULL)) >= 0) {
		switch (option) {
		case 'p': ret->persona = optarg; break;
		case 't': ret->timeout = atof(optarg); break;
		case 'l': ret->output_limit = atol(optarg); break;
		case 'k': ret->old_kernel = true; break;
		case 'o': ret->out = optarg; break;
		case 'c': exit(check_persona(optarg));
		case 'e': ret->tee = optarg; break;
		case 'f': ret->fault = take_fault(optarg); break;
		case 'h': fputs(usage, stdout); exit(0);
		default: return -1;
		}
	}
	if (ret->tee) {
		char *equals = strrchr(ret->tee, '=');

		if (!equals || strlen(equals) > 200)
			return -1;
		*equals = '\0';
		ret->tee_name = equals + 1;
	}
	ret->program = argv + optind;
	return ret->out && optind < argc && ret->timeout > 0 && ret->output_limit > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct options options = { .persona = "same", .timeout = 60, .output_limit = 1 << 20 };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t block;

	if (parse(argc, argv, &options) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	if (!persona_known(options.persona)) {
		fprintf(stderr, "launch: no persona called '%s'\n", options.persona);
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);	/* v3.4; before, groups and sessions must do */
	prctl(PR_SET_PDEATHSIG, SIGTERM);	/* the runner was killed: end too */
	sigemptyset(&block);
	for (size_t i = 0; i < 4; i++) {
		const int numbers[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };

		sigaction(numbers[i], &action, NULL);
		sigaddset(&block, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, &block, NULL);
	return launch(&options);
}
