/* SPDX-License-Identifier: MIT */
/*
 * A driver takes its PMU away while events of it are open, and brings it back: does what has them
 * open rest, keep what it had, and is the next one served?
 *
 *   pmu_gone [--describe]
 *
 * The PMU is the synthetic one (kernels/pmu), so this happens in guests alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../perfmodes_sampler.h"
#include "../../../pm_sys.h"
#include "../verdict.h"

#define SWITCH "/sys/module/perfmodes_pmu/parameters/unregister"
#define SAMPLED "instructions/period=1000000/"
#define COUNTED "instructions"
#define BURN_NS 100000000ull
#define LISTEN_NS 1000000000ull

static const char declaration[] =
	"id=library.pmu_gone\n"
	"title=a PMU that goes while its events are open, and comes back\n"
	"since=2.6.31\n"
	"point=session.rests polls of a session sleep when the PMU is gone, by each strategy\n"
	"point=session.values its values stay where they were\n"
	"point=session.refused a new session is refused, and told why\n"
	"point=session.returns a new session has samples when the PMU is back\n"
	"point=sampler.rests polls of a sampler sleep when the PMU is gone, by CPU and by thread\n"
	"point=sampler.returns a new sampler has samples when the PMU is back\n"
	"point=counters.values counters keep their values, and stopping them is ENODEV\n"
	"point=counters.returns new counters count when the PMU is back\n";

const char verdict_of[] = "pmu_gone";

static const char *const points[] = {
	"session.rests", "session.values", "session.refused", "session.returns",
	"sampler.rests", "sampler.returns", "counters.values", "counters.returns",
};

#define POINTS (sizeof(points) / sizeof(points[0]))

/* What is wrong with each point, the first of it; empty where nothing is. */
static char wrong[POINTS][200];
static uint64_t sampled;

enum point { RESTS, VALUES, REFUSED, RETURNS, SAMPLER_RESTS, SAMPLER_RETURNS, KEEP, COUNT_AGAIN };

static void __attribute__((format(printf, 3, 4)))
expect(bool right, enum point point, const char *format, ...)
{
	va_list list;

	if (right || wrong[point][0] != '\0')
		return;
	va_start(list, format);
	vsnprintf(wrong[point], sizeof(wrong[0]), format, list);
	va_end(list);
}

/* 1: the PMU goes. 0: it comes back. */
static int take_away(char gone)
{
	const int fd = open(SWITCH, O_WRONLY | O_CLOEXEC);
	int err = fd < 0 || write(fd, &gone, 1) != 1 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static uint64_t cpu_ns(void)
{
	uint64_t now = 0;

	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now;
}

static void burn(void)
{
	const uint64_t end = cpu_ns() + BURN_NS;

	while (cpu_ns() < end)
		;
}

static void *burn_in_thread(void *argument)
{
	burn();
	return argument;
}

static void on_observed(void *context, const struct pm_observed *sample)
{
	(void)context;
	(void)sample;
	sampled++;
}

static void on_sampled(void *context, const struct pm_sampled *sample)
{
	(void)context;
	(void)sample;
	sampled++;
}

static int open_session(unsigned int strategy, struct pm_diag *diag, struct pm_session **ret)
{
	const bool counts = strategy == PM_STRATEGY_COUNTERS ||
		strategy == PM_STRATEGY_COUNTERS_PER_CPU;
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_SIGNALS,
					      .forbid = ~(1u << strategy) };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_observed };

	return pm_session_open(counts ? COUNTED : SAMPLED, &opts, counts ? NULL : &listener, NULL,
			       diag, ret);
}

static bool works(struct pm_session *session, bool counts)
{
	struct pm_value value = { .size = sizeof(value) };
	const uint64_t before = sampled;

	burn();
	(void)pm_session_poll(session, 0);
	(void)pm_session_read(session, &value, 1);
	return counts ? value.value > 0 : sampled > before;
}

/* A second of polls. Returns the share of a CPU that they took, in %. */
static unsigned int listen(int (*poll)(void *object, int timeout_ms), void *object, int *failed)
{
	const uint64_t start = now_ns();
	const uint64_t cpu = cpu_ns();
	uint64_t now;

	do {
		const int err = poll(object, 200);

		if (err < 0 && *failed == 0)
			*failed = err;
		now = now_ns();
	} while (now - start < LISTEN_NS);
	return (unsigned int)((cpu_ns() - cpu) * 100 / (now - start));
}

static int poll_session(void *session, int timeout_ms)
{
	return pm_session_poll(session, timeout_ms);
}

static int poll_sampler(void *sampler, int timeout_ms)
{
	return pm_sampler_poll(sampler, timeout_ms);
}

static void leave_session(struct pm_session *session, const char *name)
{
	struct pm_value before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	pthread_t thread;
	int first, failed = 0;
	unsigned int share;

	(void)pm_session_poll(session, 0);
	first = pm_session_read(session, &before, 1);
	share = listen(poll_session, session, &failed);
	expect(failed == 0 && share < 50, RESTS, "%s: %d, %u %% of a CPU", name, failed, share);
	if (pthread_create(&thread, NULL, burn_in_thread, NULL) == 0)
		pthread_join(thread, NULL);
	failed = pm_session_poll(session, 0);
	expect(failed >= 0, RESTS, "%s: %d after a thread", name, failed);
	failed = pm_session_read(session, &after, 1);
	expect(failed == first && after.value == before.value && after.enabled == before.enabled,
	       VALUES, "%s: %d, then %d; %" PRIu64 ", then %" PRIu64, name, first, failed,
	       before.value, after.value);
}

static void try_session(unsigned int strategy, const char *name, bool counts)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	int err = open_session(strategy, &diag, &session);

	expect(err >= 0 && works(session, counts), RESTS, "%s at first: %s", name, diag.text);
	if (err < 0)
		return;
	err = take_away('1');
	expect(err == 0, RESTS, "%s: the PMU stays: %d", name, err);
	leave_session(session, name);
	pm_session_destroy(session);
	session = NULL;
	err = open_session(strategy, &diag, &session);
	expect(err < 0 && strstr(diag.text, "ENOENT") != NULL, REFUSED, "%s: %d, \"%s\"", name, err,
	       diag.text);
	pm_session_destroy(session);
	session = NULL;
	err = take_away('0');
	if (err == 0)
		err = open_session(strategy, &diag, &session);
	expect(err >= 0 && works(session, counts), RETURNS, "%s: %d %s", name, err, diag.text);
	pm_session_destroy(session);
}

static int open_sampler(unsigned int way, struct pm_diag *diag, struct pm_sampler **ret)
{
	const struct pm_sampler_listener listener = { .size = sizeof(listener),
						      .sample = on_sampled };
	struct pm_event_spec spec = { .size = sizeof(spec) };
	const struct pm_sampler_event event = { .size = sizeof(event), .spec = &spec };
	const struct pm_target target = { .size = sizeof(target), .by = PM_BY_PID,
					  .number = getpid() };
	const struct pm_sampler_opts opts = { .size = sizeof(opts),
					      .flags = PM_SAMPLER_SELF | way };
	int err = pm_event_parse(SAMPLED, diag, &spec);

	if (err == 0)
		err = pm_sampler_open(&event, 1, &target, 1, &opts, NULL, &listener, NULL, diag,
				      ret);
	return err < 0 ? err : pm_sampler_start(*ret, diag);
}

/* Whether samples come: those that may be preceded by an older one take a poll more. */
static bool delivers(struct pm_sampler *sampler)
{
	const uint64_t before = sampled, end = now_ns() + 10 * LISTEN_NS;

	while (sampled == before && now_ns() < end) {
		burn();
		(void)pm_sampler_poll(sampler, 20);
	}
	return sampled > before;
}

static void try_sampler(unsigned int way, const char *name)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;
	int failed = 0, err = open_sampler(way, &diag, &sampler);
	unsigned int share;

	expect(err >= 0 && delivers(sampler), SAMPLER_RESTS, "%s at first: %s", name, diag.text);
	err = take_away('1');
	share = sampler != NULL ? listen(poll_sampler, sampler, &failed) : 0;
	expect(err == 0 && failed == 0 && share < 50, SAMPLER_RESTS, "%s: %d, %d, %u %% of a CPU",
	       name, err, failed, share);
	pm_sampler_destroy(sampler);
	sampler = NULL;
	err = take_away('0');
	if (err == 0)
		err = open_sampler(way, &diag, &sampler);
	expect(err >= 0 && delivers(sampler), SAMPLER_RETURNS, "%s: %d %s", name, err, diag.text);
	pm_sampler_destroy(sampler);
}

static uint64_t count(struct pm_counters *counters)
{
	struct pm_value value = { .size = sizeof(value) };

	burn();
	return pm_counters_read(counters, &value, 1) == 1 ? value.value : 0;
}

static void try_counters(void)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_counters *counters = NULL;
	uint64_t first, second;
	int err = pm_event_parse(COUNTED, &diag, &spec);

	if (err == 0)
		err = pm_counters_open(&spec, 1, 0, NULL, &diag, &counters);
	if (err >= 0)
		err = pm_counters_start(counters);
	first = err >= 0 ? count(counters) : 0;
	expect(first > 0, KEEP, "at first: %d %s", err, diag.text);
	err = take_away('1');
	first = counters != NULL ? count(counters) : 0;
	second = counters != NULL ? count(counters) : 0;
	expect(err == 0 && first > 0 && first == second, KEEP, "%d; %" PRIu64 ", then %" PRIu64,
	       err, first, second);
	err = counters != NULL ? pm_counters_stop(counters) : 0;
	expect(err == -ENODEV, KEEP, "stop is %d", err);
	pm_counters_destroy(counters);
	counters = NULL;
	err = take_away('0');
	if (err == 0)
		err = pm_counters_open(&spec, 1, 0, NULL, &diag, &counters);
	if (err >= 0)
		err = pm_counters_start(counters);
	expect(err >= 0 && count(counters) > 0, COUNT_AGAIN, "%d %s", err, diag.text);
	pm_counters_destroy(counters);
}

static int say_all(enum kind kind, const char *text)
{
	for (size_t i = 0; i < POINTS; i++)
		verdict(points[i], kind, "%s", text);
	return 0;
}

int main(int argc, char **argv)
{
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	printf("TAP version 13\n1..%zu\n", POINTS);
	if (access(SWITCH, F_OK) != 0)
		return say_all(ABSENT, "no synthetic PMU here");
	if (geteuid() != 0 || access(SWITCH, W_OK) != 0)
		return say_all(BLOCKED, "only root takes the PMU away");
	err = take_away('1');
	if (err == -EOPNOTSUPP)
		return say_all(ABSENT, "PMUs stay while their events are open (before v6.15)");
	if (err == 0)
		err = take_away('0');
	if (err != 0)
		return say_all(BROKEN, pm_errno_name(err));
	try_session(PM_STRATEGY_PER_CPU, "per_cpu", false);
	try_session(PM_STRATEGY_OWN_RINGS, "own_rings", false);
	try_session(PM_STRATEGY_PER_THREAD, "per_thread", false);
	try_session(PM_STRATEGY_CPU_WIDE, "cpu_wide", false);
	try_session(PM_STRATEGY_SIGNALS, "signals", false);
	try_session(PM_STRATEGY_COUNTERS, "counters", true);
	try_session(PM_STRATEGY_COUNTERS_PER_CPU, "counters_per_cpu", true);
	try_sampler(PM_SAMPLER_ONLY_CPUS, "by CPU");
	try_sampler(PM_SAMPLER_ONLY_THREADS, "by thread");
	try_counters();
	for (size_t i = 0; i < POINTS; i++)
		verdict(points[i], wrong[i][0] == '\0' ? YES : BROKEN, "%s", wrong[i]);
	return verdicts_failed > 0;
}
