/* SPDX-License-Identifier: MIT */
/* Targets as those of a sampler, and programs that none of them names, first come, first served. */
#include "scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int scope_init(struct scope *scope, const struct source_config *config, struct pm_diag *diag)
{
	struct pm_target targets[TARGETS];
	int err = 0;

	*scope = (struct scope){ .most = (size_t)config->stack_programs };
	/* None is a cgroup: config_judge_targets. */
	for (size_t i = 0; i < config->stack_target_count && err == 0; i++) {
		targets[i] = (struct pm_target){ .size = sizeof(targets[i]) };
		err = pm_target_parse(config->stack_targets[i], diag, &targets[i]);
	}
	if (err == 0)
		err = pm_targets_take(targets, config->stack_target_count, diag, &scope->targets);
	scope->programs = scope->most > 0 ? calloc(scope->most, sizeof(char *)) : NULL;
	return err == 0 && scope->most > 0 && !scope->programs ? -ENOMEM : err;
}

void scope_free(struct scope *scope)
{
	for (size_t i = 0; i < scope->count; i++)
		free(scope->programs[i]);
	free(scope->programs);
	pm_targets_free(&scope->targets);
	*scope = (struct scope){ .most = 0 };
}

static bool has_program(struct scope *scope, const char *program)
{
	for (size_t i = 0; i < scope->count; i++)
		if (strcmp(scope->programs[i], program) == 0)
			return true;
	if (scope->count == scope->most)
		return false;
	scope->programs[scope->count] = strdup(program);
	scope->count += scope->programs[scope->count] != NULL;
	return true;
}

/* The first argument: the size of arguments ends it where no 0 byte does. */
static bool is_program(struct scope *scope, const struct pm_process *process)
{
	char program[4096];
	size_t length = strnlen(process->arguments, process->arguments_size);

	if (length == 0)
		return has_program(scope, process->comm);
	if (length >= sizeof(program))
		length = sizeof(program) - 1;
	memcpy(program, process->arguments, length);
	program[length] = '\0';
	return has_program(scope, program);
}

bool scope_has(struct scope *scope, const struct pm_process *process)
{
	const struct subject subject = {
		.pid = process->pid, .uid = process->uid, .serial = process->serial,
		.kernel = process->kernel,
		.cmdline = process->cmdline[0] != '\0' ? process->cmdline : process->comm,
		.cgroup = "",
	};

	pm_targets_bind(&scope->targets, process->pid, process->serial);
	if (pm_targets_exclude(&scope->targets, &subject))
		return false;
	if (!scope->targets.includes)
		return scope->most == 0 || is_program(scope, process);
	return pm_targets_match(&scope->targets, &subject) || is_program(scope, process);
}
