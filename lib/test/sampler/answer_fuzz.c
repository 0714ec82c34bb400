/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the answer of a willing process. The first two bytes say how many descriptors come
 * beside it, and which: of its own maps and mem, of other files, in any order. What is taken are
 * the two right ones alone, and none stays open else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../sampler/descriptors/connection.h"
#include "../../sampler/willing/wire.h"
#include "../send_rights.h"

#define TOKEN 0x1234abcd

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int files[4];		/* maps, mem, and what is neither */

static void open_files(void)
{
	files[0] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	files[1] = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	files[2] = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	files[3] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 4; i++)
		if (files[i] < 0)
			abort();
}

static void answer(int socket, const uint8_t *data, size_t size, const uint8_t *order)
{
	int fds[RIGHTS_MAX];

	for (int i = 0; i < RIGHTS_MAX; i++)
		fds[i] = files[(order[1] >> 2 * (i % 4)) & 3];
	send_rights(socket, data, size, fds, order[0] % (RIGHTS_MAX + 1));
}

/* Two descriptors of the right kinds with the right words, and nothing else. */
static bool is_right(const uint8_t *data, size_t size, const uint8_t *order)
{
	struct willing_answer words;

	if (size != sizeof(words) || order[0] % (RIGHTS_MAX + 1) != 2)
		return false;
	memcpy(&words, data, size);
	return words.magic == WILLING_MAGIC && words.version == WILLING_VERSION &&
		words.token == TOKEN && words.error == 0 && (order[1] & 15) == (0 | 1 << 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2], fds[2] = { -1, -1 }, error = -1, next, got;

	if (size < 3 || size > 256)
		return 0;
	if (files[0] == 0)
		open_files();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	answer(ends[1], data + 2, size - 2, data);
	got = connection_take(ends[0], getpid(), TOKEN, fds, &error);
	if ((got == 1) != is_right(data + 2, size - 2, data))
		abort();
	if (got == 0 && (error <= 0 || error > 4095))
		abort();
	if (got == 1) {
		close(fds[0]);
		close(fds[1]);
	}
	next = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	if (next > ends[1] + 1)
		abort();		/* one of the descriptors was kept */
	close(next);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
