/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Framing a file for a side channel. See tee.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tee.h"

/* One byte into the CRC of cksum(1): polynomial 0x04c11db7, most significant bit first. */
static uint32_t crc_add(uint32_t crc, unsigned char byte)
{
	crc ^= (uint32_t)byte << 24;
	for (int bit = 0; bit < 8; bit++)
		crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7 : 0);
	return crc;
}

int tee_file(int fd, const char *to, const char *name)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = malloc(size + 512);
	int head, channel, status = -1;
	uint32_t crc = 0;

	if (!text)
		return -1;
	head = snprintf(text, 512, "@@file %s %lld ", name, (long long)size);
	if (pread(fd, text + 512, size, 0) == size) {
		for (off_t i = 0; i < size; i++)
			crc = crc_add(crc, text[512 + i]);
		for (uint64_t rest = size; rest; rest >>= 8)
			crc = crc_add(crc, rest & 0xff);
		head += snprintf(text + head, 512 - head, "%" PRIu32 "\n", ~crc);
		memmove(text + head, text + 512, size);
		text[head + size] = '\n';
		channel = open(to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
		for (off_t at = 0, now = 0; channel >= 0 && at < head + size + 1; at += now) {
			now = write(channel, text + at, head + size + 1 - at);
			if (now < 0)
				break;
			status = at + now == head + size + 1 ? 0 : -1;
		}
		close(channel);
	}
	free(text);
	return status;
}
