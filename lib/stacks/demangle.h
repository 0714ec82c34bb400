/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust. Not installed. */
#ifndef PM_STACKS_DEMANGLE_H
#define PM_STACKS_DEMANGLE_H

#define NAME_MAX_BYTES 4096		/* a longer one is cut */

/* A demangled copy for free(), or NULL when it is no mangled name or nothing can demangle it. */
char *demangle(const char *name);

#endif
