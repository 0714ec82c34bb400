/* SPDX-License-Identifier: MIT */
/* What every unit test includes first: cmocka and what it wants before it. */
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
