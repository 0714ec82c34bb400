/* SPDX-License-Identifier: MIT */
/*
 * Reads a tracepoint of the whole machine: by its name, with the fields that this kernel gives it,
 * the records of all CPUs in the order of time. Exit: 0 all was read, 1 something was lost, 2 it
 * may not: cc trace_reader.c -lperfmodes && sudo ./a.out [SYSTEM:NAME [SECONDS]]
 */
#include <inttypes.h>
#include <perfmodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void on_sample(void *event, const struct pm_observed *sample)
{
	char text[2048];

	pm_trace_print(event, sample, text, sizeof(text));
	printf("%" PRIu64 ".%09" PRIu64 " cpu %u tid %u: %s\n", sample->time / 1000000000,
	       sample->time % 1000000000, sample->cpu, sample->tid, text);
}

static int trace(struct pm_plan *plan, struct pm_trace_event *event, int seconds,
		 struct pm_diag *diag)
{
	const struct pm_listener mine = { .size = sizeof(mine), .sample = on_sample };
	struct pm_order *order = pm_order_create(NULL, &mine, event);
	struct pm_order_stats stats = { .size = sizeof(stats) };
	struct pm_listener rings = { .size = sizeof(rings) };	/* fills the order */
	struct pm_session *session = pm_order_listener(order, &rings) == 0 ?
		pm_session_create(plan, &rings, order) : NULL;
	const time_t end = time(NULL) + seconds + 1;
	int err = pm_session_attach(session, diag);

	while (err >= 0 && time(NULL) < end)
		err = pm_order_poll(order, session, 100);
	pm_session_detach(session);
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
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_TRACEPOINT,
				      .period = 1, .tid = PM_SYSTEM, .want = PM_WANT_RAW };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_trace_event *event = NULL;
	struct pm_plan *plan = NULL;
	char system[128] = "", name[128] = "";
	int status = 2;

	sscanf(argc > 1 ? argv[1] : "sched:sched_switch", "%127[^:]:%127s", system, name);
	if (pm_trace_event_load(system, name, &diag, &event) == 0) {
		spec.config = pm_trace_event_id(event);
		spec.name = pm_trace_event_name(event);
		if (pm_plan_make(&spec, 1, NULL, NULL, &diag, &plan) == 0)
			status = trace(plan, event, argc > 2 ? atoi(argv[2]) : 0, &diag);
	}
	if (status == 2)
		fprintf(stderr, "trace_reader: %s\n", diag.text);
	pm_plan_destroy(plan);
	pm_trace_event_destroy(event);
	return status;
}
