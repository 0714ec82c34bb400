/* SPDX-License-Identifier: MIT */
/* Merges two profiles into one. */
#include "profile.h"

#include <errno.h>
#include <string.h>

typedef void conflict_fn(const struct pm_fact *into, const struct pm_fact *from, void *context);

struct merge {
	struct pm_profile *into;
	const struct pm_profile *from;
	enum pm_merge how;
	conflict_fn *conflict;
	void *context;
	int conflicts;
};

static bool same_answer(const struct entry *a, const struct entry *b)
{
	if (a->type != b->type || a->verdict != b->verdict || a->number != b->number)
		return false;
	return a->type != PM_FACT_TEXT || strcmp(a->text, b->text) == 0;
}

static bool is_verdict(const struct entry *entry, enum pm_verdict verdict)
{
	return entry->type == PM_FACT_VERDICT && entry->verdict == verdict;
}

static int take(struct merge *m, struct entry *entry, const struct entry *from)
{
	struct pm_fact fact;

	pm_entry_fact(from, &fact);
	return pm_profile_answer(m->into, entry, &fact);
}

static int settle(struct merge *m, struct entry *ours, const struct entry *theirs)
{
	struct pm_fact a, b;

	if (same_answer(ours, theirs) || is_verdict(ours, PM_HAZARD)) {
		if (theirs->rank > ours->rank && same_answer(ours, theirs))
			ours->rank = theirs->rank;
		return 0;
	}
	if (is_verdict(theirs, PM_HAZARD) || is_verdict(ours, PM_BLOCKED))
		return take(m, ours, theirs);
	if (is_verdict(theirs, PM_BLOCKED))
		return 0;
	if (m->how == PM_MERGE_UNION && theirs->rank != ours->rank)
		return theirs->rank > ours->rank ? take(m, ours, theirs) : 0;
	pm_entry_fact(ours, &a);
	pm_entry_fact(theirs, &b);
	m->conflicts++;
	if (m->conflict != NULL)
		m->conflict(&a, &b, m->context);
	pm_entry_drop(m->into, ours);
	return 0;
}

/* The scope in one profile of the persona that is `scope` in another. */
static int scope_in(struct pm_profile *profile, const struct pm_profile *other, unsigned int scope)
{
	int at;

	if (scope == SCOPE_KERNEL)
		return SCOPE_KERNEL;
	at = pm_profile_persona(profile, other->personas[scope - 1],
				strlen(other->personas[scope - 1]));
	return at < 0 ? at : at + 1;
}

static int bring(struct merge *m, const struct entry *theirs)
{
	int scope = scope_in(m->into, m->from, theirs->scope);
	size_t size = strlen(theirs->key);
	struct entry *ours;

	if (scope < 0)
		return scope;
	ours = pm_profile_find(m->into, (unsigned int)scope, theirs->key, size);
	if (ours != NULL)
		return settle(m, ours, theirs);
	if (m->how == PM_MERGE_INTERSECTION && !is_verdict(theirs, PM_HAZARD))
		return 0;
	ours = pm_profile_place(m->into, (unsigned int)scope, theirs->key, size);
	if (ours == NULL)
		return m->into->used < PROFILE_FACTS_MAX ? -ENOMEM : -ENOSPC;
	return take(m, ours, theirs);
}

static bool lacks(const struct pm_profile *profile, const struct pm_profile *other,
		  const struct entry *entry)
{
	for (size_t i = 0; entry->scope != SCOPE_KERNEL && i < profile->persona_count; i++)
		if (strcmp(profile->personas[i], other->personas[entry->scope - 1]) == 0)
			return !pm_profile_find(profile, (unsigned int)i + 1, entry->key,
						strlen(entry->key));
	return entry->scope != SCOPE_KERNEL ||
		!pm_profile_find(profile, SCOPE_KERNEL, entry->key, strlen(entry->key));
}

/* A fact that only one of them has does not hold for both; a hazard does. */
static void drop_unshared(struct merge *m)
{
	for (size_t i = 0; i < m->into->room; i++) {
		struct entry *ours = &m->into->entries[i];

		if (ours->key != NULL && !ours->gone && !is_verdict(ours, PM_HAZARD) &&
		    lacks(m->from, m->into, ours))
			pm_entry_drop(m->into, ours);
	}
}

static bool has_line(const struct pm_profile *profile, const struct line *line)
{
	for (size_t i = 0; i < profile->line_count; i++)
		if (strcmp(profile->lines[i].key, line->key) == 0 &&
		    strcmp(profile->lines[i].value, line->value) == 0)
			return true;
	return false;
}

/* Of the identity, what both say is kept; of the evidence, everything. */
static int merge_lines(struct merge *m)
{
	struct pm_profile *into = m->into;
	size_t kept = 0;

	for (size_t i = 0; i < into->line_count; i++)
		if (strcmp(into->lines[i].key, "evidence") == 0 ||
		    has_line(m->from, &into->lines[i]))
			into->lines[kept++] = into->lines[i];
	/* The part of the identity that was dropped may be the one that matched this kernel. */
	if (kept < into->line_count) {
		into->line_count = kept;
		into->rank = pm_profile_judge_identity(into);
	}
	for (size_t i = 0; i < m->from->line_count; i++) {
		const struct line *line = &m->from->lines[i];
		int err;

		if (strcmp(line->key, "evidence") != 0 || has_line(into, line))
			continue;
		err = pm_profile_add_line(into, line->key, line->value);
		if (err < 0)
			return err;
	}
	return 0;
}

/* A profile that was created empty has no identity to lose. */
static int adopt(struct pm_profile *into, const struct pm_profile *from)
{
	for (size_t i = 0; i < from->line_count; i++) {
		int err = pm_profile_add_line(into, from->lines[i].key, from->lines[i].value);

		if (err < 0)
			return err;
	}
	if (into->catalogue == NULL && from->catalogue != NULL) {
		into->catalogue = pm_profile_copy(into, from->catalogue, strlen(from->catalogue));
		if (into->catalogue == NULL)
			return -ENOMEM;
	}
	into->rank = from->rank;
	return 0;
}

int pm_profile_merge(struct pm_profile *into, const struct pm_profile *from, enum pm_merge how,
		     conflict_fn *conflict, void *context)
{
	struct merge m = { into, from, how, conflict, context, 0 };
	int err;

	if (into == from)
		return 0;
	if (how == PM_MERGE_INTERSECTION)
		drop_unshared(&m);
	for (size_t i = 0; i < from->room; i++) {
		if (from->entries[i].key == NULL || from->entries[i].gone)
			continue;
		err = bring(&m, &from->entries[i]);
		if (err < 0)
			return err;
	}
	err = into->line_count == 0 && how == PM_MERGE_UNION ? adopt(into, from) : merge_lines(&m);
	return err < 0 ? err : m.conflicts;
}
