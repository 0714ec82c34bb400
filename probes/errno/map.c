/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which mappings of an event are refused, and with which errno?
 *
 * EPERM is the one that a user meets in the field: the memory budget, which is perf_event_mlock_kb
 * for each CPU and user, and RLIMIT_MEMLOCK beyond it. All others are mistakes of the caller. The
 * right mapping is made first, so each refusal is of the mistake alone. Second mappings of another
 * size and events that inherit on any CPU: ring.mappings.
 */
#include "probe.h"
#include "privilege.h"

/* name, errno, what is wrong, pages, flags, first page, descriptor */
#define MISTAKES(X)                                                                            \
	X(private_mapping, EINVAL, "a private mapping", 2, MAP_PRIVATE, 0, fd)                 \
	X(no_power_of_two, EINVAL, "three data pages", 4, MAP_SHARED, 0, fd)                   \
	X(offset, EINVAL, "a mapping that starts behind the ring", 1, MAP_SHARED, 64, mapped)  \
	X(nothing, EINVAL, "a mapping of no bytes", 0, MAP_SHARED, 0, fd)                      \
	X(closed, EBADF, "a descriptor that is closed", 2, MAP_SHARED, 0, gone)

#define DECLARE(name, error, what, pages, flags, first, fd) POINT(name, #error ": " what)
PROBE(TITLE("errnos of mapping an event")
      SINCE("2.6.31")
      POINT(budget, "EPERM: a ring beyond the memory budget of this user")
      MISTAKES(DECLARE))

/* Three events alike: one to be mapped wrongly, one that is mapped already, one that is closed. */
static int fd, mapped, gone;

/* The right way works. */
static void prepare(void)
{
	struct perf_event_attr attr = attr_faults(0);
	struct pm_ring ring;

	fd = must_open(&attr, 0, -1, -1, 0);
	mapped = must_open(&attr, 0, -1, -1, 0);
	must_map(mapped, 1, &ring);
	gone = must_open(&attr, 0, -1, -1, 0);
	must_close(gone);
}

static void refused(int answer, int want, const char *what)
{
	if (answer != -want)
		say_broken("%s: %s, want %s", what, answer < 0 ? pm_errno_name(answer) : "mapped",
			   pm_errno_name(want));
}

static int map(int event, size_t pages, int flags, off_t first)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	void *base = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, flags, event, first * page);

	return base == MAP_FAILED ? -errno : 0;
}

#define ASK(name, error, what, pages, flags, first, event)                                     \
	TEST(name)                                                                             \
	{                                                                                      \
		prepare();                                                                     \
		refused(map(event, pages, flags, first), error, what);                         \
	}
MISTAKES(ASK)

TEST(budget)
{
	const struct pm_env *env = probe_env();
	struct perf_event_attr attr = attr_faults(0);

	prepare();
	if (!env->paranoid_present || env->paranoid < 0 || env->mlock_kb < 0)
		say_absent("no memory budget at this level");
	ASSERT_EQ(0, drop_to(0));
	must_close(must_open(&attr, 0, -1, -1, 0));	/* level 3 refuses even that */
	refused(try_gate(GATE_MLOCK, 0), EPERM, "a ring beyond the budget");
}

PROBE_MAIN
