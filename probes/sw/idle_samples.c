/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the clock of a CPU sample while the CPU idles, and can that be left out? A system-wide
 * profile without a PMU is made of these samples: with them idle time is seen, without them a
 * machine that sleeps is not woken a thousand times a second.
 * Observed: this thread sleeps on its CPU. A sample of pid 0 is one of the idle task. What is to
 * leave it out is watched beside an event that does not.
 */
#include "probe.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

PROBE(TITLE("cpu-clock samples of an idle CPU")
      SINCE("2.6.31")
      ALONE("a CPU that others keep busy does not idle")
      POINT(idle_is_sampled, "the clock of an idle CPU takes samples with pid 0")
      POINT(exclude_idle, "with exclude_idle it takes none with pid 0"))

#define PERIOD_NS 500000
#define PATIENCE_NS 4000000000ull
#define NO_IDLING_NS 2000000000ull	/* a CPU that has not idled until then is somebody else's */
#define TO_COMPARE 20
#define TICKS_CERTAIN 10		/* of 10 ms: 200 periods */
#define INITIAL_PID_NAMESPACE 0xeffffffcu

/* Clock ticks that a CPU has idled, or 0 where nobody tells. */
static uint64_t idle_ticks(int cpu)
{
	uint64_t ticks[4] = { 0 };
	char line[512], name[16];
	FILE *file = fopen("/proc/stat", "re");
	const int length = snprintf(name, sizeof(name), "cpu%d ", cpu);

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) &&
		    sscanf(line + length, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &ticks[0],
			   &ticks[1], &ticks[2], &ticks[3]) != 4)
			ticks[3] = 0;
	if (file)
		fclose(file);
	return ticks[3];
}

static struct sampler must_watch(int cpu, bool exclude_idle)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);

	attr.exclude_kernel = 0;
	attr.exclude_idle = exclude_idle;
	attr.sample_period = PERIOD_NS;
	attr.sample_type = PERF_SAMPLE_TID;
	return must_run_sampler(&attr, -1, cpu, 32);
}

/* In a PID namespace the tasks outside have pid 0, too. */
static void must_know_idle(void)
{
	struct stat space;

	if (stat("/proc/self/ns/pid", &space) || space.st_ino != INITIAL_PID_NAMESPACE)
		say_unknown("no telling the idle task from tasks outside this PID namespace");
}

static int count_idle(struct sampler *sampler)
{
	struct pm_record record;
	int found = 0;

	while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
		found += record.sample.sid.pid == 0;
	return found;
}

/*
 * Sleep on a CPU until its idle task was sampled often enough, or cannot be: the CPU has idled for
 * long without a sample, or does not idle at all.
 */
static int sample_idle(struct sampler *sampler, int cpu, int enough)
{
	const uint64_t begin = now_ns(), before = idle_ticks(cpu);
	uint64_t idled = 0, passed = 0;
	int found = 0;

	while (found < enough && passed < PATIENCE_NS &&
	       (found || (idled < TICKS_CERTAIN && (idled || passed < NO_IDLING_NS)))) {
		poll_once(sampler->fd, POLLIN, 20);
		idled = before ? idle_ticks(cpu) - before : 0;
		found += count_idle(sampler);	/* after the ticks: it has all samples of theirs */
		passed = now_ns() - begin;
	}
	if (found)
		return found;
	if (idled < TICKS_CERTAIN)
		say_unknown("CPU %d idled for %" PRIu64 " clock ticks only", cpu, idled);
	say_broken("no sample with pid 0, while CPU %d idled for %" PRIu64 " clock ticks", cpu,
		   idled);
}

TEST(idle_is_sampled)
{
	const int cpu = move_to_nth_cpu(0);
	struct sampler sampler = must_watch(cpu, false);

	must_know_idle();
	sample_idle(&sampler, cpu, 1);
}

TEST(exclude_idle)
{
	const int cpu = move_to_nth_cpu(0);
	struct sampler all = must_watch(cpu, false), busy = must_watch(cpu, true);
	int found, wrong;

	must_know_idle();
	found = sample_idle(&all, cpu, TO_COMPARE);
	wrong = count_idle(&busy);
	if (wrong)
		say_broken("%d samples with pid 0, beside %d of an event without exclude_idle",
			   wrong, found);
}

PROBE_MAIN
