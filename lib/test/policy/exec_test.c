/* SPDX-License-Identifier: MIT */
/*
 * A program that is observed becomes another by exec(2), or starts one: no strategy ends the new
 * program, none of its events or timers is there, and the session of who stays goes on. Each
 * strategy and each way, as root and as an ordinary user, PM_TIMES times.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "sessions.h"

#define TIMES 1
#define ATTEMPTS 5
#define ORDINARY 1000
#define NOT_HERE 77		/* status: this strategy is not to be had */
#define WRONG 3			/* status: and what is wrong was written to stderr */

extern char **environ;

/* ------------------------------------------------------------------------------ the new program */

static uint64_t cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool holds_events(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	bool found = false;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char link[64] = "";

		if (readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1) > 0)
			found |= strcmp(link, "anon_inode:[perf_event]") == 0;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

#define FOR_EACH_TIMER 30000000		/* ns: enough for its signal where the CPU is ours */

/* Works for that long, with page faults. */
static int be_new(uint64_t ns)
{
	const uint64_t end = cpu_ns() + ns;
	struct itimerval timer = { .it_value = { 0, 0 } };

	cause_faults(64);
	while (cpu_ns() < end)
		;
	cause_faults(64);
	if (holds_events() || count_maps(NULL) != 0)
		return WRONG;
	(void)getitimer(ITIMER_PROF, &timer);
	return timer.it_value.tv_sec + timer.it_value.tv_usec != 0 ? WRONG : 0;
}

/* --------------------------------------------------------------------------------- ways to it */

static char *const new_program[] = { "/proc/self/exe", "--new", NULL };

static struct pm_session *observed;

static int status_of(pid_t child)
{
	int status = -1;

	return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static int by_exec(void)
{
	execv(new_program[0], new_program);
	return -1;
}

/*
 * A child that does not exec keeps copies of all descriptors, and with them the events. It ends
 * with the new program, also when that one has ended before the child first runs.
 */
static int by_exec_beside_a_child(void)
{
	const pid_t parent = getpid();

	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return by_exec();
}

static int by_fork(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(by_exec());
	return status_of(child);
}

/* A child that goes on as it is: the session is not its own, and leaves nothing to it. */
static int by_fork_alone(void)
{
	const pid_t child = fork();

	if (child == 0) {
		if (pm_session_poll(observed, 0) != -ECHILD)
			_exit(WRONG);
		pm_session_destroy(observed);
		_exit(be_new(FOR_EACH_TIMER));
	}
	return status_of(child);
}

static int by_vfork(void)
{
	const pid_t child = vfork();

	if (child == 0) {
		execv(new_program[0], new_program);
		_exit(1);
	}
	return status_of(child);
}

static int by_spawn(void)
{
	pid_t child;

	if (posix_spawn(&child, new_program[0], NULL, NULL, new_program, environ) != 0)
		return -1;
	return status_of(child);
}

static const struct way {
	const char *name;
	int (*go)(void);
} ways[] = {
	{ "exec", by_exec }, { "exec beside a child", by_exec_beside_a_child },
	{ "fork", by_fork_alone }, { "fork and exec", by_fork }, { "vfork and exec", by_vfork },
	{ "posix_spawn", by_spawn },
};

/* ------------------------------------------------------------------------------------ a session */

static const struct pm_event_spec busy[] = {
	{ .size = sizeof(busy[0]), .type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS,
	  .period = 1, .tid = PM_ALL_THREADS },
	{ .size = sizeof(busy[0]), .type = PM_TYPE_SOFTWARE, .config = PM_SW_CPU_CLOCK,
	  .period = 100000, .tid = PM_ALL_THREADS },
};

static const struct strategy_case {
	enum pm_strategy strategy;
	const struct pm_event_spec *specs;
	size_t count;
	int tid;
	bool counts;
} strategies[] = {
	{ PM_STRATEGY_PER_CPU, busy, 2, PM_ALL_THREADS, false },
	{ PM_STRATEGY_OWN_RINGS, busy, 2, PM_ALL_THREADS, false },
	{ PM_STRATEGY_PER_THREAD, busy, 2, PM_ALL_THREADS, false },
	{ PM_STRATEGY_CPU_WIDE, busy, 2, PM_ALL_THREADS, false },
	{ PM_STRATEGY_CGROUP, busy, 2, PM_CGROUP, false },
	{ PM_STRATEGY_BROKER, busy, 2, PM_ALL_THREADS, false },
	{ PM_STRATEGY_SIGNALS, busy, 2, PM_ALL_THREADS, false },
	{ PM_STRATEGY_COUNTERS, busy, 2, PM_ALL_THREADS, true },
	{ PM_STRATEGY_COUNTERS_PER_CPU, busy, 2, PM_ALL_THREADS, true },
	{ PM_STRATEGY_TIMERS, &clock_of_all, 1, PM_ALL_THREADS, false },
	{ PM_STRATEGY_PROCESS_TIMER, &clock_of_all, 1, PM_ALL_THREADS, false },
};

/* The root of the hierarchy that has perf events: cgroup2 may be beside others. */
static int cgroup_of_all(void)
{
	static const char *const folders[] = {
		"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup",
	};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(folders); i++)
		fd = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

static struct pm_plan *plan_for(const struct strategy_case *one, int broker)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .descriptors_percent = 100,
		.allow = PM_ALLOW_ALL,
		.forbid = ~(1u << one->strategy) };
	struct pm_event_spec specs[2];
	struct pm_plan *plan;

	for (size_t i = 0; i < one->count; i++) {
		specs[i] = one->specs[i];
		specs[i].tid = one->tid;
		if (one->counts)
			specs[i].period = 0;
	}
	if (one->strategy == PM_STRATEGY_CGROUP)
		opts.cgroup = cgroup_of_all();
	if (one->strategy == PM_STRATEGY_BROKER) {
		opts.allow &= ~(unsigned int)PM_ALLOW_USER_ONLY;
		opts.allow |= PM_ALLOW_BROKER;
		opts.broker = broker;
	}
	return pm_plan_make(specs, one->count, &opts, NULL, NULL, &plan) < 0 ? NULL : plan;
}

static unsigned int samples;

static void count_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	(void)sample;
	samples++;
}

/* Whoever stays is observed as before. */
static bool goes_on(struct pm_session *session, bool counts)
{
	struct pm_value before[2] = { { .size = sizeof(before[0]) } };
	struct pm_value after[2] = { { .size = sizeof(after[0]) } };
	const uint64_t end = cpu_ns() + 2000000000;

	/* What has happened is at most a lap; the clock goes on, and may be faster than we. */
	for (int laps = 0; laps < 4 && pm_session_poll(session, 0) > 0; laps++)
		;
	samples = 0;
	if (counts && pm_session_read(session, before, 2) < 0)
		return false;
	cause_faults(100);
	while (!counts && samples == 0 && cpu_ns() < end)
		(void)pm_session_poll(session, 0);
	if (counts && pm_session_read(session, after, 2) < 0)
		return false;
	return counts ? after[0].value - before[0].value >= 100 : samples > 0;
}

/* On a busy machine a proof may fail, and not each time. */
static struct pm_session *attach(const struct strategy_case *one, int broker)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = count_sample };
	struct pm_diag diag = { .size = sizeof(diag) };

	for (int i = 0; i < ATTEMPTS; i++) {
		struct pm_plan *plan = plan_for(one, broker);
		struct pm_session *session;

		if (plan == NULL)
			_exit(NOT_HERE);
		session = pm_session_create(plan, &listener, NULL);
		if (session != NULL && pm_session_attach(session, &diag) == (int)one->strategy)
			return session;
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	/* A POSIX timer whose signal comes to another thread, on kernels before v6.4. */
	if (strstr(diag.text, "does not come to the thread that runs") != NULL)
		_exit(NOT_HERE);
	fprintf(stderr, "%s\n", diag.text);
	_exit(WRONG);
}

static int observe_and_go(const struct strategy_case *one, const struct way *way, int broker)
{
	struct pm_session *session = attach(one, broker);
	int status;

	observed = session;
	cause_faults(64);
	status = way->go();
	if (status != 0) {
		fprintf(stderr, "%s, %s: the new program ends with %#x\n",
			pm_strategy_name(one->strategy), way->name, (unsigned int)status);
		return WRONG;
	}
	if (!goes_on(session, one->counts)) {
		fprintf(stderr, "%s, %s: the session does not go on\n",
			pm_strategy_name(one->strategy), way->name);
		return WRONG;
	}
	pm_session_destroy(session);
	return 0;
}

struct thread_job {
	const struct strategy_case *one;
	const struct way *way;
	int broker;
};

static void *go_in_thread(void *context)
{
	const struct thread_job *job = context;

	_exit(observe_and_go(job->one, job->way, job->broker));
}

static void *spin(void *unused)
{
	for (;;)
		;
	return unused;
}

#define PATIENCE 600	/* seconds for an observed process, and for the broker that serves it */

/* Who may open events serves whoever connects as long as that one lives; nobody may come. */
static void serve(struct sockaddr_un *ret)
{
	const struct pm_broker_opts opts = { .size = sizeof(opts), .allow = PM_BROKER_KERNEL };
	socklen_t size = sizeof(*ret);
	const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* No name: the kernel finds one. */
	if (bind(listener, (struct sockaddr *)ret, sizeof(ret->sun_family)) != 0 ||
	    getsockname(listener, (struct sockaddr *)ret, &size) != 0 || listen(listener, 1) != 0)
		_exit(NOT_HERE);
	if (fork() == 0) {
		alarm(PATIENCE);
		_exit(pm_broker_serve(accept(listener, NULL, NULL), &opts) < 0);
	}
	close(listener);
}

static int call(const struct sockaddr_un *address)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)prctl(PR_SET_DUMPABLE, 1);
	return connect(fd, (const struct sockaddr *)address,
		       (socklen_t)(sizeof(address->sun_family) + 6)) == 0 ? fd : -1;
}

/* Beside a busy thread; each second time it is not the first thread that goes. */
static void be_observed(const struct strategy_case *one, const struct way *way, unsigned int time,
			uid_t uid)
{
	struct thread_job job = { one, way, 0 };
	pthread_t threads[2];

	struct sockaddr_un broker;

	if (one->strategy == PM_STRATEGY_BROKER)
		serve(&broker);
	if (geteuid() != uid && setresuid(uid, uid, uid) != 0)
		_exit(NOT_HERE);
	if (one->strategy == PM_STRATEGY_BROKER)
		job.broker = call(&broker);
	alarm(PATIENCE);
	if (pthread_create(&threads[0], NULL, spin, NULL) != 0)
		_exit(NOT_HERE);
	if (time % 2 == 0 || pthread_create(&threads[1], NULL, go_in_thread, &job) != 0)
		(void)go_in_thread(&job);
	for (;;)
		pause();
}

/* --------------------------------------------------------------------------------------- tests */

static unsigned int times(void)
{
	const char *text = getenv("PM_TIMES");

	return text != NULL ? (unsigned int)atoi(text) : TIMES;
}

/* How often it went well; -1: not to be had here. Adds to `wrong` what did not. */
static int try_way(const struct strategy_case *one, const struct way *way, uid_t uid, int *wrong)
{
	int well = 0;

	for (unsigned int i = 0; i < times(); i++) {
		const pid_t child = fork();
		int status;

		if (child == 0)
			be_observed(one, way, i, uid);
		status = status_of(child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
			return -1;
		well += status == 0;
		if (status != 0)
			print_error("%s, %s, uid %d: status %#x\n", pm_strategy_name(one->strategy),
				    way->name, (int)uid, (unsigned int)status);
	}
	*wrong += (int)times() - well;
	return well;
}

static int try_each_as(uid_t uid, unsigned int *ret_tried)
{
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
			const int well = try_way(&strategies[i], &ways[k], uid, &wrong);

			print_message("%-16s %-20s uid %-4d %d of %u\n",
				      pm_strategy_name(strategies[i].strategy), ways[k].name,
				      (int)uid, well, times());
			if (well < 0)
				break;
			++*ret_tried;
		}
	}
	return wrong;
}

/* What ITIMER_PROF does, and why it has to be allowed. */
static void be_ended(void)
{
	const struct rlimit none = { 0, 0 };
	struct pm_session_opts opts = { .size = sizeof(opts),
		.allow = PM_ALLOW_ALL | PM_ALLOW_ITIMER,
		.forbid = ~(1u << PM_STRATEGY_PROCESS_TIMER) };
	struct pm_session *session;
	struct pm_plan *plan;

	(void)setrlimit(RLIMIT_SIGPENDING, &none);	/* no POSIX timer */
	if (pm_plan_make(&clock_of_all, 1, &opts, NULL, NULL, &plan) < 0)
		_exit(WRONG);
	session = pm_session_create(plan, NULL, NULL);
	if (session == NULL || pm_session_attach(session, NULL) < 0)
		_exit(WRONG);
	(void)setenv("PM_ITIMER", "", 1);
	_exit(by_exec());
}

static void the_itimer_ends_the_new_program(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		be_ended();
	status = status_of(child);
	if (WIFSIGNALED(status))
		print_message("%-16s exec: SIG%s ends the new program\n", "by ITIMER_PROF",
			      sigabbrev_np(WTERMSIG(status)));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
}

static void the_new_program_lives(void **state)
{
	unsigned int tried = 0;
	int wrong = 0;

	(void)state;
	wrong += try_each_as(geteuid(), &tried);
	if (geteuid() == 0)
		wrong += try_each_as(ORDINARY, &tried);
	assert_int_equal(wrong, 0);
	assert_true(tried > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_new_program_lives),
		cmocka_unit_test(the_itimer_ends_the_new_program),
	};

	/* ITIMER_PROF fires at a tick that finds the program running, on a busy machine seldom. */
	if (argc > 1 && strcmp(argv[1], "--new") == 0)
		return be_new(getenv("PM_ITIMER") != NULL ? 10000000000 : FOR_EACH_TIMER);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
