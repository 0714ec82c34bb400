/* SPDX-License-Identifier: MIT */
/*
 * The table of facts: memory, lookup, and the rules by which one answer replaces another.
 *
 * A key and its scope (the kernel, or one persona) are hashed together into one table with open
 * addressing; a lookup asks the persona's scope, then the kernel's.
 */
#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../spec/spec.h"
#include "facts.h"

#define BLOCK_BYTES 16384

bool pm_fact_is_elsewhere(const struct pm_fact *fact)
{
	return fact->verdict != PM_UNKNOWN && fact->rank < PM_RANK_RELEASE;
}

void pm_fact_text(const char *key, const struct pm_fact *fact, char *buf, size_t size)
{
	const bool elsewhere = pm_fact_is_elsewhere(fact);

	snprintf(buf, size, "%s %s %s%s", key, elsewhere ? "was" : "is",
		 pm_verdict_word(fact->verdict), elsewhere ? " on another build" : "");
}

/* U+0080 to U+009F, which terminals obey, too. */
static bool is_c1(const char *text, size_t size)
{
	return size > 1 && (unsigned char)text[0] == 0xc2 && (text[1] & 0xe0) == 0x80;
}

bool pm_profile_is_line(const char *text, size_t size)
{
	if (size == 0 || size > PROFILE_TEXT_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || is_c1(text + i, size - i))
			return false;
	return true;
}

/* --------------------------------------------------------------------------------- memory */

const char *pm_profile_copy(struct pm_profile *profile, const char *text, size_t size)
{
	struct block *block = profile->arena.blocks;
	char *copy;

	if (block == NULL || size >= block->size - block->used) {
		size_t room = size + 1 > BLOCK_BYTES ? size + 1 : BLOCK_BYTES;

		block = malloc(sizeof(*block) + room);
		if (block == NULL)
			return NULL;
		*block = (struct block){ .next = profile->arena.blocks, .size = room };
		profile->arena.blocks = block;
	}
	copy = block->bytes + block->used;
	memcpy(copy, text, size);
	copy[size] = '\0';
	block->used += size + 1;
	return copy;
}

struct pm_profile *pm_profile_create(void)
{
	struct pm_profile *profile = calloc(1, sizeof(*profile));

	if (profile != NULL)
		profile->persona = -1;
	return profile;
}

void pm_profile_destroy(struct pm_profile *profile)
{
	struct block *block, *next;

	if (profile == NULL)
		return;
	for (block = profile->arena.blocks; block != NULL; block = next) {
		next = block->next;
		free(block);
	}
	free(profile->entries);
	free(profile->lines);
	free(profile);
}

int pm_profile_add_line(struct pm_profile *profile, const char *key, const char *value)
{
	struct line line;

	if (profile->line_count == PROFILE_LINES_MAX)
		return -ENOSPC;
	if (pm_make_room(&profile->lines, profile->line_count, &profile->line_room,
			 sizeof(line)) < 0)
		return -ENOMEM;
	line.key = pm_profile_copy(profile, key, strlen(key));
	line.value = pm_profile_copy(profile, value, strlen(value));
	if (line.key == NULL || line.value == NULL)
		return -ENOMEM;
	profile->lines[profile->line_count++] = line;
	return 0;
}

/* ------------------------------------------------------------------------------- the table */

/* FNV-1a, the scope first. */
static uint32_t hash_of(unsigned int scope, const char *key, size_t size)
{
	uint32_t hash = (2166136261u ^ scope) * 16777619u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)key[i]) * 16777619u;
	return hash ^ hash >> 15;
}

/* The place of the key, or the free place where it belongs. The table is never full. */
static struct entry *slot(const struct pm_profile *profile, uint32_t hash, unsigned int scope,
			  const char *key, size_t size)
{
	size_t at = hash & (profile->room - 1);

	for (;; at = (at + 1) & (profile->room - 1)) {
		struct entry *entry = &profile->entries[at];

		if (entry->key == NULL)
			return entry;
		if (entry->hash == hash && entry->scope == scope &&
		    strncmp(entry->key, key, size) == 0 && entry->key[size] == '\0')
			return entry;
	}
}

struct entry *pm_profile_find(const struct pm_profile *profile, unsigned int scope,
			      const char *key, size_t size)
{
	struct entry *entry;

	if (profile->room == 0)
		return NULL;
	entry = slot(profile, hash_of(scope, key, size), scope, key, size);
	return entry->key == NULL || entry->gone ? NULL : entry;
}

static int grow(struct pm_profile *profile)
{
	struct pm_profile bigger = { .room = profile->room ? 2 * profile->room : 256 };

	/* A loader knows how many keys to expect; with that room no entry has to move. */
	while (bigger.room / 2 < profile->expected)
		bigger.room *= 2;
	bigger.entries = calloc(bigger.room, sizeof(*bigger.entries));
	if (bigger.entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->room; i++) {
		const struct entry *old = &profile->entries[i];

		if (old->key != NULL)
			*slot(&bigger, old->hash, old->scope, old->key, strlen(old->key)) = *old;
	}
	free(profile->entries);
	profile->entries = bigger.entries;
	profile->room = bigger.room;
	return 0;
}

struct entry *pm_profile_place(struct pm_profile *profile, unsigned int scope, const char *key,
			       size_t size)
{
	uint32_t hash = hash_of(scope, key, size);
	struct entry *entry;
	const char *copy;

	if (profile->used >= profile->room / 2 && grow(profile) < 0)
		return NULL;
	entry = slot(profile, hash, scope, key, size);
	if (entry->key != NULL)
		return entry;
	copy = profile->used < PROFILE_FACTS_MAX ? pm_profile_copy(profile, key, size) : NULL;
	if (copy == NULL)
		return NULL;
	*entry = (struct entry){ .key = copy, .hash = hash, .scope = (uint8_t)scope, .gone = true };
	profile->used++;
	return entry;
}

int pm_profile_answer(struct pm_profile *profile, struct entry *entry, const struct pm_fact *fact)
{
	const char *text = NULL;

	if (fact->type == PM_FACT_TEXT) {
		text = pm_profile_copy(profile, fact->text, strlen(fact->text));
		if (text == NULL)
			return -ENOMEM;
	}
	profile->count += entry->gone;
	entry->gone = false;
	entry->text = text;
	entry->number = fact->number;
	entry->type = (uint8_t)fact->type;
	entry->verdict = fact->type == PM_FACT_VERDICT ? (uint8_t)fact->verdict : PM_UNKNOWN;
	entry->rank = (uint8_t)fact->rank;
	return 0;
}

void pm_entry_fact(const struct entry *entry, struct pm_fact *ret)
{
	*ret = (struct pm_fact){
		.size = sizeof(*ret),
		.key = entry->key, .type = (enum pm_fact_type)entry->type,
		.verdict = (enum pm_verdict)entry->verdict, .rank = (enum pm_rank)entry->rank,
		.number = entry->number, .text = entry->text,
	};
}

void pm_entry_drop(struct pm_profile *profile, struct entry *entry)
{
	profile->count -= !entry->gone;
	entry->gone = true;
}

/* -------------------------------------------------------------------------------- personas */

int pm_profile_persona(struct pm_profile *profile, const char *name, size_t size)
{
	for (size_t i = 0; i < profile->persona_count; i++)
		if (strncmp(profile->personas[i], name, size) == 0 &&
		    profile->personas[i][size] == '\0')
			return (int)i;
	if (profile->persona_count == PROFILE_PERSONAS_MAX)
		return -ENOSPC;
	profile->personas[profile->persona_count] = pm_profile_copy(profile, name, size);
	if (profile->personas[profile->persona_count] == NULL)
		return -ENOMEM;
	return (int)profile->persona_count++;
}

static bool is_key(const char *text)
{
	size_t size = strlen(text);

	return size <= PROFILE_KEY_MAX && pm_profile_is_line(text, size);
}

static const char *own_persona(void)
{
	struct pm_env env;
	int gate_errno;

	pm_env_read_thread(&env);
	if (env.seccomp_mode != 0) {
		(void)pm_env_read(&env);
		if (pm_perf_ask(&env, &gate_errno) == PM_PERF_FILTERED)
			return "seccomp";
	}
	if (env.euid == 0 && pm_env_has_cap(&env, PM_CAP_SYS_ADMIN))
		return "root";
	return pm_env_has_cap(&env, PM_CAP_PERFMON) ? "perfmon" : "user";
}

int pm_profile_use_persona(struct pm_profile *profile, const char *persona)
{
	int at;

	if (persona == NULL)
		persona = own_persona();
	if (!is_key(persona))
		return -EINVAL;
	at = pm_profile_persona(profile, persona, strlen(persona));
	if (at < 0)
		return at;
	profile->persona = at;
	return 0;
}

/* ------------------------------------------------------------------------------------- use */

/*
 * What programs look up before they choose how to measure, although no table here decides by it:
 * whose hits a tracepoint event sees, whether DISABLE wakes a reader, what becomes of events when a
 * CPU goes and comes back, whether the file of the paranoid level tells that perf is there. It
 * ships with what decides. Event-based branches and the clocks of CPUs are of hardware: only the
 * profile of a machine has them.
 */
#define PROGRAM_FACTS(X) \
	X("tracepoint.scope.own_thread") \
	X("tracepoint.scope.other_thread") \
	X("tracepoint.scope.attached_thread") \
	X("tracepoint.scope.later_thread") \
	X("tracepoint.scope.child") \
	X("poll.disable.idle.ioctl_does_not_wake") \
	X("poll.disable.unread.ioctl_does_not_wake") \
	X("poll.disable.counting.ioctl_does_not_wake") \
	X("hotplug.cpus.does_not_resume") \
	X("hotplug.cpus.reopened") \
	X("hotplug.tasks.resumes") \
	X("hotplug.tasks.any_cpu") \
	X("hotplug.tasks_open.opened_offline") \
	X("perm.level_file.file_agrees")
PM_FACTS(programs, PROGRAM_FACTS);

int pm_profile_lookup(const struct pm_profile *profile, const char *key, struct pm_fact *ret)
{
	size_t size = strlen(key);
	const struct entry *entry = NULL;
	struct pm_fact fact;

	if (profile->persona >= 0)
		entry = pm_profile_find(profile, (unsigned int)profile->persona + 1, key, size);
	if (entry == NULL)
		entry = pm_profile_find(profile, SCOPE_KERNEL, key, size);
	if (entry == NULL)
		return -ENOENT;
	if (ret->size < sizeof(fact))
		return -EINVAL;
	pm_entry_fact(entry, &fact);
	fact.size = ret->size;
	*ret = fact;
	return 0;
}

size_t pm_profile_count(const struct pm_profile *profile)
{
	return profile->count;
}

enum pm_rank pm_profile_rank(const struct pm_profile *profile)
{
	return profile->rank;
}

static bool may_replace(const struct entry *old, const struct pm_fact *fact)
{
	if (old->type != PM_FACT_VERDICT)
		return true;
	if (old->verdict == PM_HAZARD && fact->rank < PM_RANK_BUILD)
		return false;
	return old->verdict == PM_BLOCKED || fact->verdict != PM_BLOCKED;
}

/* A text that would be read back as a verdict after it was written is refused. */
static bool is_text(const char *text)
{
	size_t size = text ? strlen(text) : 0;

	return pm_profile_is_line(text, size) && pm_verdict_of(text, size) < 0;
}

static bool is_fact(const struct pm_fact *fact)
{
	if (fact->size < sizeof(*fact) || fact->key == NULL || !is_key(fact->key) ||
	    fact->rank > PM_RANK_RUNTIME)
		return false;
	switch (fact->type) {
	case PM_FACT_VERDICT:
		return pm_verdict_is_kept(fact->verdict);
	case PM_FACT_TEXT:
		return is_text(fact->text);
	default:
		return fact->type == PM_FACT_BOOL || fact->type == PM_FACT_INT;
	}
}

int pm_profile_note(struct pm_profile *profile, const struct pm_fact *fact)
{
	bool blocked = fact->type == PM_FACT_VERDICT && fact->verdict == PM_BLOCKED;
	unsigned int own = (unsigned int)(profile->persona + 1);
	struct entry *entry;
	size_t size;
	int err;

	if (blocked && own == SCOPE_KERNEL)
		return -EINVAL;
	size = strlen(fact->key);
	/* A fact of the persona in use hides the kernel's, so the persona's is replaced. */
	entry = own != SCOPE_KERNEL ? pm_profile_find(profile, own, fact->key, size) : NULL;
	if (entry == NULL)
		entry = pm_profile_place(profile, blocked ? own : SCOPE_KERNEL, fact->key, size);
	if (entry == NULL)
		return profile->used < PROFILE_FACTS_MAX ? -ENOMEM : -ENOSPC;
	if (!entry->gone && !may_replace(entry, fact))
		return 0;
	err = pm_profile_answer(profile, entry, fact);
	return err < 0 ? err : 1;
}

int pm_profile_set(struct pm_profile *profile, const struct pm_fact *fact)
{
	return is_fact(fact) ? pm_profile_note(profile, fact) : -EINVAL;
}
