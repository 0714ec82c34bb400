/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about poll(2), its relatives, and signals.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "lies.h"

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __real_epoll_wait(int fd, struct epoll_event *events, int most, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout);
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __real_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time);
int __real_sigaction(int number, const struct sigaction *new, struct sigaction *old);
int __wrap_sigaction(int number, const struct sigaction *new, struct sigaction *old);

/* ----------------------------------------------------------------------------------- poll */

static short change_state(struct event *event, short events, short got)
{
	if (lie(LIE_poll_hangs_up))
		got |= POLLHUP;
	if (event->off && lie(LIE_poll_off_hangs_up))
		got |= POLLHUP;
	if (got & POLLHUP && lie(LIE_poll_no_hang_up))
		got &= ~POLLHUP;
	if (got & POLLERR && lie(LIE_poll_no_error))
		got &= ~POLLERR;
	if (lie(LIE_poll_error))
		got |= POLLERR;
	if (lie(LIE_poll_writable))
		got |= events & POLLOUT;
	if (lie(LIE_poll_urgent))
		got |= events & POLLPRI;
	if (event->woken && !(got & POLLIN) && lie(LIE_poll_twice)) {
		event->woken = false;
		return got | (events & POLLIN);
	}
	if (got & POLLIN) {
		event->woken = true;
		event->wakeups++;
		if (lie(LIE_poll_never) || (event->wakeups == 1 && lie(LIE_poll_one_missed)) ||
		    (event->wakeups % 2 == 0 && lie(LIE_poll_every_second)))
			got &= ~POLLIN;
	} else if (lie(LIE_poll_always)) {
		got |= events & POLLIN;
	}
	return got;
}

static int change_poll(struct pollfd *fds, nfds_t count)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		struct event *event = event_of(fds[i].fd);

		if (event)
			fds[i].revents = change_state(event, fds[i].events, fds[i].revents);
		if (event && ready && fds[i].revents && lie(LIE_poll_only_first))
			fds[i].revents = 0;
		ready += fds[i].revents != 0;
	}
	return ready + (ready && lie(LIE_poll_returns_more));
}

/* Whether one of them is ready by a lie: then nobody sleeps. */
static bool has_event(const struct pollfd *fds, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if (event_of(fds[i].fd))
			return true;
	return false;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int ready;

	lies_take_code();
	if (!has_event(fds, count))
		return __real_poll(fds, count, timeout);
	if (lie(LIE_poll_always) || lie(LIE_poll_hangs_up) || lie(LIE_poll_error))
		timeout = 0;
	ready = __real_poll(fds, count, timeout);
	return ready < 0 ? ready : change_poll(fds, count);
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	int ready = __real_epoll_wait(fd, events, most, timeout);

	for (int i = 0; i < ready; i++) {
		if (lie(LIE_poll_hangs_up))
			events[i].events |= EPOLLHUP;
		if (lie(LIE_poll_never))
			events[i].events &= ~(uint32_t)EPOLLIN;
		if (lie(LIE_poll_no_hang_up))
			events[i].events &= ~(uint32_t)EPOLLHUP;
	}
	if (ready == 0 && most && lie(LIE_poll_always)) {
		events[0] = (struct epoll_event){ .events = EPOLLIN };
		return 1;
	}
	return ready;
}

/* -------------------------------------------------------------------------------- signals */

/* What F_GETFL and its like tell of an event. */
static int change_told(int command, unsigned long argument, int told)
{
	switch (command) {
	case F_GETFL: return lie(LIE_told_status_flags) ? told & ~(O_ASYNC | O_NONBLOCK) : told;
	case F_GETSIG: return lie(LIE_told_number) ? 0 : told;
	case F_GETOWN: return lie(LIE_told_owner) ? 0 : told;
	case F_GETOWN_EX:
		if (lie(LIE_told_owner))
			((struct f_owner_ex *)argument)->pid = 0;
	}
	return told;
}

int __wrap_fcntl(int fd, int command, ...)
{
	struct event *event = event_of(fd);
	unsigned long argument;
	va_list list;
	int result;

	va_start(list, command);
	argument = va_arg(list, unsigned long);
	va_end(list);
	if (event && command == F_SETSIG && argument && lie(LIE_signal_other_number))
		argument = SIGIO;
	if (event && command == F_SETOWN_EX && argument &&
	    ((struct f_owner_ex *)argument)->type == F_OWNER_TID && lie(LIE_signal_to_process))
		return __real_fcntl(fd, F_SETOWN_EX,
				    &(struct f_owner_ex){ F_OWNER_PID, getpid() });
	if (event && ((command == F_SETOWN && (int)argument != getpid()) ||
		      (command == F_SETOWN_EX && argument &&
		       ((struct f_owner_ex *)argument)->type == F_OWNER_PID &&
		       ((struct f_owner_ex *)argument)->pid != getpid())) &&
	    lie(LIE_signal_other_owner))
		return __real_fcntl(fd, F_SETOWN, getpid());
	if (event && command == F_SETFL) {
		if (event->async && !(argument & O_ASYNC) && lie(LIE_signal_stays))
			argument |= O_ASYNC;
		event->async |= (argument & O_ASYNC) != 0;
	}
	result = __real_fcntl(fd, command, argument);
	return event && result >= 0 ? change_told(command, argument, result) : result;
}

static void change_signal(siginfo_t *info)
{
	if (info->si_code != POLL_IN && info->si_code != POLL_HUP && info->si_code != POLL_MSG)
		return;
	if (lie(LIE_signal_other_fd))
		info->si_fd++;
	if (lie(LIE_signal_band))
		info->si_band = 0;
	if (lie(LIE_signal_other_code))
		info->si_code = info->si_code == POLL_IN ? POLL_HUP : POLL_IN;
}

int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
	static unsigned int signals;
	static siginfo_t kept;
	siginfo_t own;
	siginfo_t *to = info ? info : &own;
	int number;

	if (kept.si_signo && sigismember(set, kept.si_signo)) {
		*to = kept;
		kept.si_signo = 0;
		return to->si_signo;
	}
	number = __real_sigtimedwait(set, to, time);
	if (number <= 0)
		return number;
	if (lie(LIE_signal_twice))
		kept = *to;
	if (lie(LIE_signal_lost) && ++signals % 2 == 0)
		return __real_sigtimedwait(set, to, time);
	change_signal(to);
	return number;
}

static void (*trap_handler)(int number, siginfo_t *info, void *context);

/* As the kernel lays a SIGTRAP of an event out: the data, the type and the flags lie behind the
 * address, in this order; a word is an unsigned long. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	unsigned long *words = (unsigned long *)&info->si_addr;

	if (lie(LIE_signal_trap_address))
		words[0]++;
	if (lie(LIE_signal_trap_data))
		words[1]++;
	if (lie(LIE_signal_trap_type))
		++*(unsigned int *)&words[2];
	if (lie(LIE_signal_trap_code))
		info->si_code++;
	trap_handler(number, info, context);
	if (lie(LIE_signal_trap_twice))
		trap_handler(number, info, context);
}

int __wrap_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction false_one;

	if (number != SIGTRAP || !new || !(new->sa_flags & SA_SIGINFO))
		return __real_sigaction(number, new, old);
	false_one = *new;
	trap_handler = new->sa_sigaction;
	false_one.sa_sigaction = on_trap;
	return __real_sigaction(number, &false_one, old);
}
