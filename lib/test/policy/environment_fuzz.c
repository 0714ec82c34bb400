/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as $PERFMODES_PROFILE and as the file it names: a path, a zero byte, a profile. The
 * path starts in a folder with the profile as a file, one in a folder, a FIFO and a link to itself.
 * A profile is found, or an error has its sentence, and nothing waits. A plan takes longer than all
 * the rest, so one is made with what the file brought, not with the library's own profile.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../perfmodes.h"

#define PATH_SIZE 5000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char home[32];
static int file = -1;

static void clean_up(void)
{
	static const char *const names[] = {
		"file", "folder/a.json", "fifo", "link", "folder", "",
	};
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", home, names[i]);
		(void)remove(path);
	}
}

/* In memory where that is possible, because a disk is slower than what is tested. */
static void make_home(void)
{
	static const char *const places[] = { "/dev/shm", "/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(home, sizeof(home), "%s/pm-fuzz-XXXXXX", places[i]);
		if (mkdtemp(home) != NULL)
			return;
	}
	abort();
}

static void begin(void)
{
	static bool begun;

	if (begun)
		return;
	begun = true;
	make_home();
	if (chdir(home) != 0 || mkdir("folder", 0700) != 0 ||
	    mkfifo("fifo", 0600) != 0 || symlink("link", "link") != 0)
		abort();
	file = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (file < 0 || link("file", "folder/a.json") != 0)
		abort();
	atexit(clean_up);
}

static void make_plan(struct pm_profile *profile)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_PAGE_FAULTS, .period = 1 };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	const int err = pm_plan_make(&spec, 1, NULL, profile, &diag, &plan);

	if (err < 0 && diag.text[0] == '\0')
		abort();
	if (err >= 0)
		pm_plan_destroy(plan);
}

/* The length of the path, which is now in the environment. */
static size_t set_path(const uint8_t *data, size_t size)
{
	const size_t length = strnlen((const char *)data, size);
	static char path[PATH_SIZE];

	if (length >= sizeof(path))
		return length;
	memcpy(path, data, length);
	path[length] = '\0';
	if (setenv("PERFMODES_PROFILE", path, 1) != 0)
		abort();
	return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	const size_t length = set_path(data, size);
	struct pm_profile *profile;
	int err;

	begin();
	if (length >= PATH_SIZE)
		return -1;
	data += length < size ? length + 1 : length;
	size -= length < size ? length + 1 : length;
	if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
		abort();
	err = pm_profile_load_default(&diag, &profile);
	if (err < 0 && diag.text[0] == '\0')
		abort();
	if (err < 0)
		return 0;
	if (err == 0 && length > 0)
		make_plan(profile);
	pm_profile_destroy(profile);
	return 0;
}
