/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a BPF program run at each overflow of a sampling event it is put on, and can it hold
 * samples back? Profilers that aggregate in the kernel need it. Observed: page faults, a sample
 * each, and a program that counts in a map.
 * Linux aa6a5f3cb2b2 ("perf, bpf: add perf events core support for BPF_PROG_TYPE_PERF_EVENT
 * programs") (v4.9)
 */
#include "probe.h"
#include "bpf.h"

PROBE(TITLE("a BPF program on a sampling event")
      SINCE("4.9")
      COMMIT("aa6a5f3cb2b2")
      NEEDS("bpf")
      POINT(runs, "a program runs once for each of 16 overflows")
      POINT(lets_pass, "a program that returns 1 lets 16 samples be written")
      POINT(holds_back, "a program that returns 0 holds samples back, and the event counts on")
      POINT(own_overflows, "a program does not run for another event's overflows")
      POINT(second_refused, "a second program on the same event is EEXIST")
      POINT(tracepoint_refused, "a program for tracepoints is EINVAL"))

#define FAULTS 16

/* An event that samples page faults with a counting program on it, not running. */
static struct sampler watch_with_program(int answer, int *map)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler sampler = must_sampler(&attr, 0, -1, 4);
	int program;

	*map = must_counter();
	program = load_counting(BPF_PROG_TYPE_PERF_EVENT, *map, 0, answer);
	if (program == -EINVAL && must_load_empty(BPF_PROG_TYPE_SOCKET_FILTER) >= 0)
		say_no("no BPF programs of type event: EINVAL, while socket filters load");
	bpf_needed(program, "BPF_PROG_LOAD");
	ask_ioctl(sampler.fd, PERF_EVENT_IOC_SET_BPF, program, "SET_BPF");
	return sampler;
}

TEST(runs)
{
	int map;
	struct sampler sampler = watch_with_program(1, &map);
	const uint64_t counted = cause_enabled_faults(sampler.fd, FAULTS);
	const uint64_t ran = counter_read(map);

	if (ran != FAULTS || counted != FAULTS)
		say_broken("ran=%" PRIu64 " counted=%" PRIu64 " want=%d", ran, counted, FAULTS);
}

TEST(lets_pass)
{
	int map;
	struct sampler sampler = watch_with_program(1, &map);

	expect_samples(sampler.fd, &sampler.ring, FAULTS, "with a program that answers 1");
	if (counter_read(map) != FAULTS)
		say_broken("the program did not run for each of them");
}

TEST(holds_back)
{
	int map;
	struct sampler sampler = watch_with_program(0, &map);
	const uint64_t counted = cause_enabled_faults(sampler.fd, FAULTS);
	const uint64_t ran = counter_read(map);
	const int samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);

	if (samples || ran != FAULTS || counted != FAULTS)
		say_broken("samples=%d want=0, ran=%" PRIu64 " counted=%" PRIu64 " want=%d",
			   samples, ran, counted, FAULTS);
}

TEST(own_overflows)
{
	int map;
	struct sampler sampler = watch_with_program(1, &map);
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler other = must_sampler(&attr, 0, -1, 4);

	must_samples(other.fd, &other.ring, FAULTS, "an event without a program");
	if (counter_read(map))
		say_broken("it ran while its own event was disabled");
	if (cause_enabled_faults(sampler.fd, FAULTS) != FAULTS || counter_read(map) != FAULTS)
		say_broken("it does not run for its own event");
}

TEST(second_refused)
{
	int map;
	struct sampler sampler = watch_with_program(1, &map);
	int program = load_counting(BPF_PROG_TYPE_PERF_EVENT, map, 0, 1);

	expect_answer(pm_ioctl(sampler.fd, PERF_EVENT_IOC_SET_BPF, program), EEXIST,
		      "second SET_BPF");
}

TEST(tracepoint_refused)
{
	int map;
	struct sampler sampler = watch_with_program(1, &map);
	const struct perf_event_attr attr = attr_faults(0);
	int fd = must_open(&attr, 0, -1, -1, 0);
	int program = must_load_empty(BPF_PROG_TYPE_TRACEPOINT);

	expect_answer(pm_ioctl(fd, PERF_EVENT_IOC_SET_BPF, program), EINVAL,
		      "SET_BPF of a program for tracepoints");
	expect_samples(sampler.fd, &sampler.ring, FAULTS, "beside it");
}

PROBE_MAIN
