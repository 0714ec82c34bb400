/* SPDX-License-Identifier: MIT */
/* The wire format of protocol buffers, as others write it: nothing of it is trusted. */
#include "field.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LENGTH = 2, WIRE_32 = 5 };
#define FIELD_MOST ((1u << 29) - 1)

size_t field_varint(const unsigned char *at, size_t most, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < most && i < 10; i++) {
		value |= (uint64_t)(at[i] & 127) << (7 * i);
		if (at[i] < 128) {
			*ret = value;
			return i + 1;
		}
	}
	return 0;
}

static bool take_varint(struct fields *fields, uint64_t *ret)
{
	size_t size = field_varint(fields->at, (size_t)(fields->end - fields->at), ret);

	fields->at += size;
	return size > 0;
}

/* A number of so many bytes, the lowest first. */
static bool take_fixed(struct fields *fields, size_t size, uint64_t *ret)
{
	if ((size_t)(fields->end - fields->at) < size)
		return false;
	*ret = 0;
	for (size_t i = 0; i < size; i++)
		*ret |= (uint64_t)fields->at[i] << (8 * i);
	fields->at += size;
	return true;
}

static bool take_bytes(struct fields *fields, struct field *ret)
{
	uint64_t size;

	if (!take_varint(fields, &size) || size > (uint64_t)(fields->end - fields->at))
		return false;
	ret->bytes = fields->at;
	ret->size = (size_t)size;
	fields->at += size;
	return true;
}

bool field_next(struct fields *fields, struct field *ret)
{
	const unsigned char *start = fields->at;
	bool whole = false;
	uint64_t tag;

	*ret = (struct field){ .number = 0 };
	if (fields->at == fields->end)
		return false;
	if (take_varint(fields, &tag) && tag >> 3 != 0 && tag >> 3 <= FIELD_MOST) {
		ret->number = (unsigned int)(tag >> 3);
		if ((tag & 7) == WIRE_VARINT)
			whole = take_varint(fields, &ret->value);
		else if ((tag & 7) == WIRE_LENGTH)
			whole = take_bytes(fields, ret);
		else if ((tag & 7) == WIRE_64 || (tag & 7) == WIRE_32)
			whole = take_fixed(fields, (tag & 7) == WIRE_64 ? 8 : 4, &ret->value);
	}
	if (!whole)
		fields->at = start;
	return whole;
}

struct fields field_message(const struct field *field)
{
	static const unsigned char none[1];

	return field->bytes ? (struct fields){ field->bytes, field->bytes + field->size } :
		(struct fields){ none, none };
}
