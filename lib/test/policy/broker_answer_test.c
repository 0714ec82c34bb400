/* SPDX-License-Identifier: MIT */
/* Answers of a broker, or none: what is accepted as an event, and that no descriptor is left. */
#define _GNU_SOURCE
#include "../test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "../../policy/broker/broker.h"
#include "sessions.h"

static const struct perf_event_attr attr = { .size = PERF_ATTR_SIZE_VER0 };

static const struct broker_reply right = { .magic = BROKER_MAGIC, .version = BROKER_VERSION };

/* Somebody who says a reply of our making, with two descriptors. */
static ssize_t send_answer(int socket, const void *reply, size_t size)
{
	int fds[2] = { 0, 1 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(fds)), .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { (void *)reply, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };

	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	return sendmsg(socket, &message, MSG_NOSIGNAL);
}

static void tell(int socket, const void *reply, size_t size)
{
	assert_int_equal(send_answer(socket, reply, size), size);
}

/* Opens an event with that answer, on a connection of its own; with `beside`, descriptors come. */
static int open_with(struct broker_reply reply, size_t size, bool beside)
{
	int pair[2], before, got, again;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	before = count_descriptors();
	if (beside)
		tell(pair[1], &reply, size);
	else
		assert_int_equal(send(pair[1], &reply, size, 0), size);
	got = pm_broker_open(pair[0], &attr, 1, -1);
	assert_int_equal(count_descriptors(), before + (got >= 0));
	if (got >= 0)
		close(got);
	/* After nonsense nothing it says is an answer. */
	(void)send_answer(pair[1], &right, sizeof(right));
	again = pm_broker_open(pair[0], &attr, 1, -1);
	assert_true(got == -EPROTO ? again == -EPIPE : again >= 0);
	if (again >= 0)
		close(again);
	close(pair[0]);
	close(pair[1]);
	return got;
}

static void answers_that_are_refused(void **state)
{
	struct broker_reply reply = right;

	(void)state;
	assert_int_equal(open_with(reply, 7, true), -EPROTO);
	reply.magic++;
	assert_int_equal(open_with(reply, sizeof(reply), true), -EPROTO);
	reply.magic--;
	reply.error = -5;
	assert_int_equal(open_with(reply, sizeof(reply), true), -EPROTO);
	reply.error = EBUSY;
	assert_int_equal(open_with(reply, sizeof(reply), true), -EBUSY);
	reply.error = 0;
	assert_int_equal(open_with(reply, sizeof(reply), false), -EPROTO);
	/* Two came where one was due: one is kept. */
	assert_true(open_with(reply, sizeof(reply), true) >= 0);
}

static void a_broker_that_hung_up(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	close(pair[1]);
	assert_int_equal(pm_broker_open(pair[0], &attr, 1, -1), -EPIPE);
	close(pair[0]);
}

static void a_silent_broker(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(pm_broker_open(pair[0], &attr, 1, -1), -EPIPE);
	/* What it says in the end is no answer to the next question. */
	(void)send_answer(pair[1], &right, sizeof(right));
	assert_int_equal(pm_broker_open(pair[0], &attr, 1, -1), -EPIPE);
	close(pair[0]);
	close(pair[1]);
}

static void on_alarm(int number)
{
	(void)number;
}

static void *answer_slowly(void *socket)
{
	usleep(200000);
	tell(*(int *)socket, &right, sizeof(right));
	return NULL;
}

static void signals_while_waiting(void **state)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, off = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm }, before;
	pthread_t thread;
	sigset_t alarms;
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	/* They are for the thread that waits. */
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	assert_int_equal(pthread_create(&thread, NULL, answer_slowly, &pair[1]), 0);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	fd = pm_broker_open(pair[0], &attr, 1, -1);
	assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
	expect_null(thread);
	assert_true(fd >= 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void no_room_for_the_answer(void **state)
{
	struct rlimit limit, none;
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	tell(pair[1], &right, sizeof(right));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)dup(0);
	close((int)none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fd = pm_broker_open(pair[0], &attr, 1, -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(fd, -EMFILE);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_are_refused),
		cmocka_unit_test(a_broker_that_hung_up),
		cmocka_unit_test(a_silent_broker),
		cmocka_unit_test(signals_while_waiting),
		cmocka_unit_test(no_room_for_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
