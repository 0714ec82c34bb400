/* SPDX-License-Identifier: MIT */
/* Letters, numbers and identifiers of Rust's names, and what is written of them, within bounds. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demangle.h"
#include "rust.h"

#define DEPTH_MAX 500
#define STEPS_MAX (1 << 16)
#define CODES_MAX 512		/* bytes of an identifier that is not ASCII */

char rust_next(const struct rust *rust)
{
	return !rust->failed && rust->at < rust->length ? rust->text[rust->at] : '\0';
}

bool rust_take(struct rust *rust, char letter)
{
	const bool taken = rust_next(rust) == letter && letter != '\0';

	rust->at += taken;
	return taken;
}

char rust_take_any(struct rust *rust)
{
	const char letter = rust_next(rust);

	rust->failed |= letter == '\0';
	rust->at += !rust->failed;
	return letter;
}

bool rust_another(struct rust *rust)
{
	return !rust->failed && !rust_take(rust, 'E');
}

bool rust_enter(struct rust *rust)
{
	rust->failed |= ++rust->depth > DEPTH_MAX || ++rust->steps > STEPS_MAX;
	return !rust->failed;
}

void rust_put_bytes(struct rust *rust, const char *bytes, size_t count)
{
	if (rust->failed || rust->silent)
		return;
	if (count > RUST_OUT_MAX - rust->used) {
		rust->failed = true;
		return;
	}
	memcpy(rust->out + rust->used, bytes, count);
	rust->used += count;
}

void rust_put(struct rust *rust, const char *text)
{
	rust_put_bytes(rust, text, strlen(text));
}

void rust_put_number(struct rust *rust, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	rust_put(rust, text);
}

void rust_put_code(struct rust *rust, uint32_t code)
{
	char bytes[4];
	const size_t count = put_character(code, bytes);

	rust->failed |= count == 0;
	rust_put_bytes(rust, bytes, count);
}

/* "_" is 0, "0_" is 1, "Z_" is 62. */
uint64_t rust_base_62(struct rust *rust)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint64_t number = 0;

	if (rust_take(rust, '_'))
		return 0;
	while (!rust_take(rust, '_')) {
		const char letter = rust_take_any(rust);
		const char *digit = letter != '\0' ? strchr(digits, letter) : NULL;

		if (digit == NULL || __builtin_mul_overflow(number, 62, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(digit - digits), &number)) {
			rust->failed = true;
			return 0;
		}
	}
	rust->failed |= number == UINT64_MAX;
	return number + 1;
}

/* 0 without the letter, else one more than the number behind it. */
uint64_t rust_optional_62(struct rust *rust, char letter)
{
	uint64_t number;

	if (!rust_take(rust, letter))
		return 0;
	number = rust_base_62(rust);
	rust->failed |= number == UINT64_MAX;
	return number + 1;
}

/* ASCII is that of identifiers alone: nothing hostile comes into a name. */
static bool is_plain(struct rust_identifier ret)
{
	if (ret.punycode && (ret.length == 0 || ret.bytes[ret.length - 1] == '_'))
		return false;
	for (size_t i = 0; i < ret.length; i++) {
		const unsigned char byte = (unsigned char)ret.bytes[i];

		if (byte >= 0x80 ? ret.punycode : byte != '_' && (byte < '0' || byte > '9') &&
		    ((byte | 0x20) < 'a' || (byte | 0x20) > 'z'))
			return false;
	}
	return true;
}

struct rust_identifier rust_identifier(struct rust *rust)
{
	struct rust_identifier ret = { .punycode = rust_take(rust, 'u') };

	if (rust_next(rust) < '0' || rust_next(rust) > '9')
		rust->failed = true;
	else if (!rust_take(rust, '0'))
		while (rust_next(rust) >= '0' && rust_next(rust) <= '9' &&
		       ret.length <= NAME_MAX_BYTES)
			ret.length = ret.length * 10 + (size_t)(rust_take_any(rust) - '0');
	(void)rust_take(rust, '_');
	rust->failed |= ret.length > rust->length - rust->at;
	ret.bytes = rust->text + rust->at;
	if (rust->failed || !is_plain(ret)) {
		rust->failed = true;
		return (struct rust_identifier){ 0 };
	}
	rust->at += ret.length;
	return ret;
}

/* The next bias of RFC 3492, of `count` characters so far. */
static uint32_t adapt(uint32_t delta, uint32_t count, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	for (delta += delta / count; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* The next distance of RFC 3492, of digits whose weights depend on the bias. */
static uint32_t distance(struct rust *rust, const char **at, const char *end, uint32_t bias)
{
	uint64_t sum = 0, weight = 1;

	for (uint32_t k = 36; *at < end; k += 36) {
		const char letter = *(*at)++;
		const uint32_t digit = letter >= 'a' ? (uint32_t)(letter - 'a') :
			(uint32_t)(letter - '0') + 26;
		const uint32_t least = k <= bias ? 1 : k - bias >= 26 ? 26 : k - bias;

		sum += digit * weight;
		if (digit > 35 || sum > 1 << 30)
			break;
		if (digit < least)
			return (uint32_t)sum;
		weight *= 36 - least;
		if (weight > 1 << 30)
			break;
	}
	rust->failed = true;
	return 0;
}

/* ASCII up to the last "_", which is the "-" of RFC 3492; behind it what goes in between. */
static void put_punycode(struct rust *rust, struct rust_identifier from)
{
	const char *const last = memrchr(from.bytes, '_', from.length);
	const char *const end = from.bytes + from.length;
	const char *at = last != NULL ? last + 1 : from.bytes;
	uint32_t codes[CODES_MAX], code = 128, index = 0, bias = 72, count = 0;

	rust->failed |= from.length > CODES_MAX;
	if (rust->failed)
		return;
	for (const char *ascii = from.bytes; last != NULL && ascii < last; ascii++)
		codes[count++] = (unsigned char)*ascii;
	for (bool first = true; at < end && !rust->failed; first = false) {
		const uint32_t delta = distance(rust, &at, end, bias);

		bias = adapt(delta, ++count, first);
		index += delta;
		code += index / count;
		index %= count;
		memmove(codes + index + 1, codes + index, (count - 1 - index) * sizeof(codes[0]));
		codes[index++] = code;
		rust->failed |= code > 0x10ffff;
	}
	for (uint32_t i = 0; i < count; i++)
		rust_put_code(rust, codes[i]);
}

void rust_put_identifier(struct rust *rust, struct rust_identifier from)
{
	if (from.punycode && !rust->silent && !rust->failed)
		put_punycode(rust, from);
	else
		rust_put_bytes(rust, from.bytes, from.length);
}
