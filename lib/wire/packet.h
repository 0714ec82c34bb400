/* SPDX-License-Identifier: MIT */
/* Fields of protocol buffers, appended one after the other; not installed. */
#ifndef PM_PACKET_H
#define PM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows as needed up to PACKET_MAX; beyond it, or without memory, `error` is set and stays. */
struct packet {
	unsigned char *bytes;
	size_t size, room;
	int error;
};
#define PACKET_MAX (1u << 24)

/* A number alone, as the elements of a packed field are. */
void packet_varint(struct packet *packet, uint64_t value);

void packet_number(struct packet *packet, unsigned int field, uint64_t value);
void packet_bytes(struct packet *packet, unsigned int field, const void *bytes, size_t size);

/* As `string`, which has to be UTF-8: other bytes become question marks. */
void packet_raw(struct packet *packet, unsigned int field, const char *text, size_t size);

/* The same, and controls become question marks, too. */
void packet_text(struct packet *packet, unsigned int field, const char *text, size_t size);

/* A message in the message: from begin, which returns a mark, to end. */
size_t packet_begin(struct packet *packet, unsigned int field);
void packet_end(struct packet *packet, size_t mark);

#endif
