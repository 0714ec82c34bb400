/* SPDX-License-Identifier: MIT */
/*
 * What the library knows of kernels without any file: one letter a fact for each architecture and
 * series of the kernel matrix. It ranks lowest and is used where no profile is installed.
 */
#include <string.h>
#include <sys/utsname.h>

#include "profile.h"

struct builtin {
	const char *arch, *series, *letters;	/* a letter for each key */
};

#include "builtin.inc"

static const struct builtin *kernel_of(const char *arch, const char *release)
{
	for (size_t i = 0; i < sizeof(builtin_kernels) / sizeof(builtin_kernels[0]); i++)
		if (strcmp(builtin_kernels[i].arch, arch) == 0 &&
		    pm_same_series(builtin_kernels[i].series, release))
			return &builtin_kernels[i];
	return NULL;
}

int pm_profile_builtin_of(struct pm_profile *profile, const char *arch, const char *release)
{
	const struct builtin *kernel = kernel_of(arch, release);
	int err, count = 0;

	for (size_t i = 0; kernel != NULL && kernel->letters[i] != '\0'; i++) {
		struct pm_fact fact = { .size = sizeof(fact),
					.key = builtin_keys[i], .rank = PM_RANK_BUILTIN,
					.verdict = pm_verdict_of_letter(kernel->letters[i]) };

		if (fact.verdict == PM_UNKNOWN)
			continue;
		err = pm_profile_set(profile, &fact);
		if (err < 0)
			return err;
		count += err;
	}
	if (count > 0 && profile->rank < PM_RANK_BUILTIN)
		profile->rank = PM_RANK_BUILTIN;
	return count;
}

int pm_profile_builtin(struct pm_profile *profile)
{
	struct utsname names;

	if (uname(&names) != 0)
		return 0;
	return pm_profile_builtin_of(profile, names.machine, names.release);
}
