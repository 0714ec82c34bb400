/* SPDX-License-Identifier: MIT */
/* See rights.h. */
#include "rights.h"

#include <errno.h>

#include "../rights.h"

int rights_send(int line, int fd)
{
	const int error = fd < 0 ? fd : 0;

	return pm_rights_send(line, &error, sizeof(error), &fd, fd >= 0);
}

int rights_receive(int line)
{
	struct pm_rights rights;
	int error = -EPIPE;

	if (pm_rights_receive(line, &error, sizeof(error), 0, &rights) != sizeof(error))
		return -EPIPE;
	if (error < 0 || rights.count == 0)
		return error < 0 ? error : -EPIPE;
	return rights.fds[0];
}
