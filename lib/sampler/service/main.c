/* SPDX-License-Identifier: MIT */
/*
 * perfmodes-sampler: watches the processes that options or a configuration file name, by events,
 * stacks and counters, and writes tables, flame graphs, folded stacks, pprof and Perfetto traces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command_line.h"
#include "service.h"
#include "../producer/producer.h"

static const char usage[] =
"usage: perfmodes-sampler [OPTION...] -p PID[,PID...] | -a | -n NAME | -u USER | --cgroup PATH\n"
"       perfmodes-sampler [OPTION...] -- COMMAND [ARGUMENT...]\n"
"       perfmodes-sampler [--check] [--duration MS] CONFIG\n"
"       perfmodes-sampler --traced[=SOCKET] [--data-source NAME]\n"
"\n"
"Samples what processes do and tells which functions take the time: a table at the end,\n"
"a flame graph, pprof, Perfetto. In the second form a command is run and watched until it\n"
"ends. For instance:\n"
"\n"
"  perfmodes-sampler -o flame.svg -- python3 program.py\n"
"  perfmodes-sampler -p 4711 -d 10 -o flame.svg -o profile.pb.gz\n"
"\n"
"  -p, --pid PIDS       these processes, and what descends from them\n"
"  -a, --all            all processes\n"
"  -n, --name PATTERN   processes of that name; * matches any part\n"
"  -u, --uid USER       processes of that user, by name or number\n"
"      --cgroup PATH    processes of that cgroup\n"
"  -e, --event EVENTS   events as perf -e has them, each with outputs of its own; cpu-clock\n"
"  -F, --frequency N    samples a second; 99\n"
"  -c, --period N       or a sample each N events\n"
"  -g, --stacks HOW     dwarf, fp (frame pointers) or none; dwarf\n"
"  -k, --kernel         kernel functions, too\n"
"  -d, --seconds N      how long; until a signal, or the end of the command\n"
"  -o, --output FILE    .svg, .folded, .pb.gz, .pftrace or .txt; - is folded stacks on\n"
"                       standard output\n"
"      --debuginfod     symbols from the servers of $DEBUGINFOD_URLS, which may take long\n"
"      --no-inline      functions that the compiler put into others are not told apart\n"
"  -q, --quiet          no table of functions at the end\n"
"      --print          print the configuration that the options stand for; watch nothing\n"
"\n"
"CONFIG is a JSON file in which comments are allowed, for services, with more than options\n"
"can say:\n"
"\n"
"  { \"sources\": [ { \"name\": \"cpu\", \"event\": \"cpu-clock\", \"frequency\": 99,\n"
"                   \"targets\": [\"cmd:nginx*\"], \"stacks\": \"dwarf\" } ],\n"
"    \"outputs\": [ { \"format\": \"perfetto\", \"path\": \"trace.pftrace\" } ] }\n"
"\n"
"      --check          read CONFIG and say what is wrong with it; watch nothing\n"
"      --duration MS    stop after so many milliseconds, whatever CONFIG says; 0: on a signal\n"
"      --traced         offer the data source linux.perf to Perfetto's traced, whose consumers\n"
"                       tell what is sampled; SOCKET is its producer socket\n"
"      --data-source NAME   another name of that data source\n"
"      --version        print the version\n"
"      --help           print this\n"
"\n"
"SIGINT or SIGTERM stops in order: what was sampled is written. A second one stops at once.\n"
"SIGHUP stops, too, but with CONFIG it begins new files: the former ones become FILE.1 and on;\n"
"SIGUSR1 then writes at once what was sampled, and behind SIGUSR2 a Perfetto trace refers to\n"
"nothing that stands before.\n"
"Exit: 0 everything was written, 1 a source or an output failed, 2 wrong usage or CONFIG,\n"
"3 a guardrail stopped the run, 4 over 5 % of the records were lost; with options also 4\n"
"there was no sample, and else the status of COMMAND. perfmodes-sampler(1) tells all keys.\n";

/* PM_VERSION is that of perfmodes-sampler.pc: build.mk. */
static const char version[] = "perfmodes-sampler " PM_VERSION "\n";

static int wrong(const char *what)
{
	fprintf(stderr, "perfmodes-sampler: %s\nperfmodes-sampler --help tells more\n", what);
	return 2;
}

/* Where some are closed, no socket and no output is to take their place. */
static void open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* What the options stand for; the command's process is made for its number, and waits. */
static int from_options(const struct command_line *line, struct service *service)
{
	char *json;
	int err = 0;

	if (line->command && !line->check && !line->print)
		err = launch_prepare(&service->launch, line->command);
	json = err == 0 ? command_line_json(line, service->launch.pid) : NULL;
	if (!json) {
		(void)snprintf(service->error, sizeof(service->error), "%s",
			       strerror(err < 0 ? -err : ENOMEM));
		return err < 0 ? err : -ENOMEM;
	}
	if (line->print)
		(void)fputs(json, stdout);
	err = config_parse(json, &service->config, service->error, sizeof(service->error));
	free(json);
	service->brief = true;
	service->progress = isatty(STDERR_FILENO);
	return err;
}

static int from_file(const struct command_line *line, struct service *service)
{
	char why[400];
	int err = config_read(line->config, &service->config, why, sizeof(why));

	if (err < 0)
		(void)snprintf(service->error, sizeof(service->error), "%s: %s", line->config, why);
	else if (line->duration_ms >= 0)
		service->config.duration_ms = line->duration_ms;
	if (err == 0 && line->check)
		printf("%s: %zu sources, %zu outputs\n", line->config, service->config.source_count,
		       service->config.output_count);
	return err;
}

static int shown(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "perfmodes-sampler: standard output takes no answer (disk full?)\n");
	return 1;
}

int main(int argc, char **argv)
{
	static struct service service;
	struct command_line line;
	int status;

	open_standard_descriptors();
	service.launch.gate = service.launch.told = -1;
	if (!command_line_read(argc, argv, &line, service.error, sizeof(service.error))) {
		command_line_free(&line);
		return wrong(service.error);
	}
	if (line.help || line.version) {
		(void)fputs(line.help ? usage : version, stdout);
		return shown();
	}
	if (line.traced)
		return producer_run(line.socket,
				    line.data_source ? line.data_source : "linux.perf");
	status = line.config ? from_file(&line, &service) : from_options(&line, &service);
	command_line_free(&line);
	if (status < 0) {
		fprintf(stderr, "perfmodes-sampler: %s\n", service.error);
		(void)launch_close(&service.launch);
	}
	if (status < 0 || line.check || line.print) {
		config_free(&service.config);
		return status < 0 ? 2 : shown();
	}
	return service_run(&service);
}
