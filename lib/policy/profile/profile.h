/* SPDX-License-Identifier: MIT */
/* A profile as its files share it; not installed. */
#ifndef PM_PROFILE_H
#define PM_PROFILE_H

#include "../../perfmodes.h"

#define PROFILE_BYTES_MAX (4u << 20)
#define PROFILE_FACTS_MAX 65536
#define PROFILE_PERSONAS_MAX 32
#define PROFILE_KEY_MAX 300
#define PROFILE_TEXT_MAX 16500
#define PROFILE_LINES_MAX 4096		/* identity, evidence */
#define SCOPE_KERNEL 0			/* persona n is scope n + 1 */

/* Texts live here until the profile is destroyed; none is freed before. */
struct arena {
	struct block { struct block *next; size_t used, size; char bytes[]; } *blocks;
};

struct entry {
	const char *key;		/* NULL: free */
	const char *text;
	int64_t number;
	uint32_t hash;
	uint8_t scope;
	uint8_t type;
	uint8_t verdict;
	uint8_t rank;
	bool gone;			/* the key keeps its place */
};

struct line {
	const char *key, *value;
};

struct pm_profile {
	struct arena arena;
	struct entry *entries;		/* open addressing, at most half full */
	size_t room, used, count;	/* a power of two; keys; facts that are not gone */
	size_t expected;		/* keys, as far as is known */
	const char *personas[PROFILE_PERSONAS_MAX];
	size_t persona_count;
	int persona;			/* in use, -1 none */
	struct line *lines;		/* identity and evidence ("evidence") in the order read */
	size_t line_count, line_room;
	const char *catalogue, *tool_version;
	enum pm_rank rank;
};

/* Whether the text is one line of bounded size, so that it may be printed and compared as it is. */
bool pm_profile_is_line(const char *text, size_t size);

/* A terminated copy that lives as long as the profile; NULL: no memory. */
const char *pm_profile_copy(struct pm_profile *profile, const char *text, size_t size);

/* Index of the persona, made when it is not there: >= 0, -ENOSPC, -ENOMEM. */
int pm_profile_persona(struct pm_profile *profile, const char *name, size_t size);

/* The fact of exactly that scope, or NULL. `key` of `size` bytes need not be terminated. */
struct entry *pm_profile_find(const struct pm_profile *profile, unsigned int scope,
			      const char *key, size_t size);

/* The same, made when it is not there, with `gone` set. NULL: no memory, or full. */
struct entry *pm_profile_place(struct pm_profile *profile, unsigned int scope, const char *key,
			       size_t size);

/* Copies an answer into an entry of the profile. -ENOMEM. */
int pm_profile_answer(struct pm_profile *profile, struct entry *entry, const struct pm_fact *fact);

void pm_entry_fact(const struct entry *entry, struct pm_fact *ret);
void pm_entry_drop(struct pm_profile *profile, struct entry *entry);

/* -ENOSPC, -ENOMEM. */
int pm_profile_add_line(struct pm_profile *profile, const char *key, const char *value);

/* Compares the identity with the running kernel's and ranks every fact by it. */
void pm_profile_judge(struct pm_profile *profile);
enum pm_rank pm_profile_judge_identity(const struct pm_profile *profile);

/* Whether both texts are of one series, as "6.12.94-amd64" and "6.12". */
bool pm_same_series(const char *a, const char *b);

/* Adds the facts that the library was built with for this series. Returns how many, or -ENOMEM. */
int pm_profile_builtin(struct pm_profile *profile);
int pm_profile_builtin_of(struct pm_profile *profile, const char *arch, const char *release);

/* As load_text; stops with -ENOENT when the identity ranks below `least`. */
int pm_profile_parse(const char *text, size_t size, enum pm_rank least, struct pm_diag *diag,
		     struct pm_profile **ret);

/*
 * pm_profile_probe() of what plans are made by. It leaves the event of page faults open, where it
 * opened one: *ret_fd is to be closed, also after an error. Opening the first event of a software
 * kind and closing the last one patches the kernel's code on all CPUs, which takes longer than all
 * else that a plan does.
 */
int pm_profile_probe_for_plan(struct pm_profile *profile, int *ret_fd);

/* The verdict of a word, -ENOENT when it is none. The word of a verdict. */
int pm_verdict_of(const char *word, size_t size);
const char *pm_verdict_word(enum pm_verdict verdict);

/* Whether it can be a fact of a profile. */
bool pm_verdict_is_kept(enum pm_verdict verdict);

/* Whether the verdict is a known answer of a kernel, and is not yes. */
bool pm_verdict_denies(enum pm_verdict verdict);

/* What a letter of the table compiled into the library says; PM_UNKNOWN for other letters. */
enum pm_verdict pm_verdict_of_letter(char letter);

/* Whether the fact is of another build, and so says less about this one. */
bool pm_fact_is_elsewhere(const struct pm_fact *fact);

/* "KEY is broken"; of such a fact "KEY was broken on another build". */
void pm_fact_text(const char *key, const struct pm_fact *fact, char *buf, size_t size);

/* pm_profile_set() for a fact that the library itself has made: it is not looked over again. */
int pm_profile_note(struct pm_profile *profile, const struct pm_fact *fact);

#endif
