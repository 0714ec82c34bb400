/* SPDX-License-Identifier: MIT */
/* What the time without a function's name was spent in, and how it gets names. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 64
#define LEAST_PERCENT 5
#define SENTENCES 3

struct text {
	const char *at;
	size_t length;
};

struct unnamed {
	struct text comm, leaf;		/* leaf: "[unknown]", "[kernel]", a file in brackets */
	uint64_t weight;
};

/* Programs that make code as they run, and how each lists its names where they are looked for. */
static const struct { const char *comm, *how; } lists[] = {
	{ "node", "start it with node --perf-basic-prof" },
	{ "nodejs", "start it with nodejs --perf-basic-prof" },
	{ "java", "let it list them with jcmd PID Compiler.perfmap (Java 17), and watch it then" },
	{ "python3", "start it with python3 -X perf (Python 3.12)" },
	{ "dotnet", "set DOTNET_PerfMapEnabled=1 for it" },
	{ "beam.smp", "start it with erl +JPperf true" },
	{ "ruby", "start it with ruby --yjit --yjit-perf" },
};

static bool is(struct text text, const char *word)
{
	return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static bool equal(struct text one, struct text other)
{
	return one.length == other.length && memcmp(one.at, other.at, one.length) == 0;
}

static struct text innermost(const struct line *line)
{
	const char *at = line->frames, *end = at + line->length;
	size_t length = frame_length(at, end);

	while (at + length < end) {
		at += length + 1;
		length = frame_length(at, end);
	}
	return (struct text){ at, length };
}

/* Those of the vDSO are named or nobody's; a file's stands for itself, whoever has mapped it. */
static bool is_unnamed(struct text leaf)
{
	return leaf.length > 2 && leaf.at[0] == '[' && leaf.at[leaf.length - 1] == ']' &&
		!is(leaf, "[vdso]") && !is(leaf, "[truncated]");
}

static bool begins(struct text text, const char *word)
{
	return text.length >= strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

/* Code in no file: memory of the process alone, or shared memory, as of a memfd. */
static bool is_made(struct text leaf)
{
	return is(leaf, "[unknown]") || is(leaf, "[zero (deleted)]") || begins(leaf, "[memfd:");
}

static bool is_gone(struct text leaf)
{
	static const char end[] = " (deleted)]";
	const size_t length = sizeof(end) - 1;

	return leaf.length > length &&
		memcmp(leaf.at + leaf.length - length, end, length) == 0;
}

static size_t gather(const struct lines *lines, struct unnamed *kinds)
{
	size_t count = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const struct line *line = &lines->list[i];
		struct unnamed kind = {
			.comm = { line->frames, frame_length(line->frames,
							     line->frames + line->length) },
			.leaf = innermost(line),
		};
		size_t at = 0;

		if (kind.leaf.at == kind.comm.at || !is_unnamed(kind.leaf))
			continue;
		while (at < count && (!equal(kinds[at].leaf, kind.leaf) ||
				      ((is_made(kind.leaf) || is(kind.leaf, "[no maps]")) &&
				       !equal(kinds[at].comm, kind.comm))))
			at++;
		if (at == KINDS)
			continue;
		if (at == count)
			kinds[count++] = kind;
		kinds[at].weight += line->weight;
	}
	return count;
}

static int by_weight(const void *one, const void *other)
{
	const struct unnamed *a = one, *b = other;

	return a->weight < b->weight ? 1 : a->weight > b->weight ? -1 : 0;
}

static void tell_made_code(FILE *file, struct text comm)
{
	const char *how = "it has no names unless the program lists them in /tmp/perf-PID.map";

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (is(comm, lists[i].comm))
			how = lists[i].how;
	}
	fprintf(file, "code that %.*s has made as it ran: %s\n", (int)comm.length, comm.at, how);
}

static void tell(FILE *file, const struct unnamed *kind, double percent)
{
	fprintf(file, "%6.1f %% in ", percent);
	if (is(kind->leaf, "[no maps]"))
		fprintf(file, "%.*s, whose maps could not be read: it had ended, or is somebody "
			"else's\n", (int)kind->comm.length, kind->comm.at);
	else if (is_made(kind->leaf))
		tell_made_code(file, kind->comm);
	else if (is(kind->leaf, "[kernel]"))
		fputs("the kernel, whose names it hides from you: run this as root, or set "
		      "kernel.kptr_restrict to 0\n", file);
	else if (is_gone(kind->leaf))
		fprintf(file, "%.*s, whose file is gone: start the program anew\n",
			(int)kind->leaf.length - 2, kind->leaf.at + 1);
	else
		fprintf(file, "%.*s, which has no symbols: install its debug symbols, or use "
			"--debuginfod\n", (int)kind->leaf.length - 2, kind->leaf.at + 1);
}

void unnamed_write(FILE *file, const struct lines *lines)
{
	struct unnamed kinds[KINDS];
	const size_t count = gather(lines, kinds);

	qsort(kinds, count, sizeof(kinds[0]), by_weight);
	for (size_t i = 0; i < count && i < SENTENCES; i++) {
		const double percent = 100.0 * (double)kinds[i].weight / (double)lines->total;

		if (percent >= LEAST_PERCENT)
			tell(file, &kinds[i], percent);
	}
}
