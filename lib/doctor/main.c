/* SPDX-License-Identifier: MIT */
/* perfmodes-doctor, the program. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "filter.h"
#include "tell.h"

static const char usage[] =
	"usage: perfmodes-doctor [--json] [--check] [--pid PID] [WISH...]\n"
	"Tries what one usually wants of perf_event_open(2) here and now, and tells what works,\n"
	"what is used instead, and who refused what, and why. Changes nothing.\n"
	"  --json      for programs     --pid PID   the process to watch (default: its own)\n"
	"  --list      the wishes there are\n"
	"  --check     exit 0 if all work as asked, 1 if some do in another way only,\n"
	"              4 if some do not work at all\n"
	"In the source tree ./run.sh doctor --as debian-12 tells what it would say there\n"
	"(--as x --help).\n";

static bool checks;

static bool all_known(char **names)
{
	for (; *names != NULL; names++) {
		size_t i = 0;

		while (i < doctor_wish_count && strcmp(doctor_wishes[i].name, *names) != 0)
			i++;
		if (i == doctor_wish_count) {
			fprintf(stderr, "perfmodes-doctor: no wish '%s'; there are:", *names);
			for (i = 0; i < doctor_wish_count; i++)
				fprintf(stderr, " %s", doctor_wishes[i].name);
			fprintf(stderr, "\n");
			return false;
		}
	}
	return true;
}

static int unwritten(void)
{
	fprintf(stderr, "perfmodes-doctor: standard output takes no answer (disk full?)\n");
	return 3;
}

static int flushed(void)
{
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : unwritten();
}

static int list(void)
{
	for (size_t i = 0; i < doctor_wish_count; i++)
		printf("%-18s %s\n", doctor_wishes[i].name, doctor_wishes[i].title);
	return flushed();
}

/* Of another machine ./run.sh doctor asks the reports, as soon as it is told which. */
static int misused(int option, const char *word)
{
	static const char *const elsewhere[] = { "--as", "--level", "--persona", "--for" };

	if (option == ':')
		fprintf(stderr, "perfmodes-doctor: %s needs a value", word);
	else
		fprintf(stderr, "perfmodes-doctor: no option '%s'", word);
	for (size_t i = 0; option != ':' && i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (strcmp(word, elsewhere[i]) == 0)
			fprintf(stderr, " without --as WHERE, for which ./run.sh doctor tells what "
				"it would say on another machine");
	fprintf(stderr, "\n%s", usage);
	return 2;
}

static pid_t pid_argument(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || pid <= 0 || pid > INT32_MAX) {
		fprintf(stderr, "perfmodes-doctor: '%s' is no process id\n", text);
		exit(2);
	}
	if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
		fprintf(stderr, "perfmodes-doctor: there is no process %ld\n", pid);
		exit(3);
	}
	return (pid_t)pid;
}

static int examine(char **names, tell_fn *tell)
{
	int err;

	doctor_ask_filter(true);
	err = doctor_examine(names, tell);
	if (err == -ECHILD)
		perror("perfmodes-doctor: a process to watch");
	if (doctor_traps.count > 0)
		fprintf(stderr, "perfmodes-doctor: a system call filter traps call %d (SIGSYS), "
			"which ends other programs; here it was answered with EPERM\n",
			doctor_traps.call);
	if (err < 0)
		return err == -EIO ? unwritten() : 3;
	if (!checks || err == DOCTOR_WORKS)
		return 0;
	return err == DOCTOR_INSTEAD ? 1 : 4;
}

/* In a child, so that there is a last word whatever ends it. */
static int supervise(char **names, tell_fn *tell)
{
	const pid_t parent = getpid();
	pid_t pid = fork();
	int status = 0;

	if (pid <= 0)
		doctor_answer_traps();
	if (pid < 0)
		return examine(names, tell);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		exit(getppid() == parent ? examine(names, tell) : 3);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 3;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGSYS)
		fprintf(stderr, "perfmodes-doctor: a system call filter ended it (SIGSYS) at a "
			"call that it needs; strace -f names the call, which the filter has to "
			"allow\n");
	else
		fprintf(stderr, "perfmodes-doctor: ended by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	return 3;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "pid", required_argument, NULL, 'p' },
		{ "list", no_argument, NULL, 'l' }, { "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	tell_fn *tell = tell_text;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1)
		switch (option) {
		case 'j': tell = tell_json; break;
		case 'p': doctor_target = pid_argument(optarg); break;
		case 'l': return list();
		case 'c': checks = true; break;
		case 'h': fputs(usage, stdout); return flushed();
		default: return misused(option, argv[optind > 1 ? optind - 1 : 1]);
		}
	if (!all_known(argv + optind))
		return 2;
	return supervise(argv + optind, tell);
}
