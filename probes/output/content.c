/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can records of several events in one ring be told apart, and losses be blamed on the right one?
 * The reader of a shared ring sees nothing but bytes: it needs ids, at a known place if the events
 * differ in their sample types.
 * Observed with two page-fault events of one task and their ids.
 */
#include <sys/prctl.h>

#include "probe.h"

PROBE(TITLE("records of several events in one ring")
      SINCE("2.6.35")
      POINT(samples_carry_source_id, "each sample has the id of the event that took it")
      POINT(mixed_types_parse, "with IDENTIFIER, different sample types can be told apart")
      SINCE("3.12")
      POINT(sideband_of_source, "COMM records of the source land in the target, with its id")
      POINT(loss_is_per_event, "PERF_FORMAT_LOST counts on the event that lost, not the target")
      SINCE("6.0")
      FACT(lost_record_blames, enum, "-", "who the LOST record names when the source lost: "
	   "source, target (the next that wrote), or other"))

static uint64_t id_of(struct __test_metadata *_metadata, int fd, uint64_t read_format)
{
	struct pm_counts counts;
	int error = pm_read_counts(fd, read_format, &counts);

	if (error)
		cannot_tell("an event's id cannot be read: %s", errno_name(error));
	return counts.member[0].id;
}

/* Page faults through an event whose read_format pm_read_count() does not understand. */
static void run(struct __test_metadata *_metadata, int fd, unsigned int faults)
{
	int error = cause_faults(1);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	error = error ?: cause_faults(faults);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (error)
		cannot_tell("page faults could not be caused: %s", errno_name(error));
}

static struct perf_event_attr with_ids(uint64_t sample_type)
{
	struct perf_event_attr attr = attr_faults(sample_type);

	attr.read_format = PERF_FORMAT_ID;
	attr.sample_id_all = 1;
	return attr;
}

TEST(samples_carry_source_id)
{
	struct perf_event_attr attr = with_ids(PERF_SAMPLE_TID | PERF_SAMPLE_ID);
	struct watch target = must_watch(&attr, 0, -1, 1);
	int source = must_open(&attr, 0, -1, -1, 0), found[2] = { 0 };
	const uint64_t ids[] = { id_of(_metadata, target.fd, PERF_FORMAT_ID),
				 id_of(_metadata, source, PERF_FORMAT_ID) };
	struct pm_record record;

	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	run(_metadata, source, 7);
	run(_metadata, target.fd, 4);
	while (seek(&target, PERF_RECORD_SAMPLE, &record)) {
		found[0] += record.sample.sid.id == ids[0];
		found[1] += record.sample.sid.id == ids[1];
	}
	if (ids[0] == ids[1] || found[0] != 4 || found[1] != 7)
		broken("ids %" PRIu64 " and %" PRIu64 ": samples=%d,%d want=4,7", ids[0], ids[1],
		       found[0], found[1]);
}

TEST(mixed_types_parse)
{
	struct perf_event_attr narrow = with_ids(PERF_SAMPLE_TID), wide;
	const struct perf_event_header *header;
	struct pm_record record;
	struct pm_format format;
	struct watch target;
	int source, right[2] = { 0 };
	uint64_t ids[2], id;

	wide = narrow;
	narrow.sample_type |= PERF_SAMPLE_IDENTIFIER;
	target = ask_watch(&narrow, &wide, 0, -1, 1, "PERF_SAMPLE_IDENTIFIER");
	wide = with_ids(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
			PERF_SAMPLE_TIME);
	pm_format_of(&wide, &format);
	source = must_open(&wide, 0, -1, -1, 0);
	ids[0] = id_of(_metadata, target.fd, PERF_FORMAT_ID);
	ids[1] = id_of(_metadata, source, PERF_FORMAT_ID);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	run(_metadata, source, 7);
	run(_metadata, target.fd, 4);
	run(_metadata, source, 2);
	while (pm_ring_next(&target.ring, &header) == 1) {
		if (header->type != PERF_RECORD_SAMPLE || pm_record_identifier(header, &id) ||
		    (id != ids[0] && id != ids[1]))
			broken("type=%u size=%u cannot be told by its first word", header->type,
			       header->size);
		if (pm_record_decode(header, id == ids[1] ? &format : &target.format, &record) ||
		    record.sample.sid.tid != (uint32_t)pm_gettid())
			broken("size=%u does not fit the %s event, tid=%u want=%d", header->size,
			       id == ids[1] ? "wide" : "narrow", record.sample.sid.tid,
			       pm_gettid());
		right[id == ids[1]]++;
	}
	if (right[0] != 4 || right[1] != 9)
		broken("told apart: %d narrow, %d wide, want 4 and 9", right[0], right[1]);
}

TEST(sideband_of_source)
{
	struct perf_event_attr plain = with_ids(PERF_SAMPLE_TID | PERF_SAMPLE_ID), attr;
	struct watch target = must_watch(&plain, 0, -1, 1);
	struct pm_record record;
	uint64_t id;
	int source;

	attr = attr_sideband();
	attr.comm = 1;
	attr.sample_id_all = 1;
	attr.sample_type = plain.sample_type;
	attr.read_format = PERF_FORMAT_ID;
	source = must_open(&attr, 0, -1, -1, 0);
	id = id_of(_metadata, source, PERF_FORMAT_ID);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, prctl(PR_SET_NAME, "perfmodes", 0, 0, 0));
	if (!seek(&target, PERF_RECORD_COMM, &record) || strcmp(record.comm.comm, "perfmodes") ||
	    record.sid.id != id)
		broken("COMM of the source: type=%u id=%" PRIu64 " want=3,%" PRIu64, record.type,
		       record.type ? record.sid.id : 0, id);
}

TEST(loss_is_per_event)
{
	const uint64_t read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	struct perf_event_attr without = with_ids(PERF_SAMPLE_TID | PERF_SAMPLE_ID), with = without;
	struct pm_counts counts[2];
	struct pm_record record;
	struct watch target;
	int source;

	with.read_format = read_format;
	target = ask_watch(&with, &without, 0, -1, 1, "PERF_FORMAT_LOST");
	source = must_open(&with, 0, -1, -1, 0);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	run(_metadata, source, target.ring.data_size / 24 + 10);
	while (seek(&target, 0, &record))
		;
	run(_metadata, target.fd, 1);
	if (pm_read_counts(target.fd, read_format, &counts[0]) ||
	    pm_read_counts(source, read_format, &counts[1]))
		cannot_tell("the counters cannot be read");
	if (seek(&target, PERF_RECORD_LOST, &record))
		fact_str("lost_record_blames", "%s",
			 record.lost.id == counts[1].member[0].id ? "source" :
			 record.lost.id == counts[0].member[0].id ? "target" : "other");
	if (counts[0].member[0].lost || counts[1].member[0].lost < 10)
		broken("lost=%" PRIu64 " on the target, %" PRIu64 " on the source that lost >= 10",
		       counts[0].member[0].lost, counts[1].member[0].lost);
}

PROBE_MAIN
