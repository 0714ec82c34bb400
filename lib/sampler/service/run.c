/* SPDX-License-Identifier: MIT */
/* The run: a loop that does what is due, and sleeps until the next thing is. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "service.h"

#define TICK_MS 5		/* while something is awaited that no descriptor tells */

static void on_answer(void *context, const struct pm_descriptors_answer *answer)
{
	procs_answer(context, answer);
}

/* ---------------------------------------------------------------------------------- guardrails */

static struct guard_reading totals(void)
{
	return (struct guard_reading){
		.memory = guard_memory(), .wall_ns = pm_now(),
		.cpu_ns = pm_now_by(CLOCK_PROCESS_CPUTIME_ID),
	};
}

static void tell_guardrail(struct service *service)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		(void)send_note(source, &(struct note){
			.kind = NOTE_GUARDRAIL, .time = source_now(source) });
	}
}

static void stop_all(struct service *service, bool abrupt, const char *why)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		if (abrupt || source->config->abrupt)
			source_purge(source, why);
		source_stop(source);
	}
}

/* Samples that are told without a stack so far. */
static uint64_t shed_so_far(const struct service *service)
{
	uint64_t shed = 0;

	for (size_t i = 0; i < service->config.source_count; i++)
		shed += service->sources[i].counts.shed;
	return shed;
}

/* What of its rates each source can; who cannot is not waited for. */
static unsigned int most_halvings(const struct service *service)
{
	unsigned int most = 0;

	for (size_t i = 0; i < service->config.source_count; i++) {
		unsigned int can = source_halvings(&service->sources[i]);

		most = can > most ? can : most;
	}
	return most;
}

static void set_rates(struct service *service)
{
	for (size_t i = 0; i < service->config.source_count; i++)
		source_slow_down(&service->sources[i], service->guard.rate);
	if (most_halvings(service) == 0)
		service->guard.rate = 0;	/* no rate can be changed after all */
}

static void check_guard(struct service *service, uint64_t now)
{
	static const char *const whys[] = { "", "cpu", "memory" };
	static const char *const names[] = {
		[GUARD_MORE] = "shed", [GUARD_LESS] = "recovered", [GUARD_SLOWER] = "slower",
		[GUARD_FASTER] = "faster", [GUARD_STOP] = "guardrail",
	};
	struct guard_reading total, reading;
	enum guard_why why;
	enum guard_verdict verdict;

	if (now < service->window)
		return;
	service->window = now + 1000000ull * (uint64_t)service->config.window_ms;
	total = totals();
	reading = (struct guard_reading){ total.cpu_ns - service->last.cpu_ns,
					  total.wall_ns - service->last.wall_ns, total.memory };
	service->last = total;
	service->guard.rate_most = most_halvings(service);
	verdict = guard_judge(&service->guard, &reading, &why);
	if (verdict == GUARD_SAME)
		return;
	report_event(&service->report, names[verdict], "why", whys[why], "#level",
		     (int64_t)service->guard.level, "#halvings", (int64_t)service->guard.rate,
		     "#cpu_percent", (int64_t)guard_cpu(&reading), "#memory_bytes",
		     (int64_t)reading.memory, "#shed", (int64_t)shed_so_far(service), NULL);
	if (verdict == GUARD_SLOWER || verdict == GUARD_FASTER)
		set_rates(service);
	if (verdict != GUARD_STOP)
		return;
	service->guardrail = true;
	tell_guardrail(service);
	stop_all(service, true, why == GUARD_CPU ? "guardrail: cpu" : "guardrail: memory");
}

/* ----------------------------------------------------------------------------------- the clock */

/* What is killed then has lost what came since. A full queue does not take it: next time. */
static void keep_due(struct service *service, uint64_t now)
{
	if (service->config.keep_ms == 0 || now < service->keep)
		return;
	service->keep = now + 1000000ull * (uint64_t)service->config.keep_ms;
	for (size_t i = 0; i < service->config.source_count; i++)
		if (service->sources[i].state == SOURCE_STARTED)
			(void)send_note(&service->sources[i], &(struct note){
				.kind = NOTE_KEEP, .values = { now - service->begun } });
}

/* A full queue does not take it: it stays due. */
static void begin_anew(struct service *service)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		if (source->anew != 0 && source->state == SOURCE_STARTED &&
		    send_note(source, &(struct note){
			    .kind = NOTE_ROTATE, .values = { source->anew } }))
			source->anew = 0;
	}
}

static void rotate(struct service *service, uint64_t now, const char *why)
{
	report_event(&service->report, "rotated", "why", why, NULL);
	report_rotate(&service->report, service->config.report, service->config.former);
	for (size_t i = 0; i < service->config.source_count; i++)
		service->sources[i].anew += now - service->begun;
	service->begun = now;
}

static void rotate_due(struct service *service, uint64_t now)
{
	if (service->config.rotate_ms != 0 && now >= service->rotate) {
		service->rotate = now + 1000000ull * (uint64_t)service->config.rotate_ms;
		rotate(service, now, "the time");
	}
	begin_anew(service);
}

static void start_due(struct service *service, uint64_t now)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];
		uint64_t at = service->begin + 1000000ull * (uint64_t)source->config->start_ms;

		if (source->state != SOURCE_WAITING || now < at)
			continue;
		if (source_start(source) < 0) {
			service->failed = true;
			fprintf(stderr, "perfmodes-sampler: %s\n", service->error);
		} else if (service->since == 0) {
			service->since = pm_now();
		}
	}
}

/* The time that was asked for is that in which events were counted. */
static uint64_t end_of(const struct service *service)
{
	return service->config.duration_ms == 0 || service->since == 0 ? UINT64_MAX :
		service->since + 1000000ull * (uint64_t)service->config.duration_ms;
}

static void stop_due(struct service *service, uint64_t now)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];
		uint64_t at = service->begin + 1000000ull * (uint64_t)source->config->stop_ms;

		if (source->state != SOURCE_STARTED || source->config->stop_ms == 0 || now < at)
			continue;
		if (source->config->abrupt)
			source_purge(source, "its time is over");
		else
			source_stop(source);
	}
	if (now >= end_of(service))
		stop_all(service, false, "the time is over");
	/* Nothing is written any more: reading on would cost and bring nothing. */
	if (service->outputs.count > 0 &&
	    atomic_load(&service->outputs.failed) == service->outputs.count)
		stop_all(service, false, "no output can be written");
}

static void read_due(struct service *service)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		if (source->state == SOURCE_STARTED && pm_now() >= source->next)
			(void)source_read(source);
		source_drain(source);
	}
}

static uint64_t sooner(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* ms until something is due; `wait` is what the descriptors asked for. */
static int sleep_ms(const struct service *service, int wait)
{
	uint64_t now = pm_now(), next = service->window;

	if (service->config.keep_ms != 0)
		next = sooner(next, service->keep);
	if (service->config.rotate_ms != 0)
		next = sooner(next, service->rotate);

	for (size_t i = 0; i < service->config.source_count; i++) {
		const struct source *source = &service->sources[i];

		if (source->state == SOURCE_DRAINING)
			next = sooner(next, now < source->mark_at ? source->mark_at :
				      now + 1000000ull * TICK_MS);
		if (source->state == SOURCE_STARTED)
			next = sooner(next, source->next);
		if (source->state == SOURCE_STARTED && source->mark > 0)
			next = sooner(next, now + 1000000ull * TICK_MS);
		if (source->state == SOURCE_STARTED && source->config->stop_ms != 0)
			next = sooner(next, service->begin +
				      1000000ull * (uint64_t)source->config->stop_ms);
		if (source->state == SOURCE_WAITING)
			next = sooner(next, service->begin +
				      1000000ull * (uint64_t)source->config->start_ms);
	}
	next = sooner(next, end_of(service));
	if (wait >= 0)
		next = sooner(next, now + 1000000ull * (uint64_t)wait);
	return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

static bool is_over(const struct service *service)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		if (!source_is_over(&service->sources[i]))
			return false;
	}
	return true;
}

static void on_signals(struct service *service, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2) {
			request_take(service, info.ssi_signo);
			continue;
		}
		if (info.ssi_signo == SIGHUP && !service->brief && service->stop == 0) {
			rotate(service, pm_now(), "SIGHUP");
			continue;
		}
		service->stop++;
		report_event(&service->report, "signal", "#number", (int64_t)info.ssi_signo, NULL);
		stop_all(service, service->stop > 1, "a second signal");
	}
}

/* The command begins when all that is to watch it has started, and its end is the run's. */
static void run_command(struct service *service)
{
	if (service->launch.ended || service->launch.pid == 0)
		return;
	if (!service->launch.begun && service->sources[0].state == SOURCE_STARTED)
		launch_begin(&service->launch);
	if (launch_ended(&service->launch))
		stop_all(service, false, "the command has ended");
}

static void loop(struct service *service, int signals)
{
	while (!is_over(service)) {
		struct pollfd ready[2] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = pm_descriptors_fd(service->descriptors), .events = POLLIN },
		};
		uint64_t now = pm_now();
		int wait;

		start_due(service, now);
		run_command(service);
		wait = pm_descriptors_run(service->descriptors);
		read_due(service);
		stop_due(service, now);
		check_guard(service, now);
		keep_due(service, now);
		requests_due(service, now);
		rotate_due(service, now);
		service_progress(service, false);
		if (is_over(service))
			return;
		(void)poll(ready, 2, sleep_ms(service, wait));
		on_signals(service, signals);
	}
}

/* --------------------------------------------------------------------------- beginning and end */

static int open_descriptors(struct service *service)
{
	struct pm_descriptors_opts opts = {
		.size = sizeof(opts), .answer = on_answer, .context = service,
		.socket = service->config.socket, .signal = (int)service->config.signal,
		.timeout_ns = 1000000ull * (uint64_t)service->config.timeout_ms,
		.pending_max = (unsigned int)service->config.processes,
	};
	int err = pm_descriptors_open(&opts, &service->descriptors);

	if (err < 0)
		(void)snprintf(service->error, sizeof(service->error), "socket %s: %s",
			       service->config.socket ? service->config.socket : "",
			       strerror(-err));
	return err;
}

static int open_all(struct service *service)
{
	struct pm_stack_worker_opts opts = {
		.size = sizeof(opts), .memory = (uint64_t)service->config.queue_bytes,
		.stack = on_stack, .context = service,
	};
	const struct pm_symbols_opts names = {
		.size = sizeof(names), .debuginfod = service->config.debuginfod,
		.without_lines = !service->config.inlined,
	};
	int err = report_open(&service->report, service->config.report);

	if (err < 0) {
		(void)snprintf(service->error, sizeof(service->error), "report %s: %s",
			       service->config.report, strerror(-err));
		return err;
	}
	broker_connect(service);
	service->symbols = pm_symbols_create(&names);
	err = service->symbols ? notes_init(&service->notes,
					    (size_t)service->config.queue_records + 256) : -ENOMEM;
	if (err == 0)
		err = outputs_open(&service->outputs, &service->config, service->symbols,
				   service->error, sizeof(service->error));
	if (err == 0)
		err = open_descriptors(service);
	if (err == 0)
		err = pm_stack_worker_start(&opts, &service->worker);
	if (err < 0 && service->error[0] == '\0')
		(void)snprintf(service->error, sizeof(service->error), "%s", strerror(-err));
	return err;
}

static int take_signals(const struct service *service)
{
	struct sigaction hang_up;
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	if (!service->brief) {
		sigaddset(&set, SIGUSR1);
		sigaddset(&set, SIGUSR2);
	}
	/*
	 * Where it stops, and nohup(1) made it ignored, it stays so, which a signal that is blocked
	 * does not. Where it begins new files, a terminal that is closed does no harm.
	 */
	if (!service->brief || (sigaction(SIGHUP, NULL, &hang_up) == 0 &&
				hang_up.sa_handler != SIG_IGN))
		sigaddset(&set, SIGHUP);
	/* Before the worker's thread is created, which inherits the mask. */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void begin(struct service *service)
{
	service->guard.memory_limit = (uint64_t)service->config.memory_bytes;
	service->guard.cpu_limit = (uint64_t)service->config.cpu_percent;
	service->begin = pm_now();
	service->window = service->begin + 1000000ull * (uint64_t)service->config.window_ms;
	service->keep = service->begin + 1000000ull * (uint64_t)service->config.keep_ms;
	service->rotate = service->begin + 1000000ull * (uint64_t)service->config.rotate_ms;
	service->begun = service->begin;
	service->last = totals();
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		source->service = service;
		source->config = &service->config.sources[i];
		source->index = i;
	}
}

static void end(struct service *service)
{
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	bool at_once = service->stop > 1 || service->guardrail;

	if (service->worker)
		pm_stack_worker_stop(service->worker, at_once, &stats);
	service->worker = NULL;
	service->purged = stats.purged - atomic_load(&service->notes_queued);
	service_progress(service, true);
	if (outputs_close(&service->outputs, pm_now() - service->begun) > 0)
		service->failed = true;
}

/* Of a command that was run the status is handed on, where there is nothing else to tell. */
static int status_of(struct service *service)
{
	const int command = launch_close(&service->launch);
	const int shortfall = service->guardrail || service->failed || service->launch.refused ? 0 :
		service_shortfall(service);

	if (service->guardrail || service->failed)
		return service->guardrail ? 3 : 1;
	return command != 0 ? command : shortfall;
}

int service_run(struct service *service)
{
	int signals = take_signals(service), status;

	if (signals < 0 || open_all(service) < 0) {
		fprintf(stderr, "perfmodes-sampler: %s\n", service->error);
		(void)launch_close(&service->launch);
		status = 1;
	} else {
		begin(service);
		loop(service, signals);
		end(service);
		service_summary(service);
		status = status_of(service);
	}
	service_free(service);
	if (signals >= 0)
		close(signals);
	return status;
}
