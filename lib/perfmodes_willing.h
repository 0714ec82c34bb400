/* SPDX-License-Identifier: MIT */
/*
 * A willing target: a program that lets a sampler of its choice unwind its stacks although
 * /proc/PID/mem may not be opened from outside. The sampler sends a signal; the handler connects
 * to the sampler's socket and passes descriptors of /proc/self/maps and /proc/self/mem, both
 * read-only. perfmodes_descriptors.h is the other side. Link with libperfmodes-willing.a, which
 * needs libc alone.
 *
 * Conventions are those of perfmodes.h: calls return >= 0 or -errno, structures begin with `size`.
 */
#ifndef PERFMODES_WILLING_H
#define PERFMODES_WILLING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The signal unless another is chosen: no C library keeps it to itself. (0.1) */
#define PM_WILLING_SIGNAL 42

enum pm_willing_flags {
	/*
	 * A process that is not dumpable may not open its own /proc/self/mem. With this flag the
	 * handler makes it dumpable for the moment of the two opens, in which every process of the
	 * same user may do so, too.
	 */
	PM_WILLING_RAISE_DUMPABLE = 1
};

/* All 0 but for `size` and `socket`. (0.1) */
struct pm_willing_opts {
	size_t size;		/* sizeof(struct pm_willing_opts) */
	const char *socket;	/* where the sampler listens; "@name" is an abstract one */
	int signal;		/* a real-time signal; 0: PM_WILLING_SIGNAL */
	unsigned int flags;	/* enum pm_willing_flags */
	unsigned int sampler;	/* 1 + the uid that may listen besides root and our own */
};

/* What the handler did. (0.1) */
struct pm_willing_stats {
	size_t size;		/* sizeof(struct pm_willing_stats) */
	uint64_t answered;	/* descriptors passed */
	uint64_t refused;	/* the files could not be opened; the sampler was told */
	uint64_t untrusted;	/* somebody else listened: nothing was sent */
	uint64_t failed;	/* nobody listened, or the listener was too busy */
};

/*
 * Installs the handler for the process and the children that it forks. The handler makes system
 * calls only, none of which blocks, and leaves errno alone. -EBUSY when the signal has a handler or
 * a start is in force; -EINVAL for a signal that is not a real-time one or a path that is too long.
 * (0.1)
 */
int pm_willing_start(const struct pm_willing_opts *opts);

/* Ignores the signal from now on: a late one would end the process. Returns 0; -EALREADY. (0.1) */
int pm_willing_stop(void);

/* Counts since the start, up to ret->size. Returns 0. (0.1) */
int pm_willing_stats(struct pm_willing_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
