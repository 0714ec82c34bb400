/* SPDX-License-Identifier: MIT */
/*
 * Decoding of records.
 *
 * A record is a header, fixed fields, for some types a part of variable length, and, with
 * sample_id_all, a trailer. Fixed fields are tables; the order of a table is the order in the
 * record. PERF_RECORD_SAMPLE has no trailer and is taken apart in sample.c.
 */
#include "pm_sys.h"

#include <errno.h>
#include <string.h>

#include "reader.h"

/* ---------------------------------------------------------------------------------- the trailer */

/* Fields of sample_id in trailer order; each takes 8 bytes. */
static const uint64_t trailer_bits[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
};

static size_t trailer_size(const struct pm_format *format)
{
	size_t size = 0;

	for (size_t i = 0; i < sizeof(trailer_bits) / sizeof(trailer_bits[0]); i++)
		if (format->sample_id_all && (format->sample_type & trailer_bits[i]))
			size += 8;
	return size;
}

/* Splits the trailer off the end of `r` and decodes it. */
static void take_trailer(struct reader *r, struct pm_sample_id *sid)
{
	const uint64_t type = r->format->sample_type;
	size_t size = trailer_size(r->format);
	struct reader end = *r;

	if (size > r->left) {
		r->bad = true;
		return;
	}
	r->left -= size;
	end.at += r->left;
	end.left = size;
	if (size == 0)
		return;
	if (type & PERF_SAMPLE_TID)
		take_tid(&end, sid);
	if (type & PERF_SAMPLE_TIME)
		sid->time = take_u64(&end);
	if (type & PERF_SAMPLE_ID)
		sid->id = take_u64(&end);
	if (type & PERF_SAMPLE_STREAM_ID)
		sid->stream_id = take_u64(&end);
	if (type & PERF_SAMPLE_CPU)
		take_cpu(&end, sid);
	if (type & PERF_SAMPLE_IDENTIFIER)
		sid->id = take_u64(&end);
}

/* ------------------------------------------------------------------------------- other records */

struct field {
	size_t offset, size;	/* in struct pm_record; size 0 ends the table */
};

#define FIELD(member) \
	{ offsetof(struct pm_record, member), sizeof(((struct pm_record *)NULL)->member) }
#define END { 0, 0 }

/*
 * A mapping was made, executable unless misc says MMAP_DATA. A file name follows; MMAP2 has
 * the inode, protection and flags in front of it.
 */
static const struct field mmap_fields[] = {
	FIELD(mmap.pid), FIELD(mmap.tid), FIELD(mmap.addr), FIELD(mmap.len), FIELD(mmap.pgoff), END,
};
/* The ring was full: so many records of that event did not get in before this one. */
static const struct field lost_fields[] = { FIELD(lost.id), FIELD(lost.lost), END };
/* A thread has a new name, by exec when misc says COMM_EXEC. The name follows. */
static const struct field comm_fields[] = { FIELD(comm.pid), FIELD(comm.tid), END };
/* FORK and EXIT. A new thread is a FORK whose pid is its ppid. */
static const struct field task_fields[] = {
	FIELD(task.pid), FIELD(task.ppid), FIELD(task.tid), FIELD(task.ptid), FIELD(task.time), END,
};
/* The event came too often and was held up until the next tick, or goes on again. */
static const struct field throttle_fields[] = {
	FIELD(throttle.time), FIELD(throttle.id), FIELD(throttle.stream_id), END,
};
/* The counters of a task that ends (attr.inherit_stat), in read_format, follow. */
static const struct field read_fields[] = { FIELD(read.pid), FIELD(read.tid), END };
/* New data of so many bytes lies at this offset of the AUX area. */
static const struct field aux_fields[] = {
	FIELD(aux.offset), FIELD(aux.size), FIELD(aux.flags), END,
};
static const struct field itrace_start_fields[] = {
	FIELD(itrace_start.pid), FIELD(itrace_start.tid), END,
};
/* Samples that the hardware dropped, or a BPF program, before they reached the ring. */
static const struct field lost_samples_fields[] = { FIELD(lost_samples.lost), END };
/* This thread went off the CPU when misc says SWITCH_OUT, came onto it otherwise. */
static const struct field switch_fields[] = { END };
/* The same seen from the CPU, with the thread at the other end of the switch. */
static const struct field switch_cpu_wide_fields[] = {
	FIELD(switch_cpu_wide.next_prev_pid), FIELD(switch_cpu_wide.next_prev_tid), END,
};
/* A task has entered namespaces: device and inode of each follow, in the order of *_NS_INDEX. */
static const struct field namespaces_fields[] = {
	FIELD(namespaces.pid), FIELD(namespaces.tid), FIELD(namespaces.nr), END,
};
/*
 * Kernel code came, or went when flags say UNREGISTER: a BPF program, a trampoline. Its name
 * follows.
 */
static const struct field ksymbol_fields[] = {
	FIELD(ksymbol.addr), FIELD(ksymbol.len), FIELD(ksymbol.ksym_type), FIELD(ksymbol.flags),
	END,
};
/* A BPF program was loaded or unloaded. Its tag of 8 bytes follows. */
static const struct field bpf_event_fields[] = {
	FIELD(bpf_event.bpf_type), FIELD(bpf_event.flags), FIELD(bpf_event.id), END,
};
/* A cgroup was made; id is what PERF_SAMPLE_CGROUP gives. Its path follows. */
static const struct field cgroup_fields[] = { FIELD(cgroup.id), END };
/* Kernel code was changed: the old bytes and the new bytes follow, padded to 8. */
static const struct field text_poke_fields[] = {
	FIELD(text_poke.addr), FIELD(text_poke.old_len), FIELD(text_poke.new_len), END,
};
/* Which hardware counter writes for this event into the AUX area. */
static const struct field hw_id_fields[] = { FIELD(aux_output_hw_id.hw_id), END };
/*
 * User call chain taken on the way out of the kernel; a sample with the same cookie behind its
 * PERF_CONTEXT_USER_DEFERRED waits for it.
 */
static const struct field deferred_fields[] = {
	FIELD(callchain_deferred.cookie), FIELD(callchain_deferred.nr), END,
};

/* The parts of variable length. */

static void rest_mmap(struct reader *r, struct pm_record *rec)
{
	rec->mmap.filename = take_string(r);
}

/* The 24 bytes of the inode hold size, 3 bytes of nothing and build id when misc says so. */
static void rest_mmap2(struct reader *r, struct pm_record *rec)
{
	if (rec->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		const uint8_t *id = take(r, 24);

		if (id != NULL && id[0] <= 20) {
			rec->mmap.build_id_size = id[0];
			rec->mmap.build_id = id + 4;
		} else {
			r->bad = true;
		}
	} else {
		take_into(r, &rec->mmap.maj, sizeof(rec->mmap.maj));
		take_into(r, &rec->mmap.min, sizeof(rec->mmap.min));
		rec->mmap.ino = take_u64(r);
		rec->mmap.ino_generation = take_u64(r);
	}
	take_into(r, &rec->mmap.prot, sizeof(rec->mmap.prot));
	take_into(r, &rec->mmap.flags, sizeof(rec->mmap.flags));
	rec->mmap.filename = take_string(r);
}

static void rest_comm(struct reader *r, struct pm_record *rec)
{
	rec->comm.comm = take_string(r);
}

static void rest_read(struct reader *r, struct pm_record *rec)
{
	take_counts(r, &rec->read.counts);
}

static void rest_namespaces(struct reader *r, struct pm_record *rec)
{
	rec->namespaces.entries =
		take_array(r, rec->namespaces.nr, sizeof(struct perf_ns_link_info));
}

static void rest_ksymbol(struct reader *r, struct pm_record *rec)
{
	rec->ksymbol.name = take_string(r);
}

static void rest_bpf_event(struct reader *r, struct pm_record *rec)
{
	rec->bpf_event.tag = take(r, 8);
}

static void rest_cgroup(struct reader *r, struct pm_record *rec)
{
	rec->cgroup.path = take_string(r);
}

static void rest_text_poke(struct reader *r, struct pm_record *rec)
{
	rec->text_poke.bytes = take(r, (uint64_t)rec->text_poke.old_len + rec->text_poke.new_len);
	if (!r->bad && r->left < 8)	/* padding of the record, not news */
		(void)take(r, r->left);
}

static void rest_deferred(struct reader *r, struct pm_record *rec)
{
	rec->callchain_deferred.ips =
		take_array(r, rec->callchain_deferred.nr, sizeof(uint64_t));
}

static const struct layout {
	const struct field *fields;
	void (*rest)(struct reader *r, struct pm_record *rec);
} layouts[PERF_RECORD_MAX] = {
	[PERF_RECORD_MMAP]		= { mmap_fields, rest_mmap },
	[PERF_RECORD_LOST]		= { lost_fields, NULL },
	[PERF_RECORD_COMM]		= { comm_fields, rest_comm },
	[PERF_RECORD_EXIT]		= { task_fields, NULL },
	[PERF_RECORD_THROTTLE]		= { throttle_fields, NULL },
	[PERF_RECORD_UNTHROTTLE]	= { throttle_fields, NULL },
	[PERF_RECORD_FORK]		= { task_fields, NULL },
	[PERF_RECORD_READ]		= { read_fields, rest_read },
	[PERF_RECORD_MMAP2]		= { mmap_fields, rest_mmap2 },
	[PERF_RECORD_AUX]		= { aux_fields, NULL },
	[PERF_RECORD_ITRACE_START]	= { itrace_start_fields, NULL },
	[PERF_RECORD_LOST_SAMPLES]	= { lost_samples_fields, NULL },
	[PERF_RECORD_SWITCH]		= { switch_fields, NULL },
	[PERF_RECORD_SWITCH_CPU_WIDE]	= { switch_cpu_wide_fields, NULL },
	[PERF_RECORD_NAMESPACES]	= { namespaces_fields, rest_namespaces },
	[PERF_RECORD_KSYMBOL]		= { ksymbol_fields, rest_ksymbol },
	[PERF_RECORD_BPF_EVENT]		= { bpf_event_fields, rest_bpf_event },
	[PERF_RECORD_CGROUP]		= { cgroup_fields, rest_cgroup },
	[PERF_RECORD_TEXT_POKE]		= { text_poke_fields, rest_text_poke },
	[PERF_RECORD_AUX_OUTPUT_HW_ID]	= { hw_id_fields, NULL },
	[PERF_RECORD_CALLCHAIN_DEFERRED] = { deferred_fields, rest_deferred },
};

static int decode_other(struct reader *r, struct pm_record *rec)
{
	const struct layout *layout = NULL;

	take_trailer(r, &rec->sid);
	if (rec->type < PERF_RECORD_MAX)
		layout = &layouts[rec->type];
	if (layout == NULL || layout->fields == NULL)
		return -ENOTSUP;
	for (const struct field *field = layout->fields; field->size != 0; field++)
		take_into(r, (unsigned char *)rec + field->offset, field->size);
	if (layout->rest != NULL)
		layout->rest(r, rec);
	return r->bad ? -EBADMSG : 0;
}

/* ----------------------------------------------------------------------------- the public face */

void pm_format_of(const struct perf_event_attr *attr, struct pm_format *ret)
{
	ret->sample_type = attr->sample_type;
	ret->read_format = attr->read_format;
	ret->branch_sample_type = attr->branch_sample_type;
	ret->sample_regs_user = attr->sample_regs_user;
	ret->sample_regs_intr = attr->sample_regs_intr;
	ret->sample_id_all = attr->sample_id_all;
}

int pm_record_decode(const struct perf_event_header *record, const struct pm_format *format,
		     struct pm_record *ret)
{
	struct reader r = { .at = (const unsigned char *)(record + 1), .format = format };
	int err;

	if (record->size < sizeof(*record))
		return -EBADMSG;
	r.left = record->size - sizeof(*record);
	/* All but the array of counters, which pm_counts_decode fills as far as it is used. */
	memset(ret, 0, offsetof(struct pm_record, sample.read.member));
	ret->type = record->type;
	ret->misc = record->misc;
	ret->size = record->size;
	if (record->type == PERF_RECORD_SAMPLE) {
		err = pm_sample_decode(&r, &ret->sample);
		ret->sid = ret->sample.sid;
	} else {
		err = decode_other(&r, ret);
	}
	ret->trailing = (uint16_t)r.left;
	return err;
}

int pm_record_identifier(const struct perf_event_header *record, uint64_t *ret)
{
	const unsigned char *at = (const unsigned char *)record;

	if (record->size < sizeof(*record) + sizeof(*ret))
		return -EBADMSG;
	if (record->type == PERF_RECORD_SAMPLE)
		at += sizeof(*record);
	else
		at += record->size - sizeof(*ret);
	memcpy(ret, at, sizeof(*ret));
	return 0;
}
