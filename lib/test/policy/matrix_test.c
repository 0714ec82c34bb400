/* SPDX-License-Identifier: MIT */
/*
 * Each strategy against each lie of lies.def: what was asked for is delivered, by this strategy or
 * another, or the attach is refused with a reason, or the statistics tell what is missing. Never
 * nothing in silence, and nothing twice. PM_CELL=strategy/lie runs one and prints what was said.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdnoreturn.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lying_kernel.h"
#include "matrix.h"
#include "sessions.h"

#define NOT_HERE 77
#define LANES 4

/* -------------------------------------------------------------------------- two threads at work */

struct worker {
	pthread_t thread;
	pid_t tid;			/* atomic */
	const struct row *row;
	uint64_t told;			/* samples, or ns */
};

static struct worker workers[2];	/* one that runs before the attach, one born after it */
static atomic_bool may_work;

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void burn(uint64_t ns)
{
	uint64_t begin = 0, now = 0;

	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin);
	while (now < begin + ns)
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
}

/* Most of it on the first CPU, some on the last. */
static void *work(void *context)
{
	struct worker *worker = context;

	__atomic_store_n(&worker->tid, pm_gettid(), __ATOMIC_RELEASE);
	while (!may_work)
		usleep(200);
	for (int last = 0; last < 2; last++) {
		go_to(last ? kernel.last_cpu : 0);
		if (worker->row->kind == TIME)
			burn(BURN_NS / 2);
		else
			cause_faults(last ? ON_LAST : PAGES - ON_LAST);
	}
	return NULL;
}

/* A thread that is still to come has tid 0, as the idle task has, whose events a cgroup tells. */
static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	for (size_t i = 0; i < 2; i++)
		if (sample->event == 0 && sample->tid != 0 &&
		    (pid_t)sample->tid == workers[i].tid)
			workers[i].told += workers[i].row->kind == TIME ? sample->period : 1;
}

/* ------------------------------------------------------------------------------------ one cell */

static void start(struct worker *worker, const struct row *row)
{
	worker->row = row;
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
	while (__atomic_load_n(&worker->tid, __ATOMIC_ACQUIRE) == 0)
		usleep(100);
}

static void add_parts(struct pm_session *session, int sign, struct outcome *came)
{
	static struct pm_part parts[4096];
	int count;

	parts[0].size = sizeof(parts[0]);
	count = pm_session_read_parts(session, parts, ARRAY_SIZE(parts));
	for (int i = 0; i < count; i++) {
		if (parts[i].event != 0 || parts[i].cpu < 0)
			continue;
		if (parts[i].cpu == 0)
			came->counted_on[0] += (uint64_t)sign * parts[i].value;
		if (parts[i].cpu == kernel.last_cpu)
			came->counted_on[1] += (uint64_t)sign * parts[i].value;
	}
}

/* The first thread sleeps at the attach, and both have ended when the session does. */
static void observe(struct pm_session *session, const struct row *row, struct outcome *came)
{
	/* All has happened when it is polled first. */
	const bool late = kernel.lie == LIE_output_ignored && !row->polled;
	struct pm_value before = { .size = sizeof(before) }, after = before;

	(void)pm_session_read(session, &before, 1);
	add_parts(session, -1, came);
	start(&workers[1], row);
	/* Where nothing is inherited, a thread is noticed by a poll. */
	for (int i = 0; row->polled && i < 5; i++)
		(void)pm_session_poll(session, 20);
	if (!late)
		(void)pm_session_poll(session, 0);
	if (kernel.lie == LIE_events_stop)
		stop_events();
	may_work = true;
	for (int i = 0; kernel.lie != LIE_losses_hidden && !late && i < 3; i++)
		(void)pm_session_poll(session, row->kind == TIME ? 25 : 5);
	pthread_join(workers[0].thread, NULL);
	pthread_join(workers[1].thread, NULL);
	(void)pm_session_poll(session, 5);
	came->summed = pm_session_read(session, &after, 1) > 0;
	add_parts(session, 1, came);
	came->counted = after.value - before.value;
	came->by_cpu = row->by_cpu;
	pm_session_detach(session);
	came->stats.size = sizeof(came->stats);
	pm_session_stats(session, &came->stats);
	for (int i = 0; i < 2; i++)
		came->told[i] = workers[i].told;
}

static int serve(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	if (fork() == 0) {
		close(pair[0]);
		(void)pm_broker_serve(pair[1], &(struct pm_broker_opts){
			.size = sizeof(struct pm_broker_opts), .allow = PM_BROKER_KERNEL });
		_exit(0);
	}
	close(pair[1]);
	kernel.refused = getpid();
	kernel.refuse = EACCES;
	return pair[0];
}

static int own_cgroup(void)
{
	char line[512], path[600];
	FILE *file = fopen("/proc/self/cgroup", "r");
	int fd = -1;

	while (file != NULL && fd < 0 && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s", line + 3);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (file != NULL)
		(void)fclose(file);
	if (fd >= 0 && faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
		return fd;
	/* Not mounted: the whole of it will do, in mounts of our own. */
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("cgroup2", "/mnt", "cgroup2", 0, NULL) != 0)
		_exit(NOT_HERE);
	return open("/mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct pm_event_spec spec_of(const struct row *row)
{
	struct pm_event_spec spec = row->kind == TIME ? clock_of_all : faults;

	spec.tid = row->tid;
	if (row->kind == COUNTS)
		spec.period = 0;
	if (row->kind == COUNTS || row->strategy == PM_STRATEGY_SIGNALS)
		spec.want = 0;
	return spec;
}

static struct pm_plan *make_plan(const struct row *row, struct pm_diag *diag)
{
	struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .allow = PM_ALLOW_ALL | PM_ALLOW_ITIMER,
		.descriptors_percent = 100, .ring_pages = kernel.lie == LIE_losses_hidden };
	const enum lie lie = kernel.lie;
	const struct pm_event_spec spec = spec_of(row);
	struct pm_plan *plan = NULL;
	int err;

	/* The ways before this one are forbidden, those after it are what is left. */
	opts.forbid = (1u << row->strategy) - 1;
	if (row->strategy == PM_STRATEGY_BROKER) {
		opts.allow |= PM_ALLOW_BROKER;
		opts.broker = serve();
	}
	if (row->tid == PM_CGROUP)
		opts.cgroup = own_cgroup();
	kernel.lie = LIE_none;
	err = pm_plan_make(&spec, 1, &opts, NULL, diag, &plan);
	kernel.lie = lie;
	if (err < 0 || pm_plan_strategy(plan) != row->strategy)
		_exit(NOT_HERE);
	return plan;
}

static void run_counters(struct outcome *came)
{
	struct pm_value value = { .size = sizeof(value) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec spec = faults;
	struct pm_counters *counters;
	int err;

	spec.period = spec.want = 0;
	spec.tid = 0;
	err = pm_counters_open(&spec, 1, 0, NULL, &diag, &counters);
	if (err >= 0)
		err = pm_counters_start(counters);
	if (err >= 0) {
		cause_faults(PAGES / 2);
		go_to(kernel.last_cpu);
		cause_faults(PAGES / 2);
		err = pm_counters_read(counters, &value, 1);
	}
	came->counted = value.value;
	if (err < 0 && kernel.lie == LIE_none && refusal_here() != 0)
		_exit(NOT_HERE);
	if (err < 0)
		snprintf(came->text, sizeof(came->text), "REFUSED %s %s", pm_errno_name(-err),
			 diag.text);
	else if (value.value < PAGES && value.running < value.enabled)
		snprintf(came->text, sizeof(came->text), "TOLD running < enabled");
	else
		judge(&rows[ARRAY_SIZE(rows) - 1], came, "pm_counters", NULL);
}

static void run_session(const struct row *row, struct outcome *came)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan = make_plan(row, &diag);
	struct pm_session *session;
	static char said[12000];
	char *unproven;
	int err;

	start(&workers[0], row);
	session = pm_session_create(plan, &listener, NULL);
	err = pm_session_attach(session, &diag);
	if (err < 0) {
		snprintf(came->text, sizeof(came->text), "%s %s",
			 strlen(diag.text) > 20 ? "REFUSED" : "SILENT", diag.text);
		return;
	}
	pm_plan_explain(plan, said, sizeof(said));
	unproven = strstr(said, "not proven: ");
	if (unproven != NULL)
		unproven[strcspn(unproven, "\n")] = '\0';
	if (getenv("PM_CELL") != NULL)
		print_message("%s", said);
	observe(session, row, came);
	judge(row, came, pm_strategy_name((enum pm_strategy)err), unproven);
}

static void live(int out, const struct row *row, enum lie lie)
{
	static struct outcome came;

	alarm(300);
	kernel.lie = lie;
	kernel.opener = pm_gettid();
	if (row->kind == COUNTERS)
		run_counters(&came);
	else
		run_session(row, &came);
	(void)!write(out, came.text, strlen(came.text));
	_exit(0);
}

/* Without perf most lies make no difference. */
static bool applies(const struct row *row, enum lie lie)
{
	/* Events without a descriptor are compared with no count, and forward nothing. */
	if (row->strategy == PM_STRATEGY_OWN_RINGS &&
	    (lie == LIE_samples_fade || lie == LIE_losses_hidden))
		return false;
	if (lie == LIE_samples_fade)
		return row->kind == SAMPLES && row->strategy != PM_STRATEGY_SIGNALS;
	return row->kind != TIME || lie == LIE_none || lie == LIE_mute || lie == LIE_poll_sleeps ||
		lie == LIE_timer_ignored || lie == LIE_signals_ignored || lie == LIE_clock_stands;
}

static bool run_cell(const struct row *row, enum lie lie)
{
	char text[700] = "";
	int pipes[2], status;
	size_t used = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		close(pipes[0]);
		live(pipes[1], row, lie);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE) {
		print_message("%s/%s: not to be had here\n", row->name, lies[lie].name);
		return true;
	}
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "it died of %s", strsignal(WTERMSIG(status)));
	else if (status != 0)
		snprintf(text, sizeof(text), "it ended with %d", WEXITSTATUS(status));
	print_message("%s/%s: %.500s\n", row->name, lies[lie].name, text);
	return !is_wrong(text, status, lie);
}

/*
 * What others on this machine do counts for cpu_wide as well, and where they take the CPU a tick
 * seldom finds a thread of ours running. What is wrong is so each time.
 */
static bool run_cell_once_well(const struct row *row, enum lie lie)
{
	for (int i = 0; i < 10; i++)
		if (run_cell(row, lie))
			return true;
	return false;
}

static int run_row(const struct row *row)
{
	const char *only = getenv("PM_CELL");
	char name[128];
	int wrong = 0;

	for (enum lie lie = 0; lie < LIES; lie++) {
		snprintf(name, sizeof(name), "%s/%s", row->name, lies[lie].name);
		if (!applies(row, lie) || (only != NULL && strcmp(only, name) != 0))
			continue;
		wrong += !run_cell_once_well(row, lie);
	}
	return wrong;
}

/* Most of the time is waited, so several rows are run at a time. */
static void each_strategy_each_lie(void **state)
{
	int wrong = 0, status;
	pid_t lanes[LANES];

	(void)state;
	kernel.last_cpu = pm_cpus_online() - 1;
	if (kernel.last_cpu < 1)
		skip();
	for (size_t lane = 0; lane < LANES; lane++) {
		lanes[lane] = fork();
		if (lanes[lane] != 0)
			continue;
		for (size_t i = lane; i < ARRAY_SIZE(rows); i += LANES)
			wrong += run_row(&rows[i]);
		_exit(wrong);
	}
	for (size_t lane = 0; lane < LANES; lane++) {
		assert_int_equal(waitpid(lanes[lane], &status, 0), lanes[lane]);
		wrong += status;
	}
	assert_int_equal(wrong, 0);
}

static noreturn void wait_for_word(const struct row *row)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;

	alarm(300);
	kernel.lie = LIE_samples_fade;
	kernel.opener = pm_gettid();
	session = pm_session_create(make_plan(row, NULL), &listener, NULL);
	if (pm_session_attach(session, NULL) < 0)
		_exit(NOT_HERE);
	while (stats.incomplete_events == 0) {
		cause_faults(PAGES);
		(void)pm_session_poll(session, 5);
		(void)pm_session_stats(session, &stats);
	}
	_exit(0);
}

/* A session that goes on for days says it before its end. */
static void what_fades_is_told_while_it_does(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		wait_for_word(&rows[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(status, 0);
}

/* The judgement can fail: too little is silence, unless something is told, and twice is wrong. */
static void the_judgement_can_fail(void **state)
{
	static const struct { uint64_t told, lost; bool wrong; } cases[] = {
		{ PAGES, 0, false }, { PAGES - 1, 0, true }, { PAGES - 1, 1, false },
		{ 2 * PAGES, 0, true }, { 0, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outcome came = { .told = { cases[i].told, PAGES },
					.stats = { .lost = cases[i].lost } };

		judge(&rows[0], &came, "per_cpu", NULL);
		assert_int_equal(is_wrong(came.text, 0, LIE_mute), cases[i].wrong);
	}
	assert_true(is_wrong("TOLD", 0, LIE_none));
	assert_true(is_wrong("DELIVERED", 256, LIE_mute));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_judgement_can_fail),
		cmocka_unit_test(what_fades_is_told_while_it_does),
		cmocka_unit_test(each_strategy_each_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
