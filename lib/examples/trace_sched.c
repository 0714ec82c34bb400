/* SPDX-License-Identifier: MIT */
/*
 * Prints when the scheduler takes this program's threads off their CPUs, and for whom. Needs
 * tracefs and, as a rule, root; otherwise it says which gate is closed.
 *
 *   cc trace_sched.c -lperfmodes -pthread && sudo ./a.out
 */
#include <perfmodes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct pm_trace_event *event;
static unsigned int seen;

static long long number(const struct pm_observed *sample, const char *name)
{
	int index = pm_trace_event_find(event, name);
	int64_t value = -1;

	(void)pm_trace_number(event, (size_t)index, 0, sample->raw, sample->raw_size, &value);
	return (long long)value;	/* -1 without such a field, too */
}

/* Names are whatever a program gave itself: nothing but letters goes to the terminal. */
static void print_text(const struct pm_observed *sample, const char *name)
{
	int index = pm_trace_event_find(event, name), size;
	const char *text = "";

	size = pm_trace_text(event, (size_t)index, sample->raw, sample->raw_size, &text);
	for (int i = 0; i < size; i++)
		putchar(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	seen += pm_trace_event_is(event, sample->raw, sample->raw_size);
	printf("%llu.%06llu cpu %u: ", (unsigned long long)sample->time / 1000000000,
	       (unsigned long long)sample->time / 1000 % 1000000, sample->cpu);
	print_text(sample, "prev_comm");
	printf(" %lld in state %#llx gives way to ", number(sample, "prev_pid"),
	       (unsigned long long)number(sample, "prev_state"));
	print_text(sample, "next_comm");
	printf(" %lld\n", number(sample, "next_pid"));
}

static void *doze(void *unused)
{
	for (int i = 0; i < 5; i++)
		usleep(2000);
	return unused;
}

static int trace(struct pm_session *session, struct pm_diag *diag)
{
	pthread_t threads[2];

	if (pm_session_attach(session, diag) < 0) {
		fprintf(stderr, "trace_sched: %s\n", diag->text);
		return 2;
	}
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, doze, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pm_session_detach(session);
	return seen >= 10 ? 0 : 1;
}

int main(void)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan = NULL;
	int status = 2;

	if (pm_trace_event_load("sched", "sched_switch", &diag, &event) == 0) {
		const struct pm_event_spec spec = {
			.size = sizeof(spec), .type = PM_TYPE_TRACEPOINT,
			.config = pm_trace_event_id(event),
			.period = 1, .tid = PM_ALL_THREADS, .want = PM_WANT_RAW,
			.name = pm_trace_event_name(event) };

		(void)pm_plan_make(&spec, 1, NULL, NULL, &diag, &plan);
	}
	if (plan != NULL) {
		struct pm_session *session = pm_session_create(plan, &listener, NULL);

		status = session != NULL ? trace(session, &diag) : 1;
		pm_session_destroy(session);
	} else {
		fprintf(stderr, "trace_sched: %s\n", diag.text);
	}
	pm_plan_destroy(plan);
	pm_trace_event_destroy(event);
	return status;
}
