/* SPDX-License-Identifier: MIT */
/*
 * An epoll(7) of the leaders of rings, of the stop channel and of a timer: rings whose leader has
 * hung up, signals and timers wake nobody. It exists only where somebody asks for it.
 */
#include "pollable.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "engine.h"
#include "wait.h"

static void watch(const struct pollable *pollable, int fd)
{
	struct epoll_event wanted = { .events = EPOLLIN, .data.fd = fd };

	/* EEXIST as a rule */
	(void)epoll_ctl(pollable->epoll, EPOLL_CTL_ADD, fd, &wanted);
}

static void set_timer(const struct pollable *pollable, int tick_ms)
{
	const struct timespec never = { 0, 0 }, tick = tick_ms < 0 ? never : (struct timespec){
		.tv_sec = tick_ms / 1000, .tv_nsec = tick_ms % 1000 * 1000000L,
	};
	const struct itimerspec when = { .it_value = tick, .it_interval = tick };

	/* That also takes back what has expired. */
	(void)timerfd_settime(pollable->timer, 0, &when, NULL);
}

void pm_pollable_renew(struct pm_session *session)
{
	const struct pollable *pollable = &session->pollable;

	if (pollable->epoll == 0)
		return;
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].fd >= 0 && session->rings.list[i].ring.base != NULL)
			watch(pollable, session->rings.list[i].fd);
	set_timer(pollable, pm_wait_tick(session));
}

void pm_pollable_forget(struct pm_session *session, int fd)
{
	struct epoll_event unused = { .events = 0 };

	if (session->pollable.epoll != 0)
		(void)epoll_ctl(session->pollable.epoll, EPOLL_CTL_DEL, fd, &unused);
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

int pm_session_fd(struct pm_session *session)
{
	struct pollable *pollable = &session->pollable;
	int err = pm_session_check(session), epoll, timer;

	if (err < 0 || pollable->epoll != 0)
		return err < 0 ? err : pollable->epoll;
	epoll = not_zero(epoll_create1(EPOLL_CLOEXEC));
	if (epoll < 0)
		return epoll;
	timer = not_zero(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	if (timer < 0) {
		close(epoll);
		return timer;
	}
	*pollable = (struct pollable){ epoll, timer };
	watch(pollable, timer);
	watch(pollable, session->stop.fd);
	pm_pollable_renew(session);
	return epoll;
}
