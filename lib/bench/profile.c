/* SPDX-License-Identifier: MIT */
/*
 * Loading a profile and asking it, against asking the kernel, and against others' JSON readers
 * that only build a tree of it.
 *
 *   profile [rounds [file]]
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../perfmodes.h"
#include "../pm_sys.h"
#include "bench.h"

#define LOOKUPS 1000
#define USUAL "lib/test/policy/data/profile_fuzz/real.json"

static char *text;
static size_t size;
static uint64_t sum;

static void read_all(const char *path)
{
	FILE *file = fopen(path, "r");

	if (file == NULL)
		bench_fail(path, errno);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	rewind(file);
	text = malloc(size + 1);
	if (text == NULL || fread(text, 1, size, file) != size)
		bench_fail(path, EIO);
	text[size] = '\0';
	fclose(file);
}

static void load_ours(void)
{
	struct pm_profile *profile;

	if (pm_profile_load_text(text, size, NULL, &profile) < 0)
		bench_fail("pm_profile_load_text", EBADMSG);
	sum += pm_profile_count(profile);
	pm_profile_destroy(profile);
}

static void load_jansson(void)
{
	json_t *root = json_loadb(text, size, 0, NULL);

	sum += root != NULL;
	json_decref(root);
}

static void load_cjson(void)
{
	cJSON *root = cJSON_ParseWithLength(text, size);

	sum += root != NULL;
	cJSON_Delete(root);
}

/* What can be found out in the process; a cold start without a profile. */
static void probe_quickly(void)
{
	struct pm_profile *profile = pm_profile_create();

	sum += (uint64_t)pm_profile_probe(profile, NULL, 1000000000);
	pm_profile_destroy(profile);
}

/* Each bit of the attr by itself, opened and closed: the least that cold probing takes. */
static void probe_attr_bits(void)
{
	for (int i = 0; i < 63; i++) {
		struct perf_event_attr attr = { .type = 1, .config = 9, .disabled = 1 };
		int fd;

		if (i < 24)
			attr.sample_type = 1ull << i;
		else if (i < 29)
			attr.read_format = 1ull << (i - 24);
		else
			((unsigned char *)&attr)[40 + (i - 29) / 8] |= 1u << (i - 29) % 8;
		fd = pm_open(&attr, 0, -1, -1, 0);
		sum += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
}

static void measure(const char *name, const char *subject, void (*work)(void))
{
	uint64_t begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);

	work();
	bench_say(name, subject, "us",
		  (double)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e3);
}

/*
 * The same in a process that has done nothing yet, where memory is new and caches are cold, as when
 * a program begins.
 */
static void measure_first(const char *name, const char *subject, void (*work)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		measure(name, subject, work);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		bench_fail("fork", EIO);
}

static void measure_lookup(const struct pm_profile *profile)
{
	static const char *const keys[] = {
		"attr.flag_bits.use_clockid", "strategy.per_cpu.every_sample_once",
		"output.chain.one_link", "no.such.fact",
	};
	uint64_t begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	struct pm_fact fact = { .size = sizeof(fact) };

	for (int i = 0; i < LOOKUPS; i++)
		sum += (uint64_t)(pm_profile_lookup(profile, keys[i & 3], &fact) == 0);
	bench_say("look a fact up", "perfmodes", "ns",
		  (double)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin) / LOOKUPS);
}

int main(int argc, char **argv)
{
	unsigned int rounds = bench_argument(argc, argv, 1, 41);
	struct pm_profile *profile;
	char name[96], first[128];

	read_all(argc > 2 ? argv[2] : USUAL);
	if (pm_profile_load_text(text, size, NULL, &profile) < 0)
		bench_fail("the profile", EBADMSG);
	snprintf(name, sizeof(name), "know %zu facts (%zu kB)", pm_profile_count(profile),
		 size / 1024);
	snprintf(first, sizeof(first), "%s, first in a process", name);
	for (unsigned int i = 0; i < rounds; i++) {
		measure(name, "jansson, tree only", load_jansson);
		measure(name, "perfmodes", load_ours);
		measure(name, "cJSON, tree only", load_cjson);
		measure(name, "63 attr bits asked of the kernel", probe_attr_bits);
		measure(name, "the quick probes of a plan", probe_quickly);
		measure_first(first, "perfmodes", load_ours);
		measure_first(first, "63 attr bits asked of the kernel", probe_attr_bits);
		measure_first(first, "the quick probes of a plan", probe_quickly);
		measure_lookup(profile);
	}
	pm_profile_destroy(profile);
	free(text);
	return sum == 0;
}
