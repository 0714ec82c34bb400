/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which mappings of an event are refused, and with which errno?
 *
 * EPERM is the one that a user meets in the field: the memory budget, which is perf_event_mlock_kb
 * for each CPU and user, and RLIMIT_MEMLOCK beyond it. All others are mistakes of the caller. The
 * right mapping is made first, so each refusal is of the mistake alone.
 */
#include "probe.h"

#include <sys/resource.h>

PROBE(TITLE("errnos of mapping an event")
      SINCE("2.6.31")
      POINT(budget, "EPERM: a ring beyond the memory budget of this user")
      POINT(private_mapping, "EINVAL: a private mapping")
      POINT(no_power_of_two, "EINVAL: three data pages")
      POINT(offset, "EINVAL: a mapping that starts behind the ring")
      POINT(other_size, "EINVAL: a second mapping of another size")
      POINT(inherit_any_cpu, "EINVAL: an event that inherits on any CPU")
      POINT(nothing, "EINVAL: a mapping of no bytes")
      POINT(closed, "EBADF: a descriptor that is closed"))

static int64_t page;

static int sampling(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_faults(0);

	page = sysconf(_SC_PAGESIZE);
	return must_open(&attr, 0, -1, -1, 0);
}

/* A ring on another event of the same kind: the right way works. */
static void right(struct __test_metadata *_metadata)
{
	struct pm_ring ring;

	must_map(sampling(_metadata), 1, &ring);
	pm_ring_close(&ring);
}

static int map(int fd, size_t bytes, int flags, off_t offset)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);

	return base == MAP_FAILED ? -errno : 0;
}

static void wrong(struct __test_metadata *_metadata, int answer, int want, const char *what)
{
	if (answer != -want)
		broken("%s: %s, want %s", what, answer < 0 ? errno_name(answer) : "mapped",
		       errno_name(want));
}

/*
 * Twice the budget of all CPUs cannot fit, whatever else this user has mapped. The budget is that
 * of possible CPUs at most, so a CPU coming online does not matter.
 */
TEST(budget)
{
	const struct pm_env *env = probe_env();
	struct pm_ring ring;
	size_t pages = 1;

	right(_metadata);
	if (!env->paranoid_present || env->paranoid < 0 || env->mlock_kb < 0)
		say_absent("no memory budget at this level");
	while (pages * page <= (uint64_t)env->mlock_kb * 1024 * env->cpus_possible)
		pages *= 2;
	ASSERT_EQ(0, drop_to(0));
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 0, 0 });
	wrong(_metadata, pm_ring_open(sampling(_metadata), pages, PROT_READ | PROT_WRITE, &ring),
	      EPERM, "a ring beyond the budget");
}

TEST(private_mapping)
{
	right(_metadata);
	wrong(_metadata, map(sampling(_metadata), 2 * page, MAP_PRIVATE, 0), EINVAL,
	      "a private mapping");
}

TEST(no_power_of_two)
{
	right(_metadata);
	wrong(_metadata, map(sampling(_metadata), 4 * page, MAP_SHARED, 0), EINVAL,
	      "three data pages");
}

TEST(offset)
{
	struct pm_ring ring;
	int fd = sampling(_metadata);

	must_map(fd, 1, &ring);
	wrong(_metadata, map(fd, page, MAP_SHARED, 64 * page), EINVAL, "a mapping behind the ring");
}

TEST(other_size)
{
	struct pm_ring ring;
	int fd = sampling(_metadata);

	must_map(fd, 2, &ring);
	wrong(_metadata, map(fd, 2 * page, MAP_SHARED, 0), EINVAL, "one page of a ring of two");
	wrong(_metadata, map(fd, 5 * page, MAP_SHARED, 0), EINVAL, "four pages of a ring of two");
}

TEST(inherit_any_cpu)
{
	struct perf_event_attr attr = attr_faults(0);

	right(_metadata);
	attr.inherit = 1;
	wrong(_metadata, map(must_open(&attr, 0, -1, -1, 0), 2 * page, MAP_SHARED, 0), EINVAL,
	      "an event that inherits on any CPU");
}

TEST(nothing)
{
	right(_metadata);
	wrong(_metadata, map(sampling(_metadata), 0, MAP_SHARED, 0), EINVAL, "no bytes");
}

TEST(closed)
{
	int fd = sampling(_metadata);

	right(_metadata);
	close(fd);
	wrong(_metadata, map(fd, 2 * page, MAP_SHARED, 0), EBADF, "a closed descriptor");
}

PROBE_MAIN
