/* SPDX-License-Identifier: MIT */
/*
 * The stop channel: an eventfd that polling waits for as well, and a lock for who runs. The same
 * channel wakes the reader; an eventfd adds up what is written, so the word to stop is larger than
 * any sum of the others.
 */
#define _GNU_SOURCE
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STOP (UINT64_C(1) << 32)
#define WAKE UINT64_C(1)

static void make_lock(struct stop_channel *stop)
{
	stop->pid = getpid();
	(void)pthread_mutex_init(&stop->lock, NULL);
	(void)pthread_cond_init(&stop->out, NULL);
}

void pm_stop_init(struct stop_channel *stop)
{
	stop->fd = stop->send = -1;
	make_lock(stop);
}

void pm_stop_destroy(struct stop_channel *stop)
{
	if (stop->pid != getpid())
		return;
	(void)pthread_cond_destroy(&stop->out);
	(void)pthread_mutex_destroy(&stop->lock);
}

/* In a forked child there is no other thread, and the lock may be held by one that is not there. */
static void set(struct stop_channel *stop, int fd, int send)
{
	const bool here = stop->pid == getpid();

	if (here)
		(void)pthread_mutex_lock(&stop->lock);
	if (stop->send >= 0 && stop->send != stop->fd)
		close(stop->send);
	if (stop->fd >= 0)
		close(stop->fd);
	stop->fd = fd;
	stop->send = send;
	if (here)
		(void)pthread_mutex_unlock(&stop->lock);
}

int pm_stop_open(struct stop_channel *stop)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ends[2] = { fd, fd };

	/* A filter may not know it; a pipe keeps the same words. */
	if (fd < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	if (stop->pid != getpid())
		make_lock(stop);
	set(stop, ends[0], ends[1]);
	return 0;
}

void pm_stop_close(struct stop_channel *stop)
{
	set(stop, -1, -1);
}

int pm_stop_take(const struct stop_channel *stop)
{
	uint64_t count;

	/* Once for an eventfd; a pipe gives word by word. */
	while (read(stop->fd, &count, sizeof(count)) == sizeof(count))
		if (count >= STOP)
			return -ECANCELED;
	return 0;
}

void pm_stop_wake(const struct stop_channel *stop)
{
	const uint64_t word = WAKE;

	if (stop->send >= 0)
		(void)!write(stop->send, &word, sizeof(word));
}

void pm_stop_send(struct stop_channel *stop)
{
	const uint64_t word = STOP;

	if (stop->pid != getpid())
		return;
	(void)pthread_mutex_lock(&stop->lock);
	/* The channel keeps the word until somebody polls, so a stop cannot come too early. */
	if (stop->send >= 0)
		(void)!write(stop->send, &word, sizeof(word));
	while (stop->running && !pthread_equal(stop->runner, pthread_self()))
		(void)pthread_cond_wait(&stop->out, &stop->lock);
	(void)pthread_mutex_unlock(&stop->lock);
}

void pm_stop_enter(struct stop_channel *stop)
{
	(void)pthread_mutex_lock(&stop->lock);
	stop->running = true;
	stop->runner = pthread_self();
	(void)pthread_mutex_unlock(&stop->lock);
}

void pm_stop_leave(struct stop_channel *stop)
{
	(void)pthread_mutex_lock(&stop->lock);
	stop->running = false;
	(void)pthread_cond_broadcast(&stop->out);
	(void)pthread_mutex_unlock(&stop->lock);
}
