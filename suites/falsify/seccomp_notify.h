/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a fault is, and the liar: who answers the calls that a filter alone cannot judge, because
 * the lie hangs on memory, on a path, or on what the kernel would have said.
 */
#ifndef SECCOMP_NOTIFY_H
#define SECCOMP_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/seccomp.h>

/* A call with (argument & mask) == value answers `error`; 0 is success without a deed. */
struct rule {
	int call;
	int argument;
	uint32_t mask, value;
	int error;
};
/* The flags follow read_format; a bit field has no offset of its own. */
#define LIAR_FLAGS_OFFSET 40
#define RULE_ALLOW (-1)			/* as an error: the call is not touched */

/* What the liar does. Those of the attr look at the bytes of one field, or at one flag. */
enum lie {
	LIE_NONE,
	LIE_IGNORE,			/* takes the field and does without it */
	LIE_REFUSE,			/* EINVAL for any open that has the field */
	LIE_ACCEPT,			/* an open that is refused gives a counter all the same */
	LIE_ERRNO,			/* an open that is refused says another errno */
	LIE_ENTRUST,			/* whoever asks gets what root may have */
	LIE_OLD,			/* knows the first two versions of the attr alone: E2BIG */
	LIE_SIZE,			/* takes what is too small, refuses zero and odd sizes */
	LIE_POINTER,			/* EFAULT for an attr that lies oddly or ends a page */
	LIE_MAP,			/* an mmap that is refused succeeds, without any memory */
	LIE_ORDER,			/* an ioctl that is refused succeeds, and changes nothing */
	LIE_READ,			/* an event reads as zeros */
	LIE_READ_MORE,			/* more than it counted, or than there is to read */
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

/* ------------------------------------------------- between the liar and its lies about opening */

/* A call that waits for its answer. */
struct question {
	const struct fault *fault;
	int listener;
	struct seccomp_notif call;
};

const uint64_t *liar_arguments(const struct question *question);
/* Three kinds of answers: the liar's, the kernel's, and a descriptor, which is closed here. */
void liar_say(const struct question *question, int64_t value, int error);
void liar_leave(const struct question *question);
void liar_give(const struct question *question, int fd);
/* The asker's memory. */
bool liar_peek(const struct question *question, uint64_t address, void *to, size_t size);
bool liar_poke(const struct question *question, uint64_t address, void *from, size_t size);
/* A descriptor among the arguments as one of ours: -1 stays, and what is none is none here. */
int liar_take(const struct question *question, uint64_t argument);

void liar_answer_open(const struct question *question);

#endif
