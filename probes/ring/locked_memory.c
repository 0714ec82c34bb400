/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much ring memory may a user have? perf_event_mlock_kb for each CPU, shared by all processes
 * of the user, then RLIMIT_MEMLOCK of the process; beyond that EPERM, unless CAP_IPC_LOCK is held
 * or perf_event_paranoid is -1. This is what silently limits a profiler on a phone.
 * Observed with rings of a tenth of the budget or so. As root the test becomes a user id of its
 * own, so that nobody else's rings are counted; as a user, others of that id may take a part.
 */
#include <sys/resource.h>

#include "probe.h"
#include "privilege.h"

#define MOST_RINGS 24
#define TIMES 4

PROBE(TITLE("budget of locked memory for rings")
      SINCE("2.6.31")
      ALONE("takes all the memory that the user may lock")
      POINT(limit_is_kept, "mmap of a ring is EPERM once the user's budget is used up, and not "
	    "before")
      POINT(rlimit_adds, "a larger RLIMIT_MEMLOCK lets the refused ring in")
      POINT(budget_is_per_user, "rings of two processes of a user share one budget")
      POINT(capability_lifts, "with CAP_IPC_LOCK rings have no memory limit")
      FACT(budget_pages, int, "pages", "perf_event_mlock_kb for all online CPUs"))

static struct {
	int fds[MOST_RINGS];
	struct pm_ring rings[MOST_RINGS];
	size_t budget, step, used;	/* pages */
	bool own_uid;
} user;

static void limit_memory(rlim_t soft)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	limit.rlim_cur = soft;
	setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* Events are opened with this task's own rights; their rings are mapped as another user. */
static void prepare(bool keep_rights)
{
	const struct pm_env *env = probe_env();
	struct perf_event_attr attr = attr_faults(0);

	require(REQUIRE_PERF);
	if (env->paranoid == -1)
		say_absent("perf_event_paranoid=-1: rings are not limited");
	if (env->mlock_kb < 0)
		say_unknown("perf_event_mlock_kb cannot be read");
	if (env->cpus_online <= 0)
		say_unknown("how many CPUs are online cannot be read");
	user.budget = env->mlock_kb * 1024 / env->page_size * env->cpus_online;
	for (user.step = 1; 16 * user.step <= user.budget; user.step *= 2)
		;
	for (int i = 0; i < MOST_RINGS; i++)
		user.fds[i] = must_open(&attr, 0, -1, -1, 0);
	user.own_uid = env->euid == 0;
	if (!keep_rights && drop_privileges(2000000 + getpid()))
		say_unknown("rights cannot be dropped: %s", pm_errno_name(errno));
	limit_memory(0);
}

static int map_next(int *mapped)
{
	int error = pm_ring_open(user.fds[*mapped], user.step, PROT_READ | PROT_WRITE,
				 &user.rings[*mapped]);

	*mapped += !error;
	return error;
}

/*
 * Map until the kernel refuses. Returns how many rings there are. The memory of others of this user
 * that have just ended comes back after a while, so the first ring is tried for again.
 */
static int use_up(void)
{
	const uint64_t end = now_ns() + (user.budget > user.step ? 1000000000 : 0);
	int error, mapped = 0;

	do
		error = map_next(&mapped);
	while ((!error && mapped < MOST_RINGS) || (error == -EPERM && !mapped && now_ns() < end));
	user.used = mapped * (user.step + 1);
	if (error && error != -EPERM)
		say_unknown("mmap: %s after %zu pages", pm_errno_name(error), user.used);
	if (!error)
		say_broken("accepted=%zu pages, budget=%zu, RLIMIT_MEMLOCK=0", user.used,
			   user.budget);
	return mapped;
}

TEST(limit_is_kept)
{
	prepare(false);
	if (!use_up() && user.budget > user.step)
		say_unknown("others of this user hold the whole budget");
	fact_int("budget_pages", user.budget);
	if (user.used > user.budget + user.step + 1)
		say_broken("accepted=%zu pages, budget=%zu", user.used, user.budget);
	if (user.own_uid && user.used + user.step + 1 <= user.budget)
		say_broken("refused after %zu pages of %zu", user.used, user.budget);
}

TEST(rlimit_adds)
{
	struct rlimit limit;
	int error, mapped;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	prepare(false);
	mapped = use_up();
	if (mapped == MOST_RINGS)
		say_unknown("no event left to map");
	if (limit.rlim_max < 2 * (user.step + 1) * probe_env()->page_size)
		say_blocked("the hard RLIMIT_MEMLOCK is too small for two rings");
	limit_memory(2 * (user.step + 1) * probe_env()->page_size);
	error = map_next(&mapped);
	if (error)
		say_broken("with RLIMIT_MEMLOCK=%zu pages: %s", 2 * (user.step + 1),
			   pm_errno_name(error));
	if (map_next(&mapped) || map_next(&mapped))
		return;
	if (!user.own_uid)
		say_unknown("others of this user may have given memory back");
	say_broken("RLIMIT_MEMLOCK=%zu pages lets in %zu", 2 * (user.step + 1),
		   3 * (user.step + 1));
}

static int map_in_child(void *context)
{
	int mapped = *(int *)context;

	return -map_next(&mapped);
}

/*
 * A ring of a child while the parent holds the whole budget. What others of this user give back
 * lets in one; the parent then takes the rest, and a child that gets in each time has a budget of
 * its own.
 */
static int try_in_child(int *mapped)
{
	int error = 0;

	for (int i = 0; i < TIMES && !error && *mapped < MOST_RINGS; i++) {
		error = wait_child(start_child(map_in_child, mapped));
		while (!error && *mapped < MOST_RINGS && !map_next(mapped))
			;
	}
	return error;
}

/* The memory of those that have ended comes back after a while. */
static int try_again_in_child(void)
{
	const uint64_t end = now_ns() + 1000000000;
	int error, none = 0;

	do
		error = wait_child(start_child(map_in_child, &none));
	while (error == EPERM && now_ns() < end);
	return error;
}

TEST(budget_is_per_user)
{
	int mapped, error;

	prepare(false);
	mapped = use_up();
	if (mapped == 0)
		say_unknown("not one ring fits into the budget, or others of this user hold it");
	error = try_in_child(&mapped);
	if (error != EPERM)
		say_broken("budget used up by the parent, child's ring: %s", pm_errno_name(error));
	for (int i = 0; i < mapped; i++)
		pm_ring_close(&user.rings[i]);
	error = try_again_in_child();
	if (error == EPERM && !user.own_uid)
		say_unknown("others of this user may have taken what the parent released");
	if (error)
		say_broken("parent has released all, child's ring: %s", pm_errno_name(error));
}

TEST(capability_lifts)
{
	int error = 0, mapped = 0;

	if (!pm_env_has_cap(probe_env(), PM_CAP_IPC_LOCK))
		say_blocked("needs CAP_IPC_LOCK");
	if (pm_in_user_namespace())
		say_blocked("CAP_IPC_LOCK of a user namespace does not count");
	prepare(true);
	while (!error && mapped < MOST_RINGS)
		error = map_next(&mapped);
	if (error)
		say_broken("CAP_IPC_LOCK held, yet %s after %zu pages of %zu", pm_errno_name(error),
			   mapped * (user.step + 1), user.budget);
}

PROBE_MAIN
