/* SPDX-License-Identifier: MIT */
/* A text that is put together in a caller's buffer. Not installed. */
#ifndef PM_WORDS_H
#define PM_WORDS_H

#include <stddef.h>

/* Where the next word goes, the bytes that are left there, and the length of the whole text,
 * also of what had no room, as snprintf(3) tells it. */
struct pm_words {
	char *at;
	size_t left;
	int length;
};

/* Appends what printf(3) would print; the buffer ends in a null byte where it has any room. */
void __attribute__((format(printf, 2, 3))) pm_put(struct pm_words *text, const char *format, ...);

/* Appends the same to a text in a buffer of that size, behind "; " where there is one already. */
void __attribute__((format(printf, 3, 4))) pm_put_also(char *text, size_t size, const char *format,
						       ...);

/* Copies a caller's words into a line of text: what is not plain ASCII becomes "?". */
void pm_put_plain(const char *words, char *buf, size_t size);

#endif
