/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What trails every record that is no sample when sample_id_all is set, field by field? Without it
 * side-band has no time, and rings shared by events cannot be told apart.
 * Observed: a COMM of known length is written with each field alone and with all of them; the
 * words behind the name are held against what the task knows of itself.
 * Linux c980d1091810 ("perf events: Make sample_type identity fields available in all
 * PERF_RECORD_ events") (v2.6.38)
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("the trailer of records that are no samples")
      SINCE("2.6.38")
      COMMIT("c980d1091810")
      POINT(tid.alone, "8 bytes: pid and tid")
      POINT(time.alone, "8 bytes: a time that grows from record to record")
      POINT(id.alone, "8 bytes: the id that read(2) gives")
      POINT(stream_id.alone, "8 bytes: the same id, for an event that was not inherited")
      POINT(cpu.alone, "8 bytes: the CPU this task is pinned to, and 0")
      POINT(identifier.alone, "8 bytes: the id")
      SINCE("3.12")
      POINT(order, "all at once: tid, time, id, stream id, cpu, identifier last")
      SINCE("3.12")
      POINT(absent_without_bit, "without sample_id_all nothing follows the name")
      POINT(every_type, "COMM, MMAP, FORK, EXIT and SWITCH all carry it, with the right id")
      SINCE("4.3"))

/* A COMM with a name of 7 letters: header, pid, tid, name. */
#define BARE_COMM (sizeof(struct perf_event_header) + 8 + 8)

static struct watch watch_names(struct __test_metadata *_metadata, uint64_t type, bool all)
{
	struct perf_event_attr attr = attr_sideband(), without;
	struct watch watch;

	attr.comm = 1;
	attr.sample_id_all = all;
	attr.read_format = PERF_FORMAT_ID;
	without = attr;
	attr.sample_type = type;
	watch = ask_watch(&attr, &without, 0, -1, 2, "the field");
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

/* Take a name; the words that follow it in its record, of which there must be `count`. */
static void name_trailer(struct __test_metadata *_metadata, struct watch *watch, uint64_t *ret,
			 unsigned int count)
{
	const struct perf_event_header *header;

	prctl(PR_SET_NAME, "seven77");
	if (pm_ring_next(&watch->ring, &header) != 1 || header->type != PERF_RECORD_COMM)
		broken("no COMM after PR_SET_NAME");
	if (header->size != BARE_COMM + 8 * count)
		broken("size=%u want=%zu", header->size, BARE_COMM + 8 * count);
	memcpy(ret, (const char *)header + BARE_COMM, 8 * count);
}

static uint64_t own_id(struct __test_metadata *_metadata, const struct watch *watch)
{
	struct pm_counts counts;

	ASSERT_EQ(0, pm_read_counts(watch->fd, PERF_FORMAT_ID, &counts));
	return counts.member[0].id;
}

static bool true_pair(uint64_t word, uint32_t first, uint32_t second)
{
	uint32_t pair[2];

	memcpy(pair, &word, sizeof(pair));
	return pair[0] == first && pair[1] == second;
}

/* Whether one word of a trailer says the truth. */
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
	struct watch watch = watch_names(_metadata, variant->type, true);
	uint64_t word, before = 0, id = own_id(_metadata, &watch);

	for (int i = 0; i < 2; i++) {
		name_trailer(_metadata, &watch, &word, 1);
		if (!is_true(variant->type, word, id, self->cpu, before))
			broken("word=%#" PRIx64 " id=%" PRIu64 " cpu=%d before=%" PRIu64, word, id,
			       self->cpu, before);
		before = word;
	}
}

TEST(order)
{
	static const uint64_t order[] = { PERF_SAMPLE_TID,	 PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
					  PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
					  PERF_SAMPLE_IDENTIFIER };
	struct watch watch = watch_names(_metadata, PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						   PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER, true);
	uint64_t words[6], id = own_id(_metadata, &watch);
	int cpu = move_to_nth_cpu(count_cpus() - 1);

	name_trailer(_metadata, &watch, words, 6);
	for (int i = 0; i < 6; i++)
		if (!is_true(order[i], words[i], id, cpu, 0))
			broken("word %d=%#" PRIx64 " id=%" PRIu64, i, words[i], id);
}

TEST(absent_without_bit)
{
	struct watch watch = watch_names(_metadata, PERF_SAMPLE_TID | PERF_SAMPLE_TIME, false);
	uint64_t none;

	name_trailer(_metadata, &watch, &none, 0);
}

static int end_at_once(void *unused)
{
	(void)unused;
	return 0;
}

static int name_and_end(void *unused)
{
	(void)unused;
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_NAME, "seven77");
	return wait_child(start_child(end_at_once, NULL)) < 0;
}

TEST(every_type)
{
	static const uint32_t want = 1 << PERF_RECORD_COMM | 1 << PERF_RECORD_MMAP |
				     1 << PERF_RECORD_FORK | 1 << PERF_RECORD_EXIT |
				     1 << PERF_RECORD_SWITCH;
	struct perf_event_attr attr = attr_sideband(), without;
	struct pm_record record;
	struct watch watch;
	uint32_t seen = 0;
	uint64_t id;
	int cpu = move_to_nth_cpu(0);

	attr.comm = attr.mmap = attr.mmap_data = attr.task = attr.sample_id_all = 1;
	attr.inherit = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
	attr.read_format = PERF_FORMAT_ID;
	without = attr;
	attr.context_switch = 1;
	watch = ask_watch(&attr, &without, 0, cpu, 16, "context_switch");
	id = own_id(_metadata, &watch);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, wait_child(start_child(name_and_end, NULL)));
	while (seek(&watch, 0, &record)) {
		if (record.sid.id != id || !record.sid.time)
			broken("type %u: id=%" PRIu64 " time=%" PRIu64 " want id=%" PRIu64,
			       record.type, record.sid.id, record.sid.time, id);
		seen |= 1u << record.type;
	}
	if ((seen & want) != want)
		broken("types seen=%#x want=%#x", seen, want);
}

PROBE_MAIN
