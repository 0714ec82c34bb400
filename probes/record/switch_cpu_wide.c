/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event on a CPU tell which task follows which there? A system-wide profiler draws the
 * CPU's time line from it.
 * Observed: this task and a child take turns on one CPU; pid and tid of both are known.
 */
#include "probe.h"

#define ROUNDS 1000

PROBE(TITLE("switches between the tasks of a CPU in the ring")
      SINCE("4.3")
      NEEDS("root")
      POINT(cpu_wide, "an event on a CPU gets SWITCH_CPU_WIDE with pid and tid of both tasks"))

static int move_to_first(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(0);
}

/* This task is away after a switch out, and back after one in. */
static void expect_turn(uint16_t misc, bool *away)
{
	const bool out = misc & PERF_RECORD_MISC_SWITCH_OUT;

	if (out == *away)
		say_broken("misc=%#x: a switch %s of a task that %s", misc, out ? "out" : "in",
			   *away ? "is away" : "runs");
	if (!out && misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
		say_broken("misc=%#x: a switch in is said to be a preemption", misc);
	*away = out;
}

struct turns {
	bool away, out, in;
};

/* Whether there was a switch from us to the worker, and one back: in turns, from the first. */
static bool saw_both(struct sampler *sampler, const struct worker *worker, struct turns *turns)
{
	const uint32_t self = pm_gettid(), process = getpid(), tid = worker->tid;
	const uint32_t pid = worker->kind == WORKER_THREAD ? process : tid;
	struct pm_record record;

	while (find_record(sampler, 0, &record)) {
		const uint32_t other = record.switch_cpu_wide.next_prev_tid;

		if (record.type == PERF_RECORD_LOST)
			say_unknown("records were lost: others switch too often on this CPU");
		if (record.type != PERF_RECORD_SWITCH_CPU_WIDE || record.sid.tid != self)
			continue;
		if (other != tid) {		/* somebody else came in between */
			expect_turn(record.misc, &turns->away);
			continue;
		}
		if (record.sid.pid != process || record.switch_cpu_wide.next_prev_pid != pid)
			say_broken("pid=%u want=%u, pid of the other task=%u want=%u",
				   record.sid.pid, process,
				   record.switch_cpu_wide.next_prev_pid, pid);
		expect_turn(record.misc, &turns->away);
		turns->out |= turns->away;
		turns->in |= !turns->away;
	}
	return turns->out && turns->in;
}

/* On a busy CPU others run in between, most of the time. */
static void expect_both(struct sampler *sampler, enum worker_kind kind, int cpu)
{
	struct turns turns = { false };
	struct worker worker;

	must_start_worker(&worker, kind);
	ASSERT_EQ(cpu, worker_do(&worker, move_to_first, NULL));
	count_records(&sampler->ring, 0);
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, worker_faults(&worker, 1));
		if (saw_both(sampler, &worker, &turns))
			return;
	}
	say_broken("%d turns on CPU %d, and no pair of records names both tasks", ROUNDS, cpu);
}

/* A child, and a thread: pid and tid of a child are the same. */
TEST(cpu_wide)
{
	struct perf_event_attr attr = attr_sideband(), without;
	const int cpu = move_to_nth_cpu(0);
	struct sampler sampler;

	ASSERT_LE(0, cpu);
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	without = attr;
	attr.context_switch = 1;
	sampler = ask_run_sampler(&attr, &without, -1, cpu, 32, "context_switch");
	expect_both(&sampler, WORKER_CHILD, cpu);
	expect_both(&sampler, WORKER_THREAD, cpu);
}

PROBE_MAIN
