/* SPDX-License-Identifier: MIT */
/*
 * Each call of libc.def fails once: the `fault.at`-th since fault_arm. Linked with
 * -Wl,--wrap=NAME of each that can fail, and of free. Allocations are kept account of.
 */
#ifndef FAULTY_LIBC_H
#define FAULTY_LIBC_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FAULT_NULLS, FAULT_MINUS, FAULT_NUMBER, FAULT_DONE };

static struct {
	bool armed;
	unsigned int calls;		/* atomic */
	unsigned int at;		/* which fails; 0: none */
	int error;
	bool interrupts;		/* only what EINTR can interrupt fails */
	const char *failed;
	const char *online;		/* read in place of the list of online CPUs */
} fault;

static bool fails(const char *name, int how)
{
	unsigned int call;

	if (!fault.armed || (fault.interrupts && how != FAULT_MINUS))
		return false;
	call = __atomic_add_fetch(&fault.calls, 1, __ATOMIC_RELAXED);
	if (call != fault.at)
		return false;
	fault.failed = name;
	return true;
}

/* ------------------------------------------------------------------------ what is allocated */

#define POINTERS 65536

static void *pointers[POINTERS];
static pthread_mutex_t pointers_lock = PTHREAD_MUTEX_INITIALIZER;
static int live;

static void note_pointer(void *pointer, bool there)
{
	size_t at = ((uintptr_t)pointer >> 4) % POINTERS;

	if (pointer == NULL)
		return;
	pthread_mutex_lock(&pointers_lock);
	for (size_t i = 0; i < POINTERS; i++, at = (at + 1) % POINTERS) {
		if (there && (pointers[at] == NULL || pointers[at] == (void *)1)) {
			pointers[at] = pointer;
			live++;
			break;
		}
		if (!there && pointers[at] == pointer) {
			pointers[at] = (void *)1;
			live--;
			break;
		}
		if (!there && pointers[at] == NULL)	/* of before, or of the C library */
			break;
	}
	pthread_mutex_unlock(&pointers_lock);
}

/* --------------------------------------------------------------------------------- wrapping */

/* Integers and pointers are passed alike, so one kind of wrapper does for all. */
#define ARGUMENTS long a, long b, long c, long d, long e, long f
#define PASSED a, b, c, d, e, f

#define NULLS(name) \
	if (fails(#name, FAULT_NULLS)) { errno = fault.error; return 0; }
#define MINUS(name) \
	if (fails(#name, FAULT_MINUS)) { errno = fault.error; return -1; }
#define NUMBER(name) \
	if (fails(#name, FAULT_NUMBER)) return fault.error;
#define DONE(name) \
	if (fails(#name, FAULT_DONE)) { \
		(void)__real_##name(PASSED); \
		errno = fault.error; \
		return -1; \
	}

#define WRAP_NULLS(name) WRAP(name, NULLS)
#define WRAP_MINUS(name) WRAP(name, MINUS)
#define WRAP_NUMBER(name) WRAP(name, NUMBER)
#define WRAP_DONE(name) WRAP(name, DONE)
#define WRAP_NEVER(name)
#define WRAP(name, how) \
	long __real_##name(ARGUMENTS); \
	long __wrap_##name(ARGUMENTS); \
	long __wrap_##name(ARGUMENTS) \
	{ \
		long result; \
		how(name) \
		if (strncmp(#name, "open", 5) == 0 && fault.online != NULL && a != 0 && \
		    strcmp((const char *)a, "/sys/devices/system/cpu/online") == 0) \
			a = (long)fault.online; \
		if (strcmp(#name, "realloc") == 0) \
			note_pointer((void *)a, false); \
		result = __real_##name(PASSED); \
		if (fault.armed && (strcmp(#name, "malloc") == 0 || \
		    strcmp(#name, "calloc") == 0 || strcmp(#name, "realloc") == 0)) \
			note_pointer((void *)result, true); \
		return result; \
	}
#define X(name, how) WRAP_##how(name)
#include "libc.def"
#undef X

void __real_free(void *pointer);
void __wrap_free(void *pointer);

void __wrap_free(void *pointer)
{
	note_pointer(pointer, false);
	__real_free(pointer);
}

static inline void fault_arm(unsigned int at, int error, bool interrupts)
{
	fault.calls = 0;
	fault.at = at;
	fault.error = error;
	fault.interrupts = interrupts;
	fault.failed = "nothing";
	memset(pointers, 0, sizeof(pointers));
	live = 0;
	fault.armed = true;
}

static inline unsigned int fault_disarm(void)
{
	fault.armed = false;
	return fault.calls;
}

#endif
