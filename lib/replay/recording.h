/* SPDX-License-Identifier: MIT */
/* A recording of perfmodes-explain, to be asked again. Format: reports/schema/recording.json */
#ifndef RECORDING_H
#define RECORDING_H

#include "../pm_sys.h"

#define RECORDING_MOST (4u << 20)	/* bytes */
#define CALLS_MOST 1024

/* The fields of the attr that a recording names, by lib/abi.def. */
struct attr_field { const char *name; size_t offset, bytes; };
#define FIELD_ONE(...) + 1
#define FIELD_COUNT (0 PM_ATTR_FIELDS(FIELD_ONE))
extern const struct attr_field attr_fields[FIELD_COUNT];

enum how { UNSET, NUMBER, ADDRESS, UNALIGNED, NAME };
enum target { SELF, THREAD, CHILD, OTHER, CPU, CGROUP };
/* Of ioctl(2): PERF_EVENT_IOC_*, by their numbers. */
enum request { ENABLE, DISABLE, REFRESH, RESET, PERIOD, SET_OUTPUT, SET_FILTER, ID, SET_BPF,
	       PAUSE_OUTPUT, QUERY_BPF, MODIFY_ATTRIBUTES, REQUESTS };

struct asked {
	char type[64], tracepoint[160];	/* names; what a number of this machine is, is found here */
	uint64_t config, value[FIELD_COUNT];
	enum how how[FIELD_COUNT];
	uint64_t flags;			/* of the attr, reserved ones with them */
	uint64_t size, beyond, open_flags, cpus, rings, pages, calls;
	enum target target;
	bool on_cpu, group, narrow;
	unsigned int requests;		/* a bit each */
	char strange[48];		/* a name that this version does not know, or "" */
};

struct recording {
	char cpu_model[128];
	uint64_t cpus_online, page_size;
	size_t count;
	struct asked *calls;		/* room for CALLS_MOST, the caller's */
};

/* NULL, or what is wrong with it. */
const char *recording_read(const char *text, size_t size, struct recording *ret);

/* The value of a field of attr_fields, 0 where it is not set; what is no number is 1. */
uint64_t asked_field(const struct asked *asked, const char *name);

/* The value of a flag of the attr, by its name. */
unsigned int asked_flag(const struct asked *asked, const char *name);

/* The flags as the word attr.flag_bits of this machine has them. */
uint64_t asked_flag_bits(const struct asked *asked);

/* PERF_TYPE_* of the first six; -1 of a PMU that is known by its name. */
int asked_type(const struct asked *asked);

/* A name as a point has it, "07_cycles_child", and the call in words. */
void asked_name(const struct asked *asked, size_t number, char *buf, size_t size);
void asked_words(const struct asked *asked, char *buf, size_t size);

#endif
