/* SPDX-License-Identifier: MIT */
/* One descriptor for an event loop in place of poll(2); not installed. */
#ifndef PM_POLLABLE_H
#define PM_POLLABLE_H

#include <stdint.h>

/* Both 0 while nobody has asked for it: descriptors 0 are never ours, see pm_pollable_open(). */
struct pollable {
	int epoll, timer;
};

struct pm_session;

/* Looks which rings there are now, and sets the clock by which the others are read. */
void pm_pollable_renew(struct pm_session *session);

/* A new one, whose timer wakes it. 0 or -errno. */
int pm_pollable_open(struct pollable *ret);

/* Wakes while the descriptor is readable. 0 or -errno. */
int pm_pollable_watch(const struct pollable *pollable, int fd);

/* The leader of a ring has hung up: the descriptor would be readable for ever. */
void pm_pollable_forget(const struct pollable *pollable, int fd);

/* Wakes after each so many ns from now on; 0: never. */
void pm_pollable_arm(const struct pollable *pollable, uint64_t ns);

void pm_pollable_close(struct pollable *pollable);

#endif
