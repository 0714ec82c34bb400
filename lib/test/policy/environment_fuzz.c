/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as $PERFMODES_PROFILE and as the file it names: a path, a zero byte, a profile. The
 * path starts in a folder with the profile as a file, one in a folder, a FIFO and a link to itself.
 * A plan is made, or an error has its sentence, and nothing waits.
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

static char home[] = "/tmp/pm-fuzz-XXXXXX";

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

static void begin(void)
{
	static bool begun;

	if (begun)
		return;
	begun = true;
	if (mkdtemp(home) == NULL || chdir(home) != 0 || mkdir("folder", 0700) != 0 ||
	    mkfifo("fifo", 0600) != 0 || symlink("link", "link") != 0)
		abort();
	atexit(clean_up);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	const int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_PAGE_FAULTS, .period = 1 };
	const size_t length = strnlen((const char *)data, size);
	struct pm_diag diag = { .size = sizeof(diag) };
	static char path[PATH_SIZE];
	struct pm_plan *plan;
	int err;

	begin();
	if (length >= sizeof(path))
		return -1;
	memcpy(path, data, length);
	path[length] = '\0';
	data += length < size ? length + 1 : length;
	size -= length < size ? length + 1 : length;
	put("file", data, size);
	put("folder/a.json", data, size);
	if (setenv("PERFMODES_PROFILE", path, 1) != 0)
		abort();
	err = pm_plan_make(&spec, 1, NULL, NULL, &diag, &plan);
	if (err < 0 && diag.text[0] == '\0')
		abort();
	if (err >= 0)
		pm_plan_destroy(plan);
	return 0;
}
