/* SPDX-License-Identifier: MIT */
/* Whether a profile is about the running kernel, and how exactly. */
#include <string.h>

#include "../../pm_sys.h"
#include "profile.h"

/* How the identity in a profile compares with the running kernel's. */
struct comparison {
	const struct pm_profile *profile;
	bool arch, release, series, version, build_id;	/* both have it, and it is equal */
	bool other_build;				/* both have it, and it differs */
};

static const char *said(const struct pm_profile *profile, const char *key)
{
	for (size_t i = 0; i < profile->line_count; i++)
		if (strcmp(profile->lines[i].key, key) == 0)
			return profile->lines[i].value;
	return NULL;
}

/* "6.12.94-amd64" and "6.12.7" are of one series: the same text up to the second dot. */
bool pm_same_series(const char *a, const char *b)
{
	size_t first = strcspn(a, "."), size = first;

	if (a[first] == '.')
		size += 1 + strspn(a + first + 1, "0123456789");
	return size > 0 && strncmp(a, b, size) == 0 && strspn(b + size, "0123456789") == 0;
}

static void compare(const char *key, const char *value, void *context)
{
	struct comparison *c = context;
	const char *own = said(c->profile, key);
	bool same = own != NULL && strcmp(own, value) == 0;

	if (strcmp(key, "arch") == 0) {
		c->arch = same;
	} else if (strcmp(key, "release") == 0) {
		c->release = same;
		c->series = own != NULL && pm_same_series(own, value);
	} else if (strcmp(key, "version") == 0) {
		c->version = same;
	} else if (strcmp(key, "build_id") == 0) {
		c->build_id = same;
		c->other_build = own != NULL && !same;
	}
}

enum pm_rank pm_profile_judge_identity(const struct pm_profile *profile)
{
	struct comparison c = { .profile = profile };

	if (profile->line_count == 0)
		return PM_RANK_NONE;
	(void)pm_identity_kernel(compare, &c);
	if (!c.arch)
		return PM_RANK_NONE;
	if (c.build_id)
		return PM_RANK_BUILD;
	if (c.release && c.version && !c.other_build)
		return PM_RANK_RELEASE;
	return c.series ? PM_RANK_HINT : PM_RANK_NONE;
}

void pm_profile_judge(struct pm_profile *profile)
{
	profile->rank = pm_profile_judge_identity(profile);
	for (size_t i = 0; i < profile->room; i++)
		profile->entries[i].rank = (uint8_t)profile->rank;
}
