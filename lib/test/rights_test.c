/* SPDX-License-Identifier: MIT */
/* Descriptors over a socket: those that come are all known, and what is not wanted is closed. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../rights.h"
#include "send_rights.h"
#include "test.h"

struct line {
	int ends[2];
	int pipe[2];
};

static struct line open_line(void)
{
	struct line line;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line.ends), 0);
	assert_int_equal(pipe(line.pipe), 0);
	return line;
}

static void close_line(const struct line *line)
{
	for (int i = 0; i < 2; i++) {
		close(line->ends[i]);
		close(line->pipe[i]);
	}
}

static void come_with_the_message(void **state)
{
	struct line line = open_line();
	struct pm_rights rights;
	char word[8] = "", through;

	(void)state;
	assert_int_equal(pm_rights_send(line.ends[0], "two", 4, line.pipe, 2), 0);
	assert_int_equal(pm_rights_receive(line.ends[1], word, sizeof(word), 0, &rights), 4);
	assert_string_equal(word, "two");
	assert_int_equal(rights.count, 2);
	assert_int_equal(rights.flags & (MSG_TRUNC | MSG_CTRUNC), 0);
	assert_true(fcntl(rights.fds[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(rights.fds[1], "x", 1), 1);
	assert_int_equal(read(line.pipe[0], &through, 1), 1);
	pm_rights_close(&rights, 1);
	assert_true(fcntl(rights.fds[0], F_GETFD) >= 0);
	assert_int_equal(fcntl(rights.fds[1], F_GETFD), -1);
	close(rights.fds[0]);
	close_line(&line);
}

static void none_need_come(void **state)
{
	struct line line = open_line();
	struct pm_rights rights;
	char word[2];

	(void)state;
	assert_int_equal(pm_rights_receive(line.ends[1], word, 2, MSG_DONTWAIT, &rights), -EAGAIN);
	assert_int_equal(rights.count, 0);
	assert_int_equal(pm_rights_send(line.ends[0], "none", 5, NULL, 0), 0);
	assert_int_equal(pm_rights_receive(line.ends[1], word, 2, 0, &rights), 2);
	assert_int_equal(rights.count, 0);
	assert_true(rights.flags & MSG_TRUNC);
	close(line.ends[1]);
	assert_int_equal(pm_rights_send(line.ends[0], "gone", 5, NULL, 0), -EPIPE);
	line.ends[1] = dup(line.ends[0]);
	close_line(&line);
}

static void too_many_are_told(void **state)
{
	struct line line = open_line();
	struct pm_rights rights;
	int fds[RIGHTS_MAX];
	char word[8];

	(void)state;
	for (size_t i = 0; i < RIGHTS_MAX; i++)
		fds[i] = line.pipe[0];
	send_rights(line.ends[0], "many", 5, fds, RIGHTS_MAX);
	assert_int_equal(pm_rights_receive(line.ends[1], word, sizeof(word), 0, &rights), 5);
	assert_int_equal(rights.count, PM_RIGHTS_MOST);
	assert_true(rights.flags & MSG_CTRUNC);
	pm_rights_close(&rights, 0);
	assert_int_equal(fcntl(rights.fds[PM_RIGHTS_MOST - 1], F_GETFD), -1);
	close_line(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(come_with_the_message),
		cmocka_unit_test(none_need_come),
		cmocka_unit_test(too_many_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
