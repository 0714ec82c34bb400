/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch: run one probe, or a whole plan of them, as a persona, bounded, leaving no process behind.
 * How that is done for one is in supervise.c, for many in queue.c. See launch.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"
#include "inherit.h"
#include "launch.h"
#include "persona.h"
#include "queue.h"

struct options {
	struct queue_options queue;	/* with its bounds */
	const char *personas;		/* the table; NULL: where it is by default */
	const char *persona;		/* NULL: as we are */
	const char *check;		/* only see whether this one could be assumed */
	const char *lock;		/* only lock this descriptor */
	const char *out;
	const char *tee_name;
	const char *frame;
	bool cksum;
	char **program;
};

static const char usage[] =
	"usage: launch --out FILE [options] -- PROBE [ARGUMENT...]\n"
	"       launch --queue DIR --programs DIR [options]\n"
	"  --persona NAME         a persona of the table (default: as we are)\n"
	"  --tee FILE=NAME        append the finished file to FILE, framed under that name\n"
	"  --queue DIR            all of DIR/plan that DIR lacks; print how many were finished\n"
	"  --programs DIR         where identify and probes/ are\n"
	"  --tee FILE             append each finished file to FILE\n"
	"  --jobs N               so many side by side (default: two for each CPU, 8 at most)\n"
	"  --progress             say on a terminal what is run, and for how long\n"
	"  --like DIR             expect it to take as long as in that earlier run\n"
	"with both:\n"
	"  --personas FILE        the table (default: suites/personas.txt above this program)\n"
	"  --timeout SECONDS      end a probe and all it started after this long (default 60)\n"
	"  --output-limit BYTES   cut its output off there (default 1048576)\n"
	"or  --check PERSONA      exit 0 if this process could assume the persona, else 1 and why\n"
	"or  --lock FD            lock what is open there; exit 1: somebody else has, 3: no locks\n"
	"or  --frame NAME --tee FILE  append standard input, a file, framed under that name\n"
	"or  --cksum              print CRC and bytes of standard input, as cksum(1)\n"
	"Exit: 0 FILE is complete, 2 usage, 3 could not run or write, 128+N ended by signal N.\n";

static int check_persona(const char *name)
{
	const struct persona *persona = personas_require(name);
	int status;
	pid_t child;

	if (!persona)
		return 2;
	child = fork();
	if (child == 0)
		_exit(persona_assume(persona) < 0 ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 3;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/* Digits alone, and no more than that. */
static bool take_number(const char *text, int most, int *ret)
{
	const size_t length = strlen(text);

	if (!length || length > 9 || strspn(text, "0123456789") != length || atoi(text) > most)
		return false;
	*ret = atoi(text);
	return true;
}

/*
 * The descriptor is the caller's: its lock lasts until the caller and all that inherit it are gone,
 * however they end. Some file systems have no such locks (NFS, for a directory): 3.
 */
static int lock_descriptor(const char *text)
{
	int fd;

	if (!take_number(text, 9999, &fd))
		return 2;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? 1 : 3;
}

/* Cut FILE=NAME in two. */
static bool split_tee(struct options *ret)
{
	char *equals = strrchr(ret->queue.tee, '=');

	if (!equals || strlen(equals) > 200)
		return false;
	*equals = '\0';
	ret->tee_name = equals + 1;
	return true;
}

static bool usable(struct options *ret, bool program)
{
	const struct bounds *bounds = &ret->queue.bounds;

	/* At most a million seconds; "nan" fails every comparison. */
	if (!(bounds->timeout > 0 && bounds->timeout <= 1e6) || bounds->output_limit <= 0 ||
	    ret->queue.jobs < 0)
		return false;
	if (ret->frame)
		return ret->queue.tee && strlen(ret->frame) <= 200;
	if (ret->check || ret->lock || ret->cksum)
		return true;
	if (ret->queue.results)
		return ret->queue.programs && !ret->out && !program;
	return ret->out && program && (!ret->queue.tee || split_tee(ret));
}

static bool take_option(int option, struct options *ret)
{
	struct bounds *bounds = &ret->queue.bounds;

	switch (option) {
	case 'p': ret->persona = optarg; break;
	case 't': bounds->timeout = atof(optarg); break;
	case 'l': bounds->output_limit = atol(optarg); break;
	case 'o': ret->out = optarg; break;
	case 'e': ret->queue.tee = optarg; break;
	case 'q': ret->queue.results = optarg; break;
	case 'b': ret->queue.programs = optarg; break;
	case 'j': return take_number(optarg, 9999, &ret->queue.jobs);
	case 's': ret->queue.progress = true; break;
	case 'i': ret->queue.like = optarg; break;
	case 'c': ret->check = optarg; break;
	case 'f': ret->lock = optarg; break;
	case 'r': ret->frame = optarg; break;
	case 'k': ret->cksum = true; break;
	case 'n': ret->personas = optarg; break;
	case 'h': fputs(usage, stdout); exit(0);
	default: return false;
	}
	return true;
}

static bool parse(int argc, char **argv, struct options *ret)
{
	static const struct option known[] = {
		{ "persona", required_argument, NULL, 'p' },
		{ "personas", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 't' },
		{ "output-limit", required_argument, NULL, 'l' },
		{ "out", required_argument, NULL, 'o' },
		{ "tee", required_argument, NULL, 'e' },
		{ "queue", required_argument, NULL, 'q' },
		{ "programs", required_argument, NULL, 'b' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "progress", no_argument, NULL, 's' },
		{ "like", required_argument, NULL, 'i' },
		{ "check", required_argument, NULL, 'c' },
		{ "lock", required_argument, NULL, 'f' },
		{ "frame", required_argument, NULL, 'r' },
		{ "cksum", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", known, NULL)) >= 0)
		if (!take_option(option, ret))
			return false;
	ret->program = argv + optind;
	return usable(ret, optind < argc);
}

/* Standard input: its checksum, or all of it to the side channel. */
static int of_input(const struct options *options)
{
	const char *tee = options->queue.tee;

	if (options->cksum ? frame_cksum(0) == 0 : frame_append(0, tee, options->frame) == 0)
		return 0;
	fprintf(stderr, "launch: %s: %s\n", options->cksum ? "cksum" : tee, strerror(errno));
	return 3;
}

/* One program; its file, once whole, goes to the side channel too. */
static int run_one(const struct options *options)
{
	const struct persona *persona = NULL;
	const char *tee = options->queue.tee;
	int status, fd;

	if (options->persona) {
		persona = personas_require(options->persona);
		if (!persona)
			return 2;
	}
	if (supervise_prepare() < 0)
		return 3;
	status = supervise_run(&options->queue.bounds, persona, options->out, options->program);
	if (status || !tee)
		return status;
	fd = open(options->out, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && frame_append(fd, tee, options->tee_name) == 0)
		return 0;
	fprintf(stderr, "launch: cannot write %s: %s\n", tee, strerror(errno));
	return 3;
}

int launch(int argc, char **argv, const struct interposer *between)
{
	struct options options = {
		.queue.bounds = { .timeout = 60, .output_limit = 1 << 20, .between = between },
	};

	if (inherit_descriptors() < 0)
		return 3;
	if (!parse(argc, argv, &options)) {
		fputs(usage, stderr);
		return 2;
	}
	if (options.lock)
		return lock_descriptor(options.lock);
	if (options.cksum || options.frame)
		return of_input(&options);
	/* As we are: that needs no table. */
	if ((options.check || options.queue.results || options.persona) &&
	    personas_read(options.personas) < 0)
		return 3;
	if (options.check)
		return check_persona(options.check);
	return options.queue.results ? queue_run(&options.queue) : run_one(&options);
}
