/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust. The C++ library of the system does it where there is one; it is loaded at
 * the first name, and nothing is missing without it. Rust's older scheme is C++'s with a hash as
 * the last part, which is taken off, and with "$LT$" for what may not stand in a name of C++; its
 * newer one, "_R...", is that of rust.c, which needs no library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

static char *(*cxa_demangle)(const char *, char *, size_t *, int *);

static void load(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		library = dlopen("libc++abi.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library != NULL)
		*(void **)&cxa_demangle = dlsym(library, "__cxa_demangle");
}

/* "path::name::h0123456789abcdef": whether there was such a hash, so that the name is Rust's. */
static bool cut_hash(char *name)
{
	const size_t length = strlen(name);
	char *hash = length > 19 ? name + length - 19 : NULL;

	if (hash == NULL || strncmp(hash, "::h", 3) != 0 ||
	    strspn(hash + 3, "0123456789abcdef") != 16)
		return false;
	*hash = '\0';
	return true;
}

/* Which is shorter than its escape. */
size_t put_character(unsigned long code, char *to)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* "$LT$" or "$u20$" at `from`: its bytes, and of what it stands for. 0: it is none. */
static size_t take_escape(const char *from, char *to, size_t *put)
{
	static const struct { const char *word; char stands_for; } words[] = {
		{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' },
		{ "$GT$", '>' }, { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' },
	};
	size_t digits;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(from, words[i].word, strlen(words[i].word)) == 0) {
			*to = words[i].stands_for;
			*put = 1;
			return strlen(words[i].word);
		}
	digits = from[1] == 'u' ? strspn(from + 2, "0123456789abcdef") : 0;
	if (digits == 0 || digits > 6 || from[2 + digits] != '$')
		return 0;
	*put = put_character(strtoul(from + 2, NULL, 16), to);
	return *put > 0 ? digits + 3 : 0;
}

/* In place: what comes of it is no longer. An escape at the beginning of a part has a _ before. */
static void undo_escapes(char *name)
{
	char *from = name, *to = name;
	bool begins = true;

	while (*from != '\0') {
		size_t put = 0, taken;

		from += begins && from[0] == '_' && from[1] == '$';
		begins = from[0] == ':' && from[1] == ':';
		taken = *from == '$' ? take_escape(from, to, &put) : 0;
		if (taken > 0) {
			from += taken;
			to += put;
		} else if ((from[0] == '.' && from[1] == '.') || begins) {
			*to++ = ':';
			*to++ = ':';
			from += 2;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* LLVM makes names of its own of what one unit has and another uses: "NAME.llvm.0123". */
static size_t length_of(const char *name)
{
	const char *end = strstr(name, ".llvm.");

	return end != NULL ? (size_t)(end - name) : strlen(name);
}

char *demangle(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *plain, *copy;
	int status;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || strlen(name) > NAME_MAX_BYTES)
		return NULL;
	if (name[1] == 'R')
		return rust_demangle(name);
	pthread_once(&once, load);
	copy = cxa_demangle != NULL ? strndup(name, length_of(name)) : NULL;
	plain = copy != NULL ? cxa_demangle(copy, NULL, NULL, &status) : NULL;
	free(copy);
	if (plain != NULL && cut_hash(plain))
		undo_escapes(plain);
	return plain;
}

char *demangle_symbol(const char *name)
{
	const char *version = strchr(name, '@');
	char *base, *plain, *ret;

	if (version == NULL || version == name || strlen(name) > NAME_MAX_BYTES)
		return demangle(name);
	base = strndup(name, (size_t)(version - name));
	plain = base != NULL ? demangle(base) : NULL;
	if (base == NULL || strcmp(version, "@plt") != 0) {
		ret = plain != NULL ? plain : base;
		if (ret == plain)
			free(base);
		return ret;
	}
	if (asprintf(&ret, "%s@plt", plain != NULL ? plain : base) < 0)
		ret = NULL;
	free(plain);
	free(base);
	return ret;
}
