/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do all types of side-band records carry the sample_id_all trailer, with the right id? If one type
 * lacks it, the events of a shared ring cannot be told apart.
 * Observed: a child maps memory, takes a name, has a child of its own and ends.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("types of records with a sample_id_all trailer")
      SINCE("4.3")
      POINT(every_type,
	    "COMM, MMAP, FORK, EXIT and SWITCH carry a sample_id_all trailer with the right id")
      SINCE("4.3"))

static uint64_t own_id(const struct sampler *sampler)
{
	struct pm_counts counts;

	ASSERT_EQ(0, pm_read_counts(sampler->fd, PERF_FORMAT_ID, &counts));
	return counts.member[0].id;
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
	struct sampler sampler;
	uint32_t seen = 0;
	uint64_t id;
	int cpu = move_to_nth_cpu(0);

	attr.comm = attr.mmap = attr.mmap_data = attr.task = attr.sample_id_all = 1;
	attr.inherit = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
	attr.read_format = PERF_FORMAT_ID;
	without = attr;
	attr.context_switch = 1;
	sampler = ask_sampler(&attr, &without, 0, cpu, 16, "context_switch");
	id = own_id(&sampler);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, wait_child(start_child(name_and_end, NULL)));
	while (find_record(&sampler, 0, &record)) {
		if (record.sid.id != id || !record.sid.time)
			say_broken("type %u: id=%" PRIu64 " time=%" PRIu64 " want id=%" PRIu64,
				   record.type, record.sid.id, record.sid.time, id);
		seen |= 1u << record.type;
	}
	if ((seen & want) != want)
		say_broken("types seen=%#x want=%#x", seen, want);
}

PROBE_MAIN
