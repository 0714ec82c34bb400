/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the answer of a broker, with as many descriptors beside it as the first byte says.
 * No descriptor may be left open, and what is returned is a descriptor or an errno.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../policy/broker/broker.h"
#include "../send_rights.h"

#define DESCRIPTORS_MAX 5	/* more than are taken */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perf_event_attr attr = { .size = sizeof(attr) };
	int ends[2], fds[DESCRIPTORS_MAX], next, got;

	if (size < 2 || size > 4096)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	for (int i = 0; i < DESCRIPTORS_MAX; i++)
		fds[i] = ends[1];
	send_rights(ends[1], data + 1, size - 1, fds, data[0] % (DESCRIPTORS_MAX + 1));
	got = pm_broker_open(ends[0], &attr, getpid(), -1);
	if (got < -4095)
		abort();
	if (got >= 0)
		close(got);
	next = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	if (next > ends[1] + 1)
		abort();		/* one of the descriptors was kept */
	close(next);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
