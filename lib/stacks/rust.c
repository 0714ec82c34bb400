/* SPDX-License-Identifier: MIT */
/*
 * Names of Rust as RFC 2603 has them ("_R..."): the grammar is "v0 Symbol Format" in the book of
 * rustc, with the constants and patterns that its compilers write. What only tells equals apart is
 * not shown: hashes of crates, types of numbers, where an impl is.
 *
 * One pass that writes as it reads. Back references can make a short name long, deep and endless:
 * depth, steps and length have bounds. Where something is wrong there is no name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "rust.h"

static void type(struct rust *rust, enum rust_place place);

/* What stands at an earlier place, which may refer to a still earlier one itself. */
void rust_refer(struct rust *rust, void (*read)(struct rust *, enum rust_place),
		enum rust_place place)
{
	const size_t from = rust->at - 1;
	const uint64_t target = rust_base_62(rust);
	const size_t behind = rust->at;

	rust->failed |= target >= from;
	if (rust->failed || rust->silent)
		return;
	rust->at = (size_t)target;
	read(rust, place);
	rust->at = behind;
}

/* Counted from the innermost one; 0 is one without a name. */
static void put_lifetime(struct rust *rust, uint64_t index)
{
	char text[24] = "'_";

	if (rust->silent)
		return;
	if (index > rust->lifetimes)
		rust->failed = true;
	else if (index > 0 && rust->lifetimes - index < 26)
		text[1] = (char)('a' + (char)(rust->lifetimes - index));
	else if (index > 0)
		snprintf(text + 2, sizeof(text) - 2, "%" PRIu64, rust->lifetimes - index);
	rust_put(rust, text);
}

/* "for<'a, 'b> ". Its caller keeps how many lifetimes there were. */
static void binder(struct rust *rust)
{
	const uint64_t count = rust_optional_62(rust, 'G');

	rust->failed |= count > RUST_OUT_MAX;
	if (rust->silent || count == 0)
		return;
	rust_put(rust, "for<");
	for (uint64_t i = 0; i < count && !rust->failed; i++) {
		rust->lifetimes++;
		rust_put(rust, i > 0 ? ", " : "");
		put_lifetime(rust, 1);
	}
	rust_put(rust, "> ");
}

/* ---------------------------------------------------------------------------------------- paths */

/* Where an impl is, which is not shown. */
static void skip_place(struct rust *rust)
{
	const bool silent = rust->silent;

	(void)rust_optional_62(rust, 's');
	rust->silent = true;
	rust_path(rust, RUST_TYPE);
	rust->silent = silent;
}

/* "path::own", or in a space of the compiler's "path::{closure:own#0}". */
static void nested(struct rust *rust, enum rust_place place)
{
	const char space = rust_take_any(rust);
	struct rust_identifier own;
	uint64_t number;

	rust->failed |= (space | 0x20) < 'a' || (space | 0x20) > 'z';
	rust_path(rust, place == RUST_VALUE ? RUST_VALUE : RUST_TYPE);
	number = rust_optional_62(rust, 's');
	own = rust_identifier(rust);
	if (space >= 'a') {
		rust_put(rust, own.length > 0 ? "::" : "");
		rust_put_identifier(rust, own);
		return;
	}
	rust_put(rust, "::{");
	if (space == 'C' || space == 'S')
		rust_put(rust, space == 'C' ? "closure" : "shim");
	else
		rust_put_bytes(rust, &space, 1);
	rust_put(rust, own.length > 0 ? ":" : "");
	rust_put_identifier(rust, own);
	rust_put(rust, "#");
	rust_put_number(rust, number);
	rust_put(rust, "}");
}

static void generic(struct rust *rust, enum rust_place place)
{
	const char *between = "";

	rust_path(rust, place == RUST_VALUE ? RUST_VALUE : RUST_TYPE);
	rust_put(rust, place == RUST_VALUE ? "::<" : "<");
	for (; rust_another(rust); between = ", ") {
		rust_put(rust, between);
		if (rust_take(rust, 'L'))
			put_lifetime(rust, rust_base_62(rust));
		else if (rust_take(rust, 'K'))
			rust_const(rust, RUST_TYPE);
		else
			type(rust, RUST_TYPE);
	}
	if (place == RUST_DYN)
		rust->open = true;
	else
		rust_put(rust, ">");
}

/* "<type>" or "<type as trait>". */
static void qualified(struct rust *rust, bool has_trait)
{
	rust_put(rust, "<");
	type(rust, RUST_TYPE);
	if (has_trait) {
		rust_put(rust, " as ");
		rust_path(rust, RUST_TYPE);
	}
	rust_put(rust, ">");
}

void rust_path(struct rust *rust, enum rust_place place)
{
	const char letter = rust_enter(rust) ? rust_take_any(rust) : '\0';

	switch (letter) {
	case 'C':
		(void)rust_optional_62(rust, 's');
		rust_put_identifier(rust, rust_identifier(rust));
		break;
	case 'M':
	case 'X':
		skip_place(rust);
		qualified(rust, letter == 'X');
		break;
	case 'Y':
		qualified(rust, true);
		break;
	case 'N':
		nested(rust, place);
		break;
	case 'I':
		generic(rust, place);
		break;
	case 'B':
		rust_refer(rust, rust_path, place);
		break;
	default:
		rust->failed = true;
	}
	rust->depth--;
}

/* ---------------------------------------------------------------------------------------- types */

/* Up to the E. Returns how many. */
static unsigned int put_types(struct rust *rust)
{
	unsigned int count = 0;

	for (; rust_another(rust); count++) {
		rust_put(rust, count > 0 ? ", " : "");
		type(rust, RUST_TYPE);
	}
	return count;
}

static void reference(struct rust *rust, bool is_mutable)
{
	const uint64_t index = rust_take(rust, 'L') ? rust_base_62(rust) : 0;

	rust_put(rust, "&");
	if (index > 0) {
		put_lifetime(rust, index);
		rust_put(rust, " ");
	}
	rust_put(rust, is_mutable ? "mut " : "");
	type(rust, RUST_TYPE);
}

/* In names of ABIs there is "-", which is written as "_". */
static void put_abi(struct rust *rust)
{
	struct rust_identifier abi = { .bytes = "C", .length = 1 };

	if (!rust_take(rust, 'C'))
		abi = rust_identifier(rust);
	rust->failed |= abi.punycode;
	rust_put(rust, "extern \"");
	for (size_t i = 0; i < abi.length; i++)
		rust_put_bytes(rust, abi.bytes[i] == '_' ? "-" : abi.bytes + i, 1);
	rust_put(rust, "\" ");
}

static void function(struct rust *rust)
{
	const uint64_t lifetimes = rust->lifetimes;

	binder(rust);
	rust_put(rust, rust_take(rust, 'U') ? "unsafe " : "");
	if (rust_take(rust, 'K'))
		put_abi(rust);
	rust_put(rust, "fn(");
	(void)put_types(rust);
	rust_put(rust, ")");
	if (!rust_take(rust, 'u')) {
		rust_put(rust, " -> ");
		type(rust, RUST_TYPE);
	}
	rust->lifetimes = lifetimes;
}

/* "Trait", "Trait<Name = type>" or "Trait<type, Name = type>". */
static void trait(struct rust *rust)
{
	bool open;

	rust_path(rust, RUST_DYN);
	open = rust->open;
	rust->open = false;
	while (rust_take(rust, 'p')) {
		rust_put(rust, open ? ", " : "<");
		open = true;
		rust_put_identifier(rust, rust_identifier(rust));
		rust_put(rust, " = ");
		if (rust_take(rust, 'K'))
			rust_const(rust, RUST_TYPE);
		else
			type(rust, RUST_TYPE);
	}
	rust_put(rust, open ? ">" : "");
}

static void object(struct rust *rust)
{
	const uint64_t lifetimes = rust->lifetimes;
	const char *between = "";
	uint64_t index;

	rust_put(rust, "dyn ");
	binder(rust);
	for (; rust_another(rust); between = " + ") {
		rust_put(rust, between);
		trait(rust);
	}
	rust->lifetimes = lifetimes;
	index = rust_optional_62(rust, 'L');
	rust->failed |= index == 0;
	if (index > 1) {
		rust_put(rust, " + ");
		put_lifetime(rust, index - 1);
	}
}

static void basic(struct rust *rust, char letter)
{
	static const char names[][6] = {
		"i8", "bool", "char", "f64", "str", "f32", "", "u8", "isize", "usize", "", "i32",
		"u32", "i128", "u128", "_", "", "", "i16", "u16", "()", "...", "", "i64", "u64",
		"!",
	};

	rust->failed |= names[letter - 'a'][0] == '\0';
	rust_put(rust, names[letter - 'a']);
}

static void composed(struct rust *rust, char letter)
{
	switch (letter) {
	case 'A':
	case 'S':
		rust_put(rust, "[");
		type(rust, RUST_TYPE);
		rust_put(rust, letter == 'A' ? "; " : "");
		if (letter == 'A')
			rust_const(rust, RUST_VALUE);
		rust_put(rust, "]");
		break;
	case 'T':
		rust_put(rust, "(");
		rust_put(rust, put_types(rust) == 1 ? ",)" : ")");
		break;
	case 'P':
	case 'O':
		rust_put(rust, letter == 'P' ? "*const " : "*mut ");
		type(rust, RUST_TYPE);
		break;
	case 'W':
		type(rust, RUST_TYPE);
		rust_put(rust, " is ");
		rust_pattern(rust);
		break;
	}
}

static void type(struct rust *rust, enum rust_place place)
{
	const char letter = rust_enter(rust) ? rust_take_any(rust) : '\0';

	if (letter >= 'a' && letter <= 'z') {
		basic(rust, letter);
	} else if (letter == 'R' || letter == 'Q') {
		reference(rust, letter == 'Q');
	} else if (letter == 'F') {
		function(rust);
	} else if (letter == 'D') {
		object(rust);
	} else if (letter == 'B') {
		rust_refer(rust, type, place);
	} else if (letter != '\0' && strchr("ASTPOW", letter) != NULL) {
		composed(rust, letter);
	} else if (!rust->failed) {
		rust->at--;
		rust_path(rust, RUST_TYPE);
	}
	rust->depth--;
}

/* --------------------------------------------------------------------------------- whole names */

/* LLVM's "NAME.llvm.0123" is NAME. */
static size_t length_of(const char *text)
{
	const char *const end = strstr(text, ".llvm.");

	if (end == NULL || end[6 + strspn(end + 6, "0123456789ABCDEF@")] != '\0')
		return strlen(text);
	return (size_t)(end - text);
}

/* Of what compilers put behind a name, "$..." is not shown, and ".cold" and its like are. */
static void suffix(struct rust *rust)
{
	const char first = rust_next(rust);

	rust->failed |= first != '\0' && first != '.' && first != '$';
	for (size_t i = rust->at; i < rust->length && !rust->failed; i++)
		rust->failed |= rust->text[i] <= ' ' || rust->text[i] > '~';
	if (first == '.')
		rust_put_bytes(rust, rust->text + rust->at, rust->length - rust->at);
}

char *rust_demangle(const char *name)
{
	struct rust rust = { .text = name + 2, .length = length_of(name + 2) };
	char *ret = NULL;

	rust.out = malloc(RUST_OUT_MAX);
	if (rust.out == NULL)
		return NULL;
	rust_path(&rust, RUST_VALUE);
	if (rust_next(&rust) >= 'A' && rust_next(&rust) <= 'Z') {
		rust.silent = true;
		rust_path(&rust, RUST_TYPE);	/* the crate that made it of what is generic */
		rust.silent = false;
	}
	suffix(&rust);
	if (!rust.failed && rust.used > 0)
		ret = strndup(rust.out, rust.used);
	free(rust.out);
	return ret;
}
