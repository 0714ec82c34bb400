/* SPDX-License-Identifier: MIT */
/*
 * Events in a PMU's own terms. sysfs has a folder of each PMU: "format" says where the value of a
 * term goes, "events" has names for lists of terms ("event=0xc0,umask=0x1").
 */
#include "event.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PMU_DIR "/sys/bus/event_source/devices"
#define TEXT_MAX 1024		/* of a file in format or events */

struct pmu {
	struct parsing *parsing;
	char name[EVENT_NAME_MAX + 1];
};

/* The text of a file in one of the PMU's folders. Returns its length or -errno. */
static int read_of_pmu(const struct pmu *pmu, const char *folder, const char *word, size_t length,
		       char *text)
{
	char path[PATH_MAX];
	int size;

	if (length == 0 || word[0] == '.' || memchr(word, '/', length) != NULL)
		return -ENOENT;
	size = snprintf(path, sizeof(path), PMU_DIR "/%s/%s/%.*s", pmu->name, folder, (int)length,
			word);
	if (size >= (int)sizeof(path))
		return -ENOENT;
	return pm_read_text(path, text, TEXT_MAX);
}

/* One of the attr's words as a whole, as perf(1) allows it. */
static bool is_config(const char *word, size_t length)
{
	return length >= strlen("config") && length <= strlen("config1") &&
		memcmp(word, "config", strlen("config")) == 0 &&
		(length == strlen("config") || word[length - 1] == '1' || word[length - 1] == '2');
}

static int place(const struct pmu *pmu, const char *word, size_t length, uint64_t value)
{
	char format[TEXT_MAX];
	int err;

	if (is_config(word, length))
		snprintf(format, sizeof(format), "%.*s:0-63", (int)length, word);
	else if (read_of_pmu(pmu, "format", word, length, format) < 0)
		return -ENOENT;
	err = pm_pmu_place(format, value, &pmu->parsing->attr);
	if (err == -ERANGE)
		return pm_event_wrong(pmu->parsing, ERANGE, word, length, "cannot be that large");
	if (err < 0)
		return pm_event_wrong(pmu->parsing, ENOTSUP, word, length,
				      "has a format that is not understood");
	return 0;
}

/* "WORD" or "WORD=NUMBER" */
static int take_term(const struct pmu *pmu, const char *term, size_t length)
{
	const char *equals = memchr(term, '=', length);
	const size_t word = equals ? (size_t)(equals - term) : length;
	uint64_t value = 1;
	int err = pm_event_common_term(pmu->parsing, term, length);

	if (err != 0)
		return err < 0 ? err : 0;
	err = equals ? pm_event_number(equals + 1, length - word - 1, &value) : 0;
	if (err == -ERANGE)
		return pm_event_wrong(pmu->parsing, ERANGE, term, word, "cannot be that large");
	if (err < 0)
		return pm_event_wrong(pmu->parsing, EINVAL, term, length, "has no number behind =");
	return place(pmu, term, word, value);
}

/* All terms of a list; -ENOENT with the place of one that the PMU does not have. */
static int take_terms(const struct pmu *pmu, const char *list, size_t size, const char **ret)
{
	for (const char *at = list, *end = list + size; at < end;) {
		const size_t length = pm_event_term_length(at, end);
		int err = length == 0 ? -EINVAL : take_term(pmu, at, length);

		*ret = at;
		if (err < 0)
			return err;
		at += length + (at + length < end);
	}
	return 0;
}

/* A name in "events" stands for terms. */
static int take_alias(const struct pmu *pmu, const char *word, size_t length)
{
	char list[TEXT_MAX];
	const char *unused;
	int size = read_of_pmu(pmu, "events", word, length, list);

	return size < 0 ? -ENOENT : take_terms(pmu, list, (size_t)size, &unused);
}

/* Between the slashes: terms, and names of events. */
static int take_all(const struct pmu *pmu, const char *list, size_t size)
{
	const char *at = list;

	while (at < list + size) {
		const char *wrong = at;
		int err = take_terms(pmu, at, (size_t)(list + size - at), &wrong);
		size_t length = strcspn(wrong, ",/");

		if (err == -ENOENT)
			err = take_alias(pmu, wrong, length);
		else if (err == 0)
			return 0;
		if (err == -ENOENT)
			return pm_event_wrong(pmu->parsing, ENOENT, wrong, length,
					      "is no term and no event of that PMU");
		if (err == -EINVAL && length == 0)
			return pm_event_wrong(pmu->parsing, EINVAL, wrong, 1, "is no term");
		if (err < 0)
			return err;
		at = wrong + length + (wrong[length] == ',');
	}
	return 0;
}

/*
 * Where cores differ each kind has a PMU, and a file "cpus". The kernel takes generic events of one
 * kind by its type in the upper half of config (55bcf6ef314a, v5.13), whatever "events" lists.
 */
static bool take_generic(struct pmu *pmu, const char *list, size_t size, int type)
{
	struct perf_event_attr *attr = &pmu->parsing->attr, generic = *attr;
	char path[PATH_MAX], text[TEXT_MAX];

	if (!pm_event_generic(&generic, list, size) || generic.type == PERF_TYPE_SOFTWARE)
		return false;
	snprintf(path, sizeof(path), PMU_DIR "/%s/cpus", pmu->name);
	if (pm_read_text(path, text, sizeof(text)) < 0 ||
	    read_of_pmu(pmu, "events", list, size, text) >= 0)
		return false;
	generic.config |= (uint64_t)type << 32;
	*attr = generic;
	return true;
}

int pm_event_parse_pmu(struct parsing *parsing)
{
	struct pmu pmu = { .parsing = parsing };
	const size_t length = strcspn(parsing->at, "/");
	const char *list = parsing->at + length + 1;
	const size_t size = strcspn(list, "/");
	int type;

	if (list[size] != '/')
		return pm_event_wrong(parsing, EINVAL, list, size, "has no slash behind it");
	memcpy(pmu.name, parsing->at, length);
	type = pm_pmu_type(pmu.name);
	if (type < 0)
		return pm_event_wrong(parsing, ENOENT, parsing->at, length, "is no PMU here");
	parsing->attr.type = (uint32_t)type;
	parsing->at = list + size + 1;
	return take_generic(&pmu, list, size, type) ? 0 : take_all(&pmu, list, size);
}

struct alias_search {
	struct pmu pmu;
	const char *word;
	size_t length;
	int found;			/* PMUs that have it */
};

static int look_for_alias(const char *name, void *context)
{
	struct alias_search *search = context;
	struct pmu pmu = search->pmu;
	char text[TEXT_MAX];

	if (strlen(name) > EVENT_NAME_MAX)
		return 0;
	strcpy(pmu.name, name);
	if (read_of_pmu(&pmu, "events", search->word, search->length, text) < 0 ||
	    pm_pmu_type(name) < 0)
		return 0;
	if (search->found++ == 0)
		strcpy(search->pmu.name, name);
	return 0;
}

/* Where cores differ several have it, and which one is meant is to be said. */
int pm_event_parse_alias(struct parsing *parsing, size_t length)
{
	struct alias_search search = {
		.pmu = { .parsing = parsing }, .word = parsing->at, .length = length,
	};

	if (length == 0 || length > EVENT_NAME_MAX ||
	    pm_pmu_each(look_for_alias, &search) < 0 || search.found == 0)
		return -ENOENT;
	if (search.found > 1)
		return pm_event_wrong(parsing, EINVAL, parsing->at, length, "is an event of "
				      "several PMUs: write PMU/EVENT/");
	parsing->attr.type = (uint32_t)pm_pmu_type(search.pmu.name);
	parsing->at += length;
	return take_alias(&search.pmu, search.word, length);
}
