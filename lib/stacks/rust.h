/* SPDX-License-Identifier: MIT */
/* A name of Rust while it is read and written: rust.c has the grammar. Not installed. */
#ifndef PM_STACKS_RUST_H
#define PM_STACKS_RUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUST_OUT_MAX (64 << 10)

struct rust {
	const char *text;		/* behind "_R", where back references count from */
	size_t length, at;
	char *out;			/* RUST_OUT_MAX bytes */
	size_t used;
	uint64_t lifetimes;		/* that the binders around have named */
	unsigned int depth, steps;
	bool silent;			/* read, and not written */
	bool open;			/* of a dyn's trait: its "<" still lacks a ">" */
	bool failed;			/* from then on nothing is read or written */
};

struct rust_identifier {
	const char *bytes;
	size_t length;
	bool punycode;
};

/* Where a part stands: arguments in a value have "::" before, further ones of a dyn may follow. */
enum rust_place { RUST_TYPE, RUST_VALUE, RUST_DYN };

/* rust_parts.c */
char rust_next(const struct rust *rust);		/* '\0' at the end */
bool rust_take(struct rust *rust, char letter);		/* whether it is the next one */
char rust_take_any(struct rust *rust);			/* fails at the end */
bool rust_another(struct rust *rust);			/* of a list, which an E ends */
bool rust_enter(struct rust *rust);			/* the caller takes off the depth */
void rust_put(struct rust *rust, const char *text);
void rust_put_bytes(struct rust *rust, const char *bytes, size_t count);
void rust_put_code(struct rust *rust, uint32_t code);
void rust_put_number(struct rust *rust, uint64_t number);
uint64_t rust_base_62(struct rust *rust);
uint64_t rust_optional_62(struct rust *rust, char letter);
struct rust_identifier rust_identifier(struct rust *rust);
void rust_put_identifier(struct rust *rust, struct rust_identifier from);

/* rust.c, rust_const.c */
void rust_path(struct rust *rust, enum rust_place place);
void rust_const(struct rust *rust, enum rust_place place);
void rust_pattern(struct rust *rust);
void rust_refer(struct rust *rust, void (*read)(struct rust *, enum rust_place),
		enum rust_place place);

#endif
