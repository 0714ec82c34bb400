/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What follows in every record that is no sample when sample_id_all is set? Without this trailer
 * side-band has no time, and the events of a shared ring cannot be told apart.
 * Observed: a COMM of known length is written with each field alone and with all of them; the words
 * behind the name are compared with what the task knows about itself.
 * Linux c980d1091810 ("perf events: Make sample_type identity fields available in all
 * PERF_RECORD_ events") (v2.6.38)
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("the trailer of records that are no samples")
      SINCE("2.6.38")
      COMMIT("c980d1091810")
      POINT(tid.alone, "TID adds 8 bytes to the trailer: pid and tid")
      POINT(time.alone, "TIME adds 8 bytes to the trailer: a time that grows from record to record")
      POINT(id.alone, "ID adds 8 bytes to the trailer: the id that read(2) gives")
      POINT(stream_id.alone,
	    "STREAM_ID adds 8 bytes to the trailer: the id of an event not inherited")
      POINT(cpu.alone, "CPU adds 8 bytes to the trailer: the CPU this task is pinned to, and 0")
      POINT(identifier.alone, "IDENTIFIER adds 8 bytes to the trailer: the id")
      SINCE("3.12")
      POINT(order, "the trailer has TID, TIME, ID, STREAM_ID, CPU and IDENTIFIER in this order")
      SINCE("3.12")
      POINT(absent_without_bit, "without sample_id_all nothing follows the name in COMM"))

/* A COMM with a name of 7 letters: header, pid, tid, name. */
#define BARE_COMM (sizeof(struct perf_event_header) + 8 + 8)

static struct sampler watch_names(uint64_t type, bool all)
{
	struct perf_event_attr attr = attr_sideband(), without;

	attr.comm = 1;
	attr.sample_id_all = all;
	attr.read_format = PERF_FORMAT_ID;
	without = attr;
	attr.sample_type = type;
	return ask_run_sampler(&attr, &without, 0, -1, 2, "the field");
}

/* Take a name; the words that follow it in its record, of which there must be `count`. */
static void name_trailer(struct sampler *sampler, uint64_t *ret, unsigned int count)
{
	const struct perf_event_header *header;

	prctl(PR_SET_NAME, "seven77");
	if (pm_ring_next(&sampler->ring, &header) != 1 || header->type != PERF_RECORD_COMM)
		say_broken("no COMM after PR_SET_NAME");
	if (header->size != BARE_COMM + 8 * count)
		say_broken("size=%u want=%zu", header->size, BARE_COMM + 8 * count);
	memcpy(ret, (const char *)header + BARE_COMM, 8 * count);
}

static uint64_t own_id(const struct sampler *sampler)
{
	struct pm_counts counts;

	ASSERT_EQ(0, pm_read_counts(sampler->fd, PERF_FORMAT_ID, &counts));
	return counts.member[0].id;
}

static bool true_pair(uint64_t word, uint32_t first, uint32_t second)
{
	uint32_t pair[2];

	memcpy(pair, &word, sizeof(pair));
	return pair[0] == first && pair[1] == second;
}

/* Whether one word of a trailer is true. */
static bool is_true(uint64_t type, uint64_t word, uint64_t id, int cpu, uint64_t before)
{
	switch (type) {
	case PERF_SAMPLE_TID:
		return true_pair(word, getpid(), pm_gettid());
	case PERF_SAMPLE_TIME:
		return word > before;
	case PERF_SAMPLE_CPU:
		return true_pair(word, cpu, 0);
	default:
		return id && word == id;
	}
}

FIXTURE(field)
{
	int cpu;
};

FIXTURE_VARIANT(field)
{
	uint64_t type;
};

FIXTURE_VARIANT_ADD(field, tid)
{
	.type = PERF_SAMPLE_TID,
};
FIXTURE_VARIANT_ADD(field, time)
{
	.type = PERF_SAMPLE_TIME,
};
FIXTURE_VARIANT_ADD(field, id)
{
	.type = PERF_SAMPLE_ID,
};
FIXTURE_VARIANT_ADD(field, stream_id)
{
	.type = PERF_SAMPLE_STREAM_ID,
};
FIXTURE_VARIANT_ADD(field, cpu)
{
	.type = PERF_SAMPLE_CPU,
};
FIXTURE_VARIANT_ADD(field, identifier)
{
	.type = PERF_SAMPLE_IDENTIFIER,
};

FIXTURE_SETUP(field)
{
	self->cpu = move_to_nth_cpu(count_cpus() - 1);
	ASSERT_LE(0, self->cpu);
}

FIXTURE_TEARDOWN(field)
{
}

TEST_F(field, alone)
{
	struct sampler sampler = watch_names(variant->type, true);
	uint64_t word, before = 0, id = own_id(&sampler);

	for (int i = 0; i < 2; i++) {
		name_trailer(&sampler, &word, 1);
		if (!is_true(variant->type, word, id, self->cpu, before))
			say_broken("word=%#" PRIx64 " id=%" PRIu64 " cpu=%d before=%" PRIu64, word,
				   id, self->cpu, before);
		before = word;
		wake_and_spin(NULL);	/* so that the next has a later time */
	}
}

TEST(order)
{
	static const uint64_t order[] = { PERF_SAMPLE_TID,	 PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
					  PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
					  PERF_SAMPLE_IDENTIFIER };
	struct sampler sampler = watch_names(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
						 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
						 PERF_SAMPLE_IDENTIFIER,
					     true);
	uint64_t words[6], id = own_id(&sampler);
	struct pm_record record;
	int cpu = move_to_nth_cpu(count_cpus() - 1);

	name_trailer(&sampler, words, 6);
	for (int i = 0; i < 6; i++)
		if (!is_true(order[i], words[i], id, cpu, 0))
			say_broken("word %d=%#" PRIx64 " id=%" PRIu64, i, words[i], id);
	/* The same through the reader that other probes use. */
	prctl(PR_SET_NAME, "eight88");
	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM after the second name");
	if (record.sid.id != id || record.sid.stream_id != id || record.sid.cpu_reserved ||
	    record.sid.cpu != (uint32_t)cpu)
		say_broken("id=%" PRIu64 " stream_id=%" PRIu64 " want=%" PRIu64 ", cpu=%u want=%d",
			   record.sid.id, record.sid.stream_id, id, record.sid.cpu, cpu);
}

TEST(absent_without_bit)
{
	struct sampler sampler = watch_names(PERF_SAMPLE_TID | PERF_SAMPLE_TIME, false);
	uint64_t none;

	name_trailer(&sampler, &none, 0);
}

PROBE_MAIN
