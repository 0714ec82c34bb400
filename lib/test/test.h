/* SPDX-License-Identifier: MIT */
/* Every unit test includes this first: cmocka and the headers that it needs. */
#ifndef TEST_H
#define TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../pm_sys.h"

/*
 * From gcc 13 on a sanitized function has its variables in memory of the sanitizer, each call in
 * the next page: a page fault a call, where tests count page faults.
 */
const char *__asan_default_options(void);
__attribute__((used)) const char *__asan_default_options(void)
{
	return "detect_stack_use_after_return=0";
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#endif
