/* SPDX-License-Identifier: MIT */
/* A text that is put together in a caller's buffer. See words.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

void pm_put(struct pm_words *text, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text->at, text->left, format, list);
	va_end(list);
	if (n < 0)
		return;
	text->length += n;
	if (text->left > 0) {
		const size_t used = (size_t)n < text->left ? (size_t)n : text->left - 1;

		text->at += used;
		text->left -= used;
	}
}

void pm_put_also(char *text, size_t size, const char *format, ...)
{
	const char *between = text[0] ? "; " : "";
	size_t used = strlen(text);
	va_list list;

	used += (size_t)snprintf(text + used, size - used, "%s", between);
	if (used >= size)
		return;
	va_start(list, format);
	vsnprintf(text + used, size - used, format, list);
	va_end(list);
}

void pm_put_plain(const char *words, char *buf, size_t size)
{
	snprintf(buf, size, "%s", words);
	for (char *at = buf; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}
