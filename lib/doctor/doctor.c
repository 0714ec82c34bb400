/* SPDX-License-Identifier: MIT */
/*
 * Tries what people usually want of perf events. For each refusal the call, the errno, the gate
 * that decided, what to change and what works instead are kept.
 */
#include "doctor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filter.h"
#include "tell.h"

pid_t doctor_target;

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

const char *doctor_answer_of(enum pm_cause cause)
{
	switch (cause) {
	case PM_CAUSE_FILTER:
	case PM_CAUSE_PARANOID:
	case PM_CAUSE_LSM:
	case PM_CAUSE_DESCRIPTORS:
	case PM_CAUSE_LOCKED_MEMORY:
		return "blocked";
	case PM_CAUSE_UNSUPPORTED:
	case PM_CAUSE_SILENCE:
		return "no";
	default:
		return "not known";
	}
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

/* A call that would end this process is not made. */
static int attempt_it(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	if (attempt->sums || !doctor_deadly)
		return attempt->go(attempt, refusal, how);
	pm_refusal_of_signal(refusal);
	return -EPERM;
}

/* As soon as the filter is out of the way the next gate would be met: both are told at once. */
static void look_behind_filter(struct outcome *ret)
{
	const struct pm_refusal *filtered = &ret->refusals[0];

	if (filtered->cause == PM_CAUSE_FILTER && filtered->of_open &&
	    pm_refusal_by_level(&filtered->attr, filtered->reach, -1, false, &ret->behind))
		snprintf(ret->behind.call, sizeof(ret->behind.call), "not tried yet: %.140s",
			 filtered->call);
}

static void try_wish(const struct wish *wish, struct outcome *ret)
{
	int at = 0;

	ret->wish = wish;
	for (; at < ATTEMPTS && wish->attempts[at].go != NULL; at++) {
		const struct attempt *attempt = &wish->attempts[at];
		int err = attempt_it(attempt, &ret->refusals[at], ret->how);

		if (err == 0) {
			ret->worked = ret->refused = at;
			ret->verdict = at == 0 ? "works" : "instead";
			ret->answer = at == 0 ? "yes" : "instead";
			return;
		}
		complete(attempt, err, &ret->refusals[at]);
		if (attempt->behind && !doctor_deadly && attempt->behind(&ret->behind) &&
		    strcmp(ret->behind.gate, ret->refusals[at].gate) == 0)
			ret->behind.gate[0] = '\0';
		if (at == 0 && ret->behind.gate[0] == '\0')
			look_behind_filter(ret);
		ret->how[0] = '\0';
	}
	ret->worked = ATTEMPTS;
	ret->refused = at;
	ret->verdict = "refused";
	ret->answer = doctor_answer_of(ret->refusals[0].cause);
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

static int worst_of(const struct outcome *outcomes, size_t count)
{
	int worst = DOCTOR_WORKS;

	for (size_t i = 0; i < count; i++) {
		const int one = outcomes[i].worked == ATTEMPTS ? DOCTOR_REFUSED :
			outcomes[i].worked > 0 ? DOCTOR_INSTEAD : DOCTOR_WORKS;

		worst = one > worst ? one : worst;
	}
	return worst;
}

static int try_all(char **names, tell_fn *tell)
{
	struct outcome *outcomes = calloc(doctor_wish_count, sizeof(*outcomes));
	size_t count = 0;
	int worst;

	if (outcomes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < doctor_wish_count; i++)
		if (is_asked(doctor_wishes[i].name, names))
			try_wish(&doctor_wishes[i], &outcomes[count++]);
	tell(outcomes, count);
	worst = worst_of(outcomes, count);
	free(outcomes);
	return fflush(stdout) == 0 && !ferror(stdout) ? worst : -EIO;
}

int doctor_examine(char **names, tell_fn *tell)
{
	pid_t child = 0;
	int err;

	if (doctor_target == 0)
		doctor_target = child = start_target();
	if (child < 0)
		return -ECHILD;
	err = try_all(names, tell);
	if (child > 0 && kill(child, SIGKILL) == 0)
		waitpid(child, NULL, 0);
	return err;
}
