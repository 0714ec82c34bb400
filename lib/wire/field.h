/* SPDX-License-Identifier: MIT */
/* Fields of a message of protocol buffers, read one after the other; not installed. */
#ifndef PM_FIELD_H
#define PM_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left to be read. */
struct fields {
	const unsigned char *at, *end;
};

struct field {
	unsigned int number;
	uint64_t value;			/* of a number; of bytes: 0 */
	const unsigned char *bytes;	/* NULL: it is a number */
	size_t size;
};

/* False at the end, and where bytes follow that are no field: `at` is `end` at the end alone. */
bool field_next(struct fields *fields, struct field *ret);

/* The fields of a field that is a message; of a number: none. */
struct fields field_message(const struct field *field);

/* A number; at most `most` bytes are read. Returns how many, 0: it is none, or not whole. */
size_t field_varint(const unsigned char *at, size_t most, uint64_t *ret);

#endif
