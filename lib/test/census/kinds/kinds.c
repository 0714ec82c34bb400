/* SPDX-License-Identifier: MIT */
/*
 * A machine with two kinds of cores: is "cycles" one event for each, and do they add up to what the
 * events of each kind count by themselves?
 *
 *   kinds [--describe]
 *
 * The main thread works on the first CPU of each kind in turn.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../perfmodes.h"
#include "../../../pm_sys.h"
#include "../verdict.h"

#define KINDS 2
#define BURN_NS 150000000u
#define PMU_DIR "/sys/bus/event_source/devices"

static const char declaration[] =
	"id=library.kinds\n"
	"title=a generic event on a machine whose cores differ\n"
	"since=2.6.31\n"
	"point=names.each the plan opens it once for each kind of cores and says which\n"
	"point=counts.each an event of one kind counts on its own cores alone\n"
	"point=counts.sum the event of all kinds counts what those of each kind count together\n"
	"point=samples.both samples come from cores of each kind, as of one event\n"
	"fact=sum int events what \"cycles\" counted on both kinds\n"
	"fact=parts int events what the events of each kind counted together\n";

const char verdict_of[] = "kinds";

static struct kind_of_core {
	char name[64];
	int cpu;		/* the first of its CPUs */
} kinds[KINDS];
static size_t kind_count;

static void take_first(unsigned int cpu, void *context)
{
	int *first = context;

	if (*first < 0)
		*first = (int)cpu;
}

static int add_kind(const char *name, void *context)
{
	char path[512], text[1024];
	int cpu = -1;

	(void)context;
	snprintf(path, sizeof(path), PMU_DIR "/%s/cpus", name);
	if (kind_count == KINDS || strlen(name) >= sizeof(kinds[0].name) ||
	    pm_read_text(path, text, sizeof(text)) <= 0 ||
	    pm_cpulist_each(text, take_first, &cpu) <= 0)
		return 0;
	strcpy(kinds[kind_count].name, name);
	kinds[kind_count++].cpu = cpu;
	return 0;
}

static void work_on(int cpu)
{
	cpu_set_t set;
	uint64_t now = 0, until;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	for (until = now + BURN_NS; now < until;) {
		for (volatile int i = 0; i < 1000; i++)
			;
		if (pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now) < 0)
			break;
	}
}

static int make(const struct pm_event_spec *specs, size_t count, struct pm_diag *diag,
		struct pm_plan **ret)
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
					      .allow = PM_ALLOW_USER_ONLY };

	return pm_plan_make(specs, count, &opts, NULL, diag, ret);
}

/* "cycles", then the same of each kind. */
static int parse_all(uint64_t period, struct pm_diag *diag, struct pm_event_spec *specs)
{
	char name[KINDS + 1][96] = { "cycles:u" };
	int err = 0;

	memset(specs, 0, (KINDS + 1) * sizeof(*specs));
	for (size_t i = 0; i < KINDS; i++)
		snprintf(name[i + 1], sizeof(name[0]), "%.60s/cycles/u", kinds[i].name);
	for (size_t i = 0; err == 0 && i <= KINDS; i++) {
		specs[i].size = sizeof(specs[i]);
		specs[i].period = period;
		err = pm_event_parse(name[i], diag, &specs[i]);
	}
	return err;
}

static void refused(const char *point, const struct pm_diag *diag)
{
	verdict(point, is_gate(diag->cause) ? BLOCKED : BROKEN, "%s", diag->text);
}

static void tell_names(const struct pm_plan *plan)
{
	char text[8192], wanted[240];
	size_t found = 0;

	(void)pm_plan_explain(plan, text, sizeof(text));
	for (size_t i = 0; i < KINDS; i++) {
		snprintf(wanted, sizeof(wanted), "event 0, %.60s/cycles/u: on the cores of %.60s; "
			 "what it counts on 2 kinds", kinds[i].name, kinds[i].name);
		found += strstr(text, wanted) != NULL;
	}
	verdict("names.each", found == KINDS ? YES : BROKEN, "%zu of %d kinds are told", found,
		KINDS);
}

/* values[moment][spec]: before, after work on the first kind, after work on the second. */
static void tell_counts(struct pm_value values[3][KINDS + 1])
{
	uint64_t grown[2][KINDS + 1], sum, parts;

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k <= KINDS; k++)
			grown[i][k] = values[i + 1][k].value - values[i][k].value;
	verdict("counts.each", grown[0][1] > 0 && grown[1][2] > 0 &&
		grown[0][1] > 20 * grown[0][2] && grown[1][2] > 20 * grown[1][1] ? YES : BROKEN,
		"on %s %" PRIu64 " and %" PRIu64 ", on %s %" PRIu64 " and %" PRIu64, kinds[0].name,
		grown[0][1], grown[0][2], kinds[1].name, grown[1][1], grown[1][2]);
	sum = grown[0][0] + grown[1][0];
	parts = grown[0][1] + grown[0][2] + grown[1][1] + grown[1][2];
	printf("#:perfmodes: sum=%" PRIu64 "\n#:perfmodes: parts=%" PRIu64 "\n", sum, parts);
	/* They are not read at one moment. */
	verdict("counts.sum", sum > 0 && (sum > parts ? sum - parts : parts - sum) < sum / 50 ?
		YES : BROKEN, "%" PRIu64 " and %" PRIu64, sum, parts);
}

static int count(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_value values[3][KINDS + 1];
	int err = pm_session_attach(session, diag);

	memset(values, 0, sizeof(values));
	for (size_t i = 0; err >= 0 && i < 3; i++) {
		if (i > 0)
			work_on(kinds[i - 1].cpu);
		values[i][0].size = sizeof(values[i][0]);
		err = pm_session_read(session, values[i], KINDS + 1);
	}
	if (err >= 0)
		tell_counts(values);
	return err;
}

static void counts(void)
{
	struct pm_event_spec specs[KINDS + 1];
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;

	if (parse_all(0, &diag, specs) < 0 || make(specs, KINDS + 1, &diag, &plan) < 0) {
		refused("names.each", &diag);
		refused("counts.each", &diag);
		refused("counts.sum", &diag);
		return;
	}
	tell_names(plan);
	session = pm_session_create(plan, NULL, NULL);
	if (count(session, &diag) < 0) {
		refused("counts.each", &diag);
		refused("counts.sum", &diag);
	}
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static struct {
	uint64_t on[KINDS], elsewhere;
} sampled;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	sampled.elsewhere += sample->event != 0;
	for (size_t i = 0; i < KINDS; i++)
		sampled.on[i] += (int)sample->cpu == kinds[i].cpu;
}

static void samples(void)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_event_spec specs[KINDS + 1];
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session = NULL;
	struct pm_plan *plan = NULL;
	int err = parse_all(1000000, &diag, specs);

	if (err == 0)
		err = make(specs, 1, &diag, &plan);
	if (err == 0) {
		session = pm_session_create(plan, &listener, NULL);
		err = pm_session_attach(session, &diag);
	}
	for (size_t i = 0; err >= 0 && i < KINDS; i++) {
		work_on(kinds[i].cpu);
		(void)pm_session_poll(session, 0);
	}
	if (err < 0)
		refused("samples.both", &diag);
	else
		verdict("samples.both", sampled.on[0] && sampled.on[1] && !sampled.elsewhere ?
			YES : BROKEN, "%" PRIu64 " on %s, %" PRIu64 " on %s", sampled.on[0],
			kinds[0].name, sampled.on[1], kinds[1].name);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

int main(int argc, char **argv)
{
	static const char *const points[] = {
		"names.each", "counts.each", "counts.sum", "samples.both",
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		return fputs(declaration, stdout) < 0;
	printf("TAP version 13\n1..4\n");
	if (pm_pmu_each(add_kind, NULL) < 0 || kind_count < KINDS) {
		for (size_t i = 0; i < 4; i++)
			verdict(points[i], ABSENT, "cores of one kind");
		return 0;
	}
	counts();
	samples();
	return verdicts_failed > 0;
}
