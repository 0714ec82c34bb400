/* SPDX-License-Identifier: MIT */
/* See read_json.h. */
#include "read_json.h"

#include <string.h>

#define DEPTH 16

static bool fail(struct json *json)
{
	json->wrong = true;
	json->at = json->end;
	return false;
}

static char look(struct json *json)
{
	while (json->at < json->end && (*json->at == ' ' || *json->at == '\n' ||
					*json->at == '\t' || *json->at == '\r'))
		json->at++;
	return json->at < json->end ? *json->at : '\0';
}

bool json_enter(struct json *json, char bracket)
{
	if (look(json) != bracket)
		return fail(json);
	json->at++;
	return true;
}

bool json_each(struct json *json, char bracket, bool *first, char *key, size_t size)
{
	const char close = bracket == '{' ? '}' : ']';

	if (json->wrong)
		return false;
	if (look(json) == close) {
		json->at++;
		return false;
	}
	if (!*first && look(json) != ',')
		return fail(json);
	json->at += !*first;
	*first = false;
	if (bracket == '[')
		return true;
	if (!json_text(json, key, size) || look(json) != ':')
		return fail(json);
	json->at++;
	return true;
}

/* Behind "\u": the character of four digits, or '?'. */
static bool take_unicode(struct json *json, char *ret)
{
	unsigned int value = 0;

	if (json->end - json->at < 4)
		return fail(json);
	for (int i = 0; i < 4; i++) {
		const char digit = *json->at++;

		if (digit >= '0' && digit <= '9')
			value = value * 16 + (unsigned int)(digit - '0');
		else if ((digit | 32) >= 'a' && (digit | 32) <= 'f')
			value = value * 16 + (unsigned int)((digit | 32) - 'a' + 10);
		else
			return fail(json);
	}
	*ret = value >= ' ' && value < 0x7f ? (char)value : '?';
	return true;
}

static bool take_escape(struct json *json, char *ret)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/     ";
	const char *found;

	if (json->at == json->end)
		return fail(json);
	if (*json->at == 'u') {
		json->at++;
		return take_unicode(json, ret);
	}
	found = memchr(names, *json->at++, sizeof(names) - 1);
	if (found == NULL)
		return fail(json);
	*ret = values[found - names];
	return true;
}

bool json_text(struct json *json, char *ret, size_t size)
{
	size_t used = 0;

	if (look(json) != '"')
		return fail(json);
	json->at++;
	while (json->at < json->end && *json->at != '"') {
		char made = *json->at++;

		if (made == '\\' && !take_escape(json, &made))
			return false;
		if ((unsigned char)made < ' ' || used + 1 >= size)
			return fail(json);
		ret[used++] = (unsigned char)made < 0x7f ? made : '?';
	}
	if (json->at == json->end)
		return fail(json);
	json->at++;
	ret[used] = '\0';
	return true;
}

bool json_number(struct json *json, uint64_t *ret)
{
	const bool negative = look(json) == '-';
	uint64_t value = 0;
	size_t digits = 0;

	json->at += negative;
	for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++, digits++) {
		const unsigned int digit = (unsigned int)(*json->at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return fail(json);
		value = value * 10 + digit;
	}
	if (digits == 0)
		return fail(json);
	*ret = negative ? 0 : value;
	return true;
}

static bool take_word(struct json *json, const char *word)
{
	const size_t length = strlen(word);

	(void)look(json);
	if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0)
		return false;
	json->at += length;
	return true;
}

bool json_bool(struct json *json, bool *ret)
{
	*ret = take_word(json, "true");
	return *ret || take_word(json, "false") || fail(json);
}

static void skip_string(struct json *json)
{
	json->at++;
	while (json->at < json->end && *json->at != '"')
		json->at += json->at[0] == '\\' && json->end - json->at > 1 ? 2 : 1;
	if (json->at == json->end)
		(void)fail(json);
	else
		json->at++;
}

/* Brackets are counted, and not held against each other: what is skipped decides nothing. */
void json_skip(struct json *json)
{
	int depth = 0;

	do {
		const char next = look(json);

		if (next == '"') {
			skip_string(json);
		} else if (next == '{' || next == '[') {
			json->at++;
			if (++depth > DEPTH)
				(void)fail(json);
		} else if (next == '}' || next == ']') {
			json->at++;
			depth--;
		} else if (next == '\0' || (depth == 0 && (next == ',' || next == ':'))) {
			(void)fail(json);
		} else {
			do
				json->at++;
			while (depth == 0 && json->at < json->end &&
			       strchr(",]} \n\t\r", *json->at) == NULL);
		}
	} while (!json->wrong && depth > 0);
}

bool json_is_over(struct json *json)
{
	return !json->wrong && look(json) == '\0' && json->at == json->end;
}
