/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about records: which come, in what order, and what is in them. The ring may be mapped read
 * only, so that a part of variable length is made false in a copy.
 */
#include <stdlib.h>
#include <string.h>

#include "../../../lib/pm_sys.h"
#include "change.h"
#include "contents.h"
#include "fields.def"
#include "lies.h"

int __real_pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
			    struct pm_record *ret);
int __wrap_pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
			    struct pm_record *ret);
int __real_pm_ring_next(struct pm_ring *ring, const struct perf_event_header **ret);
int __wrap_pm_ring_next(struct pm_ring *ring, const struct perf_event_header **ret);
uint64_t __real_pm_ring_head(const struct pm_ring *ring);
uint64_t __wrap_pm_ring_head(const struct pm_ring *ring);

/* ----------------------------------------------------------------------------- fields */

#define PERF_SAMPLE_ALWAYS (~0ull)
#define PERF_RECORD_TRAILER PERF_RECORD_MAX

static const struct field {
	uint32_t record;
	size_t offset, size;
	uint64_t bit;
} fields[] = {
#define FIELD(type, name, member, bit, ways) \
	{ PERF_RECORD_##type, offsetof(struct pm_record, member), \
	  sizeof(((struct pm_record *)NULL)->member), PERF_SAMPLE_##bit },
	SAMPLE_CONTENTS(FIELD)
	TRAILER_CONTENTS(FIELD)
	RECORD_CONTENTS(FIELD)
};
#define FIELDS ((int)(sizeof(fields) / sizeof(*fields)))
#define COUNT(name, member, bit, ways) +1
#define COUNTS (0 COUNT_CONTENTS(COUNT))

/* How many bytes a pointer of the record leads to. */
static size_t length_of(const struct pm_record *r, const void *part)
{
	const struct pm_sample *s = &r->sample;

	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		return part == s->callchain ? 8 * s->callchain_nr : part == s->raw ? s->raw_size :
			part == s->branches ? sizeof(struct perf_branch_entry) * s->branch_nr :
			part == s->regs_user ? 8 * s->regs_user_nr :
			part == s->regs_intr ? 8 * s->regs_intr_nr :
			part == s->stack_user ? s->stack_user_dyn_size : s->aux_size;
	case PERF_RECORD_MMAP2: return r->mmap.build_id_size;
	case PERF_RECORD_NAMESPACES: return 16 * r->namespaces.nr;
	case PERF_RECORD_BPF_EVENT: return 8;
	case PERF_RECORD_TEXT_POKE: return r->text_poke.old_len + r->text_poke.new_len;
	default: return 8 * r->callchain_deferred.nr;
	}
}

/* Of raw data the first is the tracepoint's own first field; what comes last may be padding. */
static void change_part(const struct pm_record *r, void *pointer, char way)
{
	static union {
		uint64_t words[8192];
		unsigned char bytes[65536];
	} copy;
	const void **part = pointer;
	const size_t size = *part ? length_of(r, *part) : 0;
	const bool raw = r->type == PERF_RECORD_SAMPLE && *part == r->sample.raw;
	size_t at = way == 'f' ? (raw ? 8 : 0) : size - 8;

	if (!size || size > sizeof(copy))
		return;
	memcpy(&copy, *part, size);
	if (size < 16)
		at = way == 'f' ? 0 : size - 1;
	if (r->type == PERF_RECORD_SAMPLE && *part == r->sample.callchain) {
		at = way == 'f' ? 1 : r->sample.callchain_nr > 4 ? 4 : r->sample.callchain_nr - 1;
		if (at < r->sample.callchain_nr && copy.words[at] < PERF_CONTEXT_MAX)
			copy.words[at] ^= 0x1000;
	} else {
		copy.bytes[at] ^= 1;
	}
	*part = &copy;
}

static void change_field(struct pm_record *r, const struct field *field, char way)
{
	void *at = (char *)r + field->offset;
	const char **text = at;

	if (way == 's') {
		if (*text && **text)
			++*text;
	} else if (way == 'f' || way == 'b') {
		change_part(r, at, way);
	} else {
		change_number(at, field->size, way);
	}
}

static bool has_field(const struct pm_record *r, const struct field *field,
		      const struct pm_format *format)
{
	if (field->record == PERF_RECORD_TRAILER)
		return r->type != PERF_RECORD_SAMPLE && format->sample_id_all &&
		       format->sample_type & field->bit;
	return r->type == field->record &&
	       (field->bit == PERF_SAMPLE_ALWAYS || format->sample_type & field->bit);
}

static const struct mark {
	uint32_t record;
	uint16_t bits;
} marks[] = {
#define MARK(record, name, bits, ways) { PERF_RECORD_##record, PERF_RECORD_MISC_##bits },
	MISC_CONTENTS(MARK)
};

static void lie_in_misc(struct pm_record *r)
{
	for (int i = 0; i < (int)(sizeof(marks) / sizeof(*marks)); i++) {
		const char *ways;
		int number = lie_of_field(FIELDS + COUNTS + i, &ways);

		for (; r->type == marks[i].record && *ways; ways++, number++)
			if (lie(number))
				r->misc = *ways == 'p' ? r->misc | marks[i].bits :
					  *ways == 'z' ? r->misc & ~marks[i].bits :
					  r->misc ^ marks[i].bits;
	}
}

/* What samples and trailers tell alike. */
static void lie_in_identity(struct pm_record *r, const struct pm_format *format)
{
	struct pm_sample_id *sid = r->type == PERF_RECORD_SAMPLE ? &r->sample.sid : &r->sid;
	static unsigned int stamps;

	if (r->type != PERF_RECORD_SAMPLE && !format->sample_id_all)
		return;
	if (format->sample_type & PERF_SAMPLE_TIME && lie(LIE_ring_time_wobbles) && ++stamps % 2)
		sid->time -= 10000000;
	if (format->sample_type & PERF_SAMPLE_CPU && lie(LIE_ring_cpu_zero))
		sid->cpu = 0;
	if (format->sample_type & PERF_SAMPLE_TID && lie(LIE_ring_thread_is_process))
		sid->tid = sid->pid;
}

int __wrap_pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
			    struct pm_record *ret)
{
	const int error = __real_pm_record_decode(record, format, ret);

	if (error)
		return error;
	lie_in_identity(ret, format);
	for (int i = 0; i < FIELDS; i++) {
		const char *ways;
		int number = lie_of_field(i, &ways);

		for (; has_field(ret, &fields[i], format) && *ways; ways++) {
			if (lie(number++))
				change_field(ret, &fields[i], *ways);
			if (*ways == 'k' && lie(number++))
				change_field(ret, &fields[i], 'K');
		}
	}
	lie_in_misc(ret);
	if (ret->type == PERF_RECORD_SAMPLE && format->sample_type & PERF_SAMPLE_READ)
		change_counts(&ret->sample.read, format->read_format);
	if (ret->type == PERF_RECORD_READ)
		change_counts(&ret->read.counts, format->read_format);
	lies_in_contents(ret, format);
	lies_in_values(ret, format);
	if (ret->type == PERF_RECORD_SAMPLE)
		ret->sid = ret->sample.sid;
	return 0;
}

/* ------------------------------------------------------------------------ which come */

static union {
	struct perf_event_header header;
	uint64_t words[8192];
} false_record;

static const struct perf_event_header *copy_of(const struct perf_event_header *record)
{
	memcpy(&false_record, record, record->size);
	return &false_record.header;
}

static bool comes_never(const struct perf_event_header *record)
{
	static unsigned int samples;

	switch (record->type) {
#define NEVER(name) case PERF_RECORD_##name: if (lie(LIE_no_##name)) return true; break;
	RECORD_TYPES(NEVER)
	}
	if (record->type != PERF_RECORD_SAMPLE)
		return false;
	samples++;
	return (lie(LIE_ring_every_second_sample) && samples % 2 == 0) ||
	       (lie(LIE_ring_every_tenth_sample) && samples % 10 == 0) ||
	       (lie(LIE_ring_no_first_sample) && samples == 1);
}

static bool comes_twice(const struct perf_event_header *record)
{
	switch (record->type) {
#define TWICE(name) case PERF_RECORD_##name: if (lie(LIE_twice_##name)) return true; break;
	RECORD_TYPES(TWICE)
	}
	return false;
}

/* A sample that is as long as the first one is the first one. */
static const struct perf_event_header *freeze(const struct perf_event_header *record)
{
	static union { struct perf_event_header header; uint64_t words[8192]; } first;

	if (record->type != PERF_RECORD_SAMPLE || !lie(LIE_ring_frozen))
		return record;
	if (!first.header.size)
		memcpy(&first, record, record->size);
	return record->size == first.header.size ? &first.header : record;
}

/* The record before this one, which is kept in its place; false when there was none. */
static bool step_behind(const struct pm_ring *ring, const struct perf_event_header **ret)
{
	static union {
		struct perf_event_header header;
		uint64_t words[8192];
	} held, given;
	static const struct pm_ring *of;
	const bool has = of == ring;

	if (has)
		memcpy(&given, &held, held.header.size);
	memcpy(&held, *ret, (*ret)->size);
	of = ring;
	*ret = &given.header;
	return has;
}

static const struct perf_event_header *change_header(const struct perf_event_header *record)
{
	const bool type = lie(LIE_ring_other_type), size = lie(LIE_ring_size);
	const bool zeros = lie(LIE_ring_zero_inside);

	if (!type && !size && !zeros)
		return record;
	record = copy_of(record);
	false_record.header.type = type ? 77 : record->type;
	if (zeros)
		memset(&false_record.header + 1, 0, record->size - sizeof(*record));
	if (size && record->size < 65000)
		memset((char *)&false_record + record->size, 0, 8), false_record.header.size += 8;
	return record;
}

/* A record that goes over the end of the ring has been joined in the ring's own memory. */
static bool is_lost_at_end(const struct pm_ring *ring, const struct perf_event_header *record)
{
	const size_t at = (ring->tail - record->size) & (ring->data_size - 1);

	if (!ring->data_size || at + record->size <= ring->data_size)
		return false;
	if (lie(LIE_ring_wrapped_stale))
		memset((char *)record + (ring->data_size - at), 0,
		       record->size - (ring->data_size - at));
	return lie(LIE_ring_wrapped_lost);
}

int __wrap_pm_ring_next(struct pm_ring *ring, const struct perf_event_header **ret)
{
	static const struct pm_ring *again;
	static union { struct perf_event_header header; uint64_t words[8192]; } kept;
	int more;

	if (again == ring) {
		again = NULL;
		*ret = &kept.header;
		return 1;
	}
	do {
		more = __real_pm_ring_next(ring, ret);
	} while (more == 1 && (comes_never(*ret) || is_lost_at_end(ring, *ret) ||
			       (lie(LIE_ring_one_behind) && !step_behind(ring, ret))));
	if (more != 1)
		return more;
	if (comes_twice(*ret)) {
		memcpy(&kept, *ret, (*ret)->size);
		again = ring;
	} else if (lie(LIE_ring_swapped)) {
		memcpy(&kept, *ret, (*ret)->size);
		if (__real_pm_ring_next(ring, ret) == 1)
			again = ring;
		else
			*ret = &kept.header;
	}
	*ret = change_header(freeze(*ret));
	return 1;
}

uint64_t __wrap_pm_ring_head(const struct pm_ring *ring)
{
	const uint64_t head = __real_pm_ring_head(ring);

	return lie(LIE_ring_head) && head >= 8 ? head - 8 : head;
}
