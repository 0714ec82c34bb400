/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile: the same bytes for the same facts, and the same as `reports` writes, so that a
 * profile that was loaded and saved again can be compared with cmp(1).
 */
#include "profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_key(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Values hold no control character; "\"" and "\\" are all that needs escaping. */
static void put_text(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void put_value(FILE *out, const struct entry *entry)
{
	switch (entry->type) {
	case PM_FACT_BOOL:
		fputs(entry->number ? "true" : "false", out);
		break;
	case PM_FACT_INT:
		fprintf(out, "%" PRId64, entry->number);
		break;
	case PM_FACT_TEXT:
		put_text(out, entry->text);
		break;
	default:
		put_text(out, pm_verdict_word((enum pm_verdict)entry->verdict));
	}
}

static int put_scope(FILE *out, const struct pm_profile *profile, unsigned int scope, int indent)
{
	const struct entry **sorted = malloc((profile->count + 1) * sizeof(struct entry *));
	size_t count = 0;

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->room; i++) {
		const struct entry *entry = &profile->entries[i];

		if (entry->key != NULL && !entry->gone && entry->scope == scope)
			sorted[count++] = entry;
	}
	qsort(sorted, count, sizeof(sorted[0]), by_key);
	putc('{', out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s\n%*s", i ? "," : "", indent + 1, "");
		put_text(out, sorted[i]->key);
		fputs(": ", out);
		put_value(out, sorted[i]);
	}
	if (count > 0)
		fprintf(out, "\n%*s", indent, "");
	putc('}', out);
	free(sorted);
	return 0;
}

/* `count` lines of one key, as a list. */
static void put_list(FILE *out, const struct line *lines, size_t count, int indent)
{
	putc('[', out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s\n%*s", i ? "," : "", indent + 1, "");
		put_text(out, lines[i].value);
	}
	if (count > 0)
		fprintf(out, "\n%*s", indent, "");
	putc(']', out);
}

/* An identity that may name several things is a list even when it names one. */
static bool is_plural(const char *key)
{
	return strcmp(key, "cpu_model") == 0 || strcmp(key, "cpu_midr") == 0;
}

static size_t run_of(const struct line *lines, size_t at, size_t count)
{
	size_t end = at + 1;

	while (end < count && strcmp(lines[end].key, lines[at].key) == 0)
		end++;
	return end - at;
}

static void put_identity(FILE *out, const struct line *lines, size_t count)
{
	const char *separator = "";

	putc('{', out);
	for (size_t i = 0, run; i < count; i += run) {
		run = run_of(lines, i, count);
		if (strcmp(lines[i].key, "evidence") == 0)
			continue;
		fprintf(out, "%s\n  ", separator);
		separator = ",";
		put_text(out, lines[i].key);
		fputs(": ", out);
		if (run > 1 || is_plural(lines[i].key))
			put_list(out, lines + i, run, 2);
		else
			put_text(out, lines[i].value);
	}
	fputs(*separator ? "\n }" : "}", out);
}

static size_t find_evidence(const struct line *lines, size_t count, size_t *ret_count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(lines[i].key, "evidence") == 0) {
			*ret_count = run_of(lines, i, count);
			return i;
		}
	*ret_count = 0;
	return 0;
}

static int put_lines(FILE *out, const struct pm_profile *profile)
{
	struct line *sorted = malloc((profile->line_count + 1) * sizeof(*sorted));
	size_t evidence, count;

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->line_count; i++)
		sorted[i] = profile->lines[i];
	/* glibc's and musl's qsort need not be stable; runs of one key are short and few. */
	for (size_t i = 1; i < profile->line_count; i++)
		for (size_t j = i; j > 0 && by_line(&sorted[j - 1], &sorted[j]) > 0; j--) {
			struct line line = sorted[j];

			sorted[j] = sorted[j - 1];
			sorted[j - 1] = line;
		}
	evidence = find_evidence(sorted, profile->line_count, &count);
	fputs(" \"evidence\": ", out);
	put_list(out, sorted + evidence, count, 1);
	fputs(",\n \"format\": 1,\n \"identity\": ", out);
	put_identity(out, sorted, profile->line_count);
	fputs(",\n \"kernel\": ", out);
	free(sorted);
	return 0;
}

static int put_personas(FILE *out, const struct pm_profile *profile)
{
	const char *names[PROFILE_PERSONAS_MAX];
	int err = 0;

	memcpy(names, profile->personas, sizeof(names));
	qsort(names, profile->persona_count, sizeof(names[0]), by_name);
	fputs(",\n \"kind\": \"profile\",\n \"personas\": {", out);
	for (size_t i = 0; i < profile->persona_count && err == 0; i++) {
		unsigned int scope = 1;

		while (profile->personas[scope - 1] != names[i])
			scope++;
		fprintf(out, "%s\n  ", i ? "," : "");
		put_text(out, names[i]);
		fputs(": ", out);
		err = put_scope(out, profile, scope, 2);
	}
	fputs(profile->persona_count ? "\n }" : "}", out);
	return err;
}

static int put_profile(FILE *out, const struct pm_profile *profile)
{
	int err;

	fputs("{\n \"catalogue\": ", out);
	put_text(out, profile->catalogue ? profile->catalogue : "000000000000");
	fputs(",\n", out);
	err = put_lines(out, profile);
	if (err == 0)
		err = put_scope(out, profile, SCOPE_KERNEL, 1);
	if (err == 0)
		err = put_personas(out, profile);
	fputs(",\n \"tool\": {\n  \"name\": \"perfmodes\",\n  \"version\": ", out);
	put_text(out, profile->tool_version ? profile->tool_version : "0.1.0");
	fputs("\n }\n}\n", out);
	return err;
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int pm_profile_save(const struct pm_profile *profile, int fd)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err;

	if (out == NULL)
		return -ENOMEM;
	err = put_profile(out, profile);
	if (fclose(out) != 0 && err == 0)
		err = -ENOMEM;
	if (err == 0)
		err = write_all(fd, text, size);
	free(text);
	return err;
}
