/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a ring be read while the kernel writes it from another CPU? The whole protocol rests on it:
 * what lies before data_head is complete, what lies behind data_tail is not touched. Torn records
 * show on CPUs with weak memory order first.
 * Observed by a thread that causes page faults while this one reads: each record must name that
 * thread and the page it touched, in order, and none may be missing.
 */
#include "probe.h"

PROBE(TITLE("reading a ring while it is written")
      SINCE("2.6.31")
      NEEDS("cpu2")
      POINT(no_record_is_torn, "each record read while another CPU writes is whole and in order")
      POINT(none_is_missing, "records read and records lost add up to the faults that were "
	    "counted"))

#define FAULTS 1500

struct writer {
	volatile bool *done;
	volatile char *area;
	size_t page;
	int fd;
};

static int touch_all(void *argument)
{
	struct writer *writer = argument;

	move_to_nth_cpu(1);
	writer->area[0] = 1;
	pm_ioctl(writer->fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned int i = 1; i <= FAULTS; i++)
		writer->area[i * writer->page] = 1;
	pm_ioctl(writer->fd, PERF_EVENT_IOC_DISABLE, 0);
	*writer->done = true;
	return 0;
}

FIXTURE(reader)
{
	struct worker worker;
	struct sampler sampler;
	uint64_t read, early, lost, counted, last;	/* early: while the writer wrote */
};

static void read_some(FIXTURE_DATA(reader) * self, const struct writer *writer)
{
	const uint64_t start = (uintptr_t)writer->area, end = start + (FAULTS + 1) * writer->page;
	struct pm_record record;

	while (find_record(&self->sampler, 0, &record)) {
		const uint64_t addr = record.sample.addr;

		if (record.type == PERF_RECORD_LOST) {
			self->lost += record.lost.lost;
			continue;
		}
		if (record.type != PERF_RECORD_SAMPLE ||
		    record.sample.sid.tid != (uint32_t)self->worker.tid)
			say_broken("record %" PRIu64 ": type=%u size=%u tid=%u want=%d", self->read,
				   record.type, record.size, record.sample.sid.tid,
				   self->worker.tid);
		self->read++;
		self->early += !*writer->done;
		if (addr < start || addr >= end)
			continue;		/* the writer's stack or code */
		if (addr <= self->last)
			say_broken("record %" PRIu64 ": address %#" PRIx64 " after %#" PRIx64,
				   self->read, addr, self->last);
		self->last = addr;
	}
}

static void *let_write(void *argument)
{
	void **both = argument;

	worker_do(both[0], touch_all, both[1]);
	return NULL;
}

FIXTURE_SETUP(reader)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_ADDR);
	static volatile bool done;
	static struct writer writer;
	void *both[] = { &self->worker, &writer };
	pthread_t helper;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	writer.page = probe_env()->page_size;
	writer.area = mmap(NULL, (FAULTS + 1) * writer.page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)writer.area);
	madvise((void *)writer.area, (FAULTS + 1) * writer.page, MADV_NOHUGEPAGE);
	must_start_worker(&self->worker, WORKER_THREAD);
	self->sampler = must_sampler(&attr, self->worker.tid, -1, 1);
	writer.fd = self->sampler.fd;
	writer.done = &done;
	self->last = (uintptr_t)writer.area;
	move_to_nth_cpu(0);
	ASSERT_EQ(0, pthread_create(&helper, NULL, let_write, both));
	while (!done)
		read_some(self, &writer);
	pthread_join(helper, NULL);
	read_some(self, &writer);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);	/* room, so LOST can be told */
	worker_faults(&self->worker, 1);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	read_some(self, &writer);
	self->counted = must_count(self->sampler.fd);
}

FIXTURE_TEARDOWN(reader)
{
	worker_dismiss(&self->worker);
}

TEST_F(reader, no_record_is_torn)
{
	if (self->read < 100)
		say_broken("records=%" PRIu64 " of %" PRIu64 " faults counted", self->read,
			   self->counted);
	if (self->early < 20)
		say_unknown("only %" PRIu64 " of %" PRIu64 " records were read while the other "
			    "thread wrote",
			    self->early, self->read);
}

TEST_F(reader, none_is_missing)
{
	if (self->counted < FAULTS || self->read + self->lost != self->counted)
		say_broken("read=%" PRIu64 " lost=%" PRIu64 " counted=%" PRIu64 " want>=%d",
			   self->read, self->lost, self->counted, FAULTS);
}

PROBE_MAIN
