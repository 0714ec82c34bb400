/* SPDX-License-Identifier: MIT */
/*
 * Counts what a program's threads do, in whatever way works here. Events are named as perf(1)
 * names them.
 *
 *   cc count.c -lperfmodes -pthread && ./a.out [EVENT]...
 */
#include <perfmodes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define EVENTS 8	/* at most */

static void *work(void *unused)
{
	char *memory = malloc(1 << 20);

	for (size_t i = 0; memory != NULL && i < 1 << 20; i += 512)
		((volatile char *)memory)[i] = 1;
	free(memory);
	return unused;
}

static int count(struct pm_session *session, char *const *names, int events)
{
	struct pm_value values[EVENTS] = { { .size = sizeof(values[0]) } };
	pthread_t threads[4];
	int n;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	n = pm_session_read(session, values, EVENTS);
	for (int i = 0; i < n; i++)
		printf("%14llu %s\n", (unsigned long long)values[i].value, names[i]);
	return n == events ? 0 : 1;
}

int main(int argc, char **argv)
{
	static char *usual[] = { "task-clock", "page-faults" };
	char **names = argc > 1 ? argv + 1 : usual;
	const int events = argc > 1 ? argc - 1 : 2;
	struct pm_event_spec specs[EVENTS] = { { .size = sizeof(specs[0]) } };
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;
	int err = 0, status = 2;

	if (events > EVENTS)
		return fprintf(stderr, "count: %d events at most\n", EVENTS), 2;
	for (int i = 0; i < events && err == 0; i++) {
		specs[i].size = sizeof(specs[i]);
		specs[i].tid = PM_ALL_THREADS;
		err = pm_event_parse(names[i], &diag, &specs[i]);
	}
	if (err == 0)
		err = pm_plan_make(specs, (size_t)events, &opts, NULL, &diag, &plan);
	if (plan != NULL)
		session = pm_session_create(plan, NULL, NULL);
	if (session == NULL || pm_session_attach(session, &diag) < 0)
		fprintf(stderr, "count: %s\n", diag.text);
	else
		status = count(session, names, events);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return status;
}
