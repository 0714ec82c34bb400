/* SPDX-License-Identifier: MIT */
/*
 * Attaching to all threads of a process: the session against the bare system calls that lead to
 * the same set of events: list threads, open each event on each CPU, map a ring a CPU, forward.
 * The fewest calls open the events enabled and ask for no ids; most programs open them disabled,
 * ask for the id of each and enable each. Neither knows whether a record would arrive. A third way
 * is the fewest calls and a thread that is renamed on each CPU, whose records are then looked for:
 * the least that shows that each ring works and that threads inherit.
 *
 * "attach" is the first of its kind in a process, which is proven; "attach again" is any later one,
 * which is not proven again (PM_PROVE_ONCE).
 *
 * CPU time is that of all threads of the process, so the session's canary is in it; no other
 * thread runs meanwhile. Wall time holds what the canary waits for.
 *
 *   attach [rounds [threads...]]
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../policy/engine/engine.h"
#include "bench.h"

#define THREADS_MAX 1024
#define CPUS_MAX 64
#define EVENTS_MAX 2
#define RING_PAGES 128

static sem_t begun;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/*
 * The kernel interrupts the CPU that a thread ran on last for each of its events, unless that is
 * the CPU of the caller (perf_install_in_context() of linux), which takes longer than all else. So
 * the threads are spread evenly, wherever the caller may be.
 */
static void *wait_for_end(void *number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((uintptr_t)number % (uintptr_t)pm_cpus_online(), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		bench_fail("sched_setaffinity", errno);
	sem_post(&begun);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return number;
}

/* ----------------------------------------------------------------------------- the system calls */

enum way { ENABLED_AT_OPEN, ENABLE_OF_EACH, AND_A_THREAD };

struct raw {
	int fds[THREADS_MAX * CPUS_MAX * EVENTS_MAX];
	size_t count;
	void *rings[CPUS_MAX];
	int cpus;
	bool each;		/* opened disabled, each asked for its id and enabled */
	pid_t shown;		/* the thread that was renamed on each CPU */
	uint64_t ids;		/* their sum, so that nothing is optimised away */
};

static struct raw raw;

static void raw_open(const struct pm_plan *plan, pid_t tid)
{
	for (size_t i = 0; i < plan->count; i++)
		for (int cpu = 0; cpu < raw.cpus; cpu++) {
			struct perf_event_attr attr = plan->events[i].attr;
			long fd;

			attr.size = sizeof(attr);
			attr.inherit = 1;
			attr.disabled = raw.each;
			fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1,
				     PERF_FLAG_FD_CLOEXEC);
			if (fd < 0)
				bench_fail("perf_event_open", errno);
			raw.fds[raw.count++] = (int)fd;
		}
}

static void raw_map(void)
{
	size_t size = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);

	for (int cpu = 0; cpu < raw.cpus; cpu++) {
		raw.rings[cpu] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				      raw.fds[cpu], 0);
		if (raw.rings[cpu] == MAP_FAILED)
			bench_fail("mmap", errno);
	}
}

/* Opened by event and then by CPU, so the CPU of event i is i modulo their number. */
static void raw_connect(const struct pm_plan *plan)
{
	uint64_t id;

	for (size_t i = (size_t)raw.cpus; i < raw.count; i++)
		if (ioctl(raw.fds[i], PERF_EVENT_IOC_SET_OUTPUT,
			  (unsigned long)raw.fds[i % (size_t)raw.cpus]) != 0)
			bench_fail("SET_OUTPUT", errno);
	for (size_t i = 0; raw.each && plan->count > 1 && i < raw.count; i++)
		if (ioctl(raw.fds[i], PERF_EVENT_IOC_ID, &id) == 0)
			raw.ids += id;
	for (size_t i = 0; raw.each && i < raw.count; i++)
		if (ioctl(raw.fds[i], PERF_EVENT_IOC_ENABLE, 0) != 0)
			bench_fail("ENABLE", errno);
}

static void raw_attach(const struct pm_plan *plan)
{
	const struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");

	if (dir == NULL)
		bench_fail("/proc/self/task", errno);
	raw.count = 0;
	raw.cpus = pm_cpus_online();
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			raw_open(plan, (pid_t)atoi(entry->d_name));
	closedir(dir);
	raw_map();
	raw_connect(plan);
}

static void *show_on_each_cpu(void *unused)
{
	cpu_set_t set;
	char name[16];

	raw.shown = (pid_t)syscall(SYS_gettid);
	for (int cpu = 0; cpu < raw.cpus; cpu++) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) != 0)
			bench_fail("sched_setaffinity", errno);
		prctl(PR_GET_NAME, name);
		prctl(PR_SET_NAME, name);
	}
	return unused;
}

/* Nothing has been read yet, so the ring begins at its first byte. */
static bool raw_has_name(const struct perf_event_mmap_page *page)
{
	const char *data = (const char *)page + sysconf(_SC_PAGESIZE);
	const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	const struct perf_event_header *record;

	for (uint64_t at = 0; at < head; at += record->size) {
		record = (const struct perf_event_header *)(data + at);
		if (record->type == PERF_RECORD_COMM &&
		    ((const pid_t *)(record + 1))[1] == raw.shown)
			return true;
	}
	return false;
}

static void raw_show(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	if (pthread_create(&thread, &small, show_on_each_cpu, NULL) != 0)
		bench_fail("pthread_create", EAGAIN);
	pthread_join(thread, NULL);
	for (int cpu = 0; cpu < raw.cpus; cpu++)
		if (!raw_has_name(raw.rings[cpu]))
			bench_fail("no record of the thread's name", EIO);
}

static void raw_detach(void)
{
	for (int cpu = 0; cpu < raw.cpus; cpu++)
		munmap(raw.rings[cpu], (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE));
	for (size_t i = 0; i < raw.count; i++)
		close(raw.fds[i]);
}

/* ------------------------------------------------------------------------------------ measuring */

static void measure_raw(const struct pm_plan *plan, const char *what, const char *name,
			enum way way)
{
	static const char *const subjects[] = {
		[ENABLED_AT_OPEN] = "system calls, enabled at open",
		[ENABLE_OF_EACH] = "system calls, ENABLE of each",
		[AND_A_THREAD] = "system calls, and a thread that shows on each CPU",
	};
	const char *subject = subjects[way];
	struct bench_watch since = bench_start();

	raw.each = way == ENABLE_OF_EACH;
	raw_attach(plan);
	if (way == AND_A_THREAD)
		raw_show();
	bench_stop(since, what, name, subject, 1);
	since = bench_start();
	raw_detach();
	bench_stop(since, "detach", name, subject, 1);
}

static void measure_ours(struct pm_plan *plan, const char *what, const char *name)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = pm_session_create(plan, NULL, NULL);
	struct bench_watch since = bench_start();
	int err = session ? pm_session_attach(session, &diag) : -ENOMEM;

	bench_stop(since, what, name, "perfmodes", 1);
	if (err != PM_STRATEGY_PER_CPU)
		bench_fail(diag.text, err < 0 ? err : ENOTSUP);
	since = bench_start();
	pm_session_detach(session);
	bench_stop(since, "detach", name, "perfmodes", 1);
	pm_session_destroy(session);
}

static void prove_first(struct pm_plan *plan)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = pm_session_create(plan, NULL, NULL);

	if (session == NULL || pm_session_attach(session, &diag) < 0)
		bench_fail(diag.text, EIO);
	pm_session_destroy(session);
}

static const char *const whats[] = {
	[PM_PROVE_ALWAYS] = "attach",
	[PM_PROVE_ONCE] = "attach again",
};

static void measure(unsigned int threads, unsigned int events, unsigned int rounds,
		    enum pm_prove prove)
{
	const struct pm_session_opts opts = {
		.size = sizeof(opts), .allow = PM_ALLOW_RAISE_NOFILE, .descriptors_percent = 100,
		.ring_pages = RING_PAGES, .prove = prove,
	};
	const struct pm_event_spec specs[EVENTS_MAX] = {
		{ .size = sizeof(specs[0]), .type = 1, .config = 2, .period = 1,
		  .tid = PM_ALL_THREADS },
		{ .size = sizeof(specs[0]), .type = 1, .config = 3, .period = 1,
		  .tid = PM_ALL_THREADS },
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_profile *empty = pm_profile_create();
	struct pm_plan *plan;
	char name[64];

	if (pm_plan_make(specs, events, &opts, empty, &diag, &plan) < 0)
		bench_fail(diag.text, ENOTSUP);
	snprintf(name, sizeof(name), "%u threads x %d cpus x %u events", threads, pm_cpus_online(),
		 events);
	if (prove == PM_PROVE_ONCE)
		prove_first(plan);
	for (unsigned int i = 0; i < rounds; i++) {
		/* Each stands as often before the session as behind it. */
		for (int k = 0; k < 3; k++) {
			if (k == (int)i % 4)
				measure_ours(plan, whats[prove], name);
			measure_raw(plan, whats[prove], name,
				    (enum way)((i / 4 + (unsigned int)k) % 3));
		}
		if (i % 4 == 3)
			measure_ours(plan, whats[prove], name);
	}
	pm_plan_destroy(plan);
	pm_profile_destroy(empty);
}

int main(int argc, char **argv)
{
	static const unsigned int usual[] = { 1, 8, 64, 256, 1024 };
	unsigned int rounds = bench_argument(argc, argv, 1, 31), alive = 1;
	pthread_attr_t small;
	struct rlimit limit;
	pthread_t thread;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (pm_cpus_online() < 1 || pm_cpus_online() > CPUS_MAX)
		bench_fail("more CPUs than there is room for", E2BIG);
	sem_init(&begun, 0, 0);
	pthread_mutex_lock(&gate);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < (argc > 2 ? argc - 2 : 5); i++) {
		unsigned int threads = bench_argument(argc, argv, i + 2, usual[i % 5]);

		for (; alive < threads && alive < THREADS_MAX; alive++) {
			if (pthread_create(&thread, &small, wait_for_end,
					   (void *)(uintptr_t)alive) != 0)
				bench_fail("pthread_create", EAGAIN);
			sem_wait(&begun);
		}
		measure(alive, 1, rounds, PM_PROVE_ALWAYS);
		measure(alive, 2, rounds, PM_PROVE_ALWAYS);
		measure(alive, 1, rounds, PM_PROVE_ONCE);
	}
	return 0;	/* the threads end with the process */
}
