/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of ../policy/profile/json.c in programs for machines without a JSON reader. They
 * cannot read a profile from a file; they use built-in facts and what they find out themselves.
 */
#include "../policy/profile/json.h"

#include <errno.h>

int pm_json_parse(const char *text, size_t size,
		  int (*each)(void *context, const struct json_token *token), void *context)
{
	(void)text;
	(void)size;
	(void)each;
	(void)context;
	return -ENOTSUP;
}
