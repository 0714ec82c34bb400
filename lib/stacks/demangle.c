/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust. The C++ library of the system does it where there is one; it is loaded at
 * the first name, and nothing is missing without it. Rust's older scheme is C++'s with a hash as
 * the last part, which is taken off.
 */
#include <dlfcn.h>
#include <pthread.h>
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

/* "path::name::h0123456789abcdef" */
static void cut_hash(char *name)
{
	const size_t length = strlen(name);
	char *hash = length > 19 ? name + length - 19 : NULL;

	if (hash != NULL && strncmp(hash, "::h", 3) == 0 &&
	    strspn(hash + 3, "0123456789abcdef") == 16)
		*hash = '\0';
}

char *demangle(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *plain;
	int status;

	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > NAME_MAX_BYTES)
		return NULL;
	pthread_once(&once, load);
	plain = cxa_demangle != NULL ? cxa_demangle(name, NULL, NULL, &status) : NULL;
	if (plain != NULL)
		cut_hash(plain);
	return plain;
}
