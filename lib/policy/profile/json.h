/* SPDX-License-Identifier: MIT */
/* What the policy floor asks of a JSON reader; json.c alone knows which one it is. */
#ifndef PM_JSON_H
#define PM_JSON_H

#include <stddef.h>
#include <stdint.h>

enum json_kind {
	JSON_MAP, JSON_MAP_END, JSON_LIST, JSON_LIST_END, JSON_KEY,
	JSON_TEXT, JSON_INTEGER, JSON_BOOL,
	JSON_OTHER,		/* null and numbers with a fraction or exponent */
};

struct json_token {
	enum json_kind kind;
	const char *text;	/* KEY and TEXT: valid UTF-8, not terminated, gone after the call */
	size_t size;
	int64_t number;		/* INTEGER, BOOL */
};

/*
 * Calls `each` for every token in order until it returns != 0. Needs memory for the depth of the
 * text, not for its size. Returns 0, what `each` returned, -EBADMSG for what is not JSON (also
 * text behind the value, bad UTF-8, an integer beyond 64 bits), -ENOMEM.
 */
int pm_json_parse(const char *text, size_t size,
		  int (*each)(void *context, const struct json_token *token), void *context);

#endif
