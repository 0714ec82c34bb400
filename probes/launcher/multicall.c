/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All probes as one program, as a bundle has them: what they share is in it once. The name it is
 * started by, .../<area>/<name> or <area>.<name>, says which probe it is.
 *
 * The build keeps the constructors of each probe in a section of its own (init_<area>_<name>):
 * only those of the chosen probe run, as in the program that has this probe alone.
 */
#include <stdio.h>
#include <string.h>

#define PROBE_FILE(area, name)                                                                 \
	extern int probe_##area##_##name(int argc, char **argv);                               \
	extern void (*__start_init_##area##_##name[])(void) __attribute__((weak));             \
	extern void (*__stop_init_##area##_##name[])(void) __attribute__((weak));
#include "multicall.def"
#undef PROBE_FILE

static const struct probe_file {
	const char *area, *name;
	int (*main)(int argc, char **argv);
	void (**constructors)(void), (**end)(void);
} probe_files[] = {
#define PROBE_FILE(area, name)                                                                 \
	{ #area, #name, probe_##area##_##name, __start_init_##area##_##name,                   \
	  __stop_init_##area##_##name },
#include "multicall.def"
};

/* Is `word` the end of `start`, and what is left of it in front? */
static const char *cut_end(const char *start, const char *end, const char *word)
{
	const size_t length = strlen(word);

	if ((size_t)(end - start) < length || memcmp(end - length, word, length))
		return NULL;
	return end - length;
}

static const struct probe_file *find_probe(const char *called)
{
	const char *all = called + strlen(called), *end;

	for (size_t i = 0; i < sizeof(probe_files) / sizeof(*probe_files); i++) {
		end = cut_end(called, all, probe_files[i].name);
		if (!end || end == called || (end[-1] != '/' && end[-1] != '.'))
			continue;
		end = cut_end(called, end - 1, probe_files[i].area);
		if (end && (end == called || end[-1] == '/'))
			return &probe_files[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct probe_file *probe = argc > 0 ? find_probe(argv[0]) : NULL;

	if (!probe) {
		fprintf(stderr, "probe: no probe is called '%s'; start one of probes/*/*\n",
			argc > 0 ? argv[0] : "");
		return 2;
	}
	for (void (**run)(void) = probe->constructors; run < probe->end; run++)
		(*run)();
	return probe->main(argc, argv);
}
