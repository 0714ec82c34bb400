/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.sigtrap across execve(2): the new program knows nothing of the traps that the old one asked
 * for and would die of them, so the kernel demands remove_on_exec with it (attr.exclusions).
 * Observed: a child with such an event dies of SIGTRAP when it has caused enough page faults; one
 * that executes this program anew before does not.
 * Linux 97ba62b27867 ("perf: Add support for SIGTRAP on perf events") (v5.13)
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("traps and execve")
      SINCE("5.13")
      COMMIT("97ba62b27867")
      POINT(traps_before, "a task with a sigtrap event dies of SIGTRAP at the counted fault")
      POINT(not_after, "a task that has executed another program does not die of SIGTRAP")
      POINT(many_at_once, "8 tasks that execute at the same time do not die of SIGTRAP"))

/* More faults than the way into another program can cost, and then surely enough of them. */
#define PERIOD 400
#define FAULTS 600

static struct perf_event_attr trapping(bool sigtrap)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.disabled = 0;
	attr.sample_period = PERIOD;
	attr.remove_on_exec = sigtrap;	/* both are of one release, and sigtrap needs it */
	attr.sigtrap = sigtrap;
	return attr;
}

static void must_trap(pid_t pid)
{
	const struct perf_event_attr attr = trapping(true), without = trapping(false);

	ask_open(&attr, &without, pid, -1, "sigtrap");
}

TEST(traps_before)
{
	struct worker child;
	int status;

	must_start_worker(&child, WORKER_CHILD);
	must_trap(child.tid);
	close(child.answers[1]);	/* or its death would go unnoticed */
	worker_faults(&child, FAULTS);
	status = wait_child(child.tid);
	if (status != 128 + SIGTRAP)
		say_broken("status=%d want=%d (SIGTRAP)", status, 128 + SIGTRAP);
}

TEST(not_after)
{
	struct worker child;
	int error, status;

	must_start_worker(&child, WORKER_CHILD);
	must_exec_worker(&child);
	must_trap(child.tid);
	error = worker_exec(&child, NULL);	/* now with the event */
	if (!error)
		error = worker_faults(&child, FAULTS);
	worker_dismiss(&child);
	status = wait_child(child.tid);
	if (error || status)
		say_broken("faults: %s, status=%d want=0", pm_errno_name(error), status);
}

static void *exec_and_fault(void *worker)
{
	return (void *)(intptr_t)(worker_exec(worker, NULL) ?: worker_faults(worker, FAULTS));
}

TEST(many_at_once)
{
	struct worker children[8];
	pthread_t threads[8];
	int failed = 0, died = 0;

	for (int i = 0; i < 8; i++) {
		must_start_worker(&children[i], WORKER_CHILD);
		must_exec_worker(&children[i]);
		must_trap(children[i].tid);
	}
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, exec_and_fault, &children[i]));
	for (int i = 0; i < 8; i++) {
		void *error;

		pthread_join(threads[i], &error);
		failed += error != NULL;
	}
	for (int i = 0; i < 8; i++) {
		worker_dismiss(&children[i]);
		died += wait_child(children[i].tid) != 0;
	}
	if (failed || died)
		say_broken("of 8 tasks %d did not go on, %d died", failed, died);
}

PROBE_MAIN
