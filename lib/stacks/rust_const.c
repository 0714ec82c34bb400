/* SPDX-License-Identifier: MIT */
/* Constants in Rust's names: arguments of what is generic, lengths of arrays, bounds of types. */
#include <string.h>

#include "rust.h"

/* Digits up to the "_", without zeros in front. */
static struct rust_identifier hex(struct rust *rust)
{
	struct rust_identifier ret = { .bytes = rust->text + rust->at };
	const size_t from = rust->at;
	char letter;

	do {
		letter = rust_take_any(rust);
		rust->failed |= letter != '_' && (letter < '0' || letter > '9') &&
			(letter < 'a' || letter > 'f');
	} while (!rust->failed && letter != '_');
	if (!rust->failed)
		ret.length = rust->at - 1 - from;
	return ret;
}

static uint64_t value_of(const char *digits, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value = value << 4 | (uint64_t)(digits[i] - (digits[i] < 'a' ? '0' : 'a' - 10));
	return value;
}

/* One that 64 bits hold is decimal. */
static struct rust_identifier hex_number(struct rust *rust)
{
	struct rust_identifier digits = hex(rust);

	for (; digits.length > 0 && *digits.bytes == '0'; digits.length--)
		digits.bytes++;
	return digits;
}

static void put_integer(struct rust *rust, bool is_signed)
{
	struct rust_identifier digits;

	if (is_signed && rust_take(rust, 'n'))
		rust_put(rust, "-");
	digits = hex_number(rust);
	if (digits.length <= 16) {
		rust_put_number(rust, value_of(digits.bytes, digits.length));
		return;
	}
	rust_put(rust, "0x");
	rust_put_bytes(rust, digits.bytes, digits.length);
}

/* As it is written in Rust between such quotes. */
static void put_quoted(struct rust *rust, uint32_t code, char quote)
{
	static const struct { uint32_t code; const char *text; } escapes[] = {
		{ 0, "\\0" }, { '\t', "\\t" }, { '\n', "\\n" }, { '\r', "\\r" }, { '\\', "\\\\" },
	};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		if (code == escapes[i].code) {
			rust_put(rust, escapes[i].text);
			return;
		}
	if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		const char digits[] = "0123456789abcdef", text[] = {
			'\\', 'u', '{', digits[code >> 4], digits[code & 15], '}' };

		rust_put_bytes(rust, text, 3);
		rust_put_bytes(rust, text + (code < 0x10 ? 4 : 3), code < 0x10 ? 2 : 3);
		return;
	}
	if (code == (unsigned char)quote)
		rust_put(rust, "\\");
	rust_put_code(rust, code);
}

static void put_char(struct rust *rust)
{
	const struct rust_identifier digits = hex_number(rust);

	rust->failed |= digits.length > 6;
	rust_put(rust, "'");
	if (!rust->failed)
		put_quoted(rust, (uint32_t)value_of(digits.bytes, digits.length), '\'');
	rust_put(rust, "'");
}

/* A character of UTF-8, of which two digits are a byte. Returns its digits; 0: it is none. */
static size_t decode(const char *digits, size_t count, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint32_t first = (uint32_t)value_of(digits, 2);
	const size_t bytes = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 :
		first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;

	if (bytes == 0 || 2 * bytes > count)
		return 0;
	*ret = bytes == 1 ? first : first & (0x7fu >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		const uint32_t byte = (uint32_t)value_of(digits + 2 * i, 2);

		if (byte >> 6 != 2)
			return 0;
		*ret = *ret << 6 | (byte & 0x3f);
	}
	return *ret >= least[bytes] ? 2 * bytes : 0;
}

static void put_string(struct rust *rust)
{
	const struct rust_identifier digits = hex(rust);
	uint32_t code = 0;

	rust->failed |= digits.length % 2 != 0;
	rust_put(rust, "\"");
	for (size_t at = 0, taken; at < digits.length && !rust->failed; at += taken) {
		taken = decode(digits.bytes + at, digits.length - at, &code);
		rust->failed |= taken == 0;
		if (!rust->failed)
			put_quoted(rust, code, '"');
	}
	rust_put(rust, "\"");
}

/* Up to the E. Returns how many. */
static unsigned int put_list(struct rust *rust)
{
	unsigned int count = 0;

	for (; rust_another(rust); count++) {
		rust_put(rust, count > 0 ? ", " : "");
		rust_const(rust, RUST_VALUE);
	}
	return count;
}

/* "Path", "Path(1, 2)" or "Path { x: 1, y: 2 }". */
static void put_struct(struct rust *rust)
{
	const char *between = " { ";
	char kind;

	rust_path(rust, RUST_VALUE);
	kind = rust_take_any(rust);
	if (kind == 'T') {
		rust_put(rust, "(");
		(void)put_list(rust);
		rust_put(rust, ")");
	} else if (kind == 'S') {
		for (; rust_another(rust); between = ", ") {
			rust_put(rust, between);
			(void)rust_optional_62(rust, 's');
			rust_put_identifier(rust, rust_identifier(rust));
			rust_put(rust, ": ");
			rust_const(rust, RUST_VALUE);
		}
		rust_put(rust, *between == ',' ? " }" : " {  }");
	} else {
		rust->failed |= kind != 'U';
	}
}

/* What is no literal, and has braces around it as an argument. */
static void put_composed(struct rust *rust, char letter)
{
	switch (letter) {
	case 'e':
		rust_put(rust, "*");
		put_string(rust);
		break;
	case 'R':
	case 'Q':
		rust_put(rust, letter == 'R' ? "&" : "&mut ");
		rust_const(rust, RUST_VALUE);
		break;
	case 'A':
		rust_put(rust, "[");
		(void)put_list(rust);
		rust_put(rust, "]");
		break;
	case 'T':
		rust_put(rust, "(");
		rust_put(rust, put_list(rust) == 1 ? ",)" : ")");
		break;
	default:
		put_struct(rust);
	}
}

/* A letter for its type, then the value. */
void rust_const(struct rust *rust, enum rust_place place)
{
	const char letter = rust_enter(rust) ? rust_take_any(rust) : '\0';
	struct rust_identifier digits;

	if (letter == 'p') {
		rust_put(rust, "_");
	} else if (letter == 'B') {
		rust_refer(rust, rust_const, place);
	} else if (letter == 'b') {
		digits = hex_number(rust);
		rust->failed |= digits.length > 1 || (digits.length == 1 && *digits.bytes != '1');
		rust_put(rust, digits.length > 0 ? "true" : "false");
	} else if (letter == 'c') {
		put_char(rust);
	} else if (letter == 'R' && rust_take(rust, 'e')) {
		put_string(rust);
	} else if (letter != '\0' && strchr("htmyojaslxni", letter) != NULL) {
		put_integer(rust, strchr("aslxni", letter) != NULL);
	} else if (letter != '\0' && strchr("eRQATV", letter) != NULL) {
		rust_put(rust, place != RUST_VALUE ? "{" : "");
		put_composed(rust, letter);
		rust_put(rust, place != RUST_VALUE ? "}" : "");
	} else {
		rust->failed = true;
	}
	rust->depth--;
}

/* What a type "is": a range, several of them, or a pointer that is not null. */
void rust_pattern(struct rust *rust)
{
	const char letter = rust_enter(rust) ? rust_take_any(rust) : '\0';
	const char *between = "";

	if (letter == 'R') {
		rust_const(rust, RUST_VALUE);
		rust_put(rust, "..=");
		rust_const(rust, RUST_VALUE);
	} else if (letter == 'O') {
		for (; rust_another(rust); between = " | ") {
			rust_put(rust, between);
			rust_pattern(rust);
		}
	} else {
		rust->failed |= letter != 'N';
		rust_put(rust, "!null");
	}
	rust->depth--;
}
