/* SPDX-License-Identifier: MIT */
/* Reads fields of a record. Raw data is not trusted: nothing outside of it is read. */
#include <errno.h>
#include <string.h>

#include "tracepoint.h"

uint32_t pm_trace_event_id(const struct pm_trace_event *event)
{
	return event->id;
}

const char *pm_trace_event_name(const struct pm_trace_event *event)
{
	return event->name;
}

size_t pm_trace_event_count(const struct pm_trace_event *event)
{
	return event->count;
}

int pm_trace_event_find(const struct pm_trace_event *event, const char *name)
{
	for (size_t i = 0; i < event->count; i++)
		if (strcmp(event->fields[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

int pm_trace_event_member(const struct pm_trace_event *event, size_t index,
			  struct pm_trace_member *ret)
{
	struct pm_trace_member member = { .size = ret->size };
	const struct field *field;

	if (index >= event->count)
		return -EINVAL;
	field = &event->fields[index];
	member.name = field->name;
	member.type = field->type;
	member.flags = field->flags;
	member.offset = field->offset;
	member.bytes = field->bytes;
	member.element_size = field->element_size;
	member.count = field->count;
	memcpy(ret, &member, ret->size < sizeof(member) ? ret->size : sizeof(member));
	return 0;
}

/* ------------------------------------------------------------------------------------ the bytes */

/*
 * A dynamic field's word holds the offset in its lower half and the length in its upper one;
 * __data_loc counts from the record's beginning, __rel_loc (v5.18) from behind the word.
 */
static int locate(const struct field *field, const unsigned char *raw, size_t raw_size,
		  const unsigned char **ret)
{
	size_t begin = field->offset, size = field->bytes;
	uint32_t word;

	if (begin > raw_size || size > raw_size - begin)
		return -EBADMSG;
	if (field->flags & PM_TRACE_DYNAMIC) {
		memcpy(&word, raw + begin, sizeof(word));
		begin = (word & 0xffff) + (field->relative ? begin + sizeof(word) : 0);
		size = word >> 16;
		if (begin > raw_size || size > raw_size - begin)
			return -EBADMSG;
	}
	*ret = raw + begin;
	return (int)size;
}

int pm_trace_bytes(const struct pm_trace_event *event, size_t index, const void *raw,
		   size_t raw_size, const void **ret)
{
	const unsigned char *bytes;
	int size;

	if (index >= event->count)
		return -EINVAL;
	size = locate(&event->fields[index], raw, raw_size, &bytes);
	if (size >= 0)
		*ret = bytes;
	return size;
}

int pm_trace_text(const struct pm_trace_event *event, size_t index, const void *raw,
		  size_t raw_size, const char **ret)
{
	const void *bytes;
	int size = pm_trace_bytes(event, index, raw, raw_size, &bytes);

	if (size < 0)
		return size;
	if (event->fields[index].element_size != 1)
		return -EINVAL;
	*ret = bytes;
	return (int)strnlen(bytes, (size_t)size);
}

/* ---------------------------------------------------------------------------------- the numbers */

/* As the kernel of this machine wrote it. */
static int64_t number_at(const unsigned char *at, uint32_t size, bool is_signed)
{
	union { uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64; } value;

	memcpy(&value, at, size);
	switch (size) {
	case 1:
		return is_signed ? (int64_t)(int8_t)value.u8 : (int64_t)value.u8;
	case 2:
		return is_signed ? (int64_t)(int16_t)value.u16 : (int64_t)value.u16;
	case 4:
		return is_signed ? (int64_t)(int32_t)value.u32 : (int64_t)value.u32;
	default:
		return (int64_t)value.u64;
	}
}

int pm_trace_number(const struct pm_trace_event *event, size_t index, size_t element,
		    const void *raw, size_t raw_size, int64_t *ret)
{
	const struct field *field;
	const void *bytes;
	uint32_t each;
	int size;

	if (index >= event->count)
		return -EINVAL;
	field = &event->fields[index];
	each = field->element_size;
	if (each != 1 && each != 2 && each != 4 && each != 8)
		return -EINVAL;
	size = pm_trace_bytes(event, index, raw, raw_size, &bytes);
	if (size < 0)
		return size;
	if (element >= (size_t)size / each)
		return -ERANGE;
	*ret = number_at((const unsigned char *)bytes + element * each, each,
			 field->flags & PM_TRACE_SIGNED);
	return 0;
}

bool pm_trace_event_is(const struct pm_trace_event *event, const void *raw, size_t raw_size)
{
	if (event->type_bytes == 0 || event->type_offset > raw_size ||
	    event->type_bytes > raw_size - event->type_offset)
		return false;
	return number_at((const unsigned char *)raw + event->type_offset, event->type_bytes,
			 false) == event->id;
}
