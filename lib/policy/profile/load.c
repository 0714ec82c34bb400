/* SPDX-License-Identifier: MIT */
/*
 * Reads a profile.json. Anybody may have written the file: a text that does not fit the format is
 * refused with a diagnosis, and nothing of it is kept.
 */
#include "profile.h"
#include "../diagnosis/diag.h"

#include <errno.h>
#include <string.h>

#include "json.h"

#define DEPTH_MAX 16
#define FACT_BYTES 48	/* typical text of one fact; with more facts the table grows */

/* The part of a profile that the parser is in. */
enum section { TOP, TOOL, IDENTITY, EVIDENCE, KERNEL, PERSONAS, PERSONA, OTHER };

struct loader {
	struct pm_profile *profile;
	struct pm_diag *diag;
	enum pm_rank least;
	enum section section;
	int depth, other_depth;
	bool has_format, has_kind, list;
	unsigned int scope;
	char key[PROFILE_KEY_MAX + 1];
	size_t key_size;
};

static int refuse(const struct loader *l, const char *what)
{
	return pm_diag_say(l->diag, EBADMSG, PM_CAUSE_INPUT, "profile: %s at \"%.80s\"", what,
			   l->key);
}

static int no_memory(const struct loader *l)
{
	return pm_diag_say(l->diag, ENOMEM, PM_CAUSE_NONE, "profile: out of memory");
}

static bool is_line(const struct json_token *token)
{
	return pm_profile_is_line(token->text, token->size);
}

static bool is(const struct json_token *token, const char *word)
{
	return token->size == strlen(word) && memcmp(token->text, word, token->size) == 0;
}

/* ----------------------------------------------------------------------------------- facts */

static int fact_of(const struct loader *l, const struct json_token *token, struct pm_fact *ret)
{
	int verdict;

	*ret = (struct pm_fact){ .size = sizeof(struct pm_fact),
				 .key = l->key, .number = token->number };
	switch (token->kind) {
	case JSON_BOOL:
		ret->type = PM_FACT_BOOL;
		return 0;
	case JSON_INTEGER:
		ret->type = PM_FACT_INT;
		return 0;
	case JSON_TEXT:
		break;
	default:
		return refuse(l, "neither a verdict, a number, a truth value nor a text");
	}
	verdict = pm_verdict_of(token->text, token->size);
	if (!is_line(token) || (verdict >= 0 && !pm_verdict_is_kept((enum pm_verdict)verdict)))
		return refuse(l, "a text that no fact can have");
	ret->type = verdict < 0 ? PM_FACT_TEXT : PM_FACT_VERDICT;
	ret->verdict = verdict < 0 ? PM_UNKNOWN : (enum pm_verdict)verdict;
	return 0;
}

static int take_fact(struct loader *l, const struct json_token *token)
{
	struct entry *entry;
	struct pm_fact fact = { .size = sizeof(fact) };
	int err = fact_of(l, token, &fact);

	if (err < 0)
		return err;
	if (l->scope == SCOPE_KERNEL && fact.verdict == PM_BLOCKED)
		return refuse(l, "blocked, said of every persona");
	if (l->profile->used >= PROFILE_FACTS_MAX)
		return pm_diag_say(l->diag, E2BIG, PM_CAUSE_INPUT, "profile: more than %d facts",
				   PROFILE_FACTS_MAX);
	entry = pm_profile_place(l->profile, l->scope, l->key, l->key_size);
	if (entry == NULL)
		return no_memory(l);
	if (!entry->gone)
		return refuse(l, "a second answer to the same question");
	if (fact.type == PM_FACT_TEXT) {
		fact.text = pm_profile_copy(l->profile, token->text, token->size);
		if (fact.text == NULL)
			return no_memory(l);
	}
	return pm_profile_answer(l->profile, entry, &fact) < 0 ? no_memory(l) : 0;
}

/* -------------------------------------------------------------------------- everything else */

static int take_line(struct loader *l, const char *key, const struct json_token *token)
{
	char value[PROFILE_TEXT_MAX + 1];
	int err;

	if (token->kind != JSON_TEXT || !is_line(token))
		return refuse(l, "not one line of text");
	memcpy(value, token->text, token->size);
	value[token->size] = '\0';
	err = pm_profile_add_line(l->profile, key, value);
	if (err == -ENOSPC)
		return refuse(l, "too many lines");
	return err < 0 ? no_memory(l) : 0;
}

static int take_word(struct loader *l, const struct json_token *token, const char **ret)
{
	if (token->kind != JSON_TEXT || !is_line(token) || *ret != NULL)
		return refuse(l, "not one line of text");
	*ret = pm_profile_copy(l->profile, token->text, token->size);
	return *ret == NULL ? no_memory(l) : 0;
}

static const struct {
	const char *key;
	enum section section;
	enum json_kind opened_by;
} sections[] = {
	{ "tool", TOOL, JSON_MAP }, { "identity", IDENTITY, JSON_MAP },
	{ "evidence", EVIDENCE, JSON_LIST }, { "kernel", KERNEL, JSON_MAP },
	{ "personas", PERSONAS, JSON_MAP },
};

static bool is_section(const char *key)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (strcmp(key, sections[i].key) == 0)
			return true;
	return false;
}

static int take_top(struct loader *l, const struct json_token *token)
{
	if (strcmp(l->key, "format") == 0) {
		if (token->kind != JSON_INTEGER || token->number != 1)
			return refuse(l, "a format other than 1");
		l->has_format = true;
	} else if (strcmp(l->key, "kind") == 0) {
		if (token->kind != JSON_TEXT || !is(token, "profile"))
			return refuse(l, "not a profile");
		l->has_kind = true;
	} else if (strcmp(l->key, "catalogue") == 0) {
		return take_word(l, token, &l->profile->catalogue);
	} else if (is_section(l->key)) {
		return refuse(l, "a value where an object or list belongs");
	}
	/* Members that a later release adds are skipped. */
	return 0;
}

static int take_value(struct loader *l, const struct json_token *token)
{
	switch (l->section) {
	case TOP:
		return take_top(l, token);
	case TOOL:
		return strcmp(l->key, "version") == 0 ?
			take_word(l, token, &l->profile->tool_version) : 0;
	case IDENTITY:
		return take_line(l, l->key, token);
	case EVIDENCE:
		return take_line(l, "evidence", token);
	case KERNEL:
	case PERSONA:
		return take_fact(l, token);
	default:
		return l->section == OTHER ? 0 : refuse(l, "a value where an object belongs");
	}
}

/* -------------------------------------------------------------------------------- structure */

static int enter_section(struct loader *l, enum json_kind kind)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (strcmp(l->key, sections[i].key) != 0)
			continue;
		if (kind != sections[i].opened_by)
			return refuse(l, "a list for an object, or the other way round");
		l->section = sections[i].section;
		l->scope = SCOPE_KERNEL;
		return 0;
	}
	l->section = OTHER;
	l->other_depth = l->depth;
	return 0;
}

static int enter_persona(struct loader *l)
{
	int at = pm_profile_persona(l->profile, l->key, l->key_size);

	if (at == -ENOSPC)
		return refuse(l, "too many personas");
	if (at < 0)
		return no_memory(l);
	l->section = PERSONA;
	l->scope = (unsigned int)at + 1;
	return 0;
}

static int enter(struct loader *l, enum json_kind kind)
{
	if (++l->depth > DEPTH_MAX)
		return refuse(l, "too deep a nesting");
	if (l->depth == 1)
		return kind == JSON_MAP ? 0 : refuse(l, "no object");
	switch (l->section) {
	case TOP:
		return enter_section(l, kind);
	case OTHER:
		return 0;
	case PERSONAS:
		return kind == JSON_MAP ? enter_persona(l) : refuse(l, "no object");
	case IDENTITY:
		if (kind != JSON_LIST || l->list)
			return refuse(l, "no list of lines");
		l->list = true;
		return 0;
	default:
		return refuse(l, "a list or object where a value belongs");
	}
}

static int leave(struct loader *l)
{
	l->depth--;
	if (l->list) {
		l->list = false;
	} else if (l->section == PERSONA) {
		l->section = PERSONAS;
	} else if (l->section != OTHER || l->depth < l->other_depth) {
		/* This comes early: in canonical order most of the text is still to come. */
		if (l->section == IDENTITY && l->least > PM_RANK_NONE &&
		    pm_profile_judge_identity(l->profile) < l->least)
			return -ENOENT;
		l->section = TOP;
	}
	return 0;
}

static int take_key(struct loader *l, const struct json_token *token)
{
	l->key[0] = '\0';
	if (l->section == OTHER)
		return 0;
	if (token->size > PROFILE_KEY_MAX || !is_line(token))
		return refuse(l, "a key that is empty, too long or no line");
	memcpy(l->key, token->text, token->size);
	l->key[token->size] = '\0';
	l->key_size = token->size;
	return 0;
}

static int take_token(void *context, const struct json_token *token)
{
	struct loader *l = context;

	switch (token->kind) {
	case JSON_MAP:
	case JSON_LIST:
		return enter(l, token->kind);
	case JSON_MAP_END:
	case JSON_LIST_END:
		return leave(l);
	case JSON_KEY:
		return take_key(l, token);
	default:
		return l->depth == 0 ? refuse(l, "no object") : take_value(l, token);
	}
}

static int check_whole(const struct loader *l)
{
	if (!l->has_format || !l->has_kind)
		return pm_diag_say(l->diag, EBADMSG, PM_CAUSE_INPUT,
				   "profile: says neither format 1 nor kind \"profile\"");
	return 0;
}

int pm_profile_parse(const char *text, size_t size, enum pm_rank least, struct pm_diag *diag,
		     struct pm_profile **ret)
{
	struct loader loader = { .diag = diag, .least = least, .key = "" };
	int err;

	if (size > PROFILE_BYTES_MAX)
		return pm_diag_say(diag, E2BIG, PM_CAUSE_INPUT, "profile: more than %u bytes",
				   PROFILE_BYTES_MAX);
	loader.profile = pm_profile_create();
	if (loader.profile == NULL)
		return no_memory(&loader);
	loader.profile->expected = size / FACT_BYTES;
	/* The reader's own refusal is told only where no diagnosis was given before. */
	(void)pm_diag_say(diag, EBADMSG, PM_CAUSE_INPUT, "profile: not JSON");
	err = pm_json_parse(text, size, take_token, &loader);
	if (err == 0)
		err = check_whole(&loader);
	if (err < 0) {
		pm_profile_destroy(loader.profile);
		return err;
	}
	(void)pm_diag_say(diag, 0, PM_CAUSE_NONE, "%s", "");
	pm_profile_judge(loader.profile);
	*ret = loader.profile;
	return 0;
}

int pm_profile_load_text(const char *text, size_t size, struct pm_diag *diag,
			 struct pm_profile **ret)
{
	return pm_profile_parse(text, size, PM_RANK_NONE, diag, ret);
}
