/* SPDX-License-Identifier: MIT */
/* perfmodes-explain, the program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "pretend.h"
#include "shape.h"
#include "tell.h"

static const char usage[] =
	"usage: perfmodes-explain [--json FILE] [--record FILE] [--quiet] [--ptrace]\n"
	"                         [--pretend] [--] PROGRAM [ARG...]\n"
	"       perfmodes-explain [--json FILE] [--record FILE] [--quiet] --pid PID\n"
	"Runs a program, follows its processes and threads, and tells at the end what it asked of\n"
	"perf_event_open(2), what was refused, why, what to change, and what was accepted and\n"
	"gave nothing. Output and exit status stay the program's; what is told goes to stderr.\n"
	"  --json FILE   write the same for programs       --quiet   nothing on stderr\n"
	"  --record FILE write what was asked, without anything private, to hold against others\n"
	"  --ptrace      look by ptrace(2): slow; sees what filters of system calls hide, and\n"
	"                leaves others what they trace by such filters (rr: taken unasked)\n"
	"  --pretend     answer each refused open with an event that counts nothing: what would\n"
	"                the program ask elsewhere?\n"
	"  --pid PID     look at a process that runs, by ptrace(2), until it ends or ^C\n"
	"What opens a few events is no slower. What opens thousands takes 2 to 4 times as long,\n"
	"and where it keeps 10,000 events of its own thread open some 80 times: the kernel walks\n"
	"them all whenever the thread waits, as it does at each call that is looked at.\n";

struct options {
	const char *json, *record, *pid;
	bool quiet;
};

static int wrong(const char *format, const char *what, const char *why)
{
	fprintf(stderr, "perfmodes-explain: ");
	fprintf(stderr, format, what, why);
	fprintf(stderr, "\n");
	return 2;
}

/* Where execvp(3) would find it. */
static bool find_program(const char *name, char *ret, size_t size)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/') != NULL || path == NULL) {
		snprintf(ret, size, "%s", name);
		return true;
	}
	while (*path != '\0') {
		const size_t length = strcspn(path, ":");

		snprintf(ret, size, "%.*s%s%s", (int)length, path, length ? "/" : "./", name);
		if (access(ret, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

/* Set-user-id programs and the like, which would do something else while we look. */
static const char *find_obstacle(const struct start *start, const struct pm_env *env)
{
	const enum pm_cap needed = start->ptrace ? PM_CAP_SYS_PTRACE : PM_CAP_SYS_ADMIN;
	char path[4096];

	exec_loses = !pm_env_has_cap(env, needed) && !env->no_new_privs;
	if (!exec_loses || !find_program(start->argv[0], path, sizeof(path)))
		return NULL;
	return exec_rights(path);
}

/* By its name: it would be refused once it records (refuse.c). */
static bool is_recorder(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strcmp(slash != NULL ? slash + 1 : name, "rr") == 0;
}

static void choose(struct start *start)
{
	start->by_choice = start->ptrace;
	if (start->by_choice)
		start->why_ptrace = "it was asked for";
	else if (is_recorder(start->argv[0]))
		start->why_ptrace = "rr traces by a filter of its own, and one around it would "
			"keep calls from it";
	else
		start->why_ptrace = notify_obstacle();
	start->ptrace = start->why_ptrace != NULL;
}

/* As the program ended, so does this one. */
static int end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t mask;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, WTERMSIG(status));
	(void)sigprocmask(SIG_UNBLOCK, &mask, NULL);
	(void)raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int cannot_follow(const struct start *start, int error)
{
	char why[300];

	snprintf(why, sizeof(why), "%s", strerror(error));
	if (start->attached)
		attach_obstacle(start->pid, error, why, sizeof(why));
	(void)wrong("%s cannot be followed: %s", start->attached ? "the process" : "the program",
		    why);
	return 3;
}

static int cannot_wake(const struct start *start)
{
	fprintf(stderr, "perfmodes-explain: %s cannot be looked at in this way, and was ended "
		"before harm was done: %s, which would miss the calls that are looked at, as the "
		"look comes first; --ptrace sets no filter and leaves it what it traces: "
		"perfmodes-explain --ptrace -- %s ...\n", start->argv[0], start->refused_for,
		start->argv[0]);
	return 3;
}

/* What it is called from now on. False: no such number. */
static bool choose_process(const char *word, struct start *start)
{
	static char name[100];
	static char *argv[] = { name, NULL };
	struct thread thread = { .name = "" };
	char *end;

	errno = 0;
	start->pid = (pid_t)strtol(word, &end, 10);
	if (errno != 0 || end == word || *end != '\0' || start->pid <= 0 ||
	    start->pid != strtol(word, NULL, 10))
		return false;
	(void)thread_read(start->pid, &thread);
	snprintf(name, sizeof(name), "%s (process %d)", thread.name, start->pid);
	start->argv = argv;
	start->attached = start->ptrace = true;
	start->why_ptrace = "a process that runs already cannot be looked at otherwise";
	return true;
}

static int explain(const struct options *options, struct start *start)
{
	FILE *json = NULL, *record = NULL;
	int err;

	if (options->json != NULL && (json = fopen(options->json, "we")) == NULL)
		return wrong("%s: %s", options->json, strerror(errno));
	if (options->record != NULL && (record = fopen(options->record, "we")) == NULL)
		return wrong("%s: %s", options->record, strerror(errno));
	err = start->attached ? attach_follow(start) : start_program(start);
	if (err == 0 && !start->attached)
		err = start->ptrace ? trace_follow(start) : notify_follow(start);
	if (err < 0)
		return cannot_follow(start, -err);
	if (start->refused)
		return cannot_wake(start);
	err = start->attached ? 0 : start_error(start);
	if (err != 0) {
		(void)wrong("%s: %s", start->argv[0], strerror(err));
		return end_as(start->status);
	}
	find_reasons();
	if (!options->quiet)
		tell_text(start);
	if (json != NULL)
		tell_json(start, json);
	if (record != NULL && remarks.untold == 0)
		write_recording(record);
	else if (record != NULL)	/* the file may be any, /dev/null, too: it stays, empty */
		(void)wrong("%s is not written: %s", options->record,
			    "what was asked is not known");
	if (record != NULL && fclose(record) != 0)
		return wrong("%s: %s", options->record, strerror(errno)), 3;
	if (json != NULL && fclose(json) != 0)
		return wrong("%s: %s", options->json, strerror(errno)), 3;
	return end_as(start->status);
}

/* Says why. `asked`: by --ptrace. */
static bool is_impossible(const struct start *start, const struct pm_env *env, bool asked)
{
	const char *rights;
	char tracer[64];

	if (start->pretend && (start->why_ptrace != NULL || pretend_obstacle() != NULL))
		return wrong("--pretend answers calls, which notifications of seccomp(2) alone "
			     "can%s: %s", "", asked ? "--ptrace does without them" :
			     start->why_ptrace ? start->why_ptrace : pretend_obstacle());
	if (!start->ptrace && refuse_tracer(tracer, sizeof(tracer)))
		return wrong("%s traces this program and what it starts by a filter of system "
			     "calls (SECCOMP_RET_TRACE), and would miss the calls that are looked "
			     "at. Have %s look without such a filter (strace: without "
			     "--seccomp-bpf), or without perfmodes-explain.", tracer, tracer);
	rights = find_obstacle(start, env);
	return rights != NULL &&
		wrong("%s is %s, and would lose those rights by being looked at: what it asks "
		      "would be answered as if it had none. Start perfmodes-explain as root, or "
		      "explain the program from a copy without them.", start->argv[0], rights);
}

/* What is closed is not to become a socket of ours, and stays closed for the program. */
static void hold_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int help(void)
{
	return fputs(usage, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 3;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "json", required_argument, NULL, 'j' },
		{ "record", required_argument, NULL, 'r' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "pretend", no_argument, NULL, 'n' }, { "pid", required_argument, NULL, 'p' },
		{ "ptrace", no_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .json = NULL };
	struct start start = { .listener = -1 };
	struct pm_env env;
	bool asked;
	int option;

	hold_standard_descriptors();
	while ((option = getopt_long(argc, argv, "+hq", known, NULL)) != -1)
		switch (option) {
		case 'j': options.json = optarg; break;
		case 'r': options.record = optarg; break;
		case 'q': options.quiet = true; break;
		case 'p': options.pid = optarg; break;
		case 'n': start.pretend = true; break;
		case 't': start.ptrace = true; break;
		case 'h': return help();
		default: fputs(usage, stderr); return 2;
		}
	if ((optind == argc) == (options.pid == NULL) || (start.pretend && options.pid != NULL)) {
		fputs(usage, stderr);
		return 2;
	}
	(void)pm_env_read(&env);
	if (options.pid != NULL) {
		if (!choose_process(options.pid, &start))
			return wrong("--pid %s: %s", options.pid, "no number of a process");
		start.quiet = options.quiet;
		exec_loses = !pm_env_has_cap(&env, PM_CAP_SYS_PTRACE);
		return explain(&options, &start);
	}
	start.argv = argv + optind;
	callers.program = start.argv[0];
	asked = start.ptrace;
	choose(&start);
	if (is_impossible(&start, &env, asked))
		return 2;
	return explain(&options, &start);
}
