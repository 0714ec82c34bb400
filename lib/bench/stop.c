/* SPDX-License-Identifier: MIT */
/*
 * Stopping a session whose reader waits or is flooded; and what its reader costs when the thread
 * has ended whose descriptor it polls, against a loop that polls it on.
 *
 *   stop [rounds]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../perfmodes.h"
#include "../pm_sys.h"
#include "bench.h"

#define WATCH_NS 200000000u
#define SETTLE_NS 50000000

static const struct pm_listener nobody = { .size = sizeof(nobody) };
static int flooding;

static void pause_for(long ns)
{
	const struct timespec time = { 0, ns };

	nanosleep(&time, NULL);
}

static void *flood(void *unused)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	while (__atomic_load_n(&flooding, __ATOMIC_RELAXED)) {
		char *area = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; i < 64; i++)
			((volatile char *)area)[i * page] = 1;
		munmap(area, 64 * page);
	}
	return unused;
}

static struct pm_session *start(const struct pm_event_spec *specs, size_t count,
				struct pm_plan **plan)
{
	static const struct pm_session_opts opts = { .size = sizeof(opts) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;

	if (pm_plan_make(specs, count, &opts, NULL, &diag, plan) < 0)
		bench_fail(diag.text, ENOTSUP);
	session = pm_session_create(*plan, &nobody, NULL);
	if (session == NULL || pm_session_attach(session, &diag) < 0)
		bench_fail(diag.text, ENOTSUP);
	return session;
}

static void *run(void *session)
{
	(void)pm_session_run(session);
	return NULL;
}

static void measure_stop(const char *name, unsigned int floods)
{
	const struct pm_event_spec faults = { .size = sizeof(faults), .type = 1, .config = 2,
					      .period = 1, .tid = PM_ALL_THREADS };
	struct pm_plan *plan;
	struct pm_session *session = start(&faults, 1, &plan);
	pthread_t reader, writers[8];
	uint64_t begin;

	flooding = 1;
	for (unsigned int i = 0; i < floods; i++)
		pthread_create(&writers[i], NULL, flood, NULL);
	pthread_create(&reader, NULL, run, session);
	pause_for(SETTLE_NS);
	begin = bench_clock(CLOCK_MONOTONIC);
	pm_session_interrupt(session);
	bench_say(name, "perfmodes", "us", (double)(bench_clock(CLOCK_MONOTONIC) - begin) / 1e3);
	flooding = 0;
	pthread_join(reader, NULL);
	for (unsigned int i = 0; i < floods; i++)
		pthread_join(writers[i], NULL);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* perf(1) watching a sleeping process, from SIGINT to its end. */
static void measure_perf(const char *name)
{
	char self[16];
	uint64_t begin;
	pid_t pid;

	snprintf(self, sizeof(self), "%d", (int)getpid());
	pid = fork();
	if (pid == 0) {
		(void)!freopen("/dev/null", "w", stderr);
		execlp("perf", "perf", "record", "-q", "-e", "minor-faults", "-c", "1", "-o",
		       "/dev/null", "-p", self, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		bench_fail("fork", errno);
	pause_for(900000000);
	begin = bench_clock(CLOCK_MONOTONIC);
	/* Without perf(1), or where it cannot watch, there was nothing to be stopped. */
	if (waitpid(pid, NULL, WNOHANG) != 0 || kill(pid, SIGINT) != 0 ||
	    waitpid(pid, NULL, 0) != pid)
		return;
	bench_say(name, "perf record, SIGINT to exit", "us",
		  (double)(bench_clock(CLOCK_MONOTONIC) - begin) / 1e3);
}

/* ----------------------------------------------------------------------- after the leader's end */

static void *end_soon(void *tid)
{
	__atomic_store_n((int *)tid, pm_gettid(), __ATOMIC_RELEASE);
	pause_for(SETTLE_NS);
	return NULL;
}

static int thread_that_ends(pthread_t *ret)
{
	static int tid;

	__atomic_store_n(&tid, 0, __ATOMIC_RELEASE);
	pthread_create(ret, NULL, end_soon, &tid);
	while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0)
		pause_for(100000);
	return tid;
}

static double percent_of(void (*loop)(void *), void *context)
{
	uint64_t begin = bench_clock(CLOCK_MONOTONIC), cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	uint64_t now;

	do {
		loop(context);
		now = bench_clock(CLOCK_MONOTONIC);
	} while (now - begin < WATCH_NS);
	return 100.0 * (double)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu) / (double)(now - begin);
}

static void poll_ours(void *session)
{
	(void)pm_session_poll(session, 20);
}

static void poll_naively(void *fd)
{
	struct pollfd one = { .fd = *(int *)fd, .events = POLLIN };

	(void)poll(&one, 1, 20);
}

static void idle_ours(const char *name)
{
	pthread_t thread;
	struct pm_event_spec spec = { .size = sizeof(spec), .type = 1, .config = 2,
				      .period = 1000000 };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	struct pm_plan *plan;

	spec.tid = thread_that_ends(&thread);
	session = start(&spec, 1, &plan);
	pthread_join(thread, NULL);
	(void)pm_session_poll(session, 0);
	bench_say(name, "perfmodes", "% of a CPU", percent_of(poll_ours, session));
	pm_session_stats(session, &stats);
	if (stats.leaders_gone == 0)
		bench_fail("no leader has ended", ENODATA);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void idle_naive(const char *name)
{
	const struct perf_event_attr attr = { .type = 1, .config = 2, .sample_period = 1000000 };
	struct pm_ring ring;
	pthread_t thread;
	int fd = pm_open(&attr, thread_that_ends(&thread), 0, -1, 0);

	if (fd < 0 || pm_ring_open(fd, 8, PROT_READ | PROT_WRITE, &ring) < 0)
		bench_fail("a ring", fd);
	pthread_join(thread, NULL);
	bench_say(name, "a loop that polls the leader on", "% of a CPU",
		  percent_of(poll_naively, &fd));
	pm_ring_close(&ring);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned int rounds = bench_argument(argc, argv, 1, 15);

	for (unsigned int i = 0; i < rounds; i++) {
		measure_stop("stop, idle", 0);
		if (i < 5)
			measure_perf("stop, idle");
		measure_stop("stop, flooded by 2 threads", 2);
		idle_ours("reader after its leader's end");
		idle_naive("reader after its leader's end");
	}
	return 0;
}
