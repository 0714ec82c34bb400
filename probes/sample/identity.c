/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nine words say when and where a sample was taken: is each at its documented place, and true?
 * Observed: one page is touched at a known address by a known function on a known CPU. Each field
 * is asked for alone, where it is the first word, and together with the other eight.
 */
#include "probe.h"
#include "pages.h"

PROBE(TITLE("fields that say when and where a sample was taken")
      SINCE("2.6.31")
      POINT(identifier.alone, "IDENTIFIER alone is the id that read(2) gives")
      SINCE("3.12")
      POINT(identifier.among, "IDENTIFIER with eight other fields is true, and the first word")
      SINCE("3.12")
      POINT(ip.alone, "IP alone is an address inside the function that touched the page")
      POINT(ip.among, "IP with the other fields is true, and follows IDENTIFIER")
      POINT(tid.alone, "TID alone is pid and tid of this thread")
      POINT(tid.among, "TID with the other fields is true, and follows IP")
      POINT(time.alone, "TIME alone grows from sample to sample")
      POINT(time.among, "TIME with the other fields is true, and follows TID")
      POINT(addr.alone, "ADDR alone is exactly the address that was touched")
      POINT(addr.among, "ADDR with the other fields is true, and follows TIME")
      POINT(id.alone, "ID alone is the id that read(2) gives")
      POINT(id.among, "ID with the other fields is true, and follows ADDR")
      POINT(stream_id.alone, "STREAM_ID alone is the id of the event, where it is not inherited")
      POINT(stream_id.among, "STREAM_ID with the other fields is true, and follows ID")
      POINT(cpu.alone, "CPU alone is the CPU this thread is pinned to, and a zero")
      POINT(cpu.among, "CPU with the other fields is true, and follows STREAM_ID")
      POINT(period.alone, "PERIOD alone is the 1 that was asked for")
      POINT(period.among, "PERIOD with the other fields is true, and the last of them"))

static const uint64_t order[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	       PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR,      PERF_SAMPLE_ID,
	PERF_SAMPLE_CPU,	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_PERIOD,
};
/* STREAM_ID has a higher bit than CPU but comes before it in the record. */
static const unsigned int place[] = { 0, 1, 2, 3, 4, 5, 7, 6, 8 };
#define FIELDS (sizeof(order) / sizeof(*order))

#define ODD 43		/* a byte whose address is a multiple of nothing */

static __attribute__((noinline)) void touch(volatile char *page)
{
	page[ODD] = 1;
}

struct truth {
	uint64_t id, address;
	int cpu;
	uint64_t time_before;
};

static bool true_pair(uint64_t word, uint32_t first, uint32_t second)
{
	uint32_t pair[2];

	memcpy(pair, &word, sizeof(pair));
	return pair[0] == first && pair[1] == second;
}

static bool is_true(uint64_t field, uint64_t word, const struct truth *truth)
{
	switch (field) {
	case PERF_SAMPLE_IP:
		return word - ((uintptr_t)touch & ~(uintptr_t)1) < 512;
	case PERF_SAMPLE_TID:
		return true_pair(word, getpid(), pm_gettid());
	case PERF_SAMPLE_TIME:
		return word > truth->time_before;
	case PERF_SAMPLE_ADDR:
		return word == truth->address;
	case PERF_SAMPLE_CPU:
		return true_pair(word, truth->cpu, 0);
	case PERF_SAMPLE_PERIOD:
		return word == 1;
	default:
		return truth->id && word == truth->id;
	}
}

FIXTURE(field)
{
	struct truth truth;
	struct sampler sampler;
};

FIXTURE_VARIANT(field)
{
	unsigned int index;
};

FIXTURE_VARIANT_ADD(field, identifier) { .index = 0, };
FIXTURE_VARIANT_ADD(field, ip) { .index = 1, };
FIXTURE_VARIANT_ADD(field, tid) { .index = 2, };
FIXTURE_VARIANT_ADD(field, time) { .index = 3, };
FIXTURE_VARIANT_ADD(field, addr) { .index = 4, };
FIXTURE_VARIANT_ADD(field, id) { .index = 5, };
FIXTURE_VARIANT_ADD(field, cpu) { .index = 6, };
FIXTURE_VARIANT_ADD(field, stream_id) { .index = 7, };
FIXTURE_VARIANT_ADD(field, period) { .index = 8, };

FIXTURE_SETUP(field)
{
	self->truth.cpu = move_to_nth_cpu(count_cpus() - 1);
	ASSERT_LE(0, self->truth.cpu);
}

FIXTURE_TEARDOWN(field)
{
}

static void watch_faults(FIXTURE_DATA(field) * self, uint64_t base, uint64_t asked)
{
	struct perf_event_attr attr = attr_faults(base | asked), without = attr;
	struct pm_counts counts;

	attr.read_format = without.read_format = PERF_FORMAT_ID;
	without.sample_type = base & ~asked;
	self->sampler = ask_sampler(&attr, &without, 0, -1, 1, "the field");
	ASSERT_EQ(0, pm_read_counts(self->sampler.fd, PERF_FORMAT_ID, &counts));
	self->truth.id = counts.member[0].id;
}

/* Touch a fresh page; the words of the one sample it must give. */
static void sample_words(FIXTURE_DATA(field) * self, uint64_t *ret, unsigned int count)
{
	const size_t page = probe_env()->page_size;
	const struct perf_event_header *header;
	char *area = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)area);
	self->truth.address = (uintptr_t)area + ODD;
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(area);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (pm_ring_next(&self->sampler.ring, &header) != 1 || header->type != PERF_RECORD_SAMPLE)
		say_broken("no sample of one page fault");
	if (header->size != sizeof(*header) + 8 * count)
		say_broken("size=%u want=%zu", header->size, sizeof(*header) + 8 * count);
	memcpy(ret, header + 1, 8 * count);
}

/* What the record is decoded to, too: of an address every bit counts. */
static void expect_decoded_address(FIXTURE_DATA(field) * self)
{
	struct pm_record record;
	char *page = fresh_page();

	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(page);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(&self->sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of one page fault");
	if (record.sample.addr != (uintptr_t)page + ODD)
		say_broken("addr=%#" PRIx64 " want=%p", record.sample.addr, page + ODD);
}

/* Without an invariant TSC the clock of records is bound to the last tick and may stand still until
 * the next one: a sample at a later moment, where this one is as old as the one before. */
static uint64_t later_time(FIXTURE_DATA(field) * self, uint64_t word)
{
	const uint64_t end = now_ns() + 2000000000;

	while (word == self->truth.time_before && now_ns() < end) {
		spin_ns(100000);
		sample_words(self, &word, 1);
	}
	return word;
}

TEST_F(field, alone)
{
	uint64_t word;

	watch_faults(self, 0, order[variant->index]);
	for (int i = 0; i < 2; i++) {
		sample_words(self, &word, 1);
		if (order[variant->index] == PERF_SAMPLE_TIME)
			word = later_time(self, word);
		if (!is_true(order[variant->index], word, &self->truth))
			say_broken("word=%#" PRIx64 " address=%#" PRIx64 " id=%" PRIu64
				   " cpu=%d time before=%#" PRIx64, word, self->truth.address,
				   self->truth.id, self->truth.cpu, self->truth.time_before);
		self->truth.time_before = word;
	}
	if (order[variant->index] == PERF_SAMPLE_ADDR)
		expect_decoded_address(self);
}

TEST_F(field, among)
{
	uint64_t words[FIELDS], all = 0;
	unsigned int count = 0, at = 0;

	for (unsigned int i = 0; i < FIELDS; i++)
		if (i != 0 || variant->index == 0)	/* IDENTIFIER is younger than the rest */
			all |= order[i];
	for (unsigned int i = 0; i < FIELDS; i++) {
		const bool present = all & order[i];

		count += present;
		at += present && place[i] < place[variant->index];
	}
	watch_faults(self, all, order[variant->index]);
	sample_words(self, words, count);
	if (!is_true(order[variant->index], words[at], &self->truth))
		say_broken("word %u=%#" PRIx64 " address=%#" PRIx64 " id=%" PRIu64 " cpu=%d", at,
			   words[at], self->truth.address, self->truth.id, self->truth.cpu);
}

PROBE_MAIN
