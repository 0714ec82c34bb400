/* SPDX-License-Identifier: MIT */
/* What goes from a willing target to the sampler; not installed. */
#ifndef PM_WILLING_WIRE_H
#define PM_WILLING_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WILLING_MAGIC 0x706d5744u	/* "pmWD" */
#define WILLING_VERSION 1

/* One packet of a SOCK_SEQPACKET socket, in the byte order of the machine. */
struct willing_answer {
	uint32_t magic;
	uint32_t version;
	int32_t token;		/* what the signal carried: proves that it was received */
	int32_t error;		/* a positive errno, or 0 with the two descriptors beside it */
};

/* The address of "/path" or "@name". Returns its length; 0 when it is empty or does not fit. */
static inline socklen_t willing_address(const char *path, struct sockaddr_un *ret)
{
	size_t size = 0;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	while (path[size] != '\0' && size < sizeof(ret->sun_path)) {
		ret->sun_path[size] = path[size];
		size++;
	}
	if (size < 2 || size == sizeof(ret->sun_path))
		return 0;
	if (path[0] == '@')
		ret->sun_path[0] = '\0';
	else
		size++;		/* the terminator belongs to a path */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
}

#endif
