/* SPDX-License-Identifier: MIT */
/* JSON as it is written here: one key after the other, strings escaped. */
#ifndef EXPLAIN_JSON_H
#define EXPLAIN_JSON_H

#include <stdio.h>

void json_string(FILE *file, const char *text);

/* "KEY": "VALUE", and what stands behind it. */
void json_member(FILE *file, const char *key, const char *value, const char *end);

/* "errors": {"EACCES": 2} */
struct shape;
void json_errors(FILE *file, const struct shape *shape);

#endif
