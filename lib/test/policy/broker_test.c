/* SPDX-License-Identifier: MIT */
/*
 * The broker: what it takes from strangers, what it gives them, and a process that is refused
 * every event and observes itself all the same.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
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

/* -------------------------------------------------------------------------------------- packets */

static const struct perf_event_attr harmless = {
	.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER8,
	.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
	.exclude_kernel = 1, .exclude_hv = 1, .exclude_callchain_kernel = 1, .inherit = 1,
};

static struct broker_request request_of(const struct perf_event_attr *attr, int tid)
{
	struct broker_request request = {
		.magic = BROKER_MAGIC, .version = BROKER_VERSION, .tid = tid, .cpu = -1,
		.attr_size = attr->size,
	};

	memcpy(request.attr, attr, attr->size < sizeof(*attr) ? attr->size : sizeof(*attr));
	return request;
}

#define SIZE_OF(request) (offsetof(struct broker_request, attr) + (request).attr_size)

static int parse(const struct broker_request *request, size_t size)
{
	struct perf_event_attr attr;
	int tid, cpu;

	return pm_broker_parse(request, size, &tid, &cpu, &attr);
}

static void a_packet_is_taken_apart(void **state)
{
	struct broker_request request = request_of(&harmless, 77);
	struct perf_event_attr attr;
	int tid = 0, cpu = 0;

	(void)state;
	assert_int_equal(pm_broker_parse(&request, SIZE_OF(request), &tid, &cpu, &attr), 0);
	assert_true(tid == 77 && cpu == -1);
	assert_memory_equal(&attr, &harmless, sizeof(attr));
}

static void packets_that_are_refused(void **state)
{
	struct broker_request good = request_of(&harmless, 77), bad;

	(void)state;
#define BAD(change) do { bad = good; change; \
	assert_int_equal(parse(&bad, SIZE_OF(bad)), -EBADMSG); } while (0)
	BAD(bad.magic++);
	BAD(bad.version = 2);
	BAD(bad.tid = 0);
	BAD(bad.tid = -1);
	BAD(bad.cpu = -2);
	BAD(bad.cpu = 1 << 20);
	BAD(bad.zero = 1);
	BAD(bad.attr_size = 56);
	BAD(bad.attr_size = 68);
	bad = good;
	bad.attr_size = UINT32_MAX;
	assert_int_equal(parse(&bad, sizeof(bad)), -EBADMSG);
	assert_int_equal(parse(&good, SIZE_OF(good) - 1), -EBADMSG);
	assert_int_equal(parse(&good, 3), -EBADMSG);
	/* Bytes of a later kernel: zeros are harmless, anything else is not understood. */
	bad = good;
	bad.attr_size = BROKER_ATTR_MAX;
	assert_int_equal(parse(&bad, SIZE_OF(bad)), 0);
	bad.attr[BROKER_ATTR_MAX - 1] = 1;
	assert_int_equal(parse(&bad, SIZE_OF(bad)), -E2BIG);
}

static int permit(const struct perf_event_attr *attr, unsigned int allow)
{
	struct perf_event_attr kept;
	int err = pm_broker_permit(attr, allow, &kept);

	if (err == 0)
		assert_memory_equal(&kept, attr, sizeof(kept));
	return err;
}

static void what_strangers_may_have(void **state)
{
	struct perf_event_attr attr;

	(void)state;
	assert_int_equal(permit(&harmless, 0), 0);
#define WITH(change, allow, want) do { attr = harmless; change; \
	assert_int_equal(permit(&attr, allow), want); } while (0)
	WITH(attr.exclude_kernel = 0, 0, -EACCES);
	WITH(attr.exclude_kernel = 0, PM_BROKER_KERNEL, 0);
	WITH(attr.exclude_hv = 0, 0, -EACCES);
	WITH(attr.exclude_callchain_kernel = 0, 0, -EACCES);
	WITH(attr.type = 77, 0, -EACCES);
	WITH(attr.type = 77, PM_BROKER_ANY_PMU, 0);
	WITH(attr.type = PERF_TYPE_TRACEPOINT, PM_BROKER_KERNEL, -EACCES);
	WITH(attr.sample_type |= PERF_SAMPLE_PHYS_ADDR, 3, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_REGS_INTR, 3, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_RAW, 3, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_STACK_USER, 3, -EPERM);
	WITH(attr.read_format |= PERF_FORMAT_GROUP, 3, -EPERM);
	WITH(attr.pinned = 1, 3, -EPERM);
	WITH(attr.exclusive = 1, 3, -EPERM);
	WITH(attr.sigtrap = 1, 3, -EPERM);
	WITH(attr.text_poke = 1, 3, -EPERM);
	WITH(attr.ksymbol = 1, 3, -EPERM);
	WITH(attr.enable_on_exec = 1, 3, -EPERM);
	WITH(attr.aux_output = 1, 3, -EPERM);
	WITH(attr.sample_max_stack = 2000, 3, -EPERM);
	WITH(attr.precise_ip = 1, 3, -EPERM);
}

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
					.allow = PM_ALLOW_USER_ONLY };
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
	session = session_by(served.socket, &spec, &plan);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	cause_faults(300);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	assert_in_range(after.value - before.value, 300, 400);
	refuse = 0;
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	(void)end_broker(&served);
}

static void not_asked_without_need(void **state)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .broker = 12345,
					.descriptors_percent = 100, .allow = PM_ALLOW_ALL };
	struct pm_plan *plan;

	(void)state;
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
	struct pm_session_opts opts = { .size = sizeof(opts), .descriptors_percent = 100 };
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
		cmocka_unit_test(a_packet_is_taken_apart),
		cmocka_unit_test(packets_that_are_refused),
		cmocka_unit_test(what_strangers_may_have),
		cmocka_unit_test(own_threads_and_no_others),
		cmocka_unit_test(nonsense_ends_it),
		cmocka_unit_test(samples_for_the_refused),
		cmocka_unit_test(counts_for_the_refused),
		cmocka_unit_test(not_asked_without_need),
		cmocka_unit_test(another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
