/* SPDX-License-Identifier: MIT */
/* The strategy ebb of a session: how many samples a known loop gives, and what comes after it. */
#define _GNU_SOURCE
#include "points.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../census/verdict.h"
#include "../../pm_sys.h"

#define PERIOD 100003
#define ROUNDS 30000000ul		/* of the loop, two instructions each */
#define THREADS 2
#define CPUS_MAX 64

struct tally {
	uint64_t samples, events, strange;
	uint64_t last;			/* ns */
};

static void on_sample(void *context, const struct pm_observed *sample)
{
	struct tally *tally = context;

	tally->samples++;
	tally->events += sample->period;
	tally->strange += sample->ip == 0 || sample->tid == 0 || sample->time == 0;
}

static void known_loop(void)
{
	unsigned long left = ROUNDS;

	__asm__ volatile("1: addic. %0, %0, -1\n	bne 1b" : "+r"(left) : : "cr0", "xer");
}

static void *known_thread(void *context)
{
	pthread_barrier_t *barrier = context;

	(void)pthread_barrier_wait(barrier);
	known_loop();
	return NULL;
}

static const struct pm_event_spec cycles = {
	.size = sizeof(cycles), .type = PM_TYPE_HARDWARE, .config = PM_HW_CYCLES, .period = PERIOD,
	.tid = PM_ALL_THREADS, .flags = PM_SPEC_USER_ONLY,
};

/*
 * What the loop costs, by an ordinary counter: the least of three, as an emulator lets cycles pass
 * while it waits for a CPU of its own. 0: there is none.
 */
static uint64_t cycles_of_loop(void)
{
	struct perf_event_attr attr;
	uint64_t value = 0, least = 0;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.exclude_kernel = 1;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return 0;
	for (int i = 0; i < 3; i++) {
		(void)pm_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		known_loop();
		if (pm_read_count(fd, &value) == 0 && (least == 0 || value < least))
			least = value;
	}
	close(fd);
	return least;
}

static struct pm_session *attach(unsigned int forbid, struct pm_plan **plan, struct tally *tally,
				 struct pm_diag *diag)
{
	const struct pm_session_opts opts = {
		.size = sizeof(opts), .allow = PM_ALLOW_ALL | PM_ALLOW_EBB, .forbid = forbid,
	};
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_session *session;

	if (pm_plan_make(&cycles, 1, &opts, NULL, diag, plan) < 0)
		return NULL;
	session = pm_session_create(*plan, &listener, tally);
	if (session != NULL && pm_session_attach(session, diag) >= 0)
		return session;
	pm_session_destroy(session);
	pm_plan_destroy(*plan);
	return NULL;
}

static void poll_for(struct pm_session *session, uint64_t ns)
{
	const uint64_t end = now_ns() + ns;

	do
		(void)pm_session_poll(session, 10);
	while (now_ns() < end);
}

/* The line of explain that tells of ebb. */
static void said_of_ebb(const struct pm_plan *plan, char *ret, size_t size)
{
	char text[8192], *line;

	(void)pm_plan_explain(plan, text, sizeof(text));
	line = strstr(text, "ebb");
	snprintf(ret, size, "%.*s", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
}

/*
 * A thread sleeps in a barrier while the session attaches: it arms itself there. An emulator that
 * forgets branches (QEMU 7.2 with two CPUs: a quarter of them) gives fewer samples; a thread whose
 * branch was forgotten while nobody polls takes no more.
 */
static void ask_complete(uint64_t forgotten)
{
	const uint64_t loop = cycles_of_loop();
	struct tally tally = { .samples = 0 };
	struct pm_diag diag = { .size = sizeof(diag) };
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	struct pm_session *session;
	struct pm_plan *plan;
	struct pm_stats stats = { .size = sizeof(stats) };
	enum pm_strategy strategy;
	uint64_t wanted, percent;
	enum kind kind;

	(void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_create(&threads[i], NULL, known_thread, &barrier);
	session = attach(0, &plan, &tally, &diag);
	(void)pthread_barrier_wait(&barrier);
	known_loop();
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	if (session == NULL || loop == 0) {
		verdict("session.complete", BROKEN, "%s", diag.text);
		return;
	}
	poll_for(session, 1);
	strategy = pm_plan_strategy(plan);
	(void)pm_session_detach(session);
	(void)pm_session_stats(session, &stats);
	wanted = (THREADS + 1) * loop / PERIOD;
	percent = tally.events / PERIOD * 100 / wanted;
	kind = strategy == PM_STRATEGY_EBB && tally.strange == 0 && percent <= 110 ? YES : BROKEN;
	if (kind == YES && percent < 99)
		kind = forgotten > 0 ? ABSENT : BROKEN;
	verdict("session.complete", kind,
		"%s: %llu samples for %llu periods in %d threads, %llu expected, %llu dropped, "
		"%llu strange; branches that an emulator forgot before: %llu",
		pm_strategy_name(strategy), (unsigned long long)tally.samples,
		(unsigned long long)(tally.events / PERIOD), THREADS + 1,
		(unsigned long long)wanted, (unsigned long long)stats.dropped,
		(unsigned long long)tally.strange, (unsigned long long)forgotten);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static int open_rival(int pid, int cpu)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_RAW;
	attr.config = 0x2001e;
	attr.pinned = attr.exclude_kernel = 1;
	return pm_open(&attr, pid, cpu, -1, 0);
}

static void ask_refused(void)
{
	const int rival = open_rival(0, -1);
	struct tally tally = { .samples = 0 };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	struct pm_session *session = attach(0, &plan, &tally, &diag);
	char said[300] = "";

	if (session == NULL) {
		verdict("session.refused", BROKEN, "%s", diag.text);
		return;
	}
	known_loop();
	poll_for(session, 1);
	said_of_ebb(plan, said, sizeof(said));
	verdict("session.refused", pm_plan_strategy(plan) != PM_STRATEGY_EBB &&
		strstr(said, "pinned") != NULL ? YES : BROKEN, "by %s, %llu samples: %s",
		pm_strategy_name(pm_plan_strategy(plan)), (unsigned long long)tally.samples, said);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	close(rival);
}

/* The next strategy is one that delivers wherever this is run: emulators raise no PMU interrupt. */
#define WITH_TIMERS (1u << PM_STRATEGY_EBB | 1u << PM_STRATEGY_TIMERS)

static void ask_evicted(void)
{
	struct tally tally = { .samples = 0 };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	struct pm_session *session = attach(~WITH_TIMERS, &plan, &tally, &diag);
	enum pm_strategy before, after;
	int rivals[CPUS_MAX], count = 0, descriptor;
	uint64_t first, meanwhile;
	char said[300] = "";

	if (session == NULL) {
		verdict("session.goes_on", BROKEN, "%s", diag.text);
		return;
	}
	before = pm_plan_strategy(plan);
	descriptor = pm_session_fd(session);
	known_loop();
	poll_for(session, 1);
	first = tally.samples;
	for (; count < CPUS_MAX; count++) {
		rivals[count] = open_rival(-1, count);
		if (rivals[count] < 0)
			break;
	}
	known_loop();
	poll_for(session, 200000000);
	meanwhile = tally.samples;
	known_loop();
	poll_for(session, 200000000);
	after = pm_plan_strategy(plan);
	said_of_ebb(plan, said, sizeof(said));
	if (count == 0)
		verdict("session.goes_on", BLOCKED, "no CPU-wide event: %s",
			pm_errno_name(-rivals[0]));
	else
		verdict("session.goes_on", before == PM_STRATEGY_EBB && after != PM_STRATEGY_EBB &&
			first > 0 && tally.samples > meanwhile && descriptor > 0 &&
			pm_session_fd(session) == descriptor && fcntl(descriptor, F_GETFD) >= 0 &&
			strstr(said, "evicted") != NULL ? YES : BROKEN,
			"%s with %llu samples, then %s with %llu: %s", pm_strategy_name(before),
			(unsigned long long)first, pm_strategy_name(after),
			(unsigned long long)(tally.samples - first), said);
	while (count > 0)
		close(rivals[--count]);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

void ask_session(uint64_t forgotten)
{
	ask_complete(forgotten);
	ask_refused();
	ask_evicted();
}
