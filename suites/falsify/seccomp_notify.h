/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a fault is, and the answers to calls that a filter alone cannot judge, because the fault
 * depends on memory, on a path, or on what the kernel would have said.
 */
#ifndef SECCOMP_NOTIFY_H
#define SECCOMP_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/syscall.h>

#include <linux/seccomp.h>

#ifdef SYS_mmap2
#define CALL_MMAP SYS_mmap2
#define MMAP_UNIT 4096
#else
#define CALL_MMAP SYS_mmap
#define MMAP_UNIT 1
#endif

/* A call with (argument & mask) == value answers `error`; 0 is success without a deed. */
struct rule {
	int call;
	int argument;
	uint32_t mask, value;
	int error;
};
/* The flags follow read_format; a bit field has no offset of its own. */
#define ATTR_FLAGS_OFFSET 40
#define RULE_ALLOW (-1)			/* as an error: the call is not touched */

/* What a fault does. Those of the attr look at the bytes of one field, or at one flag. */
enum kind {
	FAULT_NONE,
	FAULT_IGNORE,			/* takes the field and does without it */
	FAULT_REFUSE,			/* EINVAL for any open that has the field */
	FAULT_SET,			/* the flag is set for whoever opens anything */
	FAULT_ACCEPT,			/* an open that is refused gives a counter all the same */
	FAULT_ERRNO,			/* an open that is refused says another errno */
	FAULT_ENTRUST,			/* whoever asks gets what root may have */
	FAULT_OLD,			/* knows the first two versions of the attr alone: E2BIG */
	FAULT_SIZE,			/* takes what is too small, refuses zero and odd sizes */
	FAULT_POINTER,			/* EFAULT for an attr at an odd address or a page's end */
	FAULT_MAP,			/* an mmap that is refused succeeds, without any memory */
	FAULT_ORDER,			/* an ioctl that is refused succeeds, and changes nothing */
	FAULT_READ,			/* an event reads as zeros */
	FAULT_READ_MORE,			/* more than it counted, or than there is to read */
	FAULT_MISSING,			/* files of that path are not there */
	FAULT_GARBAGE,			/* they hold garbage, and everybody may write them */
	FAULT_COPY,			/* anything can be written to them, to no effect */
	FAULT_LOCK,			/* they cannot be opened for writing by whoever may */
	FAULT_SERIES,			/* answers as a kernel of an older series would */
};

struct fault {
	const char *name;
	struct rule rules[4];
	enum kind kind;
	uint16_t offset, size;		/* of the attr's bytes to look at */
	uint8_t flag;			/* or, with size 8, the one flag, counted from 1 */
	uint64_t plain;			/* or, with size 8, the bits that are nothing special */
	const char *path, *end;		/* how the names of the files begin, and end */
	const char *also;		/* the same files, seen elsewhere */
	uint16_t series;		/* major << 8 | minor */
};

/* Stop this process at the calls the fault is about. Returns a listener or -errno. */
int notify_listen(enum kind kind);
/* Answer one of them. */
void notify_answer(const struct fault *fault, int listener);

/* ------------------------------------------------- shared with seccomp_{open,series}.c */

/* A call that waits for its answer. */
struct notification {
	const struct fault *fault;
	int listener;
	struct seccomp_notif call;
};

const uint64_t *notify_arguments(const struct notification *notification);
/* Three kinds of answers: a value or an error, the kernel's own, and a descriptor, closed here. */
void notify_return(const struct notification *notification, int64_t value, int error);
void notify_continue(const struct notification *notification);
void notify_return_fd(const struct notification *notification, int fd);
/* The asker's memory. */
bool notify_peek(const struct notification *notification, uint64_t address, void *to, size_t size);
bool notify_poke(const struct notification *notification, uint64_t address, void *from,
		 size_t size);
/* A descriptor among the arguments as one of ours: -1 stays, and what is none is none here. */
int notify_fd(const struct notification *notification, uint64_t argument);
/* The asker's descriptor as one of ours if it is an event's, or -1. */
int notify_event(const struct notification *notification, int number);
/* The path that is asked for, as far as it fits. Returns whether there is one. */
bool notify_peek_path(const struct notification *notification, char *path, size_t size);
/* The attr's bytes as far as its own size says, at most a page. Returns how many, or 0. */
size_t notify_peek_attr(const struct notification *notification, unsigned char *attr);

void notify_answer_open(const struct notification *notification);
void notify_answer_series(const struct notification *notification);

#endif
