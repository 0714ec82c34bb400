/* SPDX-License-Identifier: MIT */
/* A shape in words. */
#ifndef WORDS_OF_SHAPE_H
#define WORDS_OF_SHAPE_H

#include "shape.h"

/* "sched:sched_switch", "cycles:u", "power/config=0x2/": as perf calls the event. */
void name_event(const struct shape *shape, char *buf, size_t size);

/* "SYSTEM:EVENT" of a tracepoint's id. False: tracefs does not tell. */
bool name_tracepoint(uint64_t id, char *buf, size_t size);

/* Whether somebody planted that tracepoint: its name may be private. */
bool is_planted(const char *name);

/* What the PMU of such a type is called in sysfs. False: there is none. */
bool name_pmu(uint32_t type, char *buf, size_t size);

/* "count", "sample 4000 times a second with call chains" */
void name_mode(const struct shape *shape, char *buf, size_t size);

/* "of a child, children inherit, from its next exec on" */
void name_target(const struct shape *shape, char *buf, size_t size);

/* For JSON: "self", "thread", "child", "other", "cpu", "cgroup" */
const char *target_word(enum target target);

/* Counts nothing for ever: it happens in the kernel, which is excluded. */
bool counts_nothing(const struct shape *shape);

/* Of a breakpoint: the processor would have to watch across its own boundaries. */
bool is_unaligned(const struct shape *shape);

/* "rings of 129 pages", "1 of 2 rings of 129 pages, the rest EPERM [2]" */
struct pm_words;
void put_rings(const struct shape *shape, const char *at_gate, struct pm_words *words);

unsigned int cpus_of(const struct shape *shape);

#endif
