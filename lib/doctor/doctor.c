/* SPDX-License-Identifier: MIT */
/*
 * perfmodes-doctor tries what people usually want of perf events. For each refusal it names the
 * call, the errno, the gate that decided, what to change and what works instead.
 */
#include "doctor.h"

#include <errno.h>
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

/* Runs a third of the time and ends with this process. */
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

/* Every refusal has a reason; a failure on the way, of memory for example, is one. */
static void complete(const struct attempt *attempt, int err, struct pm_refusal *refusal)
{
	if (refusal->gate[0] != '\0')
		return;
	refusal->error = -err;
	refusal->cause = PM_CAUSE_UNKNOWN;
	snprintf(refusal->call, sizeof(refusal->call), "%s", attempt->what);
	snprintf(refusal->gate, sizeof(refusal->gate), "%s", strerror(-err));
}

static void try_wish(const struct wish *wish, struct outcome *ret)
{
	int at = 0;

	ret->wish = wish;
	for (; at < ATTEMPTS && wish->attempts[at].go != NULL; at++) {
		const struct attempt *attempt = &wish->attempts[at];
		int err = attempt->go(attempt, &ret->refusals[at], ret->how);

		if (err == 0) {
			ret->worked = ret->refused = at;
			ret->verdict = at == 0 ? "works" : "instead";
			return;
		}
		complete(attempt, err, &ret->refusals[at]);
		ret->how[0] = '\0';
	}
	ret->worked = ATTEMPTS;
	ret->refused = at;
	ret->verdict = "refused";
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

static int examine(char **names, void (*tell)(const struct outcome *outcomes, size_t count))
{
	struct outcome *outcomes = calloc(doctor_wish_count, sizeof(*outcomes));
	size_t count = 0;

	if (outcomes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < doctor_wish_count; i++)
		if (is_asked(doctor_wishes[i].name, names))
			try_wish(&doctor_wishes[i], &outcomes[count++]);
	tell(outcomes, count);
	free(outcomes);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -EIO;
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
	void (*tell)(const struct outcome *outcomes, size_t count) = tell_text;
	pid_t child = 0;
	int option, err;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (option) {
		case 'j': tell = tell_json; break;
		case 'p': doctor_target = pid_argument(optarg); break;
		case 'l': return list();
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	if (!all_known(argv + optind))
		return 2;
	if (doctor_target == 0)
		doctor_target = child = start_target();
	if (child < 0) {
		perror("perfmodes-doctor: a process to watch");
		return 3;
	}
	err = examine(argv + optind, tell);
	if (child > 0 && kill(child, SIGKILL) == 0)
		waitpid(child, NULL, 0);
	return err < 0 ? 3 : 0;
}
