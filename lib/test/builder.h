/* SPDX-License-Identifier: MIT */
/* Writes records byte by byte, knowing nothing of the decoder. */
#ifndef BUILDER_H
#define BUILDER_H

#include <stdlib.h>
#include <string.h>

struct builder {
	_Alignas(8) unsigned char bytes[65536];
	size_t size;
};

static inline void put(struct builder *b, const void *from, size_t size)
{
	assert_true(size <= sizeof(b->bytes) - b->size);
	memcpy(b->bytes + b->size, from, size);
	b->size += size;
}

static inline void put16(struct builder *b, uint16_t value)
{
	put(b, &value, sizeof(value));
}

static inline void put32(struct builder *b, uint32_t value)
{
	put(b, &value, sizeof(value));
}

static inline void put64(struct builder *b, uint64_t value)
{
	put(b, &value, sizeof(value));
}

/* Text with its terminator, padded to 8 as the kernel does. */
static inline void put_text(struct builder *b, const char *text)
{
	put(b, text, strlen(text) + 1);
	while (b->size % 8 != 0)
		put(b, "", 1);
}

static inline void begin(struct builder *b, uint32_t type, uint16_t misc)
{
	b->size = 0;
	put32(b, type);
	put16(b, misc);
	put16(b, 0);
}

/* Writes the size into the header. */
static inline void end(struct builder *b)
{
	uint16_t size = (uint16_t)b->size;

	memcpy(b->bytes + 6, &size, sizeof(size));
}

/*
 * Decodes from a copy of exactly the record's size, so that the sanitizer sees any read behind
 * it. The copy lives until the next call.
 */
static inline int decode_bytes(const struct builder *b, const struct pm_format *format,
			       struct pm_record *ret)
{
	static void *copy;

	free(copy);
	copy = malloc(b->size);
	memcpy(copy, b->bytes, b->size);
	memset(ret, 0xee, sizeof(*ret));
	return pm_record_decode(copy, format, ret);
}

/* The record cut to `size` bytes, with a header that admits it. */
static inline int decode_cut(const struct builder *b, uint16_t size,
			     const struct pm_format *format, struct pm_record *ret)
{
	struct builder *cut = malloc(sizeof(*cut));
	int err;

	memcpy(cut, b, sizeof(*cut));
	cut->size = size;
	memcpy(cut->bytes + 6, &size, sizeof(size));
	err = decode_bytes(cut, format, ret);
	free(cut);
	return err;
}

#endif
