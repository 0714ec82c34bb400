/* SPDX-License-Identifier: MIT */
/*
 * perfmodes-sampler: watches the processes that a configuration file names, by events, by stacks
 * and by counters, and writes folded stacks, pprof and Perfetto traces.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service.h"

static const char usage[] =
"usage: perfmodes-sampler [--check] [--duration MS] CONFIG\n"
"\n"
"Watches processes as CONFIG says, a JSON file in which comments are allowed:\n"
"\n"
"  { \"sources\": [ { \"name\": \"cpu\", \"event\": \"cpu-clock\", \"frequency\": 99,\n"
"                   \"targets\": [\"cmd:nginx*\"], \"stacks\": \"dwarf\" } ],\n"
"    \"outputs\": [ { \"format\": \"perfetto\", \"path\": \"trace.pftrace\" } ] }\n"
"\n"
"  --check        read CONFIG and say what is wrong with it; watch nothing\n"
"  --duration MS  stop after so many milliseconds, whatever CONFIG says; 0: on a signal\n"
"  --version      print the version\n"
"  --help         print this\n"
"\n"
"SIGINT or SIGTERM stops in order: what was sampled is written. A second one stops at once.\n"
"Exit: 0 everything was written, 1 a source or an output failed, 2 wrong usage or CONFIG,\n"
"3 a guardrail stopped the run. perfmodes-sampler(1) tells all keys.\n";

/* PM_VERSION is that of perfmodes-sampler.pc: build.mk. */
static const char version[] = "perfmodes-sampler " PM_VERSION "\n";

static int wrong(const char *what)
{
	fprintf(stderr, "perfmodes-sampler: %s\nperfmodes-sampler --help tells more\n", what);
	return 2;
}

/* A number of ms, or -1. */
static long milliseconds(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text == '\0' || *end != '\0' || value < 0 || value > 2000000000 ? -1 : value;
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

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "check", no_argument, NULL, 'c' }, { "duration", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	static struct service service;
	bool check = false;
	long duration = -1;
	int option;

	open_standard_descriptors();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h' || option == 'v')
			return fputs(option == 'h' ? usage : version, stdout) == EOF ||
				fflush(stdout) == EOF;
		if (option == '?')
			return wrong("see the options");
		if (option == 'c')
			check = true;
		if (option == 'd')
			duration = milliseconds(optarg);
		if (option == 'd' && duration < 0)
			return wrong("--duration needs a number of milliseconds");
	}
	if (optind != argc - 1)
		return wrong("one configuration file is needed");
	if (config_read(argv[optind], &service.config, service.error,
			sizeof(service.error)) < 0) {
		fprintf(stderr, "perfmodes-sampler: %s: %s\n", argv[optind], service.error);
		config_free(&service.config);
		return 2;
	}
	if (duration >= 0)
		service.config.duration_ms = duration;
	if (check) {
		printf("%s: %zu sources, %zu outputs\n", argv[optind], service.config.source_count,
		       service.config.output_count);
		config_free(&service.config);
		return 0;
	}
	return service_run(&service);
}
