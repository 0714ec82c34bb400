/* SPDX-License-Identifier: MIT */
/* The connection to a broker, which opens events that the service may not open itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "service.h"

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t length = strlen(path);
	int fd, err;

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const void *)&address, sizeof(address)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

void broker_connect(struct service *service)
{
	const char *path = service->config.broker;
	int fd = path ? connect_to(path) : 0;

	service->broker = fd > 0 ? fd : 0;
	if (fd >= 0)
		return;
	fprintf(stderr, "perfmodes-sampler: the broker \"%s\" cannot be reached: %s\n", path,
		strerror(-fd));
	report_event(&service->report, "no broker", "path", path, "why", strerror(-fd), NULL);
}

void broker_close(struct service *service)
{
	if (service->broker > 0)
		close(service->broker);
	service->broker = 0;
}
