/* SPDX-License-Identifier: MIT */
/* Questions: from the attempt to open directly to the one answer that each gets. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "../../pm_sys.h"
#include "../../policy/spec/now.h"
#include "../../policy/spec/spec.h"

struct question *question_find(struct pm_descriptors *descriptors, int pid)
{
	for (size_t i = 0; i < descriptors->count; i++) {
		if (descriptors->questions[i].process.pid == pid)
			return &descriptors->questions[i];
	}
	return NULL;
}

static void tell(struct pm_descriptors *descriptors, const struct question *question,
		 enum pm_descriptors_outcome outcome, int error, const int *fds)
{
	struct pm_descriptors_answer answer = {
		.size = sizeof(answer), .pid = question->process.pid, .outcome = outcome,
		.error = error, .maps = fds ? fds[0] : -1, .mem = fds ? fds[1] : -1,
		.start_time = question->process.start_time, .waited = pm_now() - question->asked,
	};

	descriptors->stats.outcomes[outcome]++;
	descriptors->opts.answer(descriptors->opts.context, &answer);
}

void question_end(struct pm_descriptors *descriptors, struct question *question,
		  enum pm_descriptors_outcome outcome, int error, const int *fds)
{
	struct question ended = *question;

	connections_close(descriptors, ended.process.pid);
	*question = descriptors->questions[--descriptors->count];
	process_close(&ended.process);
	if (outcome == PM_DESCRIPTORS_TIMED_OUT)
		descriptors->late[descriptors->late_at++ % LATE] = ended.process.pid;
	tell(descriptors, &ended, outcome, error, fds);
}

/* Of an error that this process met; a want of descriptors says nothing of rights or handlers. */
static enum pm_descriptors_outcome outcome_of(int err)
{
	switch (err) {
	case -ESRCH: return PM_DESCRIPTORS_GONE;
	case -EACCES: case -EPERM: return PM_DESCRIPTORS_NOT_ALLOWED;
	default: return PM_DESCRIPTORS_REFUSED;
	}
}

/* Sends the signal once more, and ends the question where that fails for good. */
static void send_signal(struct pm_descriptors *descriptors, struct question *question)
{
	const struct pm_descriptors_opts *opts = &descriptors->opts;
	/* Asked again before each signal: an exec takes the handler away, and the signal kills. */
	int handles = process_handles(&question->process, opts->signal), err;

	question->attempts--;
	question->again += opts->timeout_ns / opts->attempts;
	if (handles <= 0) {
		question_end(descriptors, question, handles < 0 ? outcome_of(handles) :
			     PM_DESCRIPTORS_UNWILLING, -handles, NULL);
		return;
	}
	err = process_signal(&question->process, opts->signal, question->token);
	if (err == 0)
		descriptors->stats.signals++;
	else if (err != -EAGAIN)
		question_end(descriptors, question, outcome_of(err), -err, NULL);
}

static int make_token(int *ret)
{
	unsigned int bits;

	if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return -errno;
	*ret = (int)(bits >> 1);
	return 0;
}

/* An end of the process is heard of at once where there are pidfds, else with the time-out. */
static int put(struct pm_descriptors *descriptors, const struct question *question)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLONESHOT,
		.data.u64 = 1ull << 63 | (unsigned int)question->process.pid,
	};

	if (question->process.pidfd >= 0)
		(void)epoll_ctl(descriptors->epoll, EPOLL_CTL_ADD, question->process.pidfd, &event);
	descriptors->questions[descriptors->count++] = *question;
	send_signal(descriptors, &descriptors->questions[descriptors->count - 1]);
	return 0;
}

/* Without a signal, where that is possible. Returns 1 when the question is answered. */
static int try_directly(struct pm_descriptors *descriptors, const struct question *question)
{
	int fds[2], err = -EACCES;

	if (!(descriptors->opts.flags & PM_DESCRIPTORS_NOT_DIRECT))
		err = process_open_memory(&question->process, fds);
	if (err == 0)
		tell(descriptors, question, PM_DESCRIPTORS_OPENED, 0, fds);
	else if (descriptors->listener >= 0 && outcome_of(err) == PM_DESCRIPTORS_NOT_ALLOWED)
		return 0;
	else
		tell(descriptors, question, outcome_of(err), -err, NULL);
	return 1;
}

int pm_descriptors_ask(struct pm_descriptors *descriptors, int pid)
{
	struct question question = {
		.process = { .pid = pid, .directory = -1, .pidfd = -1 },
		.asked = pm_now(), .attempts = descriptors->opts.attempts,
	};
	int err;

	if (question_find(descriptors, pid))
		return -EALREADY;
	if (descriptors->count >= descriptors->opts.pending_max)
		return -ENOSPC;
	err = pm_make_room(&descriptors->questions, descriptors->count, &descriptors->room,
			   sizeof(question));
	if (err == 0)
		err = make_token(&question.token);
	if (err < 0)
		return err;
	descriptors->stats.asked++;
	err = process_open(pid, &question.process);
	if (err < 0) {
		tell(descriptors, &question, outcome_of(err), -err, NULL);
		return 0;
	}
	if (try_directly(descriptors, &question)) {
		process_close(&question.process);
		return 0;
	}
	question.again = question.asked;
	question.deadline = question.asked + descriptors->opts.timeout_ns;
	return put(descriptors, &question);
}

int pm_descriptors_cancel(struct pm_descriptors *descriptors, int pid)
{
	struct question *question = question_find(descriptors, pid);

	if (!question)
		return -ENOENT;
	connections_close(descriptors, pid);
	process_close(&question->process);
	*question = descriptors->questions[--descriptors->count];
	return 0;
}

/* One question whose time has come; false when there is none. */
static bool serve_time(struct pm_descriptors *descriptors, uint64_t now, uint64_t *ret_next)
{
	*ret_next = UINT64_MAX;
	for (size_t i = 0; i < descriptors->count; i++) {
		struct question *question = &descriptors->questions[i];
		uint64_t at = question->attempts && question->again < question->deadline ?
			question->again : question->deadline;

		if (at > now) {
			*ret_next = at < *ret_next ? at : *ret_next;
			continue;
		}
		if (now < question->deadline)
			send_signal(descriptors, question);
		else
			question_end(descriptors, question, process_is_there(&question->process) ?
				     PM_DESCRIPTORS_TIMED_OUT : PM_DESCRIPTORS_GONE, 0, NULL);
		return true;
	}
	return false;
}

int pm_descriptors_run(struct pm_descriptors *descriptors)
{
	const int turn = 64;
	bool more = connections_serve(descriptors, turn) == turn;
	uint64_t now = pm_now(), next;

	while (serve_time(descriptors, now, &next))
		;
	if (more)
		return 0;
	return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}
