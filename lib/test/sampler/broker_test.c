/* SPDX-License-Identifier: MIT */
/*
 * A sampler without privileges and a broker with them: what it opens, what it refuses, and brokers
 * that are late, dead or die meanwhile. The test is root, and a user without capabilities while it
 * watches.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "watching.h"

#define PAGES 3000
#define STRANGER 64322

static struct served {
	int socket;
	pid_t broker;
} served;

/* ------------------------------------------------------------------------------------ privilege */

/* Root stays the saved uid alone. Locked memory is counted by user: this one is nobody else's. */
static void drop(void)
{
	const uid_t own = 2000000000u + (uid_t)getpid();

	if (setresgid(65534, 65534, 0) != 0 || setresuid(own, own, 0) != 0)
		skip();
	/* What is not dumpable belongs to root in /proc, and a broker does not serve it. */
	(void)prctl(PR_SET_DUMPABLE, 1);
}

static void regain(void)
{
	assert_int_equal(setresuid(0, 0, 0), 0);
	assert_int_equal(setresgid(0, 0, 0), 0);
}

/* Whether there is a refusal here that a broker can lift. */
static bool is_refused_alone(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = pm_open(&attr, -1, 0, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd == -EACCES || fd == -EPERM;
}

static bool root_may(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
	};
	int fd = getuid() == 0 ? pm_open(&attr, -1, 0, -1, 0) : -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* -------------------------------------------------------------------------------------- brokers */

static void serve(int socket, unsigned int allow)
{
	const struct pm_broker_opts opts = { .size = sizeof(opts), .allow = allow };
	char byte;

	/* Not before the peer is who it will be. */
	_exit(read(served.socket, &byte, 1) != 0 || pm_broker_serve(socket, &opts) < 0);
}

static void never_answer(int socket, unsigned int allow)
{
	char packet[512];

	(void)allow;
	while (read(socket, packet, sizeof(packet)) > 0)
		;
	_exit(0);
}

static void end_at_once(int socket, unsigned int allow)
{
	(void)socket, (void)allow;
	_exit(0);
}

/*
 * A broker as root; from here on this process is nobody. The pair of sockets is made by that
 * nobody, who is then the one that the broker serves.
 */
static void start_broker(void (*live)(int socket, unsigned int allow), unsigned int allow)
{
	int pair[2], gate[2];

	if (!root_may())
		skip();
	drop();
	if (!is_refused_alone()) {
		regain();
		skip();
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe(gate), 0);
	regain();
	served.broker = fork();
	if (served.broker == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		close(gate[1]);
		served.socket = gate[0];
		live(pair[1], allow);
	}
	close(pair[1]);
	close(gate[0]);
	served.socket = pair[0];
	drop();
	close(gate[1]);
}

static void end_broker(void)
{
	close(served.socket);
	regain();
	assert_int_equal(waitpid(served.broker, NULL, 0), served.broker);
}

/* ------------------------------------------------------------------------------------ processes */

static void touch(void)
{
	crowd->done++;
	crowd_wait(1);
	crowd_touch(0, PAGES);
	_exit(0);
}

static char said[4096];

/* A process of root, touching pages; NULL when it may not be watched, with the reason in `said`. */
static struct pm_sampler *watch_root(unsigned int flags, unsigned int want, pid_t *child)
{
	struct pm_sampler_opts opts = {
		.size = sizeof(opts), .flags = flags | PM_SAMPLER_USER_ONLY | PM_SAMPLER_BROKER,
		.broker = served.socket,
		.want = want | PM_WANT_ADDRESS, .ring_pages = 2048,
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;
	struct pm_target target = the_pid(*child);
	int err;

	memset(&heard, 0, sizeof(heard));
	err = pm_sampler_open(&fault_event, 1, &target, 1, &opts, NULL, &listener, NULL, &diag,
			      &sampler);
	if (err < 0) {
		assert_int_equal(err, -EACCES);
		(void)snprintf(said, sizeof(said), "%s", diag.text);
		return NULL;
	}
	(void)pm_sampler_explain(sampler, said, sizeof(said));
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	return sampler;
}

/* Root's process, started while root; then the broker. */
static pid_t begin(void (*live)(int socket, unsigned int allow), unsigned int allow)
{
	pid_t child;

	if (!root_may())
		skip();
	crowd_begin();
	child = fork_into(touch);
	start_broker(live, allow);
	return child;
}

static void end(pid_t child)
{
	crowd->go = 1;
	end_broker();
	(void)waitpid(child, NULL, 0);
	crowd_end();
}

static void says(const char *what)
{
	if (strstr(said, what) == NULL)
		fail_msg("\"%s\" is not told by\n%s", what, said);
}

/* ---------------------------------------------------------------------------------------- tests */

static void watch_by_broker(unsigned int flags, unsigned int allow, const char *way)
{
	pid_t child = begin(serve, allow);
	struct pm_sampler *sampler = watch_root(flags, 0, &child);

	if (sampler == NULL)
		fail_msg("%s", said);
	says(way);
	says("broker: opened ");
	crowd->go = 1;
	watch_child(sampler, child);
	(void)pm_sampler_stop(sampler);
	assert_true(crowd->caused == PAGES);
	everything_was_told(sampler);
	assert_true(stats_of(sampler).brokered > 2);
	pm_sampler_destroy(sampler);
	end(child);
}

static void whole_cpus_by_a_broker(void **state)
{
	(void)state;
	watch_by_broker(PM_SAMPLER_ONLY_CPUS, PM_BROKER_SYSTEM | PM_BROKER_KERNEL,
			"by events on each CPU");
}

static void threads_of_others_by_a_broker(void **state)
{
	(void)state;
	watch_by_broker(0, PM_BROKER_OTHERS | PM_BROKER_KERNEL,
			"by inherited events of each thread");
	says("not by events on each CPU");
}

static void user_mode_where_the_broker_gives_no_more(void **state)
{
	(void)state;
	watch_by_broker(PM_SAMPLER_ONLY_THREADS, PM_BROKER_OTHERS, "user mode only");
}

static void copies_of_stacks_are_an_option(void **state)
{
	const unsigned int want = PM_WANT_REGISTERS | PM_WANT_STACK;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t child = begin(serve, PM_BROKER_SYSTEM | PM_BROKER_KERNEL |
				    (i == 0 ? 0 : PM_BROKER_STACKS));
		struct pm_sampler *sampler = watch_root(PM_SAMPLER_ONLY_CPUS, want, &child);

		if (sampler == NULL)
			fail_msg("%s", said);
		assert_true((strstr(said, "without the user stack (E") != NULL) == (i == 0));
		pm_sampler_destroy(sampler);
		end(child);
	}
}

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* No sampler, the broker's words in the diagnosis, and not much later. */
static void is_in_vain(void (*live)(int socket, unsigned int allow), unsigned int allow,
		       const char *words, double longest)
{
	pid_t child = begin(live, allow);
	const double began = seconds();

	assert_null(watch_root(0, 0, &child));
	assert_true(seconds() - began < longest);
	says(words);
	says("CAP_PERFMON");
	end(child);
}

static void a_broker_may_refuse(void **state)
{
	(void)state;
	is_in_vain(serve, 0, "the broker says ", 60);
}

static void a_dead_broker(void **state)
{
	(void)state;
	is_in_vain(end_at_once, 0, "is gone", 60);
}

/* Its 2 seconds are waited for once, whatever number of events there would be to ask for. */
static void a_broker_that_never_answers(void **state)
{
	(void)state;
	is_in_vain(never_answer, 0, "is gone", 30);
}

static void be_a_stranger(void)
{
	if (setresuid(STRANGER, STRANGER, STRANGER) != 0)
		_exit(7);
	touch();
}

/* Who comes later is not watched, and counted; who was there goes on being told of. */
static void a_broker_that_dies_meanwhile(void **state)
{
	struct pm_target target = {
		.size = sizeof(target), .by = PM_BY_UID, .number = STRANGER,
	};
	struct pm_sampler_opts opts = { .flags = PM_SAMPLER_ONLY_THREADS };
	struct pm_sampler *sampler;
	pid_t first, second;

	(void)state;
	if (!root_may())
		skip();
	crowd_begin();
	first = fork_into(be_a_stranger);
	start_broker(serve, PM_BROKER_OTHERS | PM_BROKER_KERNEL);
	opts.flags |= PM_SAMPLER_BROKER;
	opts.broker = served.socket;
	sampler = watch(&target, 1, opts);
	assert_non_null(sampler);
	assert_int_equal(stats_of(sampler).unwatched, 0);
	regain();
	assert_int_equal(kill(served.broker, SIGKILL), 0);
	second = fork_into(be_a_stranger);
	drop();
	while (stats_of(sampler).unwatched == 0)
		assert_true(pm_sampler_poll(sampler, 50) >= 0);
	(void)pm_sampler_explain(sampler, said, sizeof(said));
	says("is gone");
	crowd->go = 1;
	watch_child(sampler, first);
	(void)pm_sampler_stop(sampler);
	assert_true(heard.in_area + stats_of(sampler).lost >= PAGES && heard.in_area <= PAGES);
	pm_sampler_destroy(sampler);
	assert_int_equal(waitpid(second, NULL, 0), second);
	end_broker();
	crowd_end();
}

static void not_asked_without_need(void **state)
{
	struct pm_sampler_opts opts = { .flags = PM_SAMPLER_BROKER, .broker = 12345 };
	struct pm_target target = the_pid(getpid());
	struct pm_sampler *sampler;

	(void)state;
	if (!root_may())
		skip();
	sampler = watch(&target, 1, opts);
	assert_non_null(sampler);
	(void)pm_sampler_explain(sampler, said, sizeof(said));
	says("broker: not needed");
	assert_true(stats_of(sampler).brokered == 0 && stats_of(sampler).broker_refused == 0);
	pm_sampler_destroy(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_cpus_by_a_broker),
		cmocka_unit_test(threads_of_others_by_a_broker),
		cmocka_unit_test(user_mode_where_the_broker_gives_no_more),
		cmocka_unit_test(copies_of_stacks_are_an_option),
		cmocka_unit_test(a_broker_may_refuse),
		cmocka_unit_test(a_dead_broker),
		cmocka_unit_test(a_broker_that_never_answers),
		cmocka_unit_test(a_broker_that_dies_meanwhile),
		cmocka_unit_test(not_asked_without_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
