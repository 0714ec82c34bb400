/* SPDX-License-Identifier: MIT */
/* The wire format of protocol buffers, as far as it is written here: varints and lengths. */
#include "packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_LENGTH = 2 };
#define LENGTH_BYTES 4		/* of a message in a message: a varint with leading zeros */

static bool make_room(struct packet *packet, size_t more)
{
	size_t room = packet->room ? packet->room : 512;
	unsigned char *bytes;

	if (packet->error != 0)
		return false;
	if (packet->room - packet->size >= more)
		return true;
	while (room - packet->size < more && room <= PACKET_MAX)
		room *= 2;
	if (room > PACKET_MAX) {
		packet->error = -E2BIG;
		return false;
	}
	bytes = realloc(packet->bytes, room);
	if (!bytes) {
		packet->error = -ENOMEM;
		return false;
	}
	packet->bytes = bytes;
	packet->room = room;
	return true;
}

void packet_varint(struct packet *packet, uint64_t value)
{
	if (!make_room(packet, 10))
		return;
	for (; value > 127; value >>= 7)
		packet->bytes[packet->size++] = (unsigned char)(value | 128);
	packet->bytes[packet->size++] = (unsigned char)value;
}

void packet_number(struct packet *packet, unsigned int field, uint64_t value)
{
	packet_varint(packet, (uint64_t)field << 3 | WIRE_VARINT);
	packet_varint(packet, value);
}

void packet_bytes(struct packet *packet, unsigned int field, const void *bytes, size_t size)
{
	packet_varint(packet, (uint64_t)field << 3 | WIRE_LENGTH);
	packet_varint(packet, size);
	if (size == 0 || !make_room(packet, size))
		return;
	memcpy(packet->bytes + packet->size, bytes, size);
	packet->size += size;
}

/* Bytes of the character that begins here; 0 for what is no UTF-8 (RFC 3629). */
static size_t character(const unsigned char *at, size_t left)
{
	size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 :
		at[0] < 0xf5 ? 4 : 0;

	if (size > left)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((at[0] == 0xe0 && at[1] < 0xa0) ||
	    (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

static bool is_control(const unsigned char *at)
{
	return at[0] < ' ' || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0);
}

static void put_text(struct packet *packet, unsigned int field, const char *text, size_t size,
		     bool controls)
{
	size_t at, length;
	unsigned char *copy;

	packet_bytes(packet, field, text, size);
	if (packet->error != 0)
		return;
	copy = packet->bytes + packet->size - size;
	for (at = 0; at < size; at += length) {
		length = character(copy + at, size - at);
		if (length > 0 && (controls || !is_control(copy + at)))
			continue;
		copy[at] = '?';
		length = 1;
	}
}

void packet_text(struct packet *packet, unsigned int field, const char *text, size_t size)
{
	put_text(packet, field, text, size, false);
}

void packet_raw(struct packet *packet, unsigned int field, const char *text, size_t size)
{
	put_text(packet, field, text, size, true);
}

size_t packet_begin(struct packet *packet, unsigned int field)
{
	packet_varint(packet, (uint64_t)field << 3 | WIRE_LENGTH);
	if (!make_room(packet, LENGTH_BYTES))
		return 0;
	packet->size += LENGTH_BYTES;
	return packet->size;
}

void packet_end(struct packet *packet, size_t mark)
{
	size_t size = packet->size - mark;

	if (packet->error != 0)
		return;
	for (int i = 0; i < LENGTH_BYTES; i++, size >>= 7)
		packet->bytes[mark - LENGTH_BYTES + (size_t)i] =
			(unsigned char)((size & 127) | (i < LENGTH_BYTES - 1 ? 128 : 0));
}
