/* SPDX-License-Identifier: MIT */
/* Which processes are meant. */
#include "target.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/spec/spec.h"

/* --------------------------------------------------------------------------------------- text */

static const struct word {
	const char *prefix;
	enum pm_target_by by;
	uint32_t least, most;		/* of a number; both 0: a text follows */
} words[] = {
	{ "pid:", PM_BY_PID, 1, INT32_MAX },
	{ "uid:", PM_BY_UID, 0, UINT32_MAX - 1 },
	{ "cmd:", PM_BY_CMDLINE, 0, 0 },
	{ "regex:", PM_BY_CMDLINE_REGEX, 0, 0 },
	{ "cgroup:", PM_BY_CGROUP, 0, 0 },
};

/* All of `text` is a number of that range: 0, -EINVAL, -ERANGE. */
static int parse_number(const char *text, const struct word *word, int64_t *ret)
{
	const char *digits = text + (*text == '-');
	uint64_t value = 0;

	if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
		return -EINVAL;
	if (digits > text)
		return -ERANGE;
	for (; *text != '\0'; text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > word->most)
			return -ERANGE;
	}
	if (value < word->least)
		return -ERANGE;
	*ret = (int64_t)value;
	return 0;
}

static int parse_behind(const char *text, const struct word *word, struct pm_target *target)
{
	target->by = word->by;
	if (word->most > 0)
		return parse_number(text, word, &target->number);
	target->text = text;
	return *text == '\0' || strlen(text) >= TARGET_TEXT ||
		(word->by == PM_BY_CGROUP && *text != '/') ? -EINVAL : 0;
}

static int parse(const char *text, struct pm_target *target)
{
	if (strcmp(text, "any") == 0 || strcmp(text, "kernel") == 0) {
		target->by = *text == 'a' ? PM_BY_ANY : PM_BY_KERNEL;
		return 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(text, words[i].prefix, strlen(words[i].prefix)) == 0)
			return parse_behind(text + strlen(words[i].prefix), &words[i], target);
	return parse_behind(text, &words[0], target);
}

int pm_target_parse(const char *text, struct pm_diag *diag, struct pm_target *ret)
{
	struct pm_target target = { .exclude = text[0] == '!' };
	int err = parse(text + target.exclude, &target);

	if (err == 0 && !pm_give(ret, &target, sizeof(target), sizeof(target)))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "the size of the target is not "
				   "set");
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_INPUT, "target \"%.200s\": %s", text,
				   err == -ERANGE ? "such a number cannot be" : "not any, kernel, "
				   "a pid, pid:N, uid:N, cmd:PATTERN, regex:EXPRESSION or "
				   "cgroup:/PATH");
	return 0;
}

/* -------------------------------------------------------------------------------------- taking */

static int compile(struct one_target *one, struct pm_diag *diag)
{
	char why[160];
	int err;

	if (one->target.by != PM_BY_CMDLINE_REGEX)
		return 0;
	err = regcomp(&one->regex, one->text, REG_EXTENDED | REG_NOSUB);
	one->compiled = err == 0;
	if (err == 0)
		return 0;
	regerror(err, &one->regex, why, sizeof(why));
	return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "target \"regex:%.200s\": %s", one->text,
			   why);
}

static bool makes_sense(const struct pm_target *target)
{
	switch (target->by) {
	case PM_BY_ANY: case PM_BY_KERNEL:
		return true;
	case PM_BY_PID:
		return target->number > 0 && target->number <= INT32_MAX;
	case PM_BY_UID:
		return target->number >= 0 && target->number < UINT32_MAX;
	case PM_BY_CGROUP:
		return target->text != NULL && target->text[0] == '/' &&
			strlen(target->text) < TARGET_TEXT;
	case PM_BY_CMDLINE: case PM_BY_CMDLINE_REGEX:
		return target->text != NULL && strlen(target->text) < TARGET_TEXT;
	}
	return false;
}

static int take_one(struct one_target *one, const void *from, struct pm_diag *diag)
{
	struct pm_target *target = &one->target;

	if (!pm_take(target, sizeof(*target), from, sizeof(*target)) || !makes_sense(target))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "a target that makes no sense");
	if (target->text != NULL)
		target->text = strncpy(one->text, target->text, sizeof(one->text) - 1);
	return compile(one, diag);
}

int pm_targets_take(const struct pm_target *targets, size_t count, struct pm_diag *diag,
		    struct targets *ret)
{
	int err = 0;

	*ret = (struct targets){ .list = NULL };
	if (count > TARGETS_MAX)
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "%zu targets, at most %d", count,
				   TARGETS_MAX);
	ret->list = calloc(count + 1, sizeof(*ret->list));
	if (ret->list == NULL)
		return -ENOMEM;
	for (; err == 0 && ret->count < count; ret->count++) {
		struct one_target *one = &ret->list[ret->count];

		err = take_one(one, (const char *)targets + ret->count * targets->size, diag);
		ret->includes |= err == 0 && !one->target.exclude;
	}
	if (err < 0)
		pm_targets_free(ret);
	return err;
}

void pm_targets_free(struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].compiled)
			regfree(&targets->list[i].regex);
	free(targets->list);
	*targets = (struct targets){ .list = NULL };
}

/* ------------------------------------------------------------------------------------ matching */

/* The last part of the path in the first argument. */
static bool matches_program(const char *pattern, const char *cmdline)
{
	const size_t length = strcspn(cmdline, " ");
	char program[256];
	const char *slash;

	if (length >= sizeof(program))
		return false;
	memcpy(program, cmdline, length);
	program[length] = '\0';
	slash = strrchr(program, '/');
	return fnmatch(pattern, slash ? slash + 1 : program, 0) == 0;
}

static bool is_below(const char *path, const char *of)
{
	size_t length = strlen(of);

	while (length > 0 && of[length - 1] == '/')
		length--;
	return path[0] != '\0' && strncmp(path, of, length) == 0 &&
		(path[length] == '\0' || path[length] == '/');
}

static bool matches(const struct one_target *one, const struct subject *subject)
{
	switch (one->target.by) {
	case PM_BY_ANY:
		return !subject->kernel;
	case PM_BY_KERNEL:
		return subject->kernel;
	case PM_BY_PID:
		return one->serial ? one->serial == subject->serial :
			one->target.number == subject->pid;
	case PM_BY_UID:
		return !subject->kernel && one->target.number == subject->uid;
	case PM_BY_CGROUP:
		return is_below(subject->cgroup, one->text);
	case PM_BY_CMDLINE:
		return !subject->kernel && (fnmatch(one->text, subject->cmdline, 0) == 0 ||
					    matches_program(one->text, subject->cmdline));
	case PM_BY_CMDLINE_REGEX:
		return !subject->kernel &&
			regexec(&one->regex, subject->cmdline, 0, NULL, 0) == 0;
	}
	return false;
}

bool pm_targets_exclude(const struct targets *targets, const struct subject *subject)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].target.exclude && matches(&targets->list[i], subject))
			return true;
	return false;
}

bool pm_targets_match(const struct targets *targets, const struct subject *subject)
{
	bool included = !targets->includes && !subject->kernel;

	for (size_t i = 0; !included && i < targets->count; i++)
		included = !targets->list[i].target.exclude &&
			matches(&targets->list[i], subject);
	return included && !pm_targets_exclude(targets, subject);
}

bool pm_targets_are_pids(const struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		if (!targets->list[i].target.exclude && targets->list[i].target.by != PM_BY_PID)
			return false;
	return targets->includes;
}

void pm_targets_bind(struct targets *targets, uint32_t pid, uint64_t serial)
{
	for (size_t i = 0; i < targets->count; i++) {
		struct one_target *one = &targets->list[i];

		if (one->target.by == PM_BY_PID && one->target.number == pid && one->serial == 0)
			one->serial = serial;
	}
}
