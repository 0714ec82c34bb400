/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a trace be limited to a part of a program? Trace units with address filters trace only what
 * runs inside ranges of a file, which makes tracing cheap enough to leave it on.
 * Observed: how far the trace gets while this thread works, without a filter, with one over its
 * whole code, and with one over the program's ELF header, which nobody executes.
 * Linux 375637bc5249 ("perf/core: Introduce address range filtering") (v4.7)
 */
#include <stdio.h>

#include "probe.h"
#include "trace_unit.h"

PROBE(TITLE("address filters of a trace unit")
      SINCE("4.7")
      COMMIT("375637bc5249")
      NEEDS("aux")
      POINT(inside, "with a filter over the whole program its work is traced")
      POINT(outside, "with a filter over bytes that nobody executes next to nothing is traced")
      POINT(too_many, "one filter more than nr_addr_filters is refused")
      POINT(nonsense, "a text that is no filter is refused with EINVAL")
      FACT(filters, int, "filters", "nr_addr_filters of the trace unit")
      FACT(too_many_answer, string, "-", "what one filter too many answers"))

#define DATA_PAGES 8
#define AUX_PAGES 64
#define WORK_NS 3000000
#define HEADER "filter 0x0/0x10@/proc/self/exe"

/* The part of its file that this program's code is mapped from. */
static void filter_of_code(char *filter, size_t size)
{
	const uint64_t code = (uint64_t)(uintptr_t)filter_of_code;
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	char line[512];

	if (!maps)
		say_unknown("/proc/self/maps: %s", pm_errno_name(-errno));
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end,
			   &offset) != 3 || code < start || code >= end)
			continue;
		fclose(maps);
		snprintf(filter, size, "filter 0x%" PRIx64 "/0x%" PRIx64 "@/proc/self/exe", offset,
			 end - start);
		return;
	}
	say_unknown("/proc/self/maps tells of no mapping of this code");
}

FIXTURE(unit)
{
	struct sampler sampler;
	int64_t most;
	char whole[64];
};

FIXTURE_SETUP(unit)
{
	struct perf_event_attr attr;
	char name[64], path[160];
	int error;

	attr = must_trace(name);
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/nr_addr_filters", name);
	error = pm_read_number(path, &self->most);
	if (error == -ENOENT || (!error && self->most < 1))
		say_absent("%s has no address filters", name);
	if (error)
		say_unknown("%s: %s", path, pm_errno_name(error));
	self->sampler = must_sampler(&attr, 0, -1, DATA_PAGES);
	ask_aux(&self->sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	filter_of_code(self->whole, sizeof(self->whole));
}

FIXTURE_TEARDOWN(unit)
{
	close(self->sampler.fd);
}

static int filter(FIXTURE_DATA(unit) * self, const char *text)
{
	return pm_ioctl(self->sampler.fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)text);
}

/* Nearly all of it within this program: reading a clock runs code of the kernel's page. */
static void work(void)
{
	uint64_t begin = 0, now = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &begin);
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	} while (now - begin < WORK_NS);
}

/* How far the trace gets while this thread works. */
static uint64_t trace(FIXTURE_DATA(unit) * self)
{
	volatile struct perf_event_mmap_page *page = self->sampler.ring.base;
	const uint64_t before = page->aux_head;

	page->aux_tail = before;
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	work();
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	return page->aux_head - before;
}

TEST_F(unit, inside)
{
	uint64_t traced;

	if (!trace(self))
		say_unknown("aux_head did not move in 3 ms of work without a filter");
	expect_refused(filter(self, self->whole), 0, BROKEN, self->whole);
	traced = trace(self);
	if (!traced)
		say_broken("no trace with a filter over the whole program");
}

TEST_F(unit, outside)
{
	const uint64_t all = trace(self);
	uint64_t traced;

	if (!all)
		say_unknown("aux_head did not move in 3 ms of work without a filter");
	expect_refused(filter(self, HEADER), 0, BROKEN, HEADER);
	traced = trace(self);
	if (traced > all / 4)
		say_broken("%" PRIu64 " bytes of trace outside of the filter, %" PRIu64
			   " without a filter", traced, all);
}

TEST_F(unit, too_many)
{
	char text[2048];
	size_t used = 0;
	int answer;

	fact_int("filters", self->most);
	if (self->most > 32)
		say_unknown("%" PRId64 " filters are more than this test can ask for", self->most);
	expect_refused(filter(self, self->whole), 0, BROKEN, "one filter");
	for (int i = 0; i <= self->most; i++)
		used += snprintf(text + used, sizeof(text) - used,
				 "%sfilter 0x%x/0x10@/proc/self/exe", i ? "," : "",
				 0x1000 + 0x100 * i);
	answer = filter(self, text);
	fact_str("too_many_answer", "%s", answer ? pm_errno_name(answer) : "accepted");
	if (!answer)
		say_broken("%" PRId64 " filters accepted, nr_addr_filters=%" PRId64, self->most + 1,
			   self->most);
}

TEST_F(unit, nonsense)
{
	expect_refused(filter(self, self->whole), 0, BROKEN, "one filter");
	expect_refused(filter(self, "filtre 0x0/0x10"), EINVAL, BROKEN, "no filter at all");
}

PROBE_MAIN
