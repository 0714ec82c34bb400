/* SPDX-License-Identifier: MIT */
/* Whether a profile denies that something works; not installed. */
#ifndef PM_DENY_H
#define PM_DENY_H

#include "profile.h"

/*
 * True when the profile (NULL: none) says that this does not work, here or on another build.
 * Callers have a slower way that works anywhere. An unknown fact denies nothing.
 */
static inline bool pm_denies(const struct pm_profile *profile, const char *key)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	return profile != NULL && pm_profile_lookup(profile, key, &fact) == 0 &&
		pm_verdict_denies(fact.verdict);
}

#endif
