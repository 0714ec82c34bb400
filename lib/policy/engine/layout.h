/* SPDX-License-Identifier: MIT */
/*
 * The one layout that the samples of a session have; not installed. All of it is inline: a call
 * would be a tenth of the time that a sample takes.
 */
#ifndef PM_LAYOUT_H
#define PM_LAYOUT_H

#include <string.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"

/* Two 32-bit halves as they lie in memory. */
static inline void split(uint64_t word, uint32_t *first, uint32_t *second)
{
	uint32_t half[2];

	memcpy(half, &word, sizeof(word));
	*first = half[0];
	*second = half[1];
}

static inline bool take_callchain(const uint64_t **at, const uint64_t *end, struct pm_observed *ret)
{
	if (*at == end || **at > (uint64_t)(end - *at - 1))
		return false;
	ret->callchain_count = (size_t)**at;
	ret->callchain = *at + 1;
	*at += 1 + ret->callchain_count;
	return true;
}

/* A size of 32 bits and so many bytes, filled up to a multiple of 8. */
static inline bool take_raw(const uint64_t **from, const uint64_t *end, struct pm_observed *ret)
{
	const uint64_t *at = *from;
	size_t room = (size_t)(end - at) * sizeof(*at);
	uint32_t size;

	if (room < sizeof(size))
		return false;
	memcpy(&size, at, sizeof(size));
	if (size > room - sizeof(size))
		return false;
	ret->raw = (const char *)at + sizeof(size);
	ret->raw_size = size;
	*from = at + (sizeof(size) + size + sizeof(*at) - 1) / sizeof(*at);
	return true;
}

static inline bool take_branches(const uint64_t *at, const uint64_t *end, struct pm_observed *ret)
{
	if (at == end || *at > (uint64_t)(end - at - 1) * sizeof(*at) / sizeof(*ret->branches))
		return false;
	ret->branch_count = (size_t)*at;
	ret->branches = (const struct pm_branch *)(at + 1);
	return true;
}

/* Values of a group as they lie in a sample; count 0: the sample has none. */
struct group_words {
	const uint64_t *member;		/* value, id, and lost where read_format has it */
	uint64_t enabled, running;
	size_t count, words;		/* members; words of each */
};

/* PERF_SAMPLE_READ by the read_format that negotiate.c chooses: group, both times, ids. */
static inline bool take_group(const uint64_t **at, const uint64_t *end, uint64_t read_format,
			      struct group_words *ret)
{
	const size_t words = read_format & PERF_FORMAT_LOST ? 3 : 2;

	if (end - *at < 3 || **at > (uint64_t)(end - *at - 3) / words)
		return false;
	ret->count = (size_t)(*at)[0];
	ret->words = words;
	ret->enabled = (*at)[1];
	ret->running = (*at)[2];
	ret->member = *at + 3;
	*at += 3 + ret->count * words;
	return true;
}

#define LONG_PARTS (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | \
		    PERF_SAMPLE_BRANCH_STACK)

/* What has a length, at the end; most sessions ask for nothing of it. */
static inline bool take_long_parts(const uint64_t *at, const uint64_t *end,
				   const struct pm_format *format, struct pm_observed *ret,
				   struct group_words *ret_group)
{
	const uint64_t type = format->sample_type;

	if ((type & PERF_SAMPLE_READ) && !take_group(&at, end, format->read_format, ret_group))
		return false;
	if ((type & PERF_SAMPLE_CALLCHAIN) && !take_callchain(&at, end, ret))
		return false;
	if ((type & PERF_SAMPLE_RAW) && !take_raw(&at, end, ret))
		return false;
	return !(type & PERF_SAMPLE_BRANCH_STACK) || take_branches(at, end, ret);
}

/* Words that each sample has: sample_type() in negotiate.c chose the bits. */
static inline ptrdiff_t words_of(uint64_t type)
{
	return 4 + !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_ADDR) +
		!!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_PERIOD);
}

/*
 * Decodes a sample of `format`, as negotiate.c chooses it: one word each in this order, but for
 * what has a length. A fifth of the time that pm_record_decode takes for any layout. Each field is
 * set by itself, for clearing them together takes as long as all else. False: the bytes do not fit.
 * `ret_id` stays as it is where samples have no id, `ret_group` where they have no values of a
 * group.
 */
static inline bool pm_layout_take(const struct perf_event_header *header,
				  const struct pm_format *format, struct pm_observed *ret,
				  uint64_t *ret_id, struct group_words *ret_group)
{
	const uint64_t type = format->sample_type;
	const uint64_t *at = (const uint64_t *)(header + 1);
	const uint64_t *end = (const uint64_t *)((const char *)header + header->size);
	uint32_t unused;

	if (end - at < words_of(type))
		return false;
	if (type & PERF_SAMPLE_IDENTIFIER)
		*ret_id = *at++;
	ret->ip = *at++;
	split(*at++, &ret->pid, &ret->tid);
	ret->time = *at++;
	ret->address = type & PERF_SAMPLE_ADDR ? *at++ : 0;
	if (type & PERF_SAMPLE_ID)
		*ret_id = *at++;
	split(*at++, &ret->cpu, &unused);
	ret->period = type & PERF_SAMPLE_PERIOD ? *at++ : 0;
	ret->callchain = NULL;
	ret->callchain_count = 0;
	ret->raw = NULL;
	ret->raw_size = 0;
	ret->branches = NULL;
	ret->branch_count = 0;
	ret->group = NULL;
	ret->group_count = 0;
	ret->group_enabled = ret->group_running = 0;
	return !(type & LONG_PARTS) || take_long_parts(at, end, format, ret, ret_group);
}

/* Words of a sample that was taken by this layout: if it was not another's, those that it has. */
static inline size_t pm_layout_words(uint64_t type, const struct pm_observed *observed,
				     const struct group_words *group)
{
	size_t words = (size_t)words_of(type);

	if (type & PERF_SAMPLE_READ)
		words += 3 + group->count * group->words;
	if (type & PERF_SAMPLE_CALLCHAIN)
		words += 1 + observed->callchain_count;
	if (type & PERF_SAMPLE_RAW)
		words += (sizeof(uint32_t) + observed->raw_size + 7) / 8;
	if (type & PERF_SAMPLE_BRANCH_STACK)
		words += 1 + 3 * observed->branch_count;
	return words;
}

/* The id, which lies before all that layouts may differ in. False: the bytes do not fit. */
static inline bool pm_layout_id(const struct perf_event_header *header, uint64_t type,
				uint64_t *ret)
{
	const uint64_t *at = (const uint64_t *)(header + 1);
	const size_t index = type & PERF_SAMPLE_IDENTIFIER ? 0 : 3 + !!(type & PERF_SAMPLE_ADDR);

	if (header->size < sizeof(*header) + 8 * (index + 1))
		return false;
	*ret = at[index];
	return true;
}

#endif
