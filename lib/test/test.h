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

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#endif
