/* SPDX-License-Identifier: MIT */
/* Attempts through the library, as a program makes them. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../policy/diagnosis/diag.h"
#include "../policy/plan/plan.h"
#include "doctor.h"

#define WORK_NS 20000000
#define TRIES 5

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)sample;
	++*(uint64_t *)context;
}

struct job {
	uint64_t ns;
	bool done;
};

static void *work(void *context)
{
	struct job *job = context;

	doctor_work(job->ns);
	__atomic_store_n(&job->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* A new thread works while this one polls: some strategies find new threads only by polling. */
static bool delivers_once(struct pm_session *session, const uint64_t *samples, uint64_t ns)
{
	struct pm_value value = { .size = sizeof(value) };
	struct job job = { .ns = ns };
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &job) != 0)
		return false;
	while (!__atomic_load_n(&job.done, __ATOMIC_ACQUIRE))
		if (pm_session_poll(session, 2) < 0)
			break;
	pthread_join(thread, NULL);
	(void)pm_session_poll(session, 0);
	return *samples > 0 || (pm_session_read(session, &value, 1) == 1 && value.value > 0);
}

/* A timer notices a thread late and runs in jiffies: a busy machine may need several attempts. */
static bool delivers(struct pm_session *session, const uint64_t *samples)
{
	for (int i = 0; i < TRIES; i++)
		if (delivers_once(session, samples, (uint64_t)WORK_NS << i))
			return true;
	return false;
}

/* Copies as many whole words as there is room for. */
static void put_words(const char *text, char *buf, size_t size)
{
	size_t length = strlen(text), most = size - sizeof(" ...");

	if (length > most)
		for (length = most; length > 0 && text[length] != ' ';)
			length--;
	snprintf(buf, size, "%.*s%s", (int)length, text, text[length] ? " ..." : "");
}

/* The library's own line is the whole answer, except for what to change. */
static int take_diag(const struct pm_diag *diag, int err, const char *call, struct pm_refusal *ret)
{
	static const struct pm_event_spec spec = { .size = sizeof(spec) };
	char *for_users;

	ret->gate[0] = ret->change[0] = '\0';
	if (diag->error == 0)
		return err;
	if (diag->cause == PM_CAUSE_DESCRIPTORS)
		pm_refusal_of_open(&spec, PM_REACH_OWN, -1, EMFILE, ret);
	ret->error = diag->error;
	ret->cause = diag->cause;
	snprintf(ret->call, sizeof(ret->call), "%s", call);
	put_words(diag->text, ret->gate, sizeof(ret->gate));
	/* For programs that use the library. */
	for_users = strstr(ret->gate, ", or PM_");
	if (for_users != NULL)
		*for_users = '\0';
	return err;
}

/* What the kernel takes may be less than what is wished; the plan asks for that much then. */
static uint64_t rate_of(const struct attempt *attempt)
{
	const uint64_t wished = attempt->spec.frequency;
	int64_t most;

	if (!attempt->fewer ||
	    pm_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) < 0 || most <= 0)
		return wished;
	return (uint64_t)most < wished ? (uint64_t)most : wished;
}

/* Opens the bare event, because the kernel's answer to it is the most exact one. */
static int try_event(const struct attempt *attempt, struct pm_refusal *refusal)
{
	const struct pm_event_spec *spec = &attempt->spec;
	const bool user_only = attempt->allow & PM_ALLOW_USER_ONLY;
	const struct perf_event_attr attr = {
		.type = spec->type, .config = spec->config, .disabled = 1,
		.freq = spec->frequency != 0, .exclude_kernel = user_only, .exclude_hv = user_only,
		.sample_period = spec->frequency ? rate_of(attempt) : spec->period,
	};
	char name[64];
	int fd;

	(void)pm_event_name(spec, name, sizeof(name) - strlen(":u"));
	if (user_only && !(spec->flags & PM_SPEC_USER_ONLY))
		strcat(name, ":u");
	fd = doctor_open(&attr, 0, -1, PM_REACH_OWN, name, refusal);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Strategies that would have done it, had they not been refused. */
static bool could_sample(const struct pm_plan *plan, int row)
{
	const unsigned int able = FOR_SELF | CAN_SAMPLE;

	return plan->candidates[row].number != PM_STRATEGY_EBB &&
		(plan->candidates[row].strategy->able & (able | BY_OTHERS)) == able;
}

static int add_passed_over(const struct pm_plan *plan, int row, char *how, int used)
{
	const char *reason = plan->candidates[row].reason;

	for (int other = 0; other < row; other++)
		if (could_sample(plan, other) &&
		    strcmp(plan->candidates[other].reason, reason) == 0)
			return used;
	used += snprintf(how + used, (size_t)(HOW_SIZE - used), "\npassed over: ");
	for (int other = row; &plan->candidates[other] < plan->chosen && used < HOW_SIZE; other++)
		if (could_sample(plan, other) &&
		    strcmp(plan->candidates[other].reason, reason) == 0)
			used += snprintf(how + used, (size_t)(HOW_SIZE - used), "%s%s",
					 other > row ? ", " : "",
					 plan->candidates[other].strategy->name);
	if (used < HOW_SIZE)
		used += snprintf(how + used, (size_t)(HOW_SIZE - used), ": %s", reason);
	return used;
}

/* The strategy, what became of the event, and what was passed over on the way to it. */
static void describe(const struct pm_plan *plan, bool samples, char *how)
{
	const struct strategy *chosen = plan->chosen->strategy;
	const char *became = chosen->able & USES_PERF ? plan->events[0].why : "";
	int used = snprintf(how, HOW_SIZE, "%s (%s)%s%s", chosen->name, chosen->what,
			    became[0] ? ", " : "", became);

	/* When counting it is no news that strategies for samples come first in the table. */
	for (int row = 0; &plan->candidates[row] < plan->chosen && used < HOW_SIZE; row++)
		if (samples && could_sample(plan, row))
			used = add_passed_over(plan, row, how, used);
}

static int attach(struct pm_plan *plan, bool samples_asked, struct pm_refusal *refusal, char *how)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_diag diag = { .size = sizeof(diag) };
	uint64_t samples = 0;
	struct pm_session *session = pm_session_create(plan, &listener, &samples);
	int err = session ? pm_session_attach(session, &diag) : -ENOMEM;

	if (err < 0)
		err = take_diag(&diag, err, "start of the observation", refusal);
	else if (!delivers(session, &samples))
		err = doctor_silence(refusal, pm_strategy_name(pm_plan_strategy(plan)));
	else
		describe(plan, samples_asked, how);
	pm_session_destroy(session);
	return err < 0 ? err : 0;
}

static int open_profile(struct pm_profile **ret)
{
	struct pm_diag diag = { .size = sizeof(diag) };

	if (pm_profile_load_default(&diag, ret) >= 0)
		return 0;
	*ret = pm_profile_create();
	return *ret != NULL ? 0 : -ENOMEM;
}

int go_session(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = attempt->allow };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_profile *profile;
	struct pm_plan *plan;
	int err = attempt->allow ? 0 : try_event(attempt, refusal);

	if (err == 0)
		err = open_profile(&profile);
	if (err < 0)
		return err;
	err = pm_plan_make(&attempt->spec, 1, &opts, profile, &diag, &plan);
	if (err < 0) {
		if (attempt->allow == 0 || try_event(attempt, refusal) == 0)
			(void)take_diag(&diag, err, "choice of a way to observe", refusal);
	} else {
		err = attach(plan, attempt->spec.period || attempt->spec.frequency, refusal, how);
		pm_plan_destroy(plan);
	}
	pm_profile_destroy(profile);
	return err;
}
