/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Framing a file for a side channel. See frame.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"

/* One byte into the CRC of cksum(1): polynomial 0x04c11db7, most significant bit first. */
static uint32_t crc_add(uint32_t crc, unsigned char byte)
{
	crc ^= (uint32_t)byte << 24;
	for (int bit = 0; bit < 8; bit++)
		crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7 : 0);
	return crc;
}

/* The length counts as data, low byte first. */
static uint32_t crc_end(uint32_t crc, uint64_t size)
{
	for (; size; size >>= 8)
		crc = crc_add(crc, size & 0xff);
	return ~crc;
}

int frame_cksum(int fd)
{
	unsigned char block[4096];
	uint64_t size = 0;
	uint32_t crc = 0;
	ssize_t now;

	while ((now = read(fd, block, sizeof(block))) > 0) {
		for (ssize_t i = 0; i < now; i++)
			crc = crc_add(crc, block[i]);
		size += now;
	}
	if (now < 0 || printf("%" PRIu32 " %" PRIu64 "\n", crc_end(crc, size), size) < 0)
		return -1;
	return fflush(stdout);
}

/* Returns 0 or -1 with errno. */
static int append(const char *to, const char *text, off_t size)
{
	int channel = open(to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644), error;
	off_t done = 0;
	ssize_t now;

	if (channel < 0)
		return -1;
	while (done < size && (now = write(channel, text + done, size - done)) >= 0)
		done += now;
	error = errno;
	close(channel);
	errno = error;
	return done < size ? -1 : 0;
}

int frame_append(int fd, const char *to, const char *name)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = size < 0 ? NULL : malloc(size + 512);
	int head, status = -1;
	uint32_t crc = 0;

	if (!text)
		return -1;
	head = snprintf(text, 512, "@@file %s %lld ", name, (long long)size);
	if (pread(fd, text + 512, size, 0) == size) {
		for (off_t i = 0; i < size; i++)
			crc = crc_add(crc, text[512 + i]);
		head += snprintf(text + head, 512 - head, "%" PRIu32 "\n", crc_end(crc, size));
		memmove(text + head, text + 512, size);
		text[head + size] = '\n';
		status = append(to, text, head + size + 1);
	}
	free(text);
	return status;
}
