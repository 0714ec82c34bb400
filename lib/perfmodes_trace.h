/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints by name, the fields of their records by name, and the records of several CPUs in the
 * order of time. Part of perfmodes.h, which includes it and tells the conventions.
 */
#ifndef PERFMODES_H
#include "perfmodes.h"	/* includes this, too, at its place */
#endif
#ifndef PERFMODES_TRACE_H
#define PERFMODES_TRACE_H

struct pm_listener;
struct pm_observed;
struct pm_session;

/* What a format file says of one event. It never changes, so threads may share it. (0.1) */
struct pm_trace_event;

enum pm_trace_flags {
	PM_TRACE_SIGNED = 1,
	PM_TRACE_ARRAY = 2,	/* `count` elements of `element_size` bytes */
	PM_TRACE_TEXT = 4,	/* an array of char, which a zero ends if there is one */
	PM_TRACE_DYNAMIC = 8,	/* elsewhere in the record: __data_loc or __rel_loc */
	PM_TRACE_COMMON = 16	/* one of the common_* fields that every event has */
};

/* A field. Texts live as long as the event. Fields not understood are left out. (0.1) */
struct pm_trace_member {
	size_t size;		/* sizeof(struct pm_trace_member) */
	const char *name;	/* "prev_comm" */
	const char *type;	/* "char", "pid_t"; as declared, without the array */
	unsigned int flags;	/* enum pm_trace_flags */
	uint32_t offset, bytes;	/* in the record; of a dynamic field: of the word that locates it */
	uint32_t element_size;	/* 1, 2, 4 or 8 for numbers */
	uint32_t count;		/* elements, 1 for a plain number; 0 for a dynamic field */
};

/*
 * The event as the running kernel describes it in tracefs, which is searched at
 * /sys/kernel/tracing (v4.1) and /sys/kernel/debug/tracing. -ENOENT without tracefs or without such
 * an event, -EACCES where it may not be read (it is root's unless mounted otherwise); the diagnosis
 * tells the two apart. Else as pm_trace_event_parse. (0.1)
 */
int pm_trace_event_load(const char *system, const char *name, struct pm_diag *diag,
			struct pm_trace_event **ret);

/*
 * The event from the text of a format file, which may have been read elsewhere. The text is not
 * trusted: at most 64 KiB, 512 fields, 64 KiB of record; the "print fmt" is ignored.
 * -EBADMSG for a text that is no format, -E2BIG beyond those bounds, -ENOMEM. (0.1)
 */
int pm_trace_event_parse(const char *text, size_t size, struct pm_diag *diag,
			 struct pm_trace_event **ret);

/* Frees the event. NULL is allowed. (0.1) */
void pm_trace_event_destroy(struct pm_trace_event *event);

/* Its id, which is the config of an event of type 2 (tracepoint), until the next boot. (0.1) */
uint32_t pm_trace_event_id(const struct pm_trace_event *event);

/* Its name, "sched_switch". (0.1) */
const char *pm_trace_event_name(const struct pm_trace_event *event);

/* How many fields it has. (0.1) */
size_t pm_trace_event_count(const struct pm_trace_event *event);

/* Index of the field of that name, or -ENOENT. (0.1) */
int pm_trace_event_find(const struct pm_trace_event *event, const char *name);

/* Describes a field, up to ret->size. -EINVAL for an invalid index. (0.1) */
int pm_trace_event_member(const struct pm_trace_event *event, size_t index,
			  struct pm_trace_member *ret);

/* Whether raw data (PERF_SAMPLE_RAW) is of this event, by its common_type. (0.1) */
bool pm_trace_event_is(const struct pm_trace_event *event, const void *raw, size_t raw_size);

/*
 * Element `element` (0 for a plain number) of a field as a number, sign-extended where the field is
 * signed; cast an unsigned one of 8 bytes back. -EINVAL for an invalid index, or elements of
 * another size than 1, 2, 4, 8; -ERANGE beyond the last element; -EBADMSG when the raw
 * data ends before the field or locates it outside itself. (0.1)
 */
int pm_trace_number(const struct pm_trace_event *event, size_t index, size_t element,
		    const void *raw, size_t raw_size, int64_t *ret);

/*
 * The bytes of a field, wherever they lie; they belong to the raw data and are not aligned. Returns
 * how many; -EINVAL and -EBADMSG as above. (0.1)
 */
int pm_trace_bytes(const struct pm_trace_event *event, size_t index, const void *raw,
		   size_t raw_size, const void **ret);

/*
 * The characters of a field, not terminated: up to the first zero or the field's end. Returns how
 * many; -EINVAL for fields whose elements are no bytes; -EBADMSG as above. The kernel or a program
 * chose them: escape them before showing. (0.1)
 */
int pm_trace_text(const struct pm_trace_event *event, size_t index, const void *raw,
		  size_t raw_size, const char **ret);

/*
 * The fields of a sample with PM_WANT_RAW, without the common ones, as "name=value name=value": up
 * to 64 elements of an array, "?" for what cannot be read and for each character that is no plain
 * one. As snprintf(3): always terminated when size > 0, returns the length without bound. -EBADMSG
 * for a sample of another event. (0.1)
 */
int pm_trace_print(const struct pm_trace_event *event, const struct pm_observed *sample, char *buf,
		   size_t size);

/* ------------------------------------------------------------------------------ order of time */

/*
 * Puts what a session delivers into the order of time. A poll drains one ring after the other, so
 * records of several CPUs come ordered by ring. Not thread-safe. (0.1)
 */
struct pm_order;

/* How long records may be held back. 0 but for `size`. (0.1) */
struct pm_order_opts {
	size_t size;		/* sizeof(struct pm_order_opts) */
	size_t bytes;		/* held at a time, at most; 0: 8 MiB */
	uint64_t window;	/* ns that the newest may be ahead of one held; 0: polls decide */
};

/* What it did. (0.1) */
struct pm_order_stats {
	size_t size;		/* sizeof(struct pm_order_stats) */
	uint64_t delivered;	/* to callbacks of the listener, in order but for: */
	uint64_t late;		/* those behind a younger one: bounds, or a ring read too slowly */
	uint64_t forced;	/* delivered early because `bytes` or memory was short */
	uint64_t lost;		/* records that the kernel says it dropped */
	uint64_t held, held_bytes, held_bytes_max;
};

/* The listener is copied and may be NULL. NULL: no memory. (0.1) */
struct pm_order *pm_order_create(const struct pm_order_opts *opts,
				 const struct pm_listener *listener, void *context);

/* Frees it; what is held is not delivered. NULL is allowed. (0.1) */
void pm_order_destroy(struct pm_order *order);

/* The listener for pm_session_create, with the order as its context. Returns 0. (0.1) */
int pm_order_listener(const struct pm_order *order, struct pm_listener *ret);

/*
 * pm_session_poll, and then everything in order that no ring can have anything older than: what was
 * there at the poll before. A loss, and a record that tells no time to us, keep their place behind
 * the record of the same ring that came before. Nothing is dropped: without memory a record is
 * delivered at once. Returns how many were delivered; fails as pm_session_poll. (0.1)
 */
int pm_order_poll(struct pm_order *order, struct pm_session *session, int timeout_ms);

/* Delivers all that is held: after pm_session_detach. Returns how many. (0.1) */
int pm_order_flush(struct pm_order *order);

/* Copies the statistics, up to ret->size. Returns 0. (0.1) */
int pm_order_stats(const struct pm_order *order, struct pm_order_stats *ret);

#endif
