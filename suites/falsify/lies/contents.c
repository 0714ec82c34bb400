/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about what several records, or several parts of one, tell together. See contents.h. What is
 * kept from one record to the next is kept of one process, across all of its rings.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "contents.h"
#include "lies.h"

#define PAGE 4096

static union { uint64_t words[8192]; unsigned char bytes[65536]; char text[65536]; } copy;

static bool is_seventh(unsigned int *count)
{
	return ++*count % 7 == 0;
}

/* ---------------------------------------------------------------- samples and trailers alike */

static void lie_in_time(struct pm_sample_id *sid)
{
	static unsigned int stamps;
	static uint64_t last;

	if (lie(LIE_ring_time_back) && last && is_seventh(&stamps))
		sid->time = last - 1;
	last = sid->time;
}

static void lie_in_ids(struct pm_sample_id *sid, uint64_t bits)
{
	static uint64_t first;

	if (bits & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) && lie(LIE_ring_id_of_first)) {
		first = first ? first : sid->id;
		sid->id = first;
	}
	if (bits & PERF_SAMPLE_STREAM_ID &&
	    bits & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) && lie(LIE_ring_stream_is_id))
		sid->stream_id = sid->id;
}

static void lie_in_trailer(struct pm_record *r, const struct pm_format *format)
{
	struct pm_sample_id *sid = r->type == PERF_RECORD_SAMPLE ? &r->sample.sid : &r->sid;
	static unsigned int cpus;

	if (r->type != PERF_RECORD_SAMPLE && !format->sample_id_all)
		return;
	if (format->sample_type & PERF_SAMPLE_TIME)
		lie_in_time(sid);
	lie_in_ids(sid, format->sample_type);
	if (format->sample_type & PERF_SAMPLE_CPU && lie(LIE_ring_seventh_cpu) && is_seventh(&cpus))
		sid->cpu ^= 1;
}

/* --------------------------------------------------------------------------------- samples */

static bool is_context(uint64_t address)
{
	return address >= PERF_CONTEXT_MAX;
}

static void reverse(uint64_t *from, uint64_t *to)
{
	for (to--; from < to; from++, to--) {
		const uint64_t kept = *from;

		*from = *to;
		*to = kept;
	}
}

static void lie_in_chain(struct pm_sample *s)
{
	const bool backward = lie(LIE_ring_chain_reversed), bare = lie(LIE_ring_chain_unmarked);
	uint64_t *to = copy.words, *part = to;

	if ((!backward && !bare) || !s->callchain || s->callchain_nr > 8192)
		return;
	for (uint64_t i = 0; i < s->callchain_nr; i++) {
		if (bare && is_context(s->callchain[i]))
			continue;
		*to++ = s->callchain[i];
		if (backward && is_context(s->callchain[i])) {
			reverse(part, to - 1);
			part = to;
		}
	}
	if (backward)
		reverse(part, to);
	s->callchain = copy.words;
	s->callchain_nr = (uint64_t)(to - copy.words);
}

static void lie_in_parts(struct pm_sample *s, uint64_t bits)
{
	if (bits & PERF_SAMPLE_CALLCHAIN)
		lie_in_chain(s);
	if (s->regs_user && s->regs_user_nr > 1 && lie(LIE_ring_regs_rotated)) {
		memcpy(copy.words, s->regs_user + 1, 8 * (s->regs_user_nr - 1));
		copy.words[s->regs_user_nr - 1] = s->regs_user[0];
		s->regs_user = copy.words;
	}
	if (s->stack_user && s->stack_user_dyn_size > 8 && lie(LIE_ring_stack_shifted)) {
		s->stack_user = (const char *)s->stack_user + 8;
		s->stack_user_dyn_size -= 8;
	}
	if (s->raw && s->raw_size > 4 && lie(LIE_ring_raw_shifted)) {
		s->raw = (const char *)s->raw + 4;
		s->raw_size -= 4;
	}
}

static void lie_in_sample(struct pm_record *r, const struct pm_format *format)
{
	struct pm_sample *s = &r->sample;
	const uint64_t bits = format->sample_type;
	static unsigned int modes;
	static uint64_t period;
	static struct pm_counts before;
	struct pm_counts now;

	if (bits & PERF_SAMPLE_IP && lie(LIE_ring_ip_page))
		s->ip &= ~(uint64_t)(PAGE - 1);
	if (bits & PERF_SAMPLE_ADDR && s->addr && lie(LIE_ring_addr_page))
		s->addr += PAGE;
	if (bits & PERF_SAMPLE_PERIOD && lie(LIE_ring_period_of_first)) {
		period = period ? period : s->period;
		s->period = period;
	}
	if (lie(LIE_ring_seventh_mode) && is_seventh(&modes))
		r->misc ^= PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_USER;
	if (bits & PERF_SAMPLE_READ && lie(LIE_ring_read_before)) {
		now = s->read;
		if (before.nr == now.nr)
			s->read = before;
		before = now;
	}
	lie_in_parts(s, bits);
}

/* --------------------------------------------------------------------------- other records */

static void lie_in_mapping(struct pm_record *r)
{
	const char *slash = strrchr(r->mmap.filename, '/');

	if (lie(LIE_ring_mmap_page))
		r->mmap.addr += PAGE;
	if (r->mmap.pgoff && lie(LIE_ring_mmap_pages))
		r->mmap.pgoff /= PAGE;
	if (slash && lie(LIE_ring_mmap_base))
		r->mmap.filename = slash + 1;
}

static void lie_in_name(struct pm_record *r)
{
	static char before[64], now[64];

	if (lie(LIE_ring_comm_before)) {
		const bool has = *before;

		memcpy(now, before, sizeof(now));
		snprintf(before, sizeof(before), "%s", r->comm.comm);
		r->comm.comm = has ? now : r->comm.comm;
	}
	if (strlen(r->comm.comm) > 7 && lie(LIE_ring_comm_seven)) {
		snprintf(now, sizeof(now), "%.7s", r->comm.comm);
		r->comm.comm = now;
	}
}

static void swap(uint32_t *a, uint32_t *b)
{
	const uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

static void lie_in_task(struct pm_record *r)
{
	if (r->type == PERF_RECORD_FORK && lie(LIE_ring_fork_swapped)) {
		swap(&r->task.pid, &r->task.ppid);
		swap(&r->task.tid, &r->task.ptid);
	}
	if (r->type == PERF_RECORD_FORK && lie(LIE_ring_fork_processes)) {
		r->task.tid = r->task.pid;
		r->task.ptid = r->task.ppid;
	}
	if (r->type == PERF_RECORD_EXIT && lie(LIE_ring_exit_of_init))
		r->task.ppid = r->task.ptid = 1;
}

/* The entries of NAMESPACES have 16 bytes each. */
static void lie_in_namespaces(struct pm_record *r)
{
	const size_t size = 16 * r->namespaces.nr;

	if (r->namespaces.nr < 2 || size > sizeof(copy) || !lie(LIE_ring_namespaces_rotated))
		return;
	memcpy(copy.bytes, (const char *)r->namespaces.entries + 16, size - 16);
	memcpy(copy.bytes + size - 16, r->namespaces.entries, 16);
	r->namespaces.entries = copy.bytes;
}

static void lie_in_cgroup(struct pm_record *r)
{
	char *slash;

	if (!lie(LIE_ring_cgroup_parent))
		return;
	snprintf(copy.text, sizeof(copy.text), "%s", r->cgroup.path);
	slash = strrchr(copy.text, '/');
	if (slash)
		slash[slash == copy.text] = '\0';
	r->cgroup.path = copy.text;
}

static void lie_in_text_poke(struct pm_record *r)
{
	const size_t old = r->text_poke.old_len, new = r->text_poke.new_len;

	if (!lie(LIE_ring_text_poke_swapped))
		return;
	memcpy(copy.bytes, r->text_poke.bytes + old, new);
	memcpy(copy.bytes + new, r->text_poke.bytes, old);
	r->text_poke.bytes = copy.bytes;
	r->text_poke.old_len = (uint16_t)new;
	r->text_poke.new_len = (uint16_t)old;
}

static void lie_in_switch(struct pm_record *r)
{
	static unsigned int switches;

	if (lie(LIE_ring_seventh_switch) && is_seventh(&switches))
		r->misc ^= PERF_RECORD_MISC_SWITCH_OUT;
}

static void lie_in_loss(struct pm_record *r)
{
	static uint64_t sum;

	sum += r->lost.lost;
	if (lie(LIE_ring_lost_sum))
		r->lost.lost = sum;
}

void lies_in_contents(struct pm_record *r, const struct pm_format *format)
{
	lie_in_trailer(r, format);
	switch (r->type) {
	case PERF_RECORD_SAMPLE: lie_in_sample(r, format); break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: lie_in_mapping(r); break;
	case PERF_RECORD_COMM: lie_in_name(r); break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: lie_in_task(r); break;
	case PERF_RECORD_NAMESPACES: lie_in_namespaces(r); break;
	case PERF_RECORD_CGROUP: lie_in_cgroup(r); break;
	case PERF_RECORD_TEXT_POKE: lie_in_text_poke(r); break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE: lie_in_switch(r); break;
	case PERF_RECORD_LOST: lie_in_loss(r); break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		if (lie(LIE_ring_throttle_swapped))
			r->type ^= PERF_RECORD_THROTTLE ^ PERF_RECORD_UNTHROTTLE;
		break;
	}
}
