/* SPDX-License-Identifier: MIT */
/* Interning of a stack: strings, mappings, frames, and the stack itself, each written once. */
#include "perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"

/* A string of its kind. 0 for an empty one. */
static int intern_string(struct pm_perfetto *trace, enum intern_kind kind, unsigned int field,
			 const void *bytes, size_t size, uint64_t *ret)
{
	bool fresh;
	size_t mark;
	int err;

	*ret = 0;
	if (size == 0)
		return 0;
	err = intern_find(&trace->intern, kind, bytes, size, ret, &fresh);
	if (err < 0 || !fresh)
		return err;
	mark = packet_begin(&trace->packet, field);
	packet_number(&trace->packet, STRING_IID, *ret);
	packet_bytes(&trace->packet, STRING_BYTES, bytes, size);
	packet_end(&trace->packet, mark);
	return 0;
}

/* Readers know frames of the kernel, those of its modules included, by this name. */
static const char *name_of(const char *module)
{
	return strcmp(module, "[kernel]") == 0 ? "kernel" : module;
}

struct mapping_key { uint64_t path, build_id, start, end, offset, bias; };

static int intern_mapping(struct pm_perfetto *trace, const struct pm_perfetto_frame *frame,
			  uint64_t *ret)
{
	struct mapping_key key = { .start = frame->start, .end = frame->end,
				   .offset = frame->offset, .bias = frame->bias };
	struct packet *packet = &trace->packet;
	const char *name;
	size_t mark;
	bool fresh;
	int err;

	*ret = 0;
	if (!frame->module || frame->module[0] == '\0')
		return 0;
	name = name_of(frame->module);
	err = intern_string(trace, INTERN_PATH, DATA_PATH, name, strlen(name), &key.path);
	if (err == 0)
		err = intern_string(trace, INTERN_BUILD_ID, DATA_BUILD_ID, frame->build_id,
				    frame->build_id ? frame->build_id_size : 0, &key.build_id);
	if (err == 0)
		err = intern_find(&trace->intern, INTERN_MAPPING, &key, sizeof(key), ret, &fresh);
	if (err < 0 || !fresh)
		return err;
	mark = packet_begin(packet, DATA_MAPPING);
	packet_number(packet, MAPPING_IID, *ret);
	if (key.build_id != 0)
		packet_number(packet, MAPPING_BUILD_ID, key.build_id);
	packet_number(packet, MAPPING_START, key.start);
	packet_number(packet, MAPPING_END, key.end);
	packet_number(packet, MAPPING_OFFSET, key.offset);
	if (key.bias != 0)
		packet_number(packet, MAPPING_BIAS, key.bias);
	packet_number(packet, MAPPING_PATH, key.path);
	packet_end(packet, mark);
	return 0;
}

struct frame_key { uint64_t function, mapping, address, source, line; };

static int intern_frame(struct pm_perfetto *trace, const struct pm_perfetto_frame *frame,
			uint64_t *ret)
{
	struct frame_key key = { .address = frame->address, .line = frame->line };
	const char *name = frame->function;
	struct packet *packet = &trace->packet;
	char number[24];
	bool fresh;
	size_t mark;
	int err = intern_mapping(trace, frame, &key.mapping);

	/* Without a mapping the address is not read: a frame without name would say nothing. */
	if ((!name || name[0] == '\0') && key.mapping == 0) {
		(void)snprintf(number, sizeof(number), "0x%" PRIx64, frame->address);
		name = number;
	}
	if (err == 0)
		err = intern_string(trace, INTERN_FUNCTION, DATA_FUNCTION, name,
				    name ? strlen(name) : 0, &key.function);
	if (err == 0 && frame->source)
		err = intern_string(trace, INTERN_SOURCE, DATA_SOURCE, frame->source,
				    strlen(frame->source), &key.source);
	if (err == 0)
		err = intern_find(&trace->intern, INTERN_FRAME, &key, sizeof(key), ret, &fresh);
	if (err < 0 || !fresh)
		return err;
	mark = packet_begin(packet, DATA_FRAME);
	packet_number(packet, FRAME_IID, *ret);
	packet_number(packet, FRAME_FUNCTION, key.function);
	packet_number(packet, FRAME_MAPPING, key.mapping);
	packet_number(packet, FRAME_PC, key.address);
	if (key.source != 0)
		packet_number(packet, FRAME_SOURCE, key.source);
	if (key.line != 0)
		packet_number(packet, FRAME_LINE, key.line);
	packet_end(packet, mark);
	return 0;
}

/* One of an array whose first tells the size of each. */
static int take_frame(struct pm_perfetto *trace, const struct pm_perfetto_frame *frames,
		      size_t index, uint64_t *ret)
{
	const char *at = (const char *)frames + index * frames->size;
	struct pm_perfetto_frame frame = { .size = sizeof(frame) };
	const size_t have = frames->size < sizeof(frame) ? frames->size : sizeof(frame);

	if (frames->size < offsetof(struct pm_perfetto_frame, start))
		return -EINVAL;
	memcpy(&frame, at, have);
	return intern_frame(trace, &frame, ret);
}

static int intern_all(struct pm_perfetto *trace, const struct pm_perfetto_frame *frames,
		      size_t count, uint64_t *ret)
{
	struct packet *packet = &trace->packet;
	bool fresh;
	size_t mark;
	int err = 0;

	for (size_t i = 0; i < count && err == 0; i++)
		err = take_frame(trace, frames, i, &trace->frames[count - 1 - i]);
	if (err == 0)
		err = intern_find(&trace->intern, INTERN_STACK, trace->frames,
				  count * sizeof(trace->frames[0]), ret, &fresh);
	if (err < 0 || !fresh)
		return err;
	mark = packet_begin(packet, DATA_STACK);
	packet_number(packet, STACK_IID, *ret);
	for (size_t i = 0; i < count; i++)
		packet_number(packet, STACK_FRAME, trace->frames[i]);
	packet_end(packet, mark);
	return 0;
}

int stack_intern(struct pm_perfetto *trace, const struct pm_perfetto_frame *frames, size_t count,
		 uint64_t *ret)
{
	size_t mark = packet_begin(&trace->packet, PACKET_INTERNED);
	int err = intern_all(trace, frames, count, ret);

	packet_end(&trace->packet, mark);
	return err;
}
