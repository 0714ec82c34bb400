/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events that are expected to count nothing: dummy, which only carries records; bpf-output,
 * which BPF programs fill; alignment and emulation faults, which most machines never have.
 * Observed: they open and read 0 after work.
 */
#include "probe.h"

PROBE(TITLE("events that count nothing")
      SINCE("2.6.33")
      POINT(dummy_zero, "dummy opens and reads 0 after page faults and sleeps")
      SINCE("3.12")
      POINT(bpf_output_zero, "bpf-output opens and reads 0 while no program writes to it")
      SINCE("4.4")
      POINT(alignment_zero, "alignment-faults reads 0 after aligned work")
      POINT(emulation_zero, "emulation-faults reads 0 after plain work")
      FACT(unaligned, string, "counts", "alignment faults of 100 unaligned reads, or their signal"))

static int open_silent(uint64_t config, const char *what)
{
	struct perf_event_attr attr = attr_software(config);
	struct perf_event_attr control = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return ask_open(&attr, &control, 0, -1, what);
}

static void stays_zero(uint64_t config, const char *what)
{
	struct perf_event_attr control = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = open_silent(config, what), faults;
	uint64_t count;

	control.disabled = 0;
	faults = must_open(&control, 0, -1, -1, 0);
	if (gain_of_faults(faults, NULL, 16) != 16)
		say_unknown("the work was not done");
	cause_switches(1);
	count = must_count(fd);
	if (count)
		say_broken("counted=%" PRIu64 " want=0", count);
}

TEST(dummy_zero)
{
	stays_zero(PERF_COUNT_SW_DUMMY, "dummy event");
}

TEST(bpf_output_zero)
{
	stays_zero(PERF_COUNT_SW_BPF_OUTPUT, "bpf-output event");
}

/* A child, because some machines kill for it. Its status is the count. */
static int read_unaligned(void *unused)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_ALIGNMENT_FAULTS);
	static uint64_t words[2];
	uintptr_t odd = (uintptr_t)words + 1;
	uint64_t count = 0;
	int fd;

	(void)unused;
	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	__asm__ volatile("" : "+r"(odd));
	for (int i = 0; i < 100; i++)
		(void)*(volatile uint32_t *)odd;
	return fd < 0 || pm_read_count(fd, &count) < 0 ? 120 : (int)(count < 119 ? count : 119);
}

TEST(alignment_zero)
{
	int status;

	stays_zero(PERF_COUNT_SW_ALIGNMENT_FAULTS, "alignment-faults event");
	status = wait_child(start_child(read_unaligned, NULL));
	if (status > 128)
		fact_str("unaligned", "signal %d", status - 128);
	else if (status < 120)
		fact_str("unaligned", "%d", status);
}

TEST(emulation_zero)
{
	stays_zero(PERF_COUNT_SW_EMULATION_FAULTS, "emulation-faults event");
}

PROBE_MAIN
