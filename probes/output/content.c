/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can records of several events in one ring be told apart? The reader of a shared ring sees
 * nothing but bytes: it needs ids, at a known place if the events differ in their sample types.
 * Observed with two page-fault events of one task and their ids. They sample one after the other:
 * what becomes of two samples of one and the same fault is asked by sample.shared_hit.
 */
#include <sys/prctl.h>

#include "probe.h"
#include "redirection.h"

PROBE(TITLE("records of several events in one ring")
      SINCE("2.6.35")
      POINT(samples_carry_source_id, "each sample has the id of the event that took it")
      POINT(mixed_types_parse, "with IDENTIFIER, different sample types can be told apart")
      SINCE("3.12")
      POINT(sideband_of_source, "COMM records of the source land in the target, with its id"))

static uint64_t id_of(int fd)
{
	return must_counts(fd, PERF_FORMAT_ID).member[0].id;
}

static struct perf_event_attr with_ids(struct perf_event_attr attr, uint64_t sample_type)
{
	attr.sample_type = sample_type;
	attr.read_format = PERF_FORMAT_ID;
	attr.sample_id_all = 1;
	return attr;
}

TEST(samples_carry_source_id)
{
	struct perf_event_attr attr = with_ids(attr_faults(0), PERF_SAMPLE_TID | PERF_SAMPLE_ID);
	struct redirection pair = must_redirect(&attr);
	const uint64_t ids[] = { id_of(pair.target.fd), id_of(pair.source) };
	struct pm_record record;
	int found[2] = { 0 };

	cause_faults_on(pair.source, 7);
	cause_faults_on(pair.target.fd, 4);
	while (find_record(&pair.target, PERF_RECORD_SAMPLE, &record)) {
		found[0] += record.sample.sid.id == ids[0];
		found[1] += record.sample.sid.id == ids[1];
	}
	if (ids[0] == ids[1] || found[0] != 4 || found[1] != 7)
		say_broken("ids %" PRIu64 " and %" PRIu64 ": samples=%d,%d want=4,7", ids[0],
			   ids[1], found[0], found[1]);
}

/* A narrow and a wide event, told apart by the first word, decoded each by its own format. */
TEST(mixed_types_parse)
{
	const uint64_t small = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID;
	struct perf_event_attr without = with_ids(attr_faults(0), PERF_SAMPLE_TID), attrs[2];
	int fds[2], found[2] = { 0 };
	const struct perf_event_header *header;
	struct pm_format formats[2];
	struct pm_record record;
	struct sampler target;
	uint64_t ids[2], id;

	attrs[0] = with_ids(attr_faults(0), small);
	attrs[1] = with_ids(attr_faults(0), small | PERF_SAMPLE_ADDR | PERF_SAMPLE_TIME);
	target = ask_sampler(&attrs[0], &without, 0, -1, 1, "PERF_SAMPLE_IDENTIFIER");
	fds[0] = target.fd;
	fds[1] = must_open(&attrs[1], 0, -1, -1, 0);
	must_ioctl(fds[1], PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	for (int i = 0; i < 2; i++) {
		pm_format_of(&attrs[i], &formats[i]);
		ids[i] = id_of(fds[i]);
	}
	for (int i = 0; i < 3; i++)
		cause_faults_on(fds[!(i % 2)], 4);
	while (pm_ring_next(&target.ring, &header) == 1) {
		if (header->type != PERF_RECORD_SAMPLE || pm_record_identifier(header, &id) ||
		    (id != ids[0] && id != ids[1]))
			say_broken("type=%u size=%u cannot be told by its first word", header->type,
				   header->size);
		if (pm_record_decode(header, &formats[id == ids[1]], &record) || record.trailing ||
		    record.sample.sid.tid != (uint32_t)pm_gettid())
			say_broken("size=%u tid=%u does not fit the %s event", header->size,
				   record.sample.sid.tid, id == ids[1] ? "wide" : "narrow");
		found[id == ids[1]]++;
	}
	if (found[0] != 4 || found[1] != 8)
		say_broken("told apart: %d narrow, %d wide, want 4 and 8", found[0], found[1]);
}

TEST(sideband_of_source)
{
	const uint64_t sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ID;
	struct perf_event_attr plain = with_ids(attr_faults(0), sample_type), attr;
	struct sampler target = must_sampler(&plain, 0, -1, 1);
	struct pm_record record;
	uint64_t id;
	int source;

	attr = with_ids(attr_sideband(), sample_type);
	attr.comm = 1;
	source = must_open(&attr, 0, -1, -1, 0);
	id = id_of(source);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, prctl(PR_SET_NAME, "perfmodes", 0, 0, 0));
	if (!find_record(&target, PERF_RECORD_COMM, &record) ||
	    strcmp(record.comm.comm, "perfmodes") || record.sid.id != id)
		say_broken("COMM of the source: type=%u id=%" PRIu64 " want=3,%" PRIu64,
			   record.type, record.type ? record.sid.id : 0, id);
}

PROBE_MAIN
