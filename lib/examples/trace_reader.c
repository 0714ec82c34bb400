/* SPDX-License-Identifier: MIT */
/*
 * Reads a tracepoint of the whole machine: by its name, with the fields that this kernel gives it,
 * the records of all CPUs in the order of time. Needs tracefs and, as a rule, root. Exit: 0 all was
 * read, 1 something was lost, and it says how much, 2 it may not.
 *
 *   cc trace_reader.c -lperfmodes && sudo ./a.out [SYSTEM:NAME [SECONDS]]
 */
#include <inttypes.h>
#include <perfmodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct pm_trace_event *event;

static void print_field(const struct pm_trace_member *field, size_t index,
			const struct pm_observed *sample)
{
	const char *text;
	int64_t number;

	if (field->flags & PM_TRACE_TEXT) {
		int size = pm_trace_text(event, index, sample->raw, sample->raw_size, &text);
		printf(" %s=", field->name);
		for (int i = 0; i < size; i++)	/* a program chose it: no escape sequences */
			putchar(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
	} else if (pm_trace_number(event, index, 0, sample->raw, sample->raw_size, &number) == 0) {
		printf(" %s=%" PRId64, field->name, number);
	}
}

static void on_sample(void *unused, const struct pm_observed *sample)
{
	struct pm_trace_member field = { .size = sizeof(field) };

	(void)unused;
	printf("%" PRIu64 ".%09" PRIu64 " cpu %u tid %u:", sample->time / 1000000000,
	       sample->time % 1000000000, sample->cpu, sample->tid);
	for (size_t i = 0; pm_trace_event_member(event, i, &field) == 0; i++)
		if (!(field.flags & PM_TRACE_COMMON))
			print_field(&field, i, sample);
	puts("");
}

static void on_lost(void *unused, uint64_t count)
{
	(void)unused;
	printf("lost %" PRIu64 " records\n", count);
}

static int trace(struct pm_plan *plan, double seconds, struct pm_diag *diag)
{
	const struct pm_listener mine = { .size = sizeof(mine), .sample = on_sample,
					  .lost = on_lost };
	struct pm_order *order = pm_order_create(NULL, &mine, NULL);
	struct pm_order_stats stats = { .size = sizeof(stats) };
	struct pm_listener rings = { .size = sizeof(rings) };	/* fills the order */
	const time_t end = time(NULL) + (time_t)seconds + 1;
	struct pm_session *session = pm_order_listener(order, &rings) == 0 ?
		pm_session_create(plan, &rings, order) : NULL;
	int err = pm_session_attach(session, diag);

	while (err >= 0 && time(NULL) < end)
		err = pm_order_poll(order, session, 100);
	if (err >= 0)
		err = pm_session_detach(session);
	pm_order_flush(order);
	pm_order_stats(order, &stats);
	fprintf(stderr, "%" PRIu64 " in order, %" PRIu64 " late, %" PRIu64 " lost\n",
		stats.delivered - stats.late, stats.late, stats.lost);
	pm_session_destroy(session);
	pm_order_destroy(order);
	return err < 0 ? 2 : stats.lost > 0;
}

int main(int argc, char **argv)
{
	char *name = strdup(argc > 1 ? argv[1] : "sched:sched_switch"), *colon = strchr(name, ':');
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_TRACEPOINT,
				      .period = 1, .tid = PM_SYSTEM, .want = PM_WANT_RAW };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan = NULL;
	int status = 2;

	if (colon != NULL)
		*colon++ = '\0';
	if (pm_trace_event_load(name, colon != NULL ? colon : "", &diag, &event) == 0) {
		spec.config = pm_trace_event_id(event);
		if (pm_plan_make(&spec, 1, NULL, NULL, &diag, &plan) == 0)
			status = trace(plan, argc > 2 ? atof(argv[2]) : 0, &diag);
	}
	if (status == 2)
		fprintf(stderr, "trace_reader: %s\n", diag.text);
	pm_plan_destroy(plan);
	pm_trace_event_destroy(event);
	free(name);
	return status;
}
