/* SPDX-License-Identifier: MIT */
/*
 * libperfmodes: what works of perf_event_open(2) on this kernel, and the way to use it.
 *
 * Conventions
 *   - a call returns >= 0, or -errno; errno itself says nothing; nothing prints or exits;
 *   - out-values come last, are named `ret`, and are untouched on failure;
 *   - a pointer is returned only by *_create, and NULL means out of memory;
 *   - structures named here without a body are opaque; those that may grow begin with `size`,
 *     which the caller sets to sizeof; what lies behind it reads as 0;
 *   - `diag`, where a call takes one, may be NULL; otherwise its `size` is set, and on failure it
 *     tells what happened and what to change;
 *   - times are ns, sizes are bytes. Runs on Linux 3.10 and later.
 * Each declaration names the release that brought it.
 */
#ifndef PERFMODES_H
#define PERFMODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------- diagnoses */

/* Who decided that a call failed. (0.1) */
enum pm_cause {
	PM_CAUSE_NONE,
	PM_CAUSE_UNKNOWN,	/* an errno for which no gate was found */
	PM_CAUSE_NOT_BUILT,	/* a kernel without perf events */
	PM_CAUSE_FILTER,	/* seccomp or the like stands in front of the system call */
	PM_CAUSE_PARANOID,	/* kernel.perf_event_paranoid and a missing capability */
	PM_CAUSE_LSM,		/* a security module or lockdown */
	PM_CAUSE_DESCRIPTORS,	/* RLIMIT_NOFILE or fs.file-max */
	PM_CAUSE_LOCKED_MEMORY,	/* RLIMIT_MEMLOCK and kernel.perf_event_mlock_kb */
	PM_CAUSE_NO_EVENT,	/* no such event, PMU or tracepoint on this machine */
	PM_CAUSE_UNSUPPORTED,	/* this kernel does not know what was asked for */
	PM_CAUSE_NO_TARGET,	/* the thread or CPU is not there */
	PM_CAUSE_INPUT,		/* what the caller handed in, a profile for example */
	PM_CAUSE_SILENCE,	/* everything was accepted and no record came */
};

/* One line about one failure. The caller owns it; nothing in it needs to be freed. (0.1) */
struct pm_diag {
	size_t size;		/* sizeof(struct pm_diag) */
	int error;		/* a positive errno, 0 when nothing failed */
	enum pm_cause cause;
	char text[480];		/* the line: call, errno, cause, what to change */
};

/* -------------------------------------------------------------------------------- profiles */

/* What is known of a kernel, a table of facts. Not thread-safe while it is changed. (0.1) */
struct pm_profile;

enum pm_verdict { PM_UNKNOWN, PM_YES, PM_NO, PM_BROKEN, PM_HAZARD, PM_BLOCKED };

enum pm_fact_type { PM_FACT_VERDICT, PM_FACT_BOOL, PM_FACT_INT, PM_FACT_TEXT };

/* How near the machine of a profile, or of one fact, is to the running one; more is nearer. */
enum pm_rank {
	PM_RANK_NONE,		/* another architecture or series */
	PM_RANK_HINT,		/* same architecture and series (x.y) */
	PM_RANK_RELEASE,	/* same release and version text */
	PM_RANK_BUILD,		/* same kernel build-id */
	PM_RANK_RUNTIME,	/* found out in this process */
};

/* One fact. Texts belong to the profile and live as long as the fact is not changed. (0.1) */
struct pm_fact {
	const char *key;		/* "ring.write_backward.newest_first" */
	enum pm_fact_type type;
	enum pm_verdict verdict;	/* of VERDICT; PM_UNKNOWN for other types */
	enum pm_rank rank;
	int64_t number;			/* of INT and BOOL */
	const char *text;		/* of TEXT, else NULL */
};

/* An empty profile, to be filled by set, merge and probe. NULL: no memory. (0.1) */
struct pm_profile *pm_profile_create(void);

/* Frees the profile and every text that came out of it. NULL is allowed. (0.1) */
void pm_profile_destroy(struct pm_profile *profile);

/*
 * Reads the text of a profile.json, whose rank against the running kernel all its facts get. The
 * text is not trusted: at most 4 MiB, 65536 facts, 32 personas. -EBADMSG for what is no profile,
 * -E2BIG beyond those bounds, -ENOMEM. (0.1)
 */
int pm_profile_load_text(const char *text, size_t size, struct pm_diag *diag,
			 struct pm_profile **ret);

/* The same from a file. Also -errno of open(2) and read(2). (0.1) */
int pm_profile_load_file(const char *path, struct pm_diag *diag, struct pm_profile **ret);

/*
 * The profile in the directory (*.json, first 4096) that ranks highest for the running kernel;
 * files that cannot be read are passed over. -ENOENT when none ranks above PM_RANK_NONE. (0.1)
 */
int pm_profile_load_dir(const char *directory, struct pm_diag *diag, struct pm_profile **ret);

/*
 * The profile of this machine: $PERFMODES_PROFILE (a file or a directory), else the best of
 * /etc/perfmodes and /usr/share/perfmodes; without any an empty one. A variable that names
 * something unreadable is an error and not ignored, except in set-user-id programs, where it is
 * not looked at. The persona is set to the caller's. (0.1)
 */
int pm_profile_load_default(struct pm_diag *diag, struct pm_profile **ret);

/* How the profile's identity fits the running kernel; a profile without one: PM_RANK_NONE. (0.1) */
enum pm_rank pm_profile_rank(const struct pm_profile *profile);

/*
 * From now on lookups answer for this persona ("root", "perfmon", "user", "seccomp"): its own
 * facts first, then those of the kernel. NULL: the one that the calling thread's capabilities and
 * filters amount to. Without a call only facts of the kernel are seen. -ENOSPC, -ENOMEM. (0.1)
 */
int pm_profile_use_persona(struct pm_profile *profile, const char *persona);

/* The fact of that key, in constant time, without allocation. -ENOENT when unknown. (0.1) */
int pm_profile_lookup(const struct pm_profile *profile, const char *key, struct pm_fact *ret);

/* Number of facts, those of all personas counted. (0.1) */
size_t pm_profile_count(const struct pm_profile *profile);

/*
 * Puts in a fact with the rank it names; its texts are copied. PM_BLOCKED goes to the persona in
 * use. PM_UNKNOWN never overwrites (-EINVAL), PM_BLOCKED never overwrites another verdict of the
 * same persona, and a hazard stays unless a fact of PM_RANK_BUILD or above says otherwise: then 0
 * is returned and nothing changes. 1 when it was put in. -EINVAL, -ENOSPC, -ENOMEM. (0.1)
 */
int pm_profile_set(struct pm_profile *profile, const struct pm_fact *fact);

enum pm_merge {
	PM_MERGE_UNION,		/* what is known of either */
	PM_MERGE_INTERSECTION,	/* what holds for both */
};

/*
 * Merges `from` into `into`. Of two different answers the one of higher rank is kept; of equal
 * rank neither, and `conflict` (may be NULL) is told. A hazard in either stays; blocked gives way
 * to any other answer; identity and evidence become what is true of both. Returns the number of
 * conflicts; -ENOSPC, -ENOMEM (then `into` is partly merged). (0.1)
 */
int pm_profile_merge(struct pm_profile *into, const struct pm_profile *from, enum pm_merge how,
		     void (*conflict)(const struct pm_fact *into, const struct pm_fact *from,
				      void *context), void *context);

/*
 * Writes canonical JSON (sorted keys, one a line): the same facts give the same bytes.
 * -ENOMEM, -errno of write(2). (0.1)
 */
int pm_profile_save(const struct pm_profile *profile, int fd);

#ifdef __cplusplus
}
#endif

#endif
