/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the kernel defer the user part of a call chain until it returns to user mode, and does a
 * cookie tie the two halves? Profilers can then unwind where page faults are allowed.
 * Observed: a page is touched under a recursion whose return addresses are known. The sample ends
 * in a cookie; the record that follows has the same cookie, and the frames.
 */
#include "probe.h"
#include "callchain.h"

PROBE(TITLE("user call chains deferred to the return to user mode")
      SINCE("6.19")
      POINT(cookie, "the sample's chain ends in USER_DEFERRED and a cookie")
      POINT(record, "CALLCHAIN_DEFERRED follows with the same cookie and the true user frames")
      POINT(other_event, "an event with defer_output alone gets the record of another event's "
			 "sample"))

static struct perf_event_attr attr_deferred(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
						  PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_TID);

	attr.exclude_callchain_kernel = 1;
	attr.sample_id_all = 1;
	return attr;
}

static struct recursion recursion;

static struct sampler ask_deferred(bool output)
{
	struct perf_event_attr attr = attr_deferred(), without = attr;
	struct sampler sampler;

	attr.defer_callchain = 1;
	attr.defer_output = output;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 4, "defer_callchain");
	recursion.page = fresh_page();
	recurse(&recursion, 5);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	return sampler;
}

/* The cookie at the end of a sample's chain, or 0. */
static uint64_t cookie_of(const struct pm_record *record)
{
	const uint64_t nr = record->sample.callchain_nr;

	if (nr < 2 || record->sample.callchain[nr - 2] != PERF_CONTEXT_USER_DEFERRED)
		return 0;
	return record->sample.callchain[nr - 1];
}

TEST(cookie)
{
	struct sampler sampler = ask_deferred(true);
	struct pm_record record;

	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	if (!cookie_of(&record))
		say_broken("a chain of %" PRIu64 " words without a cookie",
			   record.sample.callchain_nr);
}

/* The addresses of a record, with or without a mark before them: the fault's, and the calls'. */
static void expect_addresses(const uint64_t *words, uint64_t count, uint64_t ip)
{
	const bool marked = words[0] == PERF_CONTEXT_USER;
	unsigned int same;

	words += marked;
	count -= marked;
	if (!count || words[0] != ip)
		say_broken("addresses=%" PRIu64 " first=%#" PRIx64 " ip=%#" PRIx64, count,
			   count ? words[0] : 0, ip);
	same = count_returns(words + 1, count - 1, &recursion, 6);
	if (same < 6)
		say_broken("addresses=%" PRIu64 ", of 6 calls the first %u are right", count, same);
}

TEST(record)
{
	struct sampler sampler = ask_deferred(true);
	struct pm_record record;
	uint64_t cookie = 0, ip = 0;

	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record) &&
	       record.sample.addr != (uintptr_t)recursion.page)
		;
	if (record.type == PERF_RECORD_SAMPLE) {
		cookie = cookie_of(&record);
		ip = record.sample.ip;
	}
	if (!cookie)
		say_broken("no sample with a cookie");
	if (!find_record(&sampler, PERF_RECORD_CALLCHAIN_DEFERRED, &record))
		say_broken("no CALLCHAIN_DEFERRED after the sample");
	if (record.callchain_deferred.cookie != cookie || !record.callchain_deferred.nr)
		say_broken("cookie=%#" PRIx64 " want=%#" PRIx64 " addresses=%" PRIu64,
			   record.callchain_deferred.cookie, cookie, record.callchain_deferred.nr);
	expect_addresses(record.callchain_deferred.ips, record.callchain_deferred.nr, ip);
}

TEST(other_event)
{
	struct perf_event_attr attr = attr_sideband(), without = attr;
	struct pm_record record;
	struct sampler sampler;

	attr.defer_output = 1;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 4, "defer_output");
	ask_deferred(false);
	if (!find_record(&sampler, PERF_RECORD_CALLCHAIN_DEFERRED, &record))
		say_broken("no CALLCHAIN_DEFERRED in the ring of the other event");
}

PROBE_MAIN
