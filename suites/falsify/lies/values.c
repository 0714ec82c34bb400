/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about single values that are nearly right: cut, exchanged, or those of another record. See
 * contents.h.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contents.h"
#include "lies.h"

#define PAGE 4096
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static union { uint64_t words[8192]; unsigned char bytes[65536]; } copy;

static void swap64(uint64_t *a, uint64_t *b)
{
	const uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

/* The value of the record before this one takes its place. */
static uint64_t step_back(uint64_t *before, uint64_t now)
{
	const uint64_t given = *before ? *before : now;

	*before = now;
	return given;
}

static void lie_in_identity(struct pm_sample_id *sid, uint64_t bits)
{
	const uint64_t both = PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
	static uint64_t cpu;

	if ((bits & both) == both && lie(LIE_ring_ids_swapped))
		swap64(&sid->id, &sid->stream_id);
	if (bits & PERF_SAMPLE_CPU && lie(LIE_ring_cpu_before))
		sid->cpu = (uint32_t)step_back(&cpu, sid->cpu + 1ull) - 1;
}

static void lie_in_addresses(struct pm_sample *s, uint64_t bits)
{
	const uint64_t both = PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (bits & PERF_SAMPLE_ADDR && s->addr % 8 && lie(LIE_ring_addr_aligned))
		s->addr &= ~7ull;
	if ((bits & both) == both && lie(LIE_ring_addr_is_time))
		swap64(&s->addr, &s->sid.time);
	if (bits & PERF_SAMPLE_PHYS_ADDR && s->phys_addr % PAGE && lie(LIE_ring_phys_page))
		s->phys_addr &= ~(uint64_t)(PAGE - 1);
	if (bits & PERF_SAMPLE_DATA_PAGE_SIZE && !(bits & PERF_SAMPLE_CODE_PAGE_SIZE) &&
	    s->data_page_size > PAGE && lie(LIE_ring_data_page_of_code))
		s->data_page_size = PAGE;
}

static void lie_in_registers(const uint64_t **regs, size_t count)
{
	if (!*regs || count < 3 || count > 64 || !lie(LIE_ring_regs_middle))
		return;
	memcpy(copy.words, *regs, 8 * count);
	copy.words[count / 2] ^= 1;
	*regs = copy.words;
}

static void lie_in_sample(struct pm_sample *s, const struct pm_format *format)
{
	const uint64_t bits = format->sample_type;
	static uint64_t period;

	lie_in_addresses(s, bits);
	if (bits & PERF_SAMPLE_PERIOD && lie(LIE_ring_period_before))
		s->period = step_back(&period, s->period);
	if (bits & PERF_SAMPLE_CGROUP && lie(LIE_ring_cgroup_8bit))
		s->cgroup &= 0xff;
	lie_in_registers(&s->regs_intr, s->regs_intr_nr);
	if (s->stack_user && s->stack_user_dyn_size >= 64 && lie(LIE_ring_stack_middle)) {
		memcpy(copy.bytes, s->stack_user, s->stack_user_dyn_size);
		copy.bytes[s->stack_user_dyn_size / 2] ^= 1;
		s->stack_user = copy.bytes;
	}
}

static void lie_in_mapping(struct pm_record *r)
{
	if (r->type == PERF_RECORD_MMAP2 && lie(LIE_ring_mmap_exec))
		r->mmap.prot |= PROT_EXEC;
	if (r->type == PERF_RECORD_MMAP2 && r->mmap.flags & MAP_SHARED &&
	    lie(LIE_ring_mmap_private))
		r->mmap.flags ^= MAP_SHARED | MAP_PRIVATE;
	if (!strcmp(r->mmap.filename, "//anon") && lie(LIE_ring_mmap_anonymous))
		r->mmap.filename = "";
}

static void lie_in_switch(struct pm_record *r)
{
	const uint32_t pid = r->switch_cpu_wide.next_prev_pid;

	if (!lie(LIE_ring_switch_swapped))
		return;
	r->switch_cpu_wide.next_prev_pid = r->switch_cpu_wide.next_prev_tid;
	r->switch_cpu_wide.next_prev_tid = pid;
}

static void lie_in_exit(struct pm_record *r)
{
	if (!lie(LIE_ring_exit_processes))
		return;
	r->task.tid = r->task.pid;
	r->task.ptid = r->task.ppid;
}

static void lie_in_loss(struct pm_record *r)
{
	static uint64_t first, id;

	first = first ? first : r->lost.lost;
	id = id ? id : r->lost.id;
	if (lie(LIE_ring_lost_repeats))
		r->lost.lost = first;
	if (r->lost.lost > 255 && lie(LIE_ring_lost_8bit))
		r->lost.lost &= 0xff;
	if (lie(LIE_ring_lost_of_first))
		r->lost.id = id;
}

static void lie_in_times(struct pm_counts *counts, uint64_t read_format)
{
	if (!(read_format & TIMES) || !lie(LIE_ring_read_times_101))
		return;
	counts->time_enabled += counts->time_enabled / 100;
	counts->time_running += counts->time_running / 100;
}

void lies_in_values(struct pm_record *r, const struct pm_format *format)
{
	const bool sample = r->type == PERF_RECORD_SAMPLE;

	if (sample || format->sample_id_all)
		lie_in_identity(sample ? &r->sample.sid : &r->sid, format->sample_type);
	if (!sample && r->misc & PERF_RECORD_MISC_CPUMODE_MASK && lie(LIE_ring_sideband_mode))
		r->misc ^= PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_USER;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		lie_in_sample(&r->sample, format);
		if (format->sample_type & PERF_SAMPLE_READ)
			lie_in_times(&r->sample.read, format->read_format);
		break;
	case PERF_RECORD_READ: lie_in_times(&r->read.counts, format->read_format); break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: lie_in_mapping(r); break;
	case PERF_RECORD_SWITCH_CPU_WIDE: lie_in_switch(r); break;
	case PERF_RECORD_EXIT: lie_in_exit(r); break;
	case PERF_RECORD_LOST: lie_in_loss(r); break;
	case PERF_RECORD_CGROUP:
		if (lie(LIE_ring_cgroup_8bit))
			r->cgroup.id &= 0xff;
		break;
	}
}
