/* SPDX-License-Identifier: MIT */
/* Whose samples have stacks, where that is not everybody who is watched. */
#ifndef SERVICE_SCOPE_H
#define SERVICE_SCOPE_H

#include "../target/target.h"
#include "config.h"

struct scope {
	struct targets targets;
	size_t most, count;		/* of programs besides */
	char **programs;
};

/* -EINVAL with the diagnosis, -ENOMEM. */
int scope_init(struct scope *scope, const struct source_config *config, struct pm_diag *diag);
void scope_free(struct scope *scope);

/*
 * Whether a process is in it. Programs besides are known by their first argument, and are those
 * that are asked about first: neither named nor left out.
 */
bool scope_has(struct scope *scope, const struct pm_process *process);

#endif
