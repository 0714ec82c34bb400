/* SPDX-License-Identifier: MIT */
/* Answers that must be refused: forged, foreign, too many, and what strangers might listen to. */
#define _GNU_SOURCE
#include "../test.h"

#include "asker.h"

/* ------------------------------------------------------------------------------ those that lie */

enum lie { NO_LIE, TOKEN, MAGIC, VERSION, NEGATIVE, SHORT_PACKET, ONE, THREE, NONE, SWAPPED,
	   PARENTS, FILES, WRITABLE, PATHS, OF_THREAD, ERROR_WITH, NOTHING, LIES };
static enum lie lie;

static void files_of(int *fds)
{
	char path[64];

	fds[0] = open_self(lie == SWAPPED ? "mem" : lie == OF_THREAD ? "task/self/maps" : "maps",
			   lie == PATHS ? O_PATH : O_RDONLY);
	fds[1] = open_self(lie == SWAPPED ? "maps" : "mem", lie == WRITABLE ? O_RDWR : O_RDONLY);
	fds[2] = fds[0];
	if (lie == FILES)
		fds[0] = open("/etc/passwd", O_RDONLY);
	if (lie == OF_THREAD) {
		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/maps", (int)getpid());
		fds[0] = open(path, O_RDONLY);
	}
	if (lie == PARENTS) {
		(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)getppid());
		fds[0] = open(path, O_RDONLY);
	}
}

static void answer_with_a_lie(int number, siginfo_t *info, void *context)
{
	struct willing_answer answer = {
		.magic = WILLING_MAGIC + (lie == MAGIC),
		.version = WILLING_VERSION + (lie == VERSION),
		.token = info->si_value.sival_int ^ (lie == TOKEN),
		.error = lie == NEGATIVE ? -1 : lie == ERROR_WITH ? EPERM : 0,
	};
	int fds[3];

	(void)number, (void)context;
	files_of(fds);
	(void)answer_by_hand(&answer, lie == NOTHING ? 0 :
			     sizeof(answer) - (lie == SHORT_PACKET), fds,
			     lie == NONE ? 0 : lie == ONE ? 1 : lie == THREE ? 3 : 2);
}

static void be_a_liar(const struct target *self)
{
	(void)self;
	on_signal(answer_with_a_lie);
}

static void forged_answers_are_refused(void **state)
{
	int before = open_files();

	(void)state;
	for (lie = NO_LIE; lie < LIES; lie++) {
		struct pm_descriptors *descriptors =
			start_asking(PM_DESCRIPTORS_NOT_DIRECT, lie == NO_LIE ? LONG : 2 * SHORT);
		struct target target = target_start(be_a_liar);

		ask(descriptors, target.pid);
		if (lie == NO_LIE) {
			assert_int_equal(last.outcome, PM_DESCRIPTORS_PASSED);
			descriptors_work();
		} else {
			assert_int_equal(last.outcome, PM_DESCRIPTORS_TIMED_OUT);
			assert_true(stats_of(descriptors).forged >= 1);
			assert_int_equal(last.maps, -1);
		}
		assert_int_equal(target_end(&target), 0);
		pm_descriptors_destroy(descriptors);
	}
	assert_int_equal(open_files(), before);
}

static int to_accomplice;

static void pass_the_token(int number, siginfo_t *info, void *context)
{
	int token = info->si_value.sival_int;

	(void)number, (void)context;
	(void)!write(to_accomplice, &token, sizeof(token));
}

/* The signal goes to one process; its accomplice knows the token and answers with its own files. */
static void be_two(const struct target *self)
{
	int between[2], token;

	(void)self;
	if (pipe2(between, O_CLOEXEC) != 0)
		_exit(95);
	to_accomplice = between[1];
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(between[1]);
		while (read(between[0], &token, sizeof(token)) == (ssize_t)sizeof(token))
			(void)answer_rightly(token);
		_exit(0);
	}
	on_signal(pass_the_token);
}

static void a_foreign_answer_is_refused(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, 4 * SHORT);
	struct target target = target_start(be_two);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_TIMED_OUT);
	while (stats_of(descriptors).foreign == 0)
		(void)pm_descriptors_run(descriptors);
	assert_int_equal(stats_of(descriptors).forged, 0);
	(void)target_end(&target);
	pm_descriptors_destroy(descriptors);
}

static void connect_much(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	for (int i = 0; i < 60; i++) {
		struct sockaddr_un address;
		socklen_t length = willing_address(socket_name, &address);
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

		(void)!connect(fd, (const void *)&address, length);
	}
}

static void be_a_flood(const struct target *self)
{
	(void)self;
	on_signal(connect_much);
}

/* One that floods holds up to four places, and its neighbour is answered all the same. */
static void a_flood_is_bounded(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, LONG);
	struct target flood = target_start(be_a_flood), target = target_start(be_willing);
	int before = open_files();

	(void)state;
	answers = 0;
	assert_int_equal(pm_descriptors_ask(descriptors, flood.pid), 0);
	while (stats_of(descriptors).flooded < 50) {
		(void)pm_descriptors_run(descriptors);
		assert_true(open_files() <= before + 8);
	}
	assert_int_equal(pm_descriptors_ask(descriptors, target.pid), 0);
	wait_for(descriptors, 1);
	assert_true(last.pid == target.pid && last.outcome == PM_DESCRIPTORS_PASSED);
	descriptors_work();
	assert_int_equal(pm_descriptors_cancel(descriptors, flood.pid), 0);
	assert_int_equal(stats_of(descriptors).silent, 4);
	assert_int_equal(open_files(), before);
	(void)target_end(&flood);
	(void)target_end(&target);
	pm_descriptors_destroy(descriptors);
}

/* --------------------------------------------------------------------------- without privilege */

static unsigned int willing_flags;

static void be_hidden(const struct target *self)
{
	struct pm_willing_opts opts = {
		.size = sizeof(opts), .socket = socket_name, .flags = willing_flags,
	};

	(void)self;
	if (!become(NOBODY) || prctl(PR_SET_DUMPABLE, 0) != 0 || pm_willing_start(&opts) != 0)
		_exit(94);
}

static struct pm_descriptors *ask_at_the_same_name(void)
{
	struct pm_descriptors_opts opts = {
		.size = sizeof(opts), .answer = on_answer, .socket = socket_name,
		.timeout_ns = LONG,
	};
	struct pm_descriptors *descriptors = NULL;

	return pm_descriptors_open(&opts, &descriptors) == 0 ? descriptors : NULL;
}

/* In a child, for the change of uid is for good: its status tells what was wrong. */
static int ask_as_nobody(int pid, enum pm_descriptors_outcome want)
{
	struct pm_descriptors *descriptors;
	int status = -1, child = fork();
	char path[32];

	if (child == 0) {
		if (!become(NOBODY))
			_exit(93);
		(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		if (open(path, O_RDONLY) >= 0)
			_exit(92);	/* it could have opened it without asking */
		descriptors = ask_at_the_same_name();
		ask(descriptors, pid);
		if (last.outcome != want)
			_exit(10 + (int)last.outcome);
		if (want == PM_DESCRIPTORS_PASSED)
			descriptors_work();
		pm_descriptors_destroy(descriptors);
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	return status;
}

static void works_where_opening_is_refused(void **state)
{
	struct target target;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: cannot become two processes of uid %d\n", NOBODY);
		skip();
	}
	willing_flags = PM_WILLING_RAISE_DUMPABLE;
	target = target_start(be_hidden);
	assert_int_equal(ask_as_nobody(target.pid, PM_DESCRIPTORS_PASSED), 0);
	assert_int_equal(target_end(&target), 0);
	willing_flags = 0;
	target = target_start(be_hidden);
	assert_int_equal(ask_as_nobody(target.pid, PM_DESCRIPTORS_REFUSED), 0);
	assert_int_equal(target_end(&target), 0);
}

static void others_users_are_not_asked(void **state)
{
	struct target target = target_start(be_willing);

	(void)state;
	if (geteuid() != 0) {
		(void)target_end(&target);
		skip();
	}
	assert_int_equal(ask_as_nobody(target.pid, PM_DESCRIPTORS_NOT_ALLOWED), 0);
	assert_int_equal(target_end(&target), 0);
}

static void listen_as_another(const struct target *self)
{
	struct sockaddr_un address;
	socklen_t length = willing_address(socket_name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)self;
	if (!become(NOBODY - 1) || bind(fd, (const void *)&address, length) != 0 ||
	    listen(fd, 8) != 0)
		_exit(91);
}

static void signal_itself(const struct target *self)
{
	struct pm_willing_stats stats = { .size = sizeof(stats) };

	if (!become(NOBODY))
		_exit(90);
	be_willing(self);
	raise(PM_WILLING_SIGNAL);
	if (pm_willing_stats(&stats) != 0 || stats.untrusted != 1 || stats.answered != 0)
		_exit(89);
}

static void nothing_goes_to_a_stranger_who_listens(void **state)
{
	struct target stranger, target;

	(void)state;
	if (geteuid() != 0)
		skip();
	stranger = target_start(listen_as_another);
	target = target_start(signal_itself);
	assert_int_equal(target_end(&target), 0);
	assert_int_equal(target_end(&stranger), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forged_answers_are_refused),
		cmocka_unit_test(a_foreign_answer_is_refused),
		cmocka_unit_test(a_flood_is_bounded),
		cmocka_unit_test(works_where_opening_is_refused),
		cmocka_unit_test(others_users_are_not_asked),
		cmocka_unit_test(nothing_goes_to_a_stranger_who_listens),
	};

	name_socket();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
