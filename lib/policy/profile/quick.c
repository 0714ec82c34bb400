/* SPDX-License-Identifier: MIT */
/*
 * Quick probes find out, in a few microseconds each and in the program itself, facts that decide a
 * plan. A refusal counts as "no" only when the kernel takes the same call without the bit in
 * question; anything less certain stays unknown.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../spec/now.h"
#include "../spec/spec.h"
#include "facts.h"
#include "profile.h"

#define BUDGET_NS 5000000
#define FAULTS 16

static const struct perf_event_attr dummy = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
	.exclude_hv = 1, .disabled = 1,
};

static bool is_policy(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOSYS;
}

/* Opens with the bit and, where that is refused, without it. */
static enum pm_verdict pair(const struct perf_event_attr *with, const struct perf_event_attr *base)
{
	int err = pm_open_try(with, 0, -1);

	if (err == 0)
		return PM_YES;
	if ((err == -EINVAL || err == -E2BIG) && pm_open_try(base, 0, -1) == 0)
		return PM_NO;
	return is_policy(err) ? PM_BLOCKED : PM_UNKNOWN;
}

static enum pm_verdict count_faults(int *ret_fd)
{
	struct perf_event_attr attr = dummy;
	uint64_t before = 0, after = 0;
	enum pm_verdict verdict = PM_UNKNOWN;
	size_t caused;
	int fd;

	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return is_policy(fd) ? PM_BLOCKED : PM_UNKNOWN;
	if (pm_is_event(fd) && pm_read_count(fd, &before) == 0) {
		/* Where there is no memory for it, that it opens and is read has to do. */
		caused = pm_cause_faults(FAULTS);
		/* More than was caused proves no wrong count: a signal handler may add some. */
		if (pm_read_count(fd, &after) == 0)
			verdict = after - before >= caused ? PM_YES : PM_BROKEN;
	}
	*ret_fd = fd;
	return verdict;
}

static enum pm_verdict counts_faults(void)
{
	int fd = -1;
	enum pm_verdict verdict = count_faults(&fd);

	if (fd >= 0)
		close(fd);
	return verdict;
}

static enum pm_verdict flag_cloexec(void)
{
	struct perf_event_attr attr = dummy;
	enum pm_verdict verdict;
	int fd;

	attr.size = pm_attr_size_needed(&attr);
	fd = pm_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd == -EINVAL)
		return pm_open_try(&dummy, 0, -1) == 0 ? PM_NO : PM_UNKNOWN;
	if (fd < 0)
		return is_policy(fd) ? PM_BLOCKED : PM_UNKNOWN;
	verdict = fcntl(fd, F_GETFD) & FD_CLOEXEC ? PM_YES : PM_BROKEN;
	close(fd);
	return verdict;
}

static enum pm_verdict sample_identifier(void)
{
	struct perf_event_attr with = dummy;

	with.sample_type = PERF_SAMPLE_IDENTIFIER;
	return pair(&with, &dummy);
}

static enum pm_verdict format_lost(void)
{
	struct perf_event_attr with = dummy;

	with.read_format = PERF_FORMAT_LOST;
	return pair(&with, &dummy);
}

static enum pm_verdict inherit_sample_read(void)
{
	struct perf_event_attr with = dummy, base;

	with.inherit = 1;
	with.sample_type = PERF_SAMPLE_TID;
	base = with;
	with.sample_type |= PERF_SAMPLE_READ;
	return pair(&with, &base);
}

static enum pm_verdict flag_use_clockid(void)
{
	struct perf_event_attr with = dummy;

	with.use_clockid = 1;
	with.clockid = CLOCK_MONOTONIC;
	return pair(&with, &dummy);
}

/* Whether plans are made by it, too. */
#define QUICK_FACTS(X) \
	X("perm.available.opens", counts_faults, true) \
	X("attach.cloexec.sets_flag", flag_cloexec, true) \
	X("attr.sample_type_bits.identifier", sample_identifier, true) \
	X("attr.flag_bits.use_clockid", flag_use_clockid, true) \
	X("attr.read_format_bits.lost", format_lost, true) \
	X("inherit.sample_read.with_tid", inherit_sample_read, false)
PM_FACTS(quick, QUICK_FACTS);

static const struct quick {
	const char *key;
	enum pm_verdict (*find_out)(void);
	bool decides;
} table[] = {
#define QUICK_ROW(key, find_out, decides) { key, find_out, decides },
	QUICK_FACTS(QUICK_ROW)
};

static bool is_asked(const char *const *keys, const char *key)
{
	if (keys == NULL)
		return true;
	for (; *keys != NULL; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

static bool is_known(const struct pm_profile *profile, const char *key)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	/* Policy may allow here and now what it blocked elsewhere or earlier. */
	return pm_profile_lookup(profile, key, &fact) == 0 && fact.rank >= PM_RANK_BUILD &&
		fact.verdict != PM_BLOCKED;
}

static int find_out(struct pm_profile *profile, const struct quick *quick, int *ret_fd)
{
	enum pm_verdict verdict = quick->find_out == counts_faults && ret_fd != NULL ?
		count_faults(ret_fd) : quick->find_out();

	if (verdict == PM_UNKNOWN)
		return 0;
	return pm_profile_set(profile, &(struct pm_fact){
		.size = sizeof(struct pm_fact),
		.key = quick->key, .verdict = verdict, .rank = PM_RANK_RUNTIME });
}

/* For a plan with `ret_fd`. */
static int probe(struct pm_profile *profile, const char *const *keys, uint64_t budget_ns,
		 int *ret_fd)
{
	uint64_t begin;
	int found = 0, err;
	bool tried = false;

	if (profile->persona < 0) {
		err = pm_profile_use_persona(profile, NULL);
		if (err < 0)
			return err;
	}
	begin = pm_now();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!is_asked(keys, table[i].key) || (ret_fd != NULL && !table[i].decides) ||
		    is_known(profile, table[i].key))
			continue;
		/* The first decides whether there is anything at all: being delayed must not. */
		if (tried && pm_now() - begin > (budget_ns ? budget_ns : BUDGET_NS))
			break;
		tried = true;
		err = find_out(profile, &table[i], ret_fd);
		if (err < 0)
			return err;
		found += err;
	}
	return found;
}

int pm_profile_probe(struct pm_profile *profile, const char *const *keys, uint64_t budget_ns)
{
	return probe(profile, keys, budget_ns, NULL);
}

int pm_profile_probe_for_plan(struct pm_profile *profile, int *ret_fd)
{
	return probe(profile, NULL, 0, ret_fd);
}
