/* SPDX-License-Identifier: MIT */
/* Descriptors of other processes' memory: opened, passed by a willing target, and not to be had. */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../sampler/descriptors/process.h"
#include "asker.h"

/* ------------------------------------------------------------------------------- what is right */

static void own_children_are_opened(void **state)
{
	struct pm_descriptors *descriptors = start_asking(0, LONG);
	struct target target = target_start(be_ordinary);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_OPENED);
	assert_true(last.start_time > 0);
	descriptors_work();
	assert_int_equal(target_end(&target), 0);
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_GONE);
	pm_descriptors_destroy(descriptors);
}

static void a_willing_target_passes_them(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, LONG);
	struct target target = target_start(be_willing);
	struct pm_descriptors_stats stats;

	(void)state;
	for (int i = 0; i < 3; i++) {
		ask(descriptors, target.pid);
		assert_int_equal(last.outcome, PM_DESCRIPTORS_PASSED);
		descriptors_work();
	}
	stats = stats_of(descriptors);
	assert_true(stats.asked == 3 && stats.outcomes[PM_DESCRIPTORS_PASSED] == 3);
	assert_true(stats.foreign + stats.late + stats.forged + stats.flooded == 0);
	assert_int_equal(target_end(&target), 0);
	pm_descriptors_destroy(descriptors);
}

/* Twenty at a time, over a socket that is a file. */
static void many_are_asked_at_once(void **state)
{
	char path[] = "/tmp/perfmodes-test-XXXXXX";
	struct pm_descriptors *descriptors;
	struct target targets[ARRAY_SIZE(each)];
	struct stat there;

	(void)state;
	assert_int_equal(close(mkstemp(path)), 0);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(socket_name, sizeof(socket_name), "%s", path);
	descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, LONG);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		targets[i] = target_start(be_willing);
		assert_int_equal(pm_descriptors_ask(descriptors, targets[i].pid), 0);
		assert_int_equal(pm_descriptors_ask(descriptors, targets[i].pid), -EALREADY);
	}
	wait_for(descriptors, (int)ARRAY_SIZE(targets));
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		last = each[i];
		assert_int_equal(last.outcome, PM_DESCRIPTORS_PASSED);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(each[j].pid, last.pid);
		descriptors_work();
	}
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		assert_int_equal(target_end(&targets[i]), 0);
	pm_descriptors_destroy(descriptors);
	assert_int_not_equal(stat(path, &there), 0);
	name_socket();
}

/* ---------------------------------------------------------------------- those that say nothing */

static void nobody_is_killed_by_the_signal(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, LONG);
	struct target target = target_start(be_ordinary);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_UNWILLING);
	assert_int_equal(stats_of(descriptors).signals, 0);
	assert_int_equal(target_end(&target), 0);
	pm_descriptors_destroy(descriptors);
}

static void be_silent_then_exec(const struct target *self)
{
	int in = dup(self->from), out = dup(self->to);

	be_silent(self);
	dup2(in, 0);
	dup2(out, 1);
	execlp("sh", "sh", "-c", "printf x; cat >/dev/null", NULL);
	_exit(97);
}

static void an_exec_takes_the_handler_away(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, LONG);
	struct target target = target_start(be_silent_then_exec);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_UNWILLING);
	assert_int_equal(target_end(&target), 0);
	pm_descriptors_destroy(descriptors);
}

static void a_target_that_never_answers(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, SHORT);
	struct target target = target_start(be_silent);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_TIMED_OUT);
	assert_true(last.waited >= SHORT);
	assert_int_equal(stats_of(descriptors).signals, 2);
	assert_int_equal(target_end(&target), 0);
	pm_descriptors_destroy(descriptors);
}

/* Answers when it is told to. */
static void be_late(const struct target *self)
{
	on_signal(say_nothing);
	say(self->to);
	(void)hear(self->from);
	if (!answer_rightly(got_token))
		_exit(96);
}

static void a_late_answer_is_refused(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, SHORT);
	struct target target = target_start(be_late);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_TIMED_OUT);
	say(target.to);
	assert_true(hear(target.from));
	while (stats_of(descriptors).late == 0)
		(void)pm_descriptors_run(descriptors);
	assert_true(answers == 1 && stats_of(descriptors).foreign == 0);
	assert_int_equal(target_end(&target), 0);
	pm_descriptors_destroy(descriptors);
}

static void die(int number, siginfo_t *info, void *context)
{
	struct sockaddr_un address;
	socklen_t length = willing_address(socket_name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)number, (void)info, (void)context;
	(void)!connect(fd, (const void *)&address, length);
	raise(SIGKILL);
}

static void be_mortal(const struct target *self)
{
	(void)self;
	on_signal(die);
}

static void killed_while_it_answers(void **state)
{
	struct pm_descriptors *descriptors = start_asking(PM_DESCRIPTORS_NOT_DIRECT, LONG);
	struct target target = target_start(be_mortal);

	(void)state;
	ask(descriptors, target.pid);
	assert_int_equal(last.outcome, PM_DESCRIPTORS_GONE);
	assert_int_equal(target_end(&target), SIGKILL);
	pm_descriptors_destroy(descriptors);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct target target = target_start(be_ordinary);
	struct process process;

	(void)state;
	assert_int_equal(process_open(target.pid, &process), 0);
	assert_true(process_is_there(&process));
	process.start_time++;
	assert_false(process_is_there(&process));
	process.start_time--;
	assert_int_equal(target_end(&target), 0);
	assert_false(process_is_there(&process));
	assert_int_equal(process_signal(&process, PM_WILLING_SIGNAL, 1), -ESRCH);
	process_close(&process);
}

/* -------------------------------------------------------------------------------- the contract */

static void a_program_says_when_it_is_willing(void **state)
{
	struct pm_willing_opts opts = { .size = sizeof(opts), .socket = socket_name };
	char longer[200];

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(pm_willing_stop(), -EALREADY);
	opts.signal = SIGUSR1;
	assert_int_equal(pm_willing_start(&opts), -EINVAL);
	opts.signal = 0;
	opts.socket = longer;
	assert_int_equal(pm_willing_start(&opts), -EINVAL);
	opts.socket = socket_name;
	assert_int_equal(pm_willing_start(&opts), 0);
	assert_int_equal(pm_willing_start(&opts), -EBUSY);
	assert_int_equal(pm_willing_stop(), 0);
	raise(PM_WILLING_SIGNAL);	/* ignored: the process goes on */
	on_signal(say_nothing);
	assert_int_equal(pm_willing_start(&opts), -EBUSY);
	signal(PM_WILLING_SIGNAL, SIG_IGN);
}

/* With or without a pidfd: who cannot be looked at is not taken for ended, or for unwilling. */
static void a_want_of_descriptors_ends_nobody(void **state)
{
	struct target target = target_start(be_ordinary);
	struct rlimit all, none;
	struct process process;

	(void)state;
	assert_int_equal(process_open(target.pid, &process), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	for (int i = 0; i < 2; i++) {
		none = (struct rlimit){ .rlim_cur = 0, .rlim_max = all.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		assert_true(process_is_there(&process));
		assert_int_equal(process_handles(&process, SIGUSR1), -EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
		if (process.pidfd >= 0)
			close(process.pidfd);
		process.pidfd = -1;
	}
	assert_int_equal(target_end(&target), 0);
	assert_false(process_is_there(&process));
	assert_int_equal(process_handles(&process, SIGUSR1), -ESRCH);
	assert_int_equal(process_signal(&process, SIGUSR1, 0), -ESRCH);
	process_close(&process);
}

static void options_that_make_no_sense(void **state)
{
	struct pm_descriptors_opts opts = { .size = sizeof(opts), .answer = on_answer };
	struct pm_descriptors *descriptors = NULL, *second = NULL;

	(void)state;
	opts.flags = 64;
	assert_int_equal(pm_descriptors_open(&opts, &descriptors), -EINVAL);
	opts.flags = 0;
	opts.answer = NULL;
	assert_int_equal(pm_descriptors_open(&opts, &descriptors), -EINVAL);
	opts.answer = on_answer;
	opts.socket = socket_name;
	opts.pending_max = 1;
	assert_int_equal(pm_descriptors_open(&opts, &descriptors), 0);
	assert_int_equal(pm_descriptors_open(&opts, &second), -EADDRINUSE);
	assert_int_equal(pm_descriptors_cancel(descriptors, 1), -ENOENT);
	assert_int_equal(pm_descriptors_run(descriptors), -1);
	pm_descriptors_destroy(descriptors);
	pm_descriptors_destroy(NULL);
	assert_string_equal(pm_descriptors_outcome_name(PM_DESCRIPTORS_TIMED_OUT), "timed out");
	assert_null(pm_descriptors_outcome_name(PM_DESCRIPTORS_OUTCOMES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_children_are_opened),
		cmocka_unit_test(a_willing_target_passes_them),
		cmocka_unit_test(many_are_asked_at_once),
		cmocka_unit_test(nobody_is_killed_by_the_signal),
		cmocka_unit_test(an_exec_takes_the_handler_away),
		cmocka_unit_test(a_target_that_never_answers),
		cmocka_unit_test(a_late_answer_is_refused),
		cmocka_unit_test(killed_while_it_answers),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_program_says_when_it_is_willing),
		cmocka_unit_test(a_want_of_descriptors_ends_nobody),
		cmocka_unit_test(options_that_make_no_sense),
	};

	name_socket();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
