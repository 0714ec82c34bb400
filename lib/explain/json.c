/* SPDX-License-Identifier: MIT */
/* See json.h. Names come from the program and from sysfs: all but plain characters are escaped. */
#include "json.h"

#include "shape.h"

void json_string(FILE *file, const char *text)
{
	(void)fputc('"', file);
	for (; *text != '\0'; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(file, "\\u%04x", c);
		else
			(void)fputc(c, file);
	}
	(void)fputc('"', file);
}

void json_member(FILE *file, const char *key, const char *value, const char *end)
{
	json_string(file, key);
	fprintf(file, ": ");
	json_string(file, value);
	fprintf(file, "%s", end);
}

void json_errors(FILE *file, const struct shape *shape)
{
	fprintf(file, "\"errors\": {");
	for (size_t at = 0; at < ERRORS && shape->errors[at].count > 0; at++)
		fprintf(file, "%s\"%s\": %u", at ? ", " : "",
			pm_errno_name(shape->errors[at].error), shape->errors[at].count);
	fprintf(file, "}");
}
