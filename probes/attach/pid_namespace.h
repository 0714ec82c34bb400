/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A child in a PID namespace of its own. Included behind probe.h.
 */
#ifndef PID_NAMESPACE_H
#define PID_NAMESPACE_H

#include <sys/prctl.h>
#include <sys/syscall.h>

/* The same in a new PID namespace, as its first process. Later children are born there, too. */
static inline pid_t start_child_inside(int (*function)(void *), void *argument)
{
	pid_t child;

	if (syscall(SYS_unshare, CLONE_NEWPID) < 0)
		return -errno;
	child = fork();
	if (child == 0) {	/* its parent's id is not known inside */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(function(argument));
	}
	return child < 0 ? -errno : child;
}

#endif
