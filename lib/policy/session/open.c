/* SPDX-License-Identifier: MIT */
/* A session in one call, of events by their names. */
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/diag.h"
#include "../engine/engine.h"

#define RATE 1000	/* samples a second */

/* What happens now and then is sampled each time, all else at a rate, unless the name tells one. */
static void sample(struct pm_event_spec *spec)
{
	if (spec->period != 0 || spec->frequency != 0)
		return;
	if (spec->type == PERF_TYPE_TRACEPOINT || spec->type == PERF_TYPE_BREAKPOINT ||
	    (spec->type == PERF_TYPE_SOFTWARE && !pm_is_time(spec)))
		spec->period = 1;
	else
		spec->frequency = RATE;
}

/* Cuts the next name out of the text, which may have blanks around it. NULL: there is none. */
static char *next_name(char **text)
{
	char *name = *text + strspn(*text, " \t\n"), *end = name + strcspn(name, " \t\n");

	if (*name == '\0')
		return NULL;
	*text = *end == '\0' ? end : end + 1;
	*end = '\0';
	return name;
}

/* How many; -EINVAL and so on for a name. */
static int parse(char *text, bool sampled, struct pm_diag *diag, struct pm_event_spec *ret)
{
	int count = 0, err;

	for (char *name = next_name(&text); name != NULL; name = next_name(&text)) {
		if (count == PLAN_EVENTS_MAX)
			return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "more than %d events",
					   PLAN_EVENTS_MAX);
		ret[count] = (struct pm_event_spec){ .size = sizeof(*ret), .tid = PM_ALL_THREADS };
		err = pm_event_parse(name, diag, &ret[count]);
		if (err < 0)
			return err;
		if (sampled)
			sample(&ret[count]);
		count++;
	}
	return count > 0 ? count :
		pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "no event is named");
}

/* The plan and the session, which then owns it. */
static int attach(struct pm_plan *plan, const struct pm_listener *listener, void *context,
		  struct pm_diag *diag, struct pm_session **ret)
{
	struct pm_session *session = pm_session_create(plan, listener, context);
	int err = session != NULL ? pm_session_attach(session, diag) :
		pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "open: out of memory");

	if (err < 0) {
		pm_session_destroy(session);
		pm_plan_destroy(plan);
		return err;
	}
	session->own_plan = plan;
	*ret = session;
	return err;
}

int pm_session_open(const char *events, const struct pm_session_opts *opts,
		    const struct pm_listener *listener, void *context, struct pm_diag *diag,
		    struct pm_session **ret)
{
	const struct pm_session_opts usual = { .size = sizeof(usual), .allow = PM_ALLOW_ALL };
	const bool sampled = listener != NULL &&
		listener->size > offsetof(struct pm_listener, sample) && listener->sample != NULL;
	struct pm_event_spec specs[PLAN_EVENTS_MAX];
	char *text = strdup(events);
	struct pm_plan *plan;
	int err;

	if (text == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "open: out of memory");
	err = parse(text, sampled, diag, specs);
	free(text);
	if (err < 0)
		return err;
	err = pm_plan_make(specs, (size_t)err, opts != NULL ? opts : &usual, NULL, diag, &plan);
	return err < 0 ? err : attach(plan, listener, context, diag, ret);
}

const struct pm_plan *pm_session_plan(const struct pm_session *session)
{
	return session->plan;
}
