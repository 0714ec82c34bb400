/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a record of any format. Everything that the decoder hands out is read to its
 * stated end, so that the sanitizer sees what lies outside the record.
 *
 * Input: how the event was opened (struct opened), then the record.
 */
#include "../pm_sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct opened {
	uint32_t sample_type, branch_sample_type;
	uint64_t sample_regs_user, sample_regs_intr;
	uint8_t read_format, sample_id_all, unused[6];
};

static volatile unsigned char sink;

static void read_all(const void *from, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		sink ^= ((const unsigned char *)from)[i];
}

static void read_counts(const struct pm_counts *counts)
{
	if (counts->nr > PM_COUNTS_MAX)
		abort();
	read_all(counts->member, counts->nr * sizeof(counts->member[0]));
}

static void read_sample(const struct pm_sample *s)
{
	read_counts(&s->read);
	read_all(s->callchain, s->callchain_nr * 8);
	read_all(s->raw, s->raw_size);
	read_all(s->branches, s->branch_nr * sizeof(struct perf_branch_entry));
	if (s->branch_counters != NULL)
		read_all(s->branch_counters, s->branch_nr * 8);
	read_all(s->regs_user, s->regs_user_nr * 8ull);
	read_all(s->regs_intr, s->regs_intr_nr * 8ull);
	read_all(s->stack_user, s->stack_user_size);
	if (s->stack_user_dyn_size > s->stack_user_size)
		abort();
	read_all(s->aux, s->aux_size);
}

static void read_text(const char *text)
{
	read_all(text, strlen(text) + 1);
}

static void read_other(const struct pm_record *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP2:
		read_all(rec->mmap.build_id, rec->mmap.build_id_size);
		/* fall through */
	case PERF_RECORD_MMAP:
		read_text(rec->mmap.filename);
		break;
	case PERF_RECORD_COMM:
		read_text(rec->comm.comm);
		break;
	case PERF_RECORD_READ:
		read_counts(&rec->read.counts);
		break;
	case PERF_RECORD_NAMESPACES:
		read_all(rec->namespaces.entries, rec->namespaces.nr * 16);
		break;
	case PERF_RECORD_KSYMBOL:
		read_text(rec->ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		read_all(rec->bpf_event.tag, 8);
		break;
	case PERF_RECORD_CGROUP:
		read_text(rec->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		read_all(rec->text_poke.bytes,
			 (uint64_t)rec->text_poke.old_len + rec->text_poke.new_len);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		read_all(rec->callchain_deferred.ips, rec->callchain_deferred.nr * 8);
		break;
	}
}

static void decode(const struct perf_event_header *record, const struct opened *opened)
{
	const struct pm_format format = {
		.sample_type = opened->sample_type,
		.read_format = opened->read_format,
		.branch_sample_type = opened->branch_sample_type,
		.sample_regs_user = opened->sample_regs_user,
		.sample_regs_intr = opened->sample_regs_intr,
		.sample_id_all = opened->sample_id_all & 1,
	};
	struct pm_record rec;
	uint64_t id;
	int err = pm_record_decode(record, &format, &rec);

	(void)pm_record_identifier(record, &id);
	if (err != 0 && err != -EBADMSG && err != -ENOTSUP)
		abort();
	if (err == 0 && rec.type == PERF_RECORD_SAMPLE)
		read_sample(&rec.sample);
	else if (err == 0)
		read_other(&rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_header *record;
	struct opened opened;

	if (size < sizeof(opened) + sizeof(*record) || size - sizeof(opened) > UINT16_MAX)
		return 0;
	memcpy(&opened, data, sizeof(opened));
	size -= sizeof(opened);
	/* a heap block of the record's very size: one byte more is an error */
	record = malloc(size);
	memcpy(record, data + sizeof(opened), size);
	if (record->size > size)
		record->size = (uint16_t)size;
	decode(record, &opened);
	free(record);
	return 0;
}
