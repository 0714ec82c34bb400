/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records with one false field. Linked into a probe with --wrap=pm_record_decode, this stands
 * between the ring and the probe and plays a kernel that writes that field wrong; PERFMODES_LIE
 * names it.
 * ../../test/test_contents.py says which point of which probe has to notice.
 */
#include <stdlib.h>
#include <string.h>

#include "../../../lib/pm_sys.h"

int __real_pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
			    struct pm_record *ret);
int __wrap_pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
			    struct pm_record *ret);

/* A part of variable length lies in the ring, which may be read only: false ones are copies. */
static union {
	uint64_t words[512];
	char text[4096];
} copy;

static const void *copied(const void *part, size_t size)
{
	if (!part || size > sizeof(copy))
		return part;
	memcpy(&copy, part, size);
	return &copy;
}

static void lie_in_sample(const char *lie, struct pm_sample *s)
{
	if (!strcmp(lie, "sample.frames") && s->callchain_nr > 2) {
		s->callchain = copied(s->callchain, 8 * s->callchain_nr);
		for (uint64_t i = 2; i < s->callchain_nr; i++)
			copy.words[i] = copy.words[i] < PERF_CONTEXT_MAX ? 0x1234 : copy.words[i];
	}
	if (!strcmp(lie, "sample.one_frame") && s->callchain_nr > 4) {
		s->callchain = copied(s->callchain, 8 * s->callchain_nr);
		copy.words[4]++;
	}
	if (!strcmp(lie, "sample.half_chain"))
		s->callchain_nr = (s->callchain_nr + 1) / 2;
	if (!strcmp(lie, "sample.phys_addr"))
		s->phys_addr += 4096;
	if (!strcmp(lie, "sample.data_page_size"))
		s->data_page_size *= 2;
	if (!strcmp(lie, "sample.code_page_size"))
		s->code_page_size *= 2;
	if (!strcmp(lie, "sample.data_page_of_code"))
		s->data_page_size = s->code_page_size;
	if (!strcmp(lie, "sample.registers") && s->regs_user_nr) {
		s->regs_user = copied(s->regs_user, 8 * s->regs_user_nr);
		copy.words[0] += 8;
	}
	if (!strcmp(lie, "sample.read_value"))
		s->read.member[0].value++;
	if (!strcmp(lie, "sample.read_times"))
		s->read.time_enabled /= 1000, s->read.time_running /= 1000;
	if (!strcmp(lie, "sample.sibling"))
		s->read.member[1].value++;
}

static void lie_in_record(const char *lie, struct pm_record *r)
{
	const bool mmap = r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2;

	if (!strcmp(lie, "mmap.data_mark") && mmap)
		r->misc &= ~PERF_RECORD_MISC_MMAP_DATA;
	if (!strcmp(lie, "mmap.all_data") && mmap)
		r->misc |= PERF_RECORD_MISC_MMAP_DATA;
	if (!strcmp(lie, "mmap.device") && mmap)
		r->mmap.min++;
	if (!strcmp(lie, "mmap.name") && mmap && r->mmap.filename[0])
		r->mmap.filename++;
	if (!strcmp(lie, "bpf.id") && r->type == PERF_RECORD_BPF_EVENT)
		r->bpf_event.id++;
	if (r->type == PERF_RECORD_KSYMBOL) {
		r->ksymbol.addr += !strcmp(lie, "ksymbol.addr");
		r->ksymbol.len += !strcmp(lie, "ksymbol.len");
		r->ksymbol.name += !strcmp(lie, "ksymbol.name");
	}
	if (!strcmp(lie, "namespaces.dev") && r->type == PERF_RECORD_NAMESPACES) {
		r->namespaces.entries = copied(r->namespaces.entries, 16 * r->namespaces.nr);
		copy.words[0]++;
	}
	if (!strcmp(lie, "switch.pid") && r->type == PERF_RECORD_SWITCH_CPU_WIDE)
		r->switch_cpu_wide.next_prev_pid++;
	if (!strcmp(lie, "switch.all_preempted") && r->type == PERF_RECORD_SWITCH)
		r->misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	if (!strcmp(lie, "switch.none_preempted") && r->type == PERF_RECORD_SWITCH)
		r->misc &= ~PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	if (!strcmp(lie, "read.value") && r->type == PERF_RECORD_READ)
		r->read.counts.member[0].value++;
	if (!strcmp(lie, "exit.ppid") && r->type == PERF_RECORD_EXIT)
		r->task.ppid++;
}

int __wrap_pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
			    struct pm_record *ret)
{
	const char *lie = getenv("PERFMODES_LIE");
	const int error = __real_pm_record_decode(record, format, ret);

	if (error || !lie)
		return error;
	if (ret->type == PERF_RECORD_SAMPLE)
		lie_in_sample(lie, &ret->sample);
	else
		lie_in_record(lie, ret);
	return 0;
}
