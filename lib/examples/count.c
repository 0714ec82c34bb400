/* SPDX-License-Identifier: MIT */
/*
 * Counts what a program's threads do, in whatever way works here.
 *
 *   cc count.c -lperfmodes -pthread && ./a.out
 */
#include <perfmodes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const struct pm_event_spec specs[] = {
	{ .size = sizeof(specs[0]), .type = 1, .config = 1, .tid = PM_ALL_THREADS },
	{ .size = sizeof(specs[0]), .type = 1, .config = 2, .tid = PM_ALL_THREADS },
};

static const char *const names[] = { "task-clock ns", "page-faults" };

static void *work(void *unused)
{
	char *memory = malloc(1 << 20);

	for (size_t i = 0; memory != NULL && i < 1 << 20; i += 512)
		((volatile char *)memory)[i] = 1;
	free(memory);
	return unused;
}

static int count(struct pm_session *session)
{
	struct pm_value values[2];
	pthread_t threads[4];
	int n;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	n = pm_session_read(session, values, 2);
	for (int i = 0; i < n; i++)
		printf("%14llu %s\n", (unsigned long long)values[i].value, names[i]);
	return n == 2 ? 0 : 1;
}

int main(void)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;
	int err = pm_plan_make(specs, 2, &opts, NULL, &diag, &plan), status = 1;

	if (err < 0) {
		fprintf(stderr, "count: %s\n", diag.text);
		return 2;
	}
	session = pm_session_create(plan, NULL, NULL);
	if (session == NULL || pm_session_attach(session, &diag) < 0)
		fprintf(stderr, "count: %s\n", diag.text);
	else
		status = count(session);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return status;
}
