/* SPDX-License-Identifier: MIT */
/*
 * The broker: what it gives to strangers, and a process that is refused every event and observes
 * itself all the same.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../../policy/broker/broker.h"
#include "between.h"
#include "sessions.h"

static int refuse;		/* the errno of every perf_event_open(2) of this process */

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	(void)attr;
	return refuse != 0 ? refuse_with(refuse) : open_really(real, args);
}

static const struct perf_event_attr harmless = {
	.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER8,
	.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
	.exclude_kernel = 1, .exclude_hv = 1, .exclude_callchain_kernel = 1, .inherit = 1,
};

/* -------------------------------------------------------------------------------------- serving */

struct served {
	int socket;
	pid_t broker;
};

/* A broker in a process of its own; the connected end is ours. */
static struct served start_broker(const struct pm_broker_opts *opts)
{
	struct served served;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	served.socket = pair[0];
	served.broker = fork();
	if (served.broker == 0) {
		int got;

		close(pair[0]);
		got = pm_broker_serve(pair[1], opts);
		_exit(got < 0 ? 100 : got);
	}
	close(pair[1]);
	return served;
}

/* How many events it gave; 100 when it had to do with nonsense. */
static int end_broker(struct served *served)
{
	int status;

	close(served->socket);
	assert_int_equal(waitpid(served->broker, &status, 0), served->broker);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool perf_is_here(void)
{
	int fd = pm_open(&harmless, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Whether it connects before it ends. */
static bool connects(pid_t child, int socket)
{
	struct pollfd wanted = { .fd = socket, .events = POLLIN };

	while (poll(&wanted, 1, 50) != 1)
		if (waitpid(child, NULL, WNOHANG) == child)
			return false;
	return true;
}

static void own_threads_and_no_others(void **state)
{
	const struct pm_broker_opts opts = { .size = sizeof(opts), .events = 2 };
	struct served served = start_broker(&opts);
	struct perf_event_attr attr = harmless;
	int fd;

	(void)state;
	if (!perf_is_here()) {
		(void)end_broker(&served);
		skip();
	}
	assert_int_equal(pm_broker_open(served.socket, &attr, 1, -1), -ESRCH);
	assert_int_equal(pm_broker_open(served.socket, &attr, served.broker, -1), -ESRCH);
	attr.exclude_kernel = 0;
	assert_int_equal(pm_broker_open(served.socket, &attr, getpid(), -1), -EACCES);
	for (int i = 0; i < 2; i++) {
		fd = pm_broker_open(served.socket, &harmless, getpid(), -1);
		assert_true(fd >= 0);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		close(fd);
	}
	assert_int_equal(pm_broker_open(served.socket, &harmless, getpid(), -1), -EMFILE);
	assert_int_equal(end_broker(&served), 2);
}

/* Each of the two is a word of its own. */
static void others_and_cpus_when_the_options_say_so(void **state)
{
	const unsigned int allowed[] = { PM_BROKER_KERNEL, PM_BROKER_OTHERS, PM_BROKER_SYSTEM };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		const struct pm_broker_opts opts = { .size = sizeof(opts), .allow = allowed[i] };
		struct served served = start_broker(&opts);
		int other = pm_broker_open(served.socket, &harmless, served.broker, -1);
		int system = pm_broker_open(served.socket, &harmless, -1, 0);
		const bool here = perf_is_here();

		if (here && allowed[i] != PM_BROKER_OTHERS)
			assert_int_equal(other, -ESRCH);
		if (here && allowed[i] != PM_BROKER_SYSTEM)
			assert_int_equal(system, -EACCES);
		/* The broker itself is of the same user, whose threads need no privilege. */
		assert_true(!here || allowed[i] != PM_BROKER_OTHERS || other >= 0);
		assert_true(!here || allowed[i] != PM_BROKER_SYSTEM || system >= 0 ||
			    system == -EACCES || system == -EPERM || system == -EINVAL);
		close(other);
		close(system);
		(void)end_broker(&served);
	}
}

/* In another PID namespace numbers are those of other processes: 1 is not who it means. */
static void ask_from_a_namespace(const struct sockaddr_un *address, socklen_t length)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status;
	pid_t child;

	if (unshare(CLONE_NEWPID) != 0)
		_exit(77);
	child = fork();
	if (child == 0) {
		if (connect(fd, (const void *)address, length) != 0)
			_exit(78);
		_exit(-pm_broker_open(fd, &harmless, 1, -1));
	}
	(void)waitpid(child, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 79);
}

static void others_are_of_this_namespace(void **state)
{
	const struct pm_broker_opts opts = { .size = sizeof(opts), .allow = PM_BROKER_OTHERS };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status, peer;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address);
	pid_t child;

	(void)state;
	if (getuid() != 0 || !perf_is_here())
		skip();
	/* A name in the abstract namespace that the kernel chooses. */
	assert_int_equal(bind(listener, (void *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(listener, (void *)&address, &length), 0);
	assert_int_equal(listen(listener, 1), 0);
	child = fork();
	if (child == 0)
		ask_from_a_namespace(&address, length);
	if (!connects(child, listener))
		skip();
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(pm_broker_serve(peer, &opts), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), ESRCH);
	close(peer);
	close(listener);
}

static void nonsense_ends_it(void **state)
{
	struct served served = start_broker(NULL);
	char flood[4096];

	(void)state;
	memset(flood, 'x', sizeof(flood));
	assert_int_equal(send(served.socket, flood, sizeof(flood), MSG_NOSIGNAL), sizeof(flood));
	assert_int_equal(pm_broker_open(served.socket, &harmless, getpid(), -1), -EPIPE);
	assert_int_equal(end_broker(&served), 100);
}

/* ------------------------------------------------------------------------------------- sessions */

static unsigned int told;
static char said[4096];

static void on_fault(void *context, const struct pm_observed *sample)
{
	(void)context;
	told += sample->pid == (uint32_t)getpid();
}

static void *fault(void *context)
{
	cause_faults(*(size_t *)context);
	return NULL;
}

static struct pm_session *session_by(int socket, const struct pm_event_spec *spec,
				     struct pm_plan **ret)
{
	const struct pm_listener each = { .size = sizeof(each), .sample = on_fault };
	struct pm_session_opts opts = { .size = sizeof(opts), .broker = socket,
					.descriptors_percent = 100,
					.allow = PM_ALLOW_USER_ONLY | PM_ALLOW_BROKER };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;

	if (pm_plan_make(spec, 1, &opts, NULL, &diag, ret) < 0)
		fail_msg("%s", diag.text);
	pm_plan_explain(*ret, said, sizeof(said));
	session = pm_session_create(*ret, &each, NULL);
	if (pm_session_attach(session, &diag) != PM_STRATEGY_BROKER)
		fail_msg("%s\n%s", said, diag.text);
	return session;
}

static void samples_for_the_refused(void **state)
{
	struct served served = start_broker(NULL);
	struct pm_session *session;
	struct pm_plan *plan;
	size_t count = 300;
	pthread_t thread;
	bool here = perf_is_here();

	(void)state;
	if (!here) {
		(void)end_broker(&served);
		skip();
	}
	refuse = EPERM;
	session = session_by(served.socket, &faults, &plan);
	told = 0;
	assert_int_equal(pthread_create(&thread, NULL, fault, &count), 0);
	pthread_join(thread, NULL);
	assert_int_equal(pm_session_detach(session), 0);
	refuse = 0;
	assert_in_range(told, 300, 400);
	assert_non_null(strstr(said, "chosen: broker"));
	assert_non_null(strstr(said, "passed over: per_cpu: perf_event_open(page-faults"));
	assert_non_null(strstr(said, "user mode only"));
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	/* One for each thread and CPU, and those of the negotiation. */
	assert_in_range(end_broker(&served), 2, 90);
}

static void counts_for_the_refused(void **state)
{
	struct served served = start_broker(NULL);
	struct pm_event_spec spec = faults;
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_session *session;
	struct pm_plan *plan;

	(void)state;
	if (!perf_is_here()) {
		(void)end_broker(&served);
		skip();
	}
	spec.period = 0;
	refuse = ENOSYS;
	/* A program may have closed its standard input. */
	assert_int_equal(dup2(served.socket, 0), 0);
	session = session_by(0, &spec, &plan);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	cause_faults(300);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	assert_in_range(after.value - before.value, 300, 400);
	refuse = 0;
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	assert_int_equal(close(0), 0);	/* or the broker would wait for more */
	assert_int_equal(open("/dev/null", O_RDONLY), 0);
	(void)end_broker(&served);
}

static void not_asked_without_need(void **state)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .broker = 12345,
					.descriptors_percent = 100, .allow = PM_ALLOW_ALL };
	struct pm_plan *plan;

	(void)state;
	assert_int_equal(pm_plan_make(&faults, 1, &opts, NULL, NULL, &plan), -EINVAL);
	opts.allow |= PM_ALLOW_BROKER;
	if (!perf_is_here())
		skip();
	assert_int_equal(pm_plan_make(&faults, 1, &opts, NULL, NULL, &plan), 0);
	pm_plan_explain(plan, said, sizeof(said));
	assert_non_null(strstr(said, "broker: the events open without it"));
	pm_plan_destroy(plan);
	refuse = EPERM;
	assert_int_equal(pm_plan_make(&clock_of_all, 1, &opts, NULL, NULL, &plan), 0);
	pm_plan_explain(plan, said, sizeof(said));
	assert_non_null(strstr(said, "broker: the broker says EPIPE"));
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_TIMERS);
	pm_plan_destroy(plan);
	refuse = 0;
}

/* ----------------------------------------------------------------- another user, a real refusal */

static int connect_as_nobody(const struct sockaddr_un *address)
{
	int fd;

	if (setgid(65534) != 0 || setuid(65534) != 0 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return connect(fd, (const void *)address, sizeof(*address)) == 0 ? fd : -1;
}

/* A user below the level that kernel mode takes, with a broker that may give it. */
static void nobody(const struct sockaddr_un *address)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .descriptors_percent = 100,
					.allow = PM_ALLOW_BROKER };
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;

	opts.broker = connect_as_nobody(address);
	if (opts.broker < 0)
		_exit(2);
	if (pm_plan_make(&spec, 1, &opts, NULL, NULL, &plan) < 0)
		_exit(3);
	session = pm_session_create(plan, NULL, NULL);
	if (pm_session_attach(session, NULL) != PM_STRATEGY_BROKER)
		_exit(4);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	_exit(0);
}

static void another_user(void **state)
{
	const struct pm_broker_opts opts = { .size = sizeof(opts), .allow = PM_BROKER_KERNEL };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pm_env env;
	int listener, peer, status;
	pid_t child;

	(void)state;
	pm_env_read(&env);
	if (geteuid() != 0 || env.paranoid < 2 || !perf_is_here())
		skip();
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "perfmodes-test-%d",
		 (int)getpid());
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	child = fork();
	if (child == 0)
		nobody(&address);
	peer = accept(listener, NULL, NULL);
	assert_true(peer >= 0);
	assert_true(pm_broker_serve(peer, &opts) > 0);
	close(peer);
	close(listener);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_threads_and_no_others),
		cmocka_unit_test(others_and_cpus_when_the_options_say_so),
		cmocka_unit_test(others_are_of_this_namespace),
		cmocka_unit_test(nonsense_ends_it),
		cmocka_unit_test(samples_for_the_refused),
		cmocka_unit_test(counts_for_the_refused),
		cmocka_unit_test(not_asked_without_need),
		cmocka_unit_test(another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
