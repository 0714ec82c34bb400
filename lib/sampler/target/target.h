/* SPDX-License-Identifier: MIT */
/* Targets, ready to be compared with processes; not installed. */
#ifndef PM_SAMPLER_TARGET_H
#define PM_SAMPLER_TARGET_H

#include <regex.h>

#include "../../perfmodes_sampler.h"

#define TARGETS_MAX 64
#define TARGET_TEXT 1024

/* A process as targets look at it. */
struct subject {
	uint32_t pid, uid;		/* uid: UINT32_MAX when unknown */
	uint64_t serial;
	bool kernel;
	const char *cmdline;		/* the name alone, when there is no more */
	const char *cgroup;		/* "": unknown */
};

struct one_target {
	struct pm_target target;	/* its text is the copy below */
	char text[TARGET_TEXT];
	regex_t regex;			/* of CMDLINE_REGEX */
	bool compiled;
	uint64_t serial;		/* of PID: who had it when it was asked for */
};

struct targets {
	struct one_target *list;
	size_t count;
	bool includes;			/* some target does; else all processes are */
};

/* Copies and compiles. -EINVAL with the diagnosis, -ENOMEM; nothing is left behind then. */
int pm_targets_take(const struct pm_target *targets, size_t count, struct pm_diag *diag,
		    struct targets *ret);

/* Whether a process is among them: none excludes it, and one includes it. */
bool pm_targets_match(const struct targets *targets, const struct subject *subject);

/* Whether some target excludes it. */
bool pm_targets_exclude(const struct targets *targets, const struct subject *subject);

/* Whether all that is included has a pid. */
bool pm_targets_are_pids(const struct targets *targets);

/* The process is the one that targets of its pid mean, from now on and no other. */
void pm_targets_bind(struct targets *targets, uint32_t pid, uint64_t serial);

void pm_targets_free(struct targets *targets);

#endif
