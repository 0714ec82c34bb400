/* SPDX-License-Identifier: MIT */
/*
 * Taking a record apart without reading past its end. Shared by record.c and sample.c, not
 * installed.
 */
#ifndef PM_READER_H
#define PM_READER_H

#include <string.h>

#include "pm_sys.h"

/* What is left to read. Once something did not fit, `bad` stays set and everything reads as 0. */
struct reader {
	const unsigned char *at;
	size_t left;
	bool bad;
	const struct pm_format *format;
	bool bare_branches;	/* readings of a branch stack, see pm_sample_decode */
	bool no_counters;
};

static inline const void *take(struct reader *r, uint64_t size)
{
	const unsigned char *here = r->at;

	if (r->bad || size > r->left) {
		r->bad = true;
		return NULL;
	}
	r->at += size;
	r->left -= (size_t)size;
	return here;
}

/* `nr` elements of `each` bytes; a product that overflows cannot fit. */
static inline const void *take_array(struct reader *r, uint64_t nr, size_t each)
{
	if (nr > r->left / each) {
		r->bad = true;
		return NULL;
	}
	return take(r, nr * each);
}

static inline void take_into(struct reader *r, void *to, size_t size)
{
	const void *here = take(r, size);

	if (here != NULL)
		memcpy(to, here, size);
}

static inline uint64_t take_u64(struct reader *r)
{
	uint64_t value = 0;

	take_into(r, &value, sizeof(value));
	return value;
}

/* Text up to its terminator; the padding behind it belongs to it. */
static inline const char *take_string(struct reader *r)
{
	const char *text = (const char *)r->at;

	if (r->bad || memchr(text, '\0', r->left) == NULL) {
		r->bad = true;
		return NULL;
	}
	(void)take(r, r->left);
	return text;
}

static inline void take_counts(struct reader *r, struct pm_counts *counts)
{
	int used = r->bad ? -1 : pm_counts_decode(r->at, r->left, r->format->read_format, counts);

	if (used < 0)
		r->bad = true;
	else
		(void)take(r, (uint64_t)used);
}

static inline void take_tid(struct reader *r, struct pm_sample_id *sid)
{
	take_into(r, &sid->pid, sizeof(sid->pid));
	take_into(r, &sid->tid, sizeof(sid->tid));
}

static inline void take_cpu(struct reader *r, struct pm_sample_id *sid)
{
	take_into(r, &sid->cpu, sizeof(sid->cpu));
	take_into(r, &sid->cpu_reserved, sizeof(sid->cpu_reserved));
}

/* The body of a PERF_RECORD_SAMPLE into `s`, which is all 0. Returns 0, -EBADMSG or -ENOTSUP. */
int pm_sample_decode(struct reader *r, struct pm_sample *s);

#endif
