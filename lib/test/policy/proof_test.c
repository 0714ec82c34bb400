/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are silent in part: on one CPU, for threads that ran before, for one strategy. A
 * session does not attach to them; what it cannot know yet it says, and what it finds out later.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define BETWEEN_IOCTL
#include "between.h"
#include "../../pm_sys.h"
#include "../../policy/proof/proof.h"
#include "one_cpu.h"
#include "sessions.h"

#define NEVER (UINT64_MAX >> 2)
#define AREA (1 << 20)

static struct {
	int silent_cpu;			/* its events have no samples; -1: none */
	bool silent;			/* none have */
	bool dead_threads;		/* events of other threads than the opener's stand still */
	bool dead_timers;
	bool faults_to_create;		/* making a thread takes many page faults */
} kernel;

static int dead_fds[4096];

/* Side-band records come; samples do not, and a clock goes on counting. */
static void silence(struct perf_event_attr *attr)
{
	if (attr->config == PERF_COUNT_SW_PAGE_FAULTS)
		attr->config = PERF_COUNT_SW_DUMMY;
	else if (attr->sample_period != 0)
		attr->sample_period = NEVER;
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const bool dead = kernel.dead_threads && args[1] > 0 && args[1] != pm_gettid();
	const struct perf_event_attr asked = attr != NULL ? *attr : (struct perf_event_attr){ 0 };
	long fd;

	if (attr != NULL && (kernel.silent ||
	    (kernel.silent_cpu >= 0 && (int)args[2] == kernel.silent_cpu)))
		silence(attr);
	if (dead && attr != NULL)
		attr->disabled = 1;
	fd = open_really(real, args);
	if (attr != NULL) {		/* the caller's own is as it was */
		attr->config = asked.config;
		attr->sample_period = asked.sample_period;
		attr->disabled = asked.disabled;
	}
	if (fd >= 0 && fd < (long)ARRAY_SIZE(dead_fds))
		dead_fds[fd] = dead;
	return fd;
}

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	if (request == PERF_EVENT_IOC_ENABLE && fd < (int)ARRAY_SIZE(dead_fds) && dead_fds[fd])
		return 0;
	return real(fd, request, argument);
}

int timer_settime(timer_t id, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	static int (*real)(timer_t, int, const struct itimerspec *, struct itimerspec *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "timer_settime");
	return kernel.dead_timers ? 0 : real(id, flags, new, old);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	const size_t size = kernel.faults_to_create ? AREA : 4096;
	char *area = mmap(NULL, size, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	for (size_t i = 0; i < size; i += 4096)
		area[i] = 1;
	(void)munmap(area, size);
	return real(thread, attr, run, arg);
}

static atomic_bool may_run, may_end;

static void *run_later(void *context)
{
	volatile unsigned int work = 0;

	while (!may_run && !may_end)
		usleep(1000);
	while (!may_end)
		work++;
	return context;
}

/* A joined thread may stay in /proc for a moment, and would be one more that is not proven. */
static void wait_alone(void)
{
	static nlink_t alone;
	struct stat task;
	int looks = 0;

	do {
		assert_int_equal(stat("/proc/self/task", &task), 0);
		alone = alone ? alone : task.st_nlink;
	} while (task.st_nlink > alone && ++looks < 30000 && usleep(1000) == 0);
	/* Else a test that failed has left one behind. */
	assert_int_equal(task.st_nlink, alone);
}

static int setup(void **state)
{
	(void)state;
	wait_alone();
	memset(&kernel, 0, sizeof(kernel));
	memset(dead_fds, 0, sizeof(dead_fds));
	kernel.silent_cpu = -1;
	may_run = may_end = false;
	return 0;
}

/* Attaches by this one strategy; the error, and what was said. */
static int attach_once(enum pm_strategy strategy, const struct pm_event_spec *spec,
		     struct pm_diag *diag, struct pm_session **ret, struct pm_plan **ret_plan)
{
	const bool silent = kernel.silent;

	kernel.silent = false;		/* quick probes would find out */
	*ret_plan = plan_of(spec, 1, strategy, NULL);
	kernel.silent = silent;
	if (*ret_plan == NULL)
		skip();
	*ret = pm_session_create(*ret_plan, NULL, NULL);
	return pm_session_attach(*ret, diag);
}

/*
 * Attaches, and again for as long as no thread but this one gets a CPU: what does not run proves
 * nothing.
 */
static int attach_by(enum pm_strategy strategy, const struct pm_event_spec *spec,
		     struct pm_diag *diag, struct pm_session **ret, struct pm_plan **ret_plan)
{
	int err, tries = may_run ? 200 : 1;

	while ((err = attach_once(strategy, spec, diag, ret, ret_plan)) >= 0 && --tries > 0) {
		struct pm_stats stats = { .size = sizeof(stats) };

		pm_session_stats(*ret, &stats);
		if (stats.unproven_threads == 0)
			break;
		pm_session_destroy(*ret);
		pm_plan_destroy(*ret_plan);
		usleep(10000);
	}
	return err;
}

static void expect_refused(enum pm_strategy strategy, const struct pm_event_spec *spec,
			   const char *phrase)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;
	int err = attach_by(strategy, spec, &diag, &session, &plan);

	if (err != -EIO || strstr(diag.text, phrase) == NULL)
		fail_msg("%s: %d: %s", pm_strategy_name(strategy), err, diag.text);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void one_cpu_is_silent(void **state)
{
	(void)state;
	if (pm_cpus_online() < 2)
		skip();
	for (kernel.silent_cpu = 0; kernel.silent_cpu < 2; kernel.silent_cpu++) {
		expect_refused(PM_STRATEGY_PER_CPU, &faults, "gave no sample");
		expect_refused(PM_STRATEGY_OWN_RINGS, &faults, "gave no sample");
	}
}

static void every_event_of_threads_is_silent(void **state)
{
	(void)state;
	kernel.silent = true;
	expect_refused(PM_STRATEGY_PER_THREAD, &faults, "gave no sample");
	expect_refused(PM_STRATEGY_PER_THREAD, &clock_of_all, "gave no sample");
}

static void timers_do_not_run(void **state)
{
	(void)state;
	kernel.dead_timers = true;
	expect_refused(PM_STRATEGY_TIMERS, &clock_of_all, "sent no signal");
}

static void a_busy_thread_has_no_events(void **state)
{
	pthread_t thread;

	(void)state;
	kernel.dead_threads = true;
	may_run = true;
	assert_int_equal(pthread_create(&thread, NULL, run_later, NULL), 0);
	usleep(10000);
	/* A clock, so that the canary takes as long as the thread needs to run. */
	for (int i = 0; i < 2; i++)
		expect_refused(i ? PM_STRATEGY_PER_CPU : PM_STRATEGY_PER_THREAD, &(struct
			pm_event_spec){ .size = sizeof(struct pm_event_spec), .type = 1,
			.config = PERF_COUNT_SW_TASK_CLOCK, .period = 4000000,
			.tid = PM_ALL_THREADS }, "stand still");
	may_end = true;
	pthread_join(thread, NULL);
}

static sem_t to_run, to_end;
static atomic_bool has_run;
static atomic_int tid_of_run;

static void *run_once(void *context)
{
	struct timespec used = { 0 };

	tid_of_run = gettid();
	sem_wait(&to_run);
	while (used.tv_sec == 0 && used.tv_nsec < 5000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	has_run = true;
	sem_wait(&to_end);
	return context;
}

static bool waits(int tid)
{
	char path[64], text[512] = "", *state;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
	state = strrchr(text, ')');
	return state && state[1] && state[2] == 'S';
}

/*
 * A thread that has run for next to nothing, and waits; to poll would be CPU time. It waits before
 * events are opened, which its first faults would prove.
 */
static void begin_to_wait(pthread_t *ret)
{
	has_run = false;
	tid_of_run = 0;
	sem_init(&to_run, 0, 0);
	sem_init(&to_end, 0, 0);
	assert_int_equal(pthread_create(ret, NULL, run_once, NULL), 0);
	while (tid_of_run == 0 || !waits(tid_of_run))
		usleep(1000);
}

/* It runs for 5 ms of CPU time, and waits again. */
static void let_run(void)
{
	sem_post(&to_run);
	while (!has_run || !waits(tid_of_run))
		usleep(1000);
}

/* What ran before the counts began at 0 counts, too: a second listing sets them all to 0. */
static void a_thread_that_ran_before_the_counts_began(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;
	pthread_t thread;
	char reason[200] = "";

	(void)state;
	begin_to_wait(&thread);
	if (attach_by(PM_STRATEGY_PER_CPU, &faults, &diag, &session, &plan) < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(session->proof->thread_count, 1);
	let_run();
	usleep(20000);
	for (size_t i = 0; i < session->events.count; i++)
		assert_int_equal(pm_event_begin(&session->events, &session->events.list[i]), 0);
	if (pm_proof_threads(session, reason, sizeof(reason)) < 0)
		print_error("%s\n", reason);
	assert_string_equal(reason, "");
	assert_int_equal(session->proof->thread_count, 0);
	sem_post(&to_end);
	pthread_join(thread, NULL);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void a_sleeping_thread_is_told(void **state)
{
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;
	pthread_t thread;
	char text[12000];

	(void)state;
	kernel.dead_threads = true;
	begin_to_wait(&thread);
	if (attach_by(PM_STRATEGY_PER_CPU, &faults, &diag, &session, &plan) < 0)
		fail_msg("%s", diag.text);
	pm_session_stats(session, &stats);
	assert_int_equal(stats.unproven_threads, 1);
	pm_plan_explain(plan, text, sizeof(text));
	assert_non_null(strstr(text, "not proven: "));
	let_run();
	(void)pm_session_poll(session, 0);
	/* Of a thread that has ended nothing can be read any more. */
	pm_session_detach(session);
	sem_post(&to_end);
	pthread_join(thread, NULL);
	pm_session_stats(session, &stats);
	assert_int_equal(stats.silent_threads, 1);
	assert_int_equal(stats.unproven_threads, 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static uint64_t user_ns(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_THREAD, &used), 0);
	return (uint64_t)used.ru_utime.tv_sec * 1000000000 + (uint64_t)used.ru_utime.tv_usec * 1000;
}

/* In user mode, where those without rights are observed. */
static void burn(uint64_t ns)
{
	const uint64_t begin = user_ns();

	while (user_ns() - begin < ns)
		for (volatile int i = 0; i < 20000; i++)
			;
}

/* The same in the kernel, nearly all of it. */
static void burn_in_kernel(uint64_t ns)
{
	const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t begin = 0, now = 0;
	char *area = malloc(AREA);

	assert_true(zero >= 0 && area != NULL);
	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin);
	while (now - begin < ns || now == 0) {
		for (int i = 0; i < 8; i++)
			assert_int_equal(read(zero, area, AREA), AREA);
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	}
	free(area);
	close(zero);
}

/* The canary does not wait for a period of 20 ms. Returns how many events are silent. */
static uint64_t silent_in(enum pm_strategy strategy, bool silent, bool user_only, bool in_kernel)
{
	struct pm_event_spec spec = clock_of_all;
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;
	cpu_set_t before;

	spec.period = 20000000;
	spec.flags |= user_only ? PM_SPEC_USER_ONLY : 0;
	kernel.silent = silent;
	if (attach_by(strategy, &spec, &diag, &session, &plan) < 0)
		fail_msg("%s", diag.text);
	on_one_cpu(&before);
	if (in_kernel)
		burn_in_kernel(400000000);
	else	/* those without rights observe user mode alone */
		burn(user_only || geteuid() != 0 ? 400000000 : 150000000);
	(void)sched_setaffinity(0, sizeof(before), &before);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	assert_int_equal(stats.unproven_events, 1);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return stats.silent_events;
}

/*
 * How much of a thread's time was in user mode is told by the ticks that hit it; where a host or
 * other programs take the CPU they are few, and err once in a while. What is wrong is so each time.
 */
static void expect_silence(enum pm_strategy strategy, bool silent, bool user_only, bool in_kernel)
{
	uint64_t found = silent_in(strategy, silent, user_only, in_kernel);

	for (int again = 0; again < 4 && user_only && found != (silent && !in_kernel); again++)
		found = silent_in(strategy, silent, user_only, in_kernel);
	assert_int_equal(found, silent && !in_kernel);
}

static void silence_is_told_in_the_end(void **state)
{
	(void)state;
	for (int silent = 0; silent < 2; silent++) {
		expect_silence(PM_STRATEGY_PER_CPU, silent, false, false);
		expect_silence(PM_STRATEGY_PER_THREAD, silent, false, false);
		expect_silence(PM_STRATEGY_SIGNALS, silent, false, false);
	}
}

/* It counts, and takes no sample where none was asked for. */
static void a_clock_of_user_mode_is_not_silent_in_the_kernel(void **state)
{
	(void)state;
	expect_silence(PM_STRATEGY_PER_THREAD, true, true, false);
	expect_silence(PM_STRATEGY_PER_CPU, true, true, false);
	expect_silence(PM_STRATEGY_PER_THREAD, true, true, true);
	expect_silence(PM_STRATEGY_PER_THREAD, false, true, true);
	expect_silence(PM_STRATEGY_PER_CPU, false, true, true);
	expect_silence(PM_STRATEGY_SIGNALS, false, true, true);
}

/* What this thread does on another CPU is no part of what the counters of one must hold. */
static void counters_of_another_cpu_are_proven(void **state)
{
	static const enum pm_strategy strategies[] = {
		PM_STRATEGY_COUNTERS_PER_CPU, PM_STRATEGY_CPU_WIDE,
	};
	cpu_set_t before;
	char other[16];

	(void)state;
	kernel.faults_to_create = true;
	on_one_cpu(&before);
	for (int i = CPU_SETSIZE - 1; i >= 0; i--)
		if (CPU_ISSET(i, &before) && i != sched_getcpu())
			snprintf(other, sizeof(other), "%d", i);
	for (int i = 0; i < 4 && CPU_COUNT(&before) > 1; i++) {
		struct pm_session_opts opts = { .size = sizeof(opts), .prove = PM_PROVE_ALWAYS,
			.allow = PM_ALLOW_ALL, .cpus = other,
			.forbid = ~(1u << strategies[i % 2]) };
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_event_spec spec = faults;
		struct pm_session *session;
		struct pm_plan *plan;

		spec.period = spec.want = 0;
		spec.tid = i % 2 ? PM_SYSTEM : PM_ALL_THREADS;
		if (pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0)
			continue;
		session = pm_session_create(plan, NULL, NULL);
		if (pm_session_attach(session, &diag) < 0)
			fail_msg("%s", diag.text);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_cpu_is_silent, setup),
		cmocka_unit_test_setup(every_event_of_threads_is_silent, setup),
		cmocka_unit_test_setup(timers_do_not_run, setup),
		cmocka_unit_test_setup(a_busy_thread_has_no_events, setup),
		cmocka_unit_test_setup(a_thread_that_ran_before_the_counts_began,
				       setup),
		cmocka_unit_test_setup(a_sleeping_thread_is_told, setup),
		cmocka_unit_test_setup(counters_of_another_cpu_are_proven, setup),
		cmocka_unit_test_setup(silence_is_told_in_the_end, setup),
		cmocka_unit_test_setup(a_clock_of_user_mode_is_not_silent_in_the_kernel, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
