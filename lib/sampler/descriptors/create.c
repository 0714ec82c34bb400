/* SPDX-License-Identifier: MIT */
/* The socket on which willing targets answer. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../perfmodes_willing.h"
#include "../../policy/spec/spec.h"
#include "../willing/wire.h"

static const char *const names[] = {
	[PM_DESCRIPTORS_OPENED] = "opened", [PM_DESCRIPTORS_PASSED] = "passed",
	[PM_DESCRIPTORS_UNWILLING] = "unwilling", [PM_DESCRIPTORS_NOT_ALLOWED] = "not allowed",
	[PM_DESCRIPTORS_REFUSED] = "refused", [PM_DESCRIPTORS_TIMED_OUT] = "timed out",
	[PM_DESCRIPTORS_GONE] = "gone",
};

const char *pm_descriptors_outcome_name(enum pm_descriptors_outcome outcome)
{
	return (unsigned int)outcome < PM_DESCRIPTORS_OUTCOMES ? names[outcome] : NULL;
}

static int listen_at(struct pm_descriptors *descriptors, const char *path)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct sockaddr_un address;
	socklen_t size = willing_address(path, &address);

	if (size == 0)
		return -EINVAL;
	descriptors->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (descriptors->listener < 0 ||
	    bind(descriptors->listener, (const void *)&address, size) != 0)
		return -errno;
	if (path[0] != '@') {
		descriptors->path = strdup(path);
		if (!descriptors->path) {
			(void)unlink(path);
			return -ENOMEM;
		}
		/* Who may answer is decided by whom we ask, not by the file's mode. */
		if (chmod(path, 0666) != 0)
			return -errno;
	}
	if (listen(descriptors->listener, 128) != 0 ||
	    epoll_ctl(descriptors->epoll, EPOLL_CTL_ADD, descriptors->listener, &event) != 0)
		return -errno;
	return 0;
}

static int take(struct pm_descriptors *descriptors, const struct pm_descriptors_opts *opts)
{
	struct pm_descriptors_opts *own = &descriptors->opts;

	if (!opts ||
	    !pm_take(own, sizeof(*own), opts, offsetof(struct pm_descriptors_opts, context)) ||
	    !own->answer || own->flags & ~(unsigned int)PM_DESCRIPTORS_NOT_DIRECT ||
	    own->signal < 0 || own->signal > 64)
		return -EINVAL;
	own->signal = own->signal ? own->signal : PM_WILLING_SIGNAL;
	own->timeout_ns = own->timeout_ns ? own->timeout_ns : 1000000000;
	own->attempts = own->attempts ? own->attempts : 2;
	own->pending_max = own->pending_max ? own->pending_max : 1024;
	return 0;
}

int pm_descriptors_open(const struct pm_descriptors_opts *opts, struct pm_descriptors **ret)
{
	struct pm_descriptors *descriptors = calloc(1, sizeof(*descriptors));
	int err;

	if (!descriptors)
		return -ENOMEM;
	descriptors->listener = -1;
	for (int i = 0; i < CONNECTIONS; i++)
		descriptors->connections[i].fd = -1;
	descriptors->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = descriptors->epoll < 0 ? -errno : take(descriptors, opts);
	if (err == 0 && descriptors->opts.socket)
		err = listen_at(descriptors, descriptors->opts.socket);
	descriptors->opts.socket = NULL;	/* the caller's */
	if (err < 0) {
		pm_descriptors_destroy(descriptors);
		return err;
	}
	*ret = descriptors;
	return 0;
}

void pm_descriptors_destroy(struct pm_descriptors *descriptors)
{
	if (!descriptors)
		return;
	while (descriptors->count > 0)
		(void)pm_descriptors_cancel(descriptors, descriptors->questions[0].process.pid);
	if (descriptors->listener >= 0)
		close(descriptors->listener);
	if (descriptors->epoll >= 0)
		close(descriptors->epoll);
	if (descriptors->path)
		(void)unlink(descriptors->path);
	free(descriptors->path);
	free(descriptors->questions);
	free(descriptors);
}

int pm_descriptors_fd(const struct pm_descriptors *descriptors)
{
	return descriptors->epoll;
}

int pm_descriptors_stats(const struct pm_descriptors *descriptors,
			 struct pm_descriptors_stats *ret)
{
	struct pm_descriptors_stats stats = descriptors->stats;

	return pm_give(ret, &stats, sizeof(stats), offsetof(struct pm_descriptors_stats, asked)) ?
		0 : -EINVAL;
}
