/* SPDX-License-Identifier: MIT */
/*
 * A reader of JSON for hostile input: it walks a text in place, allocates nothing, and goes no
 * deeper than a recording does. Once something is wrong, every call says so.
 */
#ifndef READ_JSON_H
#define READ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	const char *at, *end;
	bool wrong;
};

/* At the bracket of an object or array. False: there is none. */
bool json_enter(struct json *json, char bracket);

/*
 * At the next element of what was entered with that bracket; of an object its key is in `key`.
 * `*first` is true before the first one. False: it has ended, or is wrong.
 */
bool json_each(struct json *json, char bracket, bool *first, char *key, size_t size);

/* A string, its escapes undone; what is no ASCII stands as '?'. One that does not fit is wrong. */
bool json_text(struct json *json, char *ret, size_t size);

/* A number without sign and fraction; of a negative one *ret is 0. */
bool json_number(struct json *json, uint64_t *ret);
bool json_bool(struct json *json, bool *ret);

/* Whatever comes next. */
void json_skip(struct json *json);

/* Nothing but blanks is left. */
bool json_is_over(struct json *json);

#endif
