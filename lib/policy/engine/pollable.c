/* SPDX-License-Identifier: MIT */
/*
 * An epoll(7) of the leaders of rings, of a session's stop channel and of a timer: rings whose
 * leader has hung up, signals and timers wake nobody. A session has it only where somebody asks for
 * it.
 */
#include "pollable.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "../spec/now.h"
#include "engine.h"
#include "wait.h"

int pm_pollable_watch(const struct pollable *pollable, int fd)
{
	struct epoll_event wanted = { .events = EPOLLIN, .data.fd = fd };

	/* EEXIST as a rule, of a session */
	return epoll_ctl(pollable->epoll, EPOLL_CTL_ADD, fd, &wanted) == 0 ? 0 : -errno;
}

void pm_pollable_arm(const struct pollable *pollable, uint64_t ns)
{
	const struct itimerspec each = pm_each(ns);

	/* That also takes back what has expired. */
	(void)timerfd_settime(pollable->timer, 0, &each, NULL);
}

void pm_pollable_renew(struct pm_session *session)
{
	const struct pollable *pollable = &session->pollable;
	int tick;

	if (pollable->epoll == 0)
		return;
	tick = pm_wait_tick(session);
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].fd >= 0 && session->rings.list[i].ring.base != NULL)
			(void)pm_pollable_watch(pollable, session->rings.list[i].fd);
	pm_pollable_arm(pollable, tick < 0 ? 0 : (uint64_t)tick * 1000000);
}

void pm_pollable_forget(const struct pollable *pollable, int fd)
{
	struct epoll_event unused = { .events = 0 };

	if (pollable->epoll != 0)
		(void)epoll_ctl(pollable->epoll, EPOLL_CTL_DEL, fd, &unused);
}

void pm_pollable_close(struct pollable *pollable)
{
	if (pollable->epoll != 0) {
		close(pollable->epoll);
		close(pollable->timer);
	}
	*pollable = (struct pollable){ 0, 0 };
}

/* A program may have closed its standard input: 0 stands for none here. */
static int not_zero(int fd)
{
	int other;

	if (fd != 0)
		return fd < 0 ? -errno : fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return other < 0 ? -errno : other;
}

int pm_pollable_open(struct pollable *ret)
{
	struct pollable opened = { not_zero(epoll_create1(EPOLL_CLOEXEC)), 0 };
	int err;

	if (opened.epoll < 0)
		return opened.epoll;
	opened.timer = not_zero(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	err = opened.timer < 0 ? opened.timer : pm_pollable_watch(&opened, opened.timer);
	if (err < 0) {
		if (opened.timer >= 0)
			close(opened.timer);
		close(opened.epoll);
		return err;
	}
	*ret = opened;
	return 0;
}

int pm_session_fd(struct pm_session *session)
{
	struct pollable *pollable = &session->pollable;
	int err = pm_session_check(session);

	if (err < 0 || pollable->epoll != 0)
		return err < 0 ? err : pollable->epoll;
	err = pm_pollable_open(pollable);
	if (err < 0)
		return err;
	(void)pm_pollable_watch(pollable, session->stop.fd);
	pm_pollable_renew(session);
	return pollable->epoll;
}
