/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the per-CPU strategy work as a whole: an inheriting event for each thread and CPU, all
 * redirected to one leader's ring a CPU, only leaders mapped?
 * Observed: threads come and go on all CPUs, each causing an exact number of page faults; every
 * thread's samples must be in the rings once, whether older or younger than the session.
 */
#include "probe.h"
#include "waiter.h"

PROBE(TITLE("the per-CPU strategy, end to end")
      SINCE("2.6.35")
      POINT(every_sample_once, "each page fault of 8 threads is in the per-CPU rings once")
      POINT(old_and_new_threads,
	    "threads older than the session, and threads that they start, are in the rings")
      POINT(time_based, "a reader that never polls and looks now and then finds every sample")
      FACT(descriptors, int, "descriptors", "used for 2 threads and one event on all CPUs"))

#define CPUS 16
#define FAULTS 20

struct session {
	int cpus, sources[2][CPUS];
	struct sampler leaders[CPUS];
};

static struct perf_event_attr attr_source(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_ID |
						  PERF_SAMPLE_ADDR);

	attr.inherit = 1;
	attr.wakeup_events = 1;
	attr.read_format = PERF_FORMAT_ID;
	return attr;
}

static void attach(struct session *session, int slot, pid_t tid)
{
	struct perf_event_attr attr = attr_source();
	int home = count_cpus() < CPUS ? count_cpus() : CPUS;

	session->cpus = home;
	for (int i = 0; i < home; i++) {
		int cpu = move_to_nth_cpu(i);

		ASSERT_LE(0, cpu);
		if (slot == 0)
			session->leaders[i] = must_sampler(&attr, tid, cpu, 8);
		session->sources[slot][i] = must_open(&attr, tid, cpu, -1, 0);
		must_ioctl(session->sources[slot][i], PERF_EVENT_IOC_SET_OUTPUT,
			   session->leaders[i].fd);
		must_ioctl(session->sources[slot][i], PERF_EVENT_IOC_ENABLE, 0);
	}
}

struct job {
	struct gate go;
	int nth_cpu;
	pid_t tid;
	uintptr_t first, last;
	struct job *child;
};

/* Touch FAULTS pages at addresses that nobody else touches. */
static void *work(void *argument)
{
	struct job *job = argument;
	const size_t page = probe_env()->page_size;
	volatile char *area;

	job->tid = pm_gettid();
	move_to_nth_cpu(job->nth_cpu);
	area = mmap(NULL, FAULTS * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (area == MAP_FAILED)
		return NULL;
	madvise((void *)area, FAULTS * page, MADV_NOHUGEPAGE);
	job->first = (uintptr_t)area;
	job->last = (uintptr_t)area + (FAULTS - 1) * page;
	for (int i = 0; i < FAULTS; i++)
		area[i * page] = 1;
	if (job->child)
		run_in_thread(work, job->child);
	return NULL;
}

static void *wait_then_work(void *argument)
{
	struct job *job = argument;

	__atomic_store_n(&job->tid, pm_gettid(), __ATOMIC_RELEASE);
	gate_wait(&job->go);
	return work(job);
}

/* How many samples of one job's pages are in all rings; what is read is kept for the next job. */
static int samples_of(struct session *session, struct job *jobs, int *ret, int count)
{
	struct pm_record record;
	int all = 0;

	for (int cpu = 0; cpu < session->cpus; cpu++)
		while (find_record(&session->leaders[cpu], PERF_RECORD_SAMPLE, &record))
			for (int i = 0; i < count; i++)
				if (record.sample.sid.tid == (uint32_t)jobs[i].tid &&
				    record.sample.addr >= jobs[i].first &&
				    record.sample.addr <= jobs[i].last) {
					ret[i]++;
					all++;
				}
	return all;
}

TEST(every_sample_once)
{
	struct session session;
	struct job jobs[8] = { { .nth_cpu = 0 } };
	pthread_t threads[8];
	int seen[8] = { 0 };

	attach(&session, 0, 0);
	for (int i = 0; i < 8; i++) {
		jobs[i].nth_cpu = i % session.cpus;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, work, &jobs[i]));
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	samples_of(&session, jobs, seen, 8);
	for (int i = 0; i < 8; i++)
		if (seen[i] != FAULTS)
			say_broken("thread %d: samples=%d want=%d", i, seen[i], FAULTS);
}

TEST(old_and_new_threads)
{
	struct session session;
	struct job jobs[2] = { { .child = &jobs[1] }, { .nth_cpu = count_cpus() - 1 } };
	pthread_t thread;
	int seen[2] = { 0 };

	ASSERT_EQ(0, gate_init(&jobs[0].go));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_then_work, &jobs[0]));
	while (!__atomic_load_n(&jobs[0].tid, __ATOMIC_ACQUIRE))
		sched_yield();
	attach(&session, 0, 0);
	attach(&session, 1, jobs[0].tid);
	fact_int("descriptors", 3 * session.cpus);
	gate_open(&jobs[0].go);
	pthread_join(thread, NULL);
	samples_of(&session, jobs, seen, 2);
	if (seen[0] != FAULTS || seen[1] != FAULTS)
		say_broken("old thread's samples=%d its child's=%d want=%d each", seen[0], seen[1],
			   FAULTS);
}

TEST(time_based)
{
	struct session session;
	struct job jobs[4] = { { .nth_cpu = 0 } };
	int seen[4] = { 0 };

	attach(&session, 0, 0);
	for (int i = 0; i < 4; i++) {
		jobs[i].nth_cpu = i % session.cpus;
		ASSERT_EQ(0, run_in_thread(work, &jobs[i]));
		samples_of(&session, jobs, seen, i + 1);
	}
	for (int i = 0; i < 4; i++)
		if (seen[i] != FAULTS)
			say_broken("round %d: samples=%d want=%d", i, seen[i], FAULTS);
}

PROBE_MAIN
