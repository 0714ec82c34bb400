/* SPDX-License-Identifier: MIT */
/*
 * What the list of verdicts says of each: its word, whether a profile keeps it, its letter in the
 * table compiled into the library.
 */
#include <errno.h>
#include <string.h>

#include "profile.h"

enum kept { KEPT_NEVER, KEPT_CONCLUSIVE, KEPT_DECLARED, KEPT_PERSONA };

static const struct {
	const char *word, *letter;
	enum kept kept;
} verdicts[] = {
#define PM_VERDICT(name, number, word, ktap, kcidb, profile, rank, counted, letter, ...) \
	[PM_##name] = { word, letter, KEPT_##profile },
#include "../../perfmodes_verdicts.def"
};

#define VERDICTS (sizeof(verdicts) / sizeof(*verdicts))

const char *pm_verdict_word(enum pm_verdict verdict)
{
	return verdicts[verdict].word;
}

int pm_verdict_of(const char *word, size_t size)
{
	for (size_t i = 0; i < VERDICTS; i++)
		if (strlen(verdicts[i].word) == size && memcmp(verdicts[i].word, word, size) == 0)
			return (int)i;
	return -ENOENT;
}

bool pm_verdict_is_kept(enum pm_verdict verdict)
{
	return (size_t)verdict < VERDICTS && verdicts[verdict].kept != KEPT_NEVER;
}

bool pm_verdict_denies(enum pm_verdict verdict)
{
	return verdict != PM_YES && (verdicts[verdict].kept == KEPT_CONCLUSIVE ||
				     verdicts[verdict].kept == KEPT_DECLARED);
}

enum pm_verdict pm_verdict_of_letter(char letter)
{
	for (size_t i = 0; i < VERDICTS; i++)
		if (letter != '\0' && verdicts[i].letter[0] == letter)
			return (enum pm_verdict)i;
	return PM_UNKNOWN;
}
