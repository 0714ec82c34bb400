/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_SAMPLE_READ put into each sample what read(2) would have said at that moment? With it
 * one event of a group samples and the others are counted along.
 * Observed: page faults one by one. The value grows by one a sample; times lie between two calls of
 * read(2); members are those that read(2) lists.
 */
#include "probe.h"
#include "timed.h"

PROBE(TITLE("counter values in samples")
      SINCE("2.6.31")
      POINT(value, "the n-th sample of a period-1 event carries the count n")
      POINT(id, "with PERF_FORMAT_ID the sample carries the id that read(2) gives")
      POINT(times, "with both times, enabled and running grow and lie between two calls of read(2)")
      POINT(group, "with PERF_FORMAT_GROUP the sample lists leader and sibling as read(2) does"))

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static struct sampler watch_reads(uint64_t read_format)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_READ);

	attr.read_format = read_format;
	return must_sampler(&attr, 0, -1, 4);
}

static void fault(int fd, unsigned int count)
{
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(count));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

TEST(value)
{
	struct sampler sampler = watch_reads(0);
	struct pm_record record;
	uint64_t want = 0;

	fault(sampler.fd, 10);
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		if (record.sample.read.member[0].value != ++want)
			say_broken("sample %" PRIu64 " carries %" PRIu64, want,
				   record.sample.read.member[0].value);
	if (want < 10 || want != must_count(sampler.fd))
		say_broken("samples=%" PRIu64 " read(2)=%" PRIu64 " want>=10", want,
			   must_count(sampler.fd));
}

TEST(id)
{
	struct sampler sampler = watch_reads(PERF_FORMAT_ID);
	struct pm_counts counts;
	struct pm_record record;

	fault(sampler.fd, 1);
	ASSERT_EQ(0, pm_read_counts(sampler.fd, PERF_FORMAT_ID, &counts));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample");
	if (!counts.member[0].id || record.sample.read.member[0].id != counts.member[0].id)
		say_broken("id=%" PRIu64 " read(2)=%" PRIu64, record.sample.read.member[0].id,
			   counts.member[0].id);
}

TEST(times)
{
	struct sampler sampler = watch_reads(TIMES);
	struct pm_record record;
	struct pm_counts before, after;
	uint64_t last = 0;
	int seen = 0;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_until_timed(sampler.fd, NULL);
	spin_ns(40000000);	/* a hundredth of it is more than lies between the two readings */
	before = must_counts(sampler.fd, TIMES);
	count_records(&sampler.ring, 0);
	fault(sampler.fd, 5);
	after = must_counts(sampler.fd, TIMES);
	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++) {
		const struct pm_counts *read = &record.sample.read;

		if (read->time_running < before.time_running ||
		    read->time_running > after.time_running ||
		    read->time_running > read->time_enabled ||
		    read->time_enabled < before.time_enabled ||
		    read->time_enabled > after.time_enabled || read->time_enabled < last)
			say_broken("enabled=%" PRIu64 " running=%" PRIu64
				   " by read(2) %" PRIu64 ",%" PRIu64 " to %" PRIu64 ",%" PRIu64,
				   read->time_enabled, read->time_running, before.time_enabled,
				   before.time_running, after.time_enabled, after.time_running);
		last = read->time_enabled;
	}
	if (seen < 5)
		say_broken("samples=%d want>=5", seen);
}

TEST(group)
{
	const uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	struct perf_event_attr sibling = attr_software(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	struct sampler sampler = watch_reads(format);
	struct pm_counts counts;
	struct pm_record record;
	uint64_t seen = 0, last = 0;

	sibling.disabled = 0;
	sibling.read_format = format;
	must_open(&sibling, 0, -1, sampler.fd, 0);
	fault(sampler.fd, 10);
	ASSERT_EQ(0, pm_read_counts(sampler.fd, format, &counts));
	if (counts.nr == 2 && counts.member[1].value < counts.member[0].value)
		say_unknown("some of the page faults were major");
	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++) {
		const struct pm_counts *read = &record.sample.read;

		if (read->nr != 2 || counts.nr != 2 || read->member[0].id != counts.member[0].id ||
		    read->member[1].id != counts.member[1].id)
			say_broken("nr=%" PRIu64 " ids=%" PRIu64 ",%" PRIu64 " read(2)=%" PRIu64
				   ",%" PRIu64, read->nr, read->member[0].id, read->member[1].id,
				   counts.member[0].id, counts.member[1].id);
		last = read->member[1].value;
		/* A fault is minor when it is over: the sibling has not counted this one. */
		if (read->member[0].value != seen + 1 || last != seen)
			say_broken("sample %" PRIu64 " carries %" PRIu64
				   ", of the sibling %" PRIu64,
				   seen + 1, read->member[0].value, last);
	}
	if (seen < 10)
		say_broken("samples=%" PRIu64 " want>=10", seen);
}

PROBE_MAIN
