/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a profile. What is accepted must be written and read again, and say the same.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../perfmodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pm_profile *through_file(const struct pm_profile *profile)
{
	static char text[1 << 20];
	struct pm_profile *again;
	int fd = memfd_create("profile", 0);
	ssize_t n;

	if (pm_profile_save(profile, fd) < 0)
		abort();
	n = pread(fd, text, sizeof(text), 0);
	close(fd);
	if (n < 0 || pm_profile_load_text(text, (size_t)n, NULL, &again) < 0)
		abort();
	return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_profile *profile, *again;

	if (pm_profile_load_text((const char *)data, size, &diag, &profile) < 0) {
		if (diag.error == 0 || diag.text[0] == '\0')
			abort();
		return 0;
	}
	again = through_file(profile);
	if (pm_profile_count(again) != pm_profile_count(profile) ||
	    pm_profile_merge(again, profile, PM_MERGE_INTERSECTION, NULL, NULL) != 0 ||
	    pm_profile_count(again) != pm_profile_count(profile))
		abort();
	pm_profile_destroy(again);
	pm_profile_destroy(profile);
	return 0;
}
