/* SPDX-License-Identifier: MIT */
/* Raw codes of events that can branch: which event in bits 0 to 15, which counter in 16 to 19. */
#include "ebb.h"

#ifdef PM_HAS_EBB

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../policy/diagnosis/diag.h"

#define NAME_MAX_ 64
#define PMC_SHIFT 16
#define PMC_OF(code) ((unsigned int)((code) >> PMC_SHIFT & 0xf))

/* The same codes on POWER8, 9 and 10; `first` is the counter when the name does not say. */
static const struct {
	const char *name;
	uint64_t code;
	unsigned int first, last;
} known[] = {
	{ "cycles", 0x1e, 1, 4 },
	{ "cpu-cycles", 0x1e, 1, 4 },
	{ "instructions", 0x02, 2, 4 },
	{ "run_instructions", 0xfa, 5, 5 },
	{ "run_cycles", 0xf4, 6, 6 },
};

static int on_counter(const char *name, uint64_t code, unsigned int pmc, struct pm_diag *diag,
		      uint64_t *ret)
{
	const unsigned int fixed = PMC_OF(code);

	if (pmc == 0 && fixed == 0)
		return pm_diag_say(diag, ENOTUNIQ, PM_CAUSE_INPUT, "%.64s: on which counter? Write "
				   "%.64s@1 to %.64s@6", name, name, name);
	if (pmc > PM_EBB_COUNTERS || fixed > PM_EBB_COUNTERS ||
	    (pmc != 0 && fixed != 0 && pmc != fixed))
		return pm_diag_say(diag, ERANGE, PM_CAUSE_INPUT, "%.64s: its counter is %u", name,
				   fixed);
	*ret = code | (uint64_t)(fixed ? fixed : pmc) << PMC_SHIFT;
	return 0;
}

/* A name that sysfs has, as a raw code. */
static int ask_sysfs(const char *word, struct pm_diag *diag, uint64_t *ret)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	char name[NAME_MAX_ + 8];
	int err;

	snprintf(name, sizeof(name), "cpu/%s/", word);
	err = pm_event_parse(name, diag, &spec);
	if (err < 0)
		return err;
	*ret = spec.config;
	return 0;
}

static int take_word(const char *word, unsigned int pmc, struct pm_diag *diag, uint64_t *ret)
{
	uint64_t code = 0;
	char *end;
	int err;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const unsigned int wanted = pmc ? pmc : known[i].first;

		if (strcmp(word, known[i].name) != 0)
			continue;
		if (wanted < known[i].first || wanted > known[i].last)
			return pm_diag_say(diag, ERANGE, PM_CAUSE_INPUT, "%s: counters %u to %u "
					   "count it", word, known[i].first, known[i].last);
		*ret = known[i].code | (uint64_t)wanted << PMC_SHIFT;
		return 0;
	}
	if (word[0] == 'r' && word[1] != '\0' &&
	    word[1 + strspn(word + 1, "0123456789abcdef")] == '\0') {
		code = strtoull(word + 1, &end, 16);
		return on_counter(word, code, pmc, diag, ret);
	}
	err = ask_sysfs(word, diag, &code);
	return err < 0 ? err : on_counter(word, code, pmc, diag, ret);
}

int pm_ebb_code(const char *name, struct pm_diag *diag, uint64_t *ret)
{
	const char *at = strchr(name, '@');
	const size_t length = at ? (size_t)(at - name) : strlen(name);
	char word[NAME_MAX_];
	unsigned int pmc = 0;

	if (length == 0 || length >= sizeof(word) || strcspn(name, "/,:") < length ||
	    (at != NULL && (at[1] < '1' || at[1] > '6' || at[2] != '\0')))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "\"%.64s\" is no NAME or NAME@N "
				   "with a counter from 1 to 6", name);
	if (at != NULL)
		pmc = (unsigned int)(at[1] - '0');
	memcpy(word, name, length);
	word[length] = '\0';
	return take_word(word, pmc, diag, ret);
}

#endif
