/* SPDX-License-Identifier: MIT */
/*
 * Each way a test can end, with and without a fixture and its variants. Not a probe of a suite:
 * test_harness.py builds it with each generation of the kernel's harness and compares what it says.
 */
#include "probe.h"
#include <sys/socket.h>
#include <sys/un.h>


PROBE(TITLE("each way a test can end") SINCE("2.6.31") POINT(returns, "-"))

/* ------------------------------------------------------------------------- without a fixture */

TEST(returns)
{
	EXPECT_EQ(1, 1);
}

TEST(says_no)
{
	say_no("EINVAL with it, ok without");
}

static void deeper(void)
{
	say_blocked("needs %s", "CAP_PERFMON");
}

TEST(says_blocked_deeper)
{
	deeper();
}

TEST(says_broken)
{
	say_broken("counted=%d want=%d", 3, 9);
}

TEST(says_unknown)
{
	say_unknown("the set-up failed");
}

TEST(asserts)
{
	ASSERT_EQ(1, 2);
}

TEST(expects_and_goes_on)
{
	EXPECT_EQ(1, 2);
	fact_int("went_on", 1);
}

TEST(expects_and_says_absent)
{
	EXPECT_EQ(1, 2);
	say_absent("no such thing");
}

TEST(exits)
{
	_exit(1);
}

TEST(crashes)
{
	raise(SIGSEGV);
}

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 1

/* A name that one socket at a time can have: as long as a process has it open. */
static int take_name(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "perfmodes.%d", getppid());
	return bind(fd, (struct sockaddr *)&name, sizeof(name));
}

TEST(hangs)
{
	ASSERT_EQ(0, take_name());
	if (fork() >= 0)
		for (;;)
			pause();
}

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 10

/* What the test before had started is ended, too: it is in its process group. */
TEST(nothing_hangs_on)
{
	while (take_name() < 0)
		sched_yield();
}

static void *say_from_thread(void *unused)
{
	(void)unused;
	say_no("a thread");
	return NULL;
}

TEST(thread_says)
{
	pthread_t thread;

	pthread_create(&thread, NULL, say_from_thread, NULL);
	pthread_join(thread, NULL);
}

TEST(child_is_waited_for)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(7);
	ASSERT_EQ(child, waitpid(-1, &status, 0));
	ASSERT_EQ(7, WEXITSTATUS(status));
}

/* ------------------------------------------------------------------------------ with a fixture */

FIXTURE(end)
{
	int number;
};

FIXTURE_VARIANT(end)
{
	int number;
	bool refused;
};

FIXTURE_VARIANT_ADD(end, plain) { .number = 4 };
FIXTURE_VARIANT_ADD(end, refused) { .number = 5, .refused = true };
FIXTURE_VARIANT_ADD(end, last) { .number = 6 };

FIXTURE_SETUP(end)
{
	ASSERT_EQ(0, self->number);
	if (variant->refused)
		say_blocked("set-up %d", variant->number);
	self->number = variant->number;
}

FIXTURE_TEARDOWN(end)
{
	fact_int("torn_down", self->number);
}

TEST_F(end, returns)
{
	if (self->number != variant->number)
		say_broken("number=%d", self->number);
}

TEST_F(end, says_absent)
{
	say_absent("no %d", self->number);
}

TEST_F(end, says_broken)
{
	say_broken("number=%d", self->number);
}

TEST_F(end, asserts)
{
	ASSERT_LT(6, self->number);
}

TEST_F(end, crashes)
{
	raise(SIGKILL);
}

/* The process that leads the group is the test itself: none stands between it and the probe. */
TEST_F(end, leads_its_group)
{
	if (getpgrp() != getpid())
		say_broken("process %d is in the group of %d", getpid(), getpgrp());
	self->number++;
}

FIXTURE(second)
{
	int unused;
};

FIXTURE_SETUP(second)
{
}

FIXTURE_TEARDOWN(second)
{
	if (self->unused)
		say_broken("torn down badly");
}

TEST_F(second, teardown_says_broken)
{
	self->unused = 1;
}

TEST(written_last)
{
}

PROBE_MAIN
