/* SPDX-License-Identifier: MIT */
/* One descriptor for an event loop in place of poll(2); not installed. */
#ifndef PM_POLLABLE_H
#define PM_POLLABLE_H

/* Both 0 while nobody has asked for it: descriptors 0 are never ours, see pm_pollable_open(). */
struct pollable {
	int epoll, timer;
};

struct pm_session;

/* Looks which rings there are now, and sets the clock by which the others are read. */
void pm_pollable_renew(struct pm_session *session);

/* The leader of a ring has hung up: the descriptor would be readable for ever. */
void pm_pollable_forget(struct pm_session *session, int fd);

void pm_pollable_close(struct pollable *pollable);

#endif
