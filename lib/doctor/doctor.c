/* SPDX-License-Identifier: MIT */
/*
 * perfmodes-doctor: tries what one usually wants of perf events and tells for each refusal the
 * call, the errno, the gate that decided, what to change and what works instead.
 */
#include "doctor.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tell.h"

pid_t doctor_target;

static const char usage[] =
	"usage: perfmodes-doctor [--json] [--pid PID] [WISH...]\n"
	"Tries what one usually wants of perf_event_open(2) here and now, and tells what works,\n"
	"what is used instead, and who refused what, and why. Changes nothing.\n"
	"  --json      for programs     --pid PID   the process to watch (default: its own)\n"
	"  --list      the wishes there are\n";

/* Runs a third of the time, and ends with us. */
static pid_t start_target(void)
{
	const struct timespec pause = { 0, 2000000 };
	const pid_t parent = getpid();
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (getppid() == parent) {
		doctor_work(1000000);
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

static void try_wish(const struct wish *wish, struct outcome *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (ret->worked = 0; ret->worked < ATTEMPTS; ret->worked++) {
		const struct attempt *attempt = &wish->attempts[ret->worked];

		if (attempt->go == NULL) {
			ret->worked = ATTEMPTS;
			return;
		}
		ret->how[0] = '\0';
		if (attempt->go(attempt, &ret->refusals[ret->worked], ret->how) == 0)
			return;
	}
}

static bool is_asked(const char *name, char **names)
{
	if (*names == NULL)
		return true;
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool all_known(char **names)
{
	for (; *names != NULL; names++) {
		size_t i = 0;

		while (i < doctor_wish_count && strcmp(doctor_wishes[i].name, *names) != 0)
			i++;
		if (i == doctor_wish_count) {
			fprintf(stderr, "perfmodes-doctor: no wish called '%s' (--list)\n", *names);
			return false;
		}
	}
	return true;
}

static void examine(char **names, const struct teller *teller)
{
	struct outcome outcome;
	bool first = true;

	teller->begin();
	for (size_t i = 0; i < doctor_wish_count; i++) {
		if (!is_asked(doctor_wishes[i].name, names))
			continue;
		try_wish(&doctor_wishes[i], &outcome);
		teller->wish(&doctor_wishes[i], &outcome, first);
		first = false;
	}
	teller->end();
}

static int list(void)
{
	for (size_t i = 0; i < doctor_wish_count; i++)
		printf("%-18s %s\n", doctor_wishes[i].name, doctor_wishes[i].title);
	return 0;
}

static pid_t pid_argument(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (*end == '\0' && pid > 0 && pid <= INT32_MAX)
		return (pid_t)pid;
	fprintf(stderr, "perfmodes-doctor: '%s' is no process id\n", text);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "pid", required_argument, NULL, 'p' },
		{ "list", no_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const struct teller *teller = &tell_text;
	pid_t child = 0;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (option) {
		case 'j': teller = &tell_json; break;
		case 'p': doctor_target = pid_argument(optarg); break;
		case 'l': return list();
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	if (!all_known(argv + optind))
		return 2;
	if (doctor_target == 0)
		doctor_target = child = start_target();
	examine(argv + optind, teller);
	if (child > 0 && kill(child, SIGKILL) == 0)
		waitpid(child, NULL, 0);
	return fflush(stdout) == 0 ? 0 : 3;
}
