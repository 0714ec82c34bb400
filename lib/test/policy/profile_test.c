/* SPDX-License-Identifier: MIT */
/* Profiles: what is loaded, found, replaced, merged, saved and refused. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../perfmodes.h"

#define HEAD "{\n \"catalogue\": \"0123456789ab\",\n" \
	" \"evidence\": [\n  \"00000000000000aa\"\n ],\n" \
	" \"format\": 1,\n \"identity\": {\n  \"arch\": \"x86_64\",\n" \
	"  \"cpu_model\": [\n   \"One\",\n   \"Two \\\"x\\\"\"\n  ],\n" \
	"  \"release\": \"4.9.1-test\"\n },\n"
#define TAIL ",\n \"tool\": {\n  \"name\": \"perfmodes\",\n  \"version\": \"0.1.0\"\n }\n}\n"

#define SIZED .size = sizeof(struct pm_fact)
static const char sample[] = HEAD
	" \"kernel\": {\n  \"a.b.broken\": \"broken\",\n  \"a.b.flag\": true,\n"
	"  \"a.b.hazard\": \"hazard\",\n  \"a.b.no\": \"no\",\n  \"a.b.number\": -12,\n"
	"  \"a.b.text\": \"back\\\\slash\",\n  \"a.b.yes\": \"yes\"\n },\n \"kind\": \"profile\",\n"
	" \"personas\": {\n  \"root\": {\n   \"a.b.no\": \"yes\"\n  },\n"
	"  \"user\": {\n   \"a.b.yes\": \"blocked\"\n  }\n }" TAIL;

static struct pm_profile *load(const char *text)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_profile *profile;
	int err = pm_profile_load_text(text, strlen(text), &diag, &profile);

	if (err < 0)
		fail_msg("%d: %s", err, diag.text);
	assert_string_equal(diag.text, "");
	return profile;
}

static enum pm_verdict verdict(const struct pm_profile *profile, const char *key)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	return pm_profile_lookup(profile, key, &fact) < 0 ? PM_UNKNOWN : fact.verdict;
}

static void kinds_of_facts(void **state)
{
	struct pm_profile *profile = load(sample);
	struct pm_fact fact = { .size = sizeof(fact) };

	(void)state;
	assert_int_equal(pm_profile_count(profile), 9);
	assert_int_equal(verdict(profile, "a.b.yes"), PM_YES);
	assert_int_equal(verdict(profile, "a.b.no"), PM_NO);
	assert_int_equal(verdict(profile, "a.b.broken"), PM_BROKEN);
	assert_int_equal(verdict(profile, "a.b.hazard"), PM_HAZARD);
	assert_int_equal(pm_profile_lookup(profile, "a.b.flag", &fact), 0);
	assert_true(fact.type == PM_FACT_BOOL && fact.number == 1);
	assert_int_equal(pm_profile_lookup(profile, "a.b.number", &fact), 0);
	assert_true(fact.type == PM_FACT_INT && fact.number == -12);
	assert_int_equal(pm_profile_lookup(profile, "a.b.text", &fact), 0);
	assert_string_equal(fact.text, "back\\slash");
	assert_int_equal(pm_profile_lookup(profile, "a.b", &fact), -ENOENT);
	assert_int_equal(pm_profile_lookup(profile, "a.b.yess", &fact), -ENOENT);
	pm_profile_destroy(profile);
}

static void personas_have_their_own(void **state)
{
	struct pm_profile *profile = load(sample);

	(void)state;
	assert_int_equal(pm_profile_use_persona(profile, "user"), 0);
	assert_int_equal(verdict(profile, "a.b.yes"), PM_BLOCKED);
	assert_int_equal(verdict(profile, "a.b.no"), PM_NO);
	assert_int_equal(pm_profile_use_persona(profile, "root"), 0);
	assert_int_equal(verdict(profile, "a.b.yes"), PM_YES);
	assert_int_equal(verdict(profile, "a.b.no"), PM_YES);
	assert_int_equal(pm_profile_use_persona(profile, NULL), 0);
	pm_profile_destroy(profile);
}

static int saved(const struct pm_profile *profile, char *buf, size_t size)
{
	FILE *file = tmpfile();
	size_t n;

	assert_int_equal(pm_profile_save(profile, fileno(file)), 0);
	rewind(file);
	n = fread(buf, 1, size - 1, file);
	buf[n] = '\0';
	fclose(file);
	return (int)n;
}

static void saved_as_it_was(void **state)
{
	struct pm_profile *profile = load(sample);
	char text[4096];

	(void)state;
	saved(profile, text, sizeof(text));
	assert_string_equal(text, sample);
	pm_profile_destroy(profile);
	profile = pm_profile_create();
	saved(profile, text, sizeof(text));
	pm_profile_destroy(profile);
	pm_profile_destroy(load(text));
}

static void a_full_pipe_is_told(void **state)
{
	struct pm_profile *profile = load(sample);
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	assert_int_equal(pm_profile_save(profile, fd), -ENOSPC);
	assert_int_equal(pm_profile_save(profile, -1), -EBADF);
	close(fd);
	pm_profile_destroy(profile);
}

static int set(struct pm_profile *profile, const char *key, enum pm_verdict v, enum pm_rank rank)
{
	return pm_profile_set(profile, &(struct pm_fact){ SIZED, key, .verdict = v, .rank = rank });
}

static void who_replaces_whom(void **state)
{
	struct pm_profile *profile = load(sample);

	(void)state;
	assert_int_equal(set(profile, "a.b.yes", PM_UNKNOWN, PM_RANK_RUNTIME), -EINVAL);
	assert_int_equal(set(profile, "a.b.yes", PM_ABSENT, PM_RANK_RUNTIME), -EINVAL);
	assert_int_equal(set(profile, "a.b.yes", (enum pm_verdict)99, PM_RANK_RUNTIME), -EINVAL);
	assert_int_equal(set(profile, "", PM_YES, PM_RANK_RUNTIME), -EINVAL);
	assert_int_equal(set(profile, "a.b.yes", PM_BLOCKED, PM_RANK_RUNTIME), -EINVAL);
	assert_int_equal(set(profile, "a.b.hazard", PM_YES, PM_RANK_RELEASE), 0);
	assert_int_equal(verdict(profile, "a.b.hazard"), PM_HAZARD);
	assert_int_equal(set(profile, "a.b.hazard", PM_YES, PM_RANK_BUILD), 1);
	assert_int_equal(verdict(profile, "a.b.hazard"), PM_YES);
	assert_int_equal(pm_profile_use_persona(profile, "user"), 0);
	assert_int_equal(set(profile, "a.b.yes", PM_YES, PM_RANK_RUNTIME), 1);
	assert_int_equal(verdict(profile, "a.b.yes"), PM_YES);
	assert_int_equal(set(profile, "a.b.yes", PM_BLOCKED, PM_RANK_RUNTIME), 0);
	assert_int_equal(set(profile, "a.b.new", PM_BLOCKED, PM_RANK_RUNTIME), 1);
	assert_int_equal(verdict(profile, "a.b.new"), PM_BLOCKED);
	assert_int_equal(pm_profile_use_persona(profile, "root"), 0);
	assert_int_equal(verdict(profile, "a.b.new"), PM_UNKNOWN);
	pm_profile_destroy(profile);
}

/* What is put in can be written and read again, and then is the same. */
static void no_facts(void **state)
{
	static const struct pm_fact none[] = {
		{ .key = "a.b", .verdict = PM_YES },	/* no size */
		{ SIZED, .key = "two\nlines", .verdict = PM_YES },
		{ SIZED, .key = NULL }, { SIZED, .key = "a.b", .type = PM_FACT_TEXT },
		{ SIZED, .key = "a.b", .type = PM_FACT_TEXT + 1 },
		{ SIZED, .key = "a.b", .type = PM_FACT_TEXT, .text = "" },
		{ SIZED, .key = "a.b", .type = PM_FACT_TEXT, .text = "yes" },
		{ SIZED, .key = "a.b", .type = PM_FACT_TEXT, .text = "absent" },
		{ SIZED, .key = "a.b", .type = PM_FACT_TEXT, .text = "a\tb" },
		{ SIZED, .key = "a.b", .verdict = PM_YES, .rank = PM_RANK_RUNTIME + 1 },
	};
	struct pm_profile *profile = pm_profile_create();
	struct pm_fact text = { SIZED, .key = "a.\"b", .type = PM_FACT_TEXT, .text = "yes \\" };
	char saved_text[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_int_equal(pm_profile_set(profile, &none[i]), -EINVAL);
	assert_int_equal(pm_profile_use_persona(profile, ""), -EINVAL);
	assert_int_equal(pm_profile_use_persona(profile, "a\nb"), -EINVAL);
	assert_int_equal(pm_profile_count(profile), 0);
	assert_int_equal(pm_profile_set(profile, &text), 1);
	saved(profile, saved_text, sizeof(saved_text));
	pm_profile_destroy(profile);
	profile = load(saved_text);
	assert_int_equal(pm_profile_lookup(profile, "a.\"b", &text), 0);
	assert_string_equal(text.text, "yes \\");
	pm_profile_destroy(profile);
}

static void many_facts(void **state)
{
	struct pm_profile *profile = pm_profile_create();
	char key[32];

	(void)state;
	for (int i = 0; i < 65536; i++) {
		snprintf(key, sizeof(key), "k.%d", i);
		assert_int_equal(set(profile, key, i % 2 ? PM_YES : PM_NO, PM_RANK_RUNTIME), 1);
	}
	assert_int_equal(set(profile, "one.more", PM_YES, PM_RANK_RUNTIME), -ENOSPC);
	assert_int_equal(verdict(profile, "k.65535"), PM_YES);
	assert_int_equal(verdict(profile, "k.4096"), PM_NO);
	pm_profile_destroy(profile);
}

/* ---------------------------------------------------------------------------------- merging */

static int told;

static void count_conflict(const struct pm_fact *into, const struct pm_fact *from, void *context)
{
	assert_string_equal(into->key, from->key);
	assert_string_equal(context, "here");
	told++;
}

static struct pm_profile *with(const char *facts, const char *user)
{
	char text[2048];

	snprintf(text, sizeof(text), HEAD "\"kernel\": {%s}, \"kind\": \"profile\","
		 " \"personas\": {\"user\": {%s}}" TAIL, facts, user);
	return load(text);
}

static int merged(struct pm_profile *into, struct pm_profile *from, enum pm_merge how)
{
	int conflicts;

	told = 0;
	conflicts = pm_profile_merge(into, from, how, count_conflict, (void *)"here");
	pm_profile_destroy(from);
	assert_int_equal(conflicts, told);
	return conflicts;
}

#define ONE "\"p.x\": \"yes\", \"p.one\": \"no\", \"p.h\": \"hazard\", \"p.n\": 3"
#define TWO "\"p.x\": \"no\", \"p.two\": \"yes\", \"p.h\": \"yes\", \"p.n\": 3"

static void union_of_two(void **state)
{
	struct pm_profile *profile = with(ONE, "\"p.b\": \"blocked\"");
	struct pm_fact fact = { .size = sizeof(fact) };

	(void)state;
	assert_int_equal(merged(profile, with(TWO, "\"p.b\": \"yes\""), PM_MERGE_UNION), 1);
	assert_int_equal(verdict(profile, "p.x"), PM_UNKNOWN);
	assert_int_equal(verdict(profile, "p.one"), PM_NO);
	assert_int_equal(verdict(profile, "p.two"), PM_YES);
	assert_int_equal(verdict(profile, "p.h"), PM_HAZARD);
	assert_int_equal(pm_profile_lookup(profile, "p.n", &fact), 0);
	assert_int_equal(pm_profile_use_persona(profile, "user"), 0);
	assert_int_equal(verdict(profile, "p.b"), PM_YES);
	pm_profile_destroy(profile);
}

static void intersection_of_two(void **state)
{
	struct pm_profile *profile = with(TWO, "\"p.b\": \"yes\"");

	(void)state;
	assert_int_equal(merged(profile, with(ONE, "\"p.b\": \"blocked\""),
				PM_MERGE_INTERSECTION), 1);
	assert_int_equal(verdict(profile, "p.x"), PM_UNKNOWN);
	assert_int_equal(verdict(profile, "p.one"), PM_UNKNOWN);
	assert_int_equal(verdict(profile, "p.two"), PM_UNKNOWN);
	assert_int_equal(verdict(profile, "p.h"), PM_HAZARD);
	assert_int_equal(pm_profile_use_persona(profile, "user"), 0);
	assert_int_equal(verdict(profile, "p.b"), PM_YES);
	pm_profile_destroy(profile);
}

static void higher_rank_wins(void **state)
{
	struct pm_profile *profile = with(ONE, "");

	(void)state;
	assert_int_equal(set(profile, "p.x", PM_NO, PM_RANK_RUNTIME), 1);
	assert_int_equal(merged(profile, with("\"p.x\": \"yes\"", ""), PM_MERGE_UNION), 0);
	assert_int_equal(verdict(profile, "p.x"), PM_NO);
	pm_profile_destroy(profile);
}

/* ---------------------------------------------------------------------------------- identity */

static void remember(const char *key, const char *value, void *context)
{
	char (*found)[256] = context;
	static const char *const keys[] = { "arch", "release", "version", "build_id" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			snprintf(found[i], sizeof(found[i]), "%s", value);
}

static enum pm_rank rank_of(const char *arch, const char *release, const char *version,
			    const char *build)
{
	struct pm_profile *profile, *other = load(sample);
	char text[2048];
	enum pm_rank rank;

	snprintf(text, sizeof(text), "{\"format\": 1, \"kind\": \"profile\", \"identity\": {"
		 "\"arch\": \"%s\", \"release\": \"%s\", \"version\": \"%s\"%s%s%s}}",
		 arch, release, version, *build ? ", \"build_id\": \"" : "", build,
		 *build ? "\"" : "");
	profile = load(text);
	rank = pm_profile_rank(profile);
	assert_int_equal(merged(profile, load(text), PM_MERGE_UNION), 0);
	assert_int_equal(pm_profile_rank(profile), rank);
	/* What is left of the identity is true of another kernel, too. */
	assert_int_equal(merged(profile, other, PM_MERGE_INTERSECTION), 0);
	assert_int_equal(pm_profile_rank(profile), PM_RANK_NONE);
	pm_profile_destroy(profile);
	return rank;
}

static void ranks(void **state)
{
	char found[4][256] = { "" }, longer[300], *dot;

	(void)state;
	pm_identity_each(remember, found);
	assert_int_equal(rank_of(found[0], found[1], found[2], found[3]),
			 *found[3] ? PM_RANK_BUILD : PM_RANK_RELEASE);
	assert_int_equal(rank_of(found[0], found[1], found[2], ""), PM_RANK_RELEASE);
	assert_int_equal(rank_of(found[0], found[1], "#2 other", ""), PM_RANK_HINT);
	if (*found[3])
		assert_int_equal(rank_of(found[0], found[1], found[2], "beef"), PM_RANK_HINT);
	assert_int_equal(rank_of("z80", found[1], found[2], found[3]), PM_RANK_NONE);
	assert_int_equal(rank_of(found[0], "1.2.3", found[2], ""), PM_RANK_NONE);
	dot = strchr(strchr(found[1], '.') + 1, '.');
	if (dot != NULL) {
		/* 6.1 and 6.18 are not of one series */
		snprintf(longer, sizeof(longer), "%.*s9.1", (int)(dot - found[1]), found[1]);
		assert_int_equal(rank_of(found[0], longer, found[2], ""), PM_RANK_NONE);
	}
}

static void put_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void best_of_a_directory(void **state)
{
	char found[4][256] = { "" }, text[2048], directory[] = "/tmp/profile_test.XXXXXX";
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_profile *profile;

	(void)state;
	assert_non_null(mkdtemp(directory));
	put_file(directory, "broken.json", "{");
	put_file(directory, "other.json", sample);
	assert_int_equal(pm_profile_load_dir(directory, &diag, &profile), -ENOENT);
	assert_non_null(strstr(diag.text, directory));
	diag.text[0] = '\0';
	assert_int_equal(pm_profile_load_file(directory, &diag, &profile), -EISDIR);
	assert_non_null(strstr(diag.text, directory));
	pm_identity_each(remember, found);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "{\"format\": 1, \"kind\": \"profile\", \"identity\":"
			 " {\"arch\": \"%s\", \"release\": \"%s\", \"version\": \"%s\"},"
			 " \"kernel\": {\"which.file\": %d}}", found[0], found[1],
			 i == 1 ? found[2] : "#0", i);
		put_file(directory, (const char *[]){ "a.json", "m.json", "z.json" }[i], text);
	}
	setenv("PERFMODES_PROFILE", directory, 1);
	assert_int_equal(pm_profile_load_default(&diag, &profile), 0);
	unsetenv("PERFMODES_PROFILE");
	struct pm_fact fact = { .size = sizeof(fact) };
	assert_int_equal(pm_profile_lookup(profile, "which.file", &fact), 0);
	assert_true(fact.number == 1 && fact.rank == PM_RANK_RELEASE);
	pm_profile_destroy(profile);
	snprintf(text, sizeof(text), "rm -r '%s'", directory);
	assert_int_equal(system(text), 0);
	setenv("PERFMODES_PROFILE", directory, 1);
	assert_int_equal(pm_profile_load_default(&diag, &profile), -ENOENT);
	unsetenv("PERFMODES_PROFILE");
	assert_non_null(strstr(diag.text, directory));
}

/* ------------------------------------------------------------------------------------ hostile */

#define KERNEL(facts) "{\"format\": 1, \"kind\": \"profile\", \"kernel\": {" facts "}}"

static const struct { const char *text; const char *says; } refused[] = {
	{ "", "not JSON" },
	{ "{", "not JSON" },
	{ "[]", "no object" },
	{ "3", "no object" },
	{ "{}", "format 1" },
	{ "{\"format\": 2, \"kind\": \"profile\"}", "format other" },
	{ "{\"format\": 1, \"kind\": \"result\"}", "not a profile" },
	{ KERNEL("\"a.b\": \"yes\"") "x", "not JSON" },
	{ KERNEL("\"a.b\": NaN"), "not JSON" },
	{ KERNEL("\"a.b\": 99999999999999999999"), "not JSON" },
	{ KERNEL("\"a.b\": \"\xff\xfe\""), "not JSON" },
	{ KERNEL("\"a.b\": 1.5"), "neither" },
	{ KERNEL("\"a.b\": null"), "neither" },
	{ KERNEL("\"a.b\": \"unknown\""), "no fact" },
	{ KERNEL("\"a.b\": \"absent\""), "no fact" },
	{ KERNEL("\"a.b\": \"blocked\""), "every persona" },
	{ KERNEL("\"a.b\": \"two\\nlines\""), "no fact" },
	{ KERNEL("\"a.b\": \"nul\\u0000\""), "no fact" },
	{ KERNEL("\"a.b\": \"\\u009b2J\""), "no fact" },
	{ KERNEL("\"a.b\": []"), "list or object" },
	{ KERNEL("\"a.b\": \"yes\", \"a.b\": \"no\""), "second answer" },
	{ KERNEL("\"\": \"yes\""), "empty" },
	{ "{\"kernel\": [\"yes\"]}", "other way" },
	{ "{\"kernel\": 3}", "belongs" }, { "{\"personas\": \"root\"}", "belongs" },
	{ "{\"identity\": {\"arch\": [[\"x\"]]}}", "no list" },
	{ "{\"identity\": {\"arch\": 3}}", "one line" },
	{ "{\"evidence\": {}}", "other way" },
	{ "{\"personas\": {\"root\": \"yes\"}}", "object belongs" },
	{ "{\"personas\": {\"root\": []}}", "no object" },
	{ "{\"catalogue\": \"a\", \"catalogue\": \"b\"}", "one line" },
};

static void refused_with_a_reason(void **state)
{
	struct pm_profile *untouched = (struct pm_profile *)&told, *profile = untouched;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct pm_diag diag = { .size = sizeof(diag) };
		int err = pm_profile_load_text(refused[i].text, strlen(refused[i].text), &diag,
					       &profile);

		if (err != -EBADMSG || strstr(diag.text, refused[i].says) == NULL)
			fail_msg("%s: %d \"%s\"", refused[i].text, err, diag.text);
		assert_ptr_equal(profile, untouched);
		assert_int_equal(diag.cause, PM_CAUSE_INPUT);
	}
}

/* `open` so many times, then nothing. */
static int load_repeated(const char *before, const char *open, size_t times)
{
	size_t size = strlen(open), begin = strlen(before);
	char *text = malloc(begin + size * times + 1);
	struct pm_profile *profile;
	int err;

	memcpy(text, before, begin + 1);
	for (size_t i = 0; i < times; i++)
		memcpy(text + begin + i * size, open, size);
	err = pm_profile_load_text(text, begin + size * times, NULL, &profile);
	free(text);
	return err;
}

static void large_and_deep(void **state)
{
	(void)state;
	assert_int_equal(load_repeated("", "[", 1000000), -EBADMSG);
	assert_int_equal(load_repeated("", "{\"a\":", 100000), -EBADMSG);
	assert_int_equal(load_repeated("{\"x\":", "[", 1000000), -EBADMSG);
	assert_int_equal(load_repeated("", " ", 10 << 20), -E2BIG);
	assert_int_equal(load_repeated("{\"x\":\"", "\\u0041", 500000), -EBADMSG);
}

static void later_formats_may_add(void **state)
{
	struct pm_profile *profile = load("{\"format\": 1, \"kind\": \"profile\", \"version\": 1.5,"
					  " \"history\": [1, {\"kernel\": {\"b\": null}}],"
					  " \"kernel\": {\"a.b\": \"yes\"}}");

	(void)state;
	assert_int_equal(verdict(profile, "a.b"), PM_YES);
	assert_int_equal(pm_profile_count(profile), 1);
	pm_profile_destroy(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_facts),
		cmocka_unit_test(personas_have_their_own),
		cmocka_unit_test(saved_as_it_was),
		cmocka_unit_test(a_full_pipe_is_told),
		cmocka_unit_test(who_replaces_whom),
		cmocka_unit_test(no_facts),
		cmocka_unit_test(many_facts),
		cmocka_unit_test(union_of_two),
		cmocka_unit_test(intersection_of_two),
		cmocka_unit_test(higher_rank_wins),
		cmocka_unit_test(ranks),
		cmocka_unit_test(best_of_a_directory),
		cmocka_unit_test(refused_with_a_reason),
		cmocka_unit_test(large_and_deep),
		cmocka_unit_test(later_formats_may_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
