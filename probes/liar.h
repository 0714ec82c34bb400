/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a fault is, and the liar: who answers the calls that a filter alone cannot judge, because
 * the lie hangs on memory, on a path, or on what the kernel would have said.
 */
#ifndef LIAR_H
#define LIAR_H

#include <stddef.h>
#include <stdint.h>

/* A call with (argument & mask) == value answers `error`; 0 is success without a deed. */
struct rule {
	int call;
	int argument;
	uint32_t mask, value;
	int error;
};
#define RULE_ALLOW (-1)			/* as an error: the call is not touched */

/* What the liar does. Those of the attr look at the bytes of one field, or at one flag. */
enum lie {
	LIE_NONE,
	LIE_IGNORE,			/* takes the field and does without it */
	LIE_REFUSE,			/* EINVAL for any open that has the field */
	LIE_ACCEPT,			/* an open that is refused gives a counter all the same */
	LIE_ERRNO,			/* an open that is refused says another errno */
	LIE_ENTRUST,			/* whoever asks gets what root may have */
	LIE_MAP,			/* an mmap that is refused succeeds, without any memory */
	LIE_ORDER,			/* an ioctl that is refused succeeds, and changes nothing */
	LIE_READ,			/* an event reads as zeros */
	LIE_READ_MORE,			/* an event reads as much more than it counted */
	LIE_MISSING,			/* files of that path are not there */
	LIE_GARBAGE,			/* they hold garbage, and everybody may write them */
	LIE_COPY,			/* anything can be written to them, to no effect */
	LIE_LOCK,			/* they cannot be opened for writing by whoever may */
};

struct fault {
	const char *name;
	struct rule rules[4];
	enum lie lie;
	uint16_t offset, size;		/* of the attr's bytes to look at */
	uint8_t flag;			/* or, with size 8, the one flag, counted from 1 */
	uint64_t plain;			/* or, with size 8, the bits that are nothing special */
	const char *path;		/* where the files begin */
};

/* Stop this process at the calls the lie is about. A descriptor to answer them by, or -errno. */
int liar_listen(enum lie lie);
/* Answer one of them. */
void liar_answer(const struct fault *fault, int listener);

#endif
