/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust. Not installed. */
#ifndef PM_STACKS_DEMANGLE_H
#define PM_STACKS_DEMANGLE_H

#include <stddef.h>

#define NAME_MAX_BYTES 4096		/* a longer one is cut */

/* A demangled copy for free(), or NULL when it is no mangled name or nothing can demangle it. */
char *demangle(const char *name);

/*
 * The same of a symbol of a file, which may have its version behind it: "read" of
 * "read@@GLIBC_2.2.5". "@plt" stays. NULL when it is plain already.
 */
char *demangle_symbol(const char *name);

/* The same of a name that begins with "_R", of at most NAME_MAX_BYTES. */
char *rust_demangle(const char *name);

/* UTF-8 of a character, at most 4 bytes. Returns them; 0: it is none, or controls something. */
size_t put_character(unsigned long code, char *to);

#endif
