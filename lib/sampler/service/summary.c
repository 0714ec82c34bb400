/* SPDX-License-Identifier: MIT */
/* What became of everything: for a person on stderr, for a program in the report. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"

#define LOST_PART 20		/* one of so many records lost is too much */

static void count_states(const struct source *source, uint64_t *states)
{
	memcpy(states, source->procs.former, sizeof(source->procs.former));
	for (size_t i = 0; i < source->procs.room; i++) {
		const struct proc *proc = &source->procs.places[i];

		if (proc->serial != 0)
			states[proc->state]++;
	}
}

/* Of those that nobody watched only who is there at the end: all that ever were are too many. */
void proc_report(const struct source *source, const struct proc *proc)
{
	if (proc->samples == 0 && (proc->state != PROC_REJECTED || proc->ended))
		return;
	report_event(&source->service->report, "summary of a process", "source",
		     source->config->name, "#pid", (int64_t)proc->pid, "comm", proc->comm,
		     "state", proc_state_names[proc->state], "#samples", (int64_t)proc->samples,
		     "#skipped", (int64_t)proc->skipped, "#execs", (int64_t)proc->execs,
		     "#ended", (int64_t)proc->ended, NULL);
}

static void report_states(const struct source *source)
{
	for (size_t i = 0; i < source->procs.room; i++)
		if (source->procs.places[i].serial != 0)
			proc_report(source, &source->procs.places[i]);
}

/* What is not 0. */
static void tell_briefly(const struct service *service, const struct source *source)
{
	const struct source_counts *counts = &source->counts;
	const struct { const char *what; uint64_t count; } parts[] = {
		{ "records lost by the kernel", counts->lost },
		{ "without a stack, as the guardrail asks", counts->shed },
		{ "without a stack, as there were too many at once", counts->dropped },
		{ "without a stack, as the process had ended or its memory was refused",
		  counts->unresolved },
	};

	if (source->state == SOURCE_FAILED || service->launch.refused)
		return;		/* the reason has been told */
	fprintf(stderr, "perfmodes-sampler: %" PRIu64 " samples of %s in %.1f s", counts->samples,
		source->config->label, (double)(pm_now() - service->begin) / 1e9);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].count > 0)
			fprintf(stderr, "; %" PRIu64 " %s", parts[i].count, parts[i].what);
	}
	fputc('\n', stderr);
}

static void tell_source(struct service *service, struct source *source)
{
	const struct source_counts *counts = &source->counts;
	uint64_t states[PROC_STATES];

	count_states(source, states);
	report_states(source);
	report_event(&service->report, "summary of a source", "source", source->config->name,
		     "#samples", (int64_t)counts->samples, "#lost", (int64_t)counts->lost,
		     "#shed", (int64_t)counts->shed, "#unresolved", (int64_t)counts->unresolved,
		     "#unscoped", (int64_t)counts->unscoped,
		     "#dropped", (int64_t)counts->dropped, "#untold", (int64_t)counts->untold,
		     "#purged", (int64_t)(counts->purged + atomic_load(&source->discarded)),
		     "#turns", (int64_t)counts->turns, "#capped", (int64_t)counts->capped,
		     "#poll_errors", (int64_t)counts->poll_errors, "#skipped",
		     (int64_t)source->stats.skipped, "#records", (int64_t)source->stats.records,
		     "#unwatched", (int64_t)source->stats.unwatched, "#brokered",
		     (int64_t)source->stats.brokered, "#broker_refused",
		     (int64_t)source->stats.broker_refused, "#late_cpus",
		     (int64_t)source->stats.late_cpus, NULL);
	if (service->brief) {
		tell_briefly(service, source);
		return;
	}
	fprintf(stderr, "%s: %" PRIu64 " samples; lost by the kernel %" PRIu64 "; without a stack: "
		"shed %" PRIu64 ", queue full %" PRIu64 ", no memory of the process %" PRIu64
		"; not written %" PRIu64 "\n", source->config->name, counts->samples, counts->lost,
		counts->shed, counts->dropped, counts->unresolved,
		counts->untold + counts->purged + atomic_load(&source->discarded));
	for (int i = 0; i < PROC_STATES; i++) {
		if (states[i] > 0)
			fprintf(stderr, "%s: %" PRIu64 " processes %s\n", source->config->name,
				states[i], proc_state_names[i]);
	}
}

static void tell_output(struct service *service, const struct output *output)
{
	const char *why = output->error ? strerror(-output->error) : "";

	report_event(&service->report, "summary of an output", "path", output->config->path,
		     "#written", (int64_t)output->written, "#unwritten",
		     (int64_t)output->unwritten, "error", why, NULL);
	if (output->error)
		fprintf(stderr, "perfmodes-sampler: %s: %s; of %" PRIu64 " samples up to %" PRIu64
			" are missing at its end\n", output->config->path, why,
			output->written + output->unwritten,
			output->written + output->unwritten - output->whole);
}

void service_progress(const struct service *service, bool last)
{
	static uint64_t next;
	uint64_t now = pm_now(), samples = 0, lost = 0;

	if (!service->progress || (now < next && !last))
		return;
	next = now + 1000000000;
	for (size_t i = 0; i < service->config.source_count; i++) {
		samples += service->sources[i].counts.samples;
		lost += service->sources[i].counts.lost;
	}
	if (last)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r%.0f s, %" PRIu64 " samples, %" PRIu64 " lost; Ctrl-C ends it"
			"\033[K", (double)(now - service->begin) / 1e9, samples, lost);
}

int service_shortfall(const struct service *service)
{
	int status = 0;

	for (size_t i = 0; i < service->config.source_count; i++) {
		const struct source *source = &service->sources[i];
		const uint64_t samples = source->counts.samples, lost = source->counts.lost;

		if (source->config->poll_ms != 0)
			continue;
		if (samples == 0 && lost == 0 && !service->brief)
			continue;	/* whom a service waits for may not be there yet */
		if (samples == 0 && lost == 0 && !source->anybody)
			fprintf(stderr, "perfmodes-sampler: no sample: there was no process of "
				"that name, user or cgroup\n");
		else if (samples == 0 && lost == 0)
			fprintf(stderr, "perfmodes-sampler: no sample: no process that was "
				"watched caused enough of %s; did they work?\n",
				source->config->label);
		else if (lost * LOST_PART > samples + lost)
			fprintf(stderr, "perfmodes-sampler: %.0f %% of the records were lost: "
				"fewer samples (-F, \"frequency\") or no copies of stacks (-g fp, "
				"\"stacks\") would be kept\n",
				100.0 * (double)lost / (double)(samples + lost));
		else
			continue;
		status = 4;
	}
	return status;
}

void service_summary(struct service *service)
{
	int err;

	for (size_t i = 0; i < service->config.source_count; i++)
		tell_source(service, &service->sources[i]);
	for (size_t i = 0; i < service->outputs.count; i++)
		tell_output(service, &service->outputs.list[i]);
	if (service->purged > 0)
		fprintf(stderr, "perfmodes-sampler: %" PRIu64 " samples were thrown away by the "
			"abrupt end\n", service->purged);
	if (service->processes_unknown > 0)
		fprintf(stderr, "perfmodes-sampler: beyond the limit of processes: %" PRIu64
			" times\n", service->processes_unknown);
	report_event(&service->report, "end", "#purged", (int64_t)service->purged,
		     "#processes_unknown", (int64_t)service->processes_unknown, NULL);
	err = report_close(&service->report);
	if (err < 0) {
		fprintf(stderr, "perfmodes-sampler: %s: %s\n", service->config.report,
			strerror(-err));
		service->failed = true;
	}
}

void service_free(struct service *service)
{
	if (service->worker)
		pm_stack_worker_stop(service->worker, true, NULL);
	(void)report_close(&service->report);
	outputs_free(&service->outputs);
	pm_descriptors_destroy(service->descriptors);
	broker_close(service);
	for (size_t i = 0; i < SOURCES; i++) {
		free(service->sources[i].procs.places);
		scope_free(&service->sources[i].scope);
	}
	pm_symbols_destroy(service->symbols);
	notes_free(&service->notes);
	config_free(&service->config);
}
