/* SPDX-License-Identifier: MIT */
/*
 * Why a call was refused. A "no" takes a pair of calls that differ in one thing: without it the
 * event opens. What is left is explained by the gates of lib/gate*.c, as everywhere.
 */
#include "call.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../explain/part.h"
#include "../gate.h"

struct pair {
	const struct call *call;
	size_t at;
	unsigned long flags;
	char what[160];		/* that was left out */
};

static bool opens(const struct pair *pair, const union raw *raw)
{
	const int fd = call_open(pair->call, raw, pair->at, pair->flags);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static int ask_attr(const struct perf_event_attr *attr, const void *context)
{
	const struct pair *pair = context;
	union raw *raw = raw_new(pair->call->room);
	bool opened;

	if (raw == NULL)
		return ENOMEM;
	memcpy(raw, pair->call->raw, pair->call->room);
	raw->attr = *attr;
	opened = opens(pair, raw);
	(void)munmap(raw, pair->call->room);
	return opened ? 0 : EINVAL;
}

/* ------------------------------------------------------- parts that have no name in any release */

static bool fix_size(struct pair *pair, union raw *raw)
{
	const uint32_t size = raw->attr.size;

	if (size == 0 || (size >= PERF_ATTR_SIZE_VER0 && size <= pair->call->room && size % 8 == 0))
		return false;
	raw->attr.size = pm_attr_size_needed(&raw->attr);
	snprintf(pair->what, sizeof(pair->what), "attr.size %u", size);
	return true;
}

static bool cut_beyond(struct pair *pair, union raw *raw)
{
	const size_t known = sizeof(raw->attr), room = pair->call->room;
	bool set = false;

	for (size_t i = known; i < room; i++)
		set |= raw->bytes[i] != 0;
	if (!set)
		return false;
	memset(raw->bytes + known, 0, room - known);
	snprintf(pair->what, sizeof(pair->what), "bytes set behind the fields of any release");
	return true;
}

static bool cut_reserved(struct pair *pair, union raw *raw)
{
#define BIT_OF(bit) | 1ull << (bit)
	const uint64_t reserved = 0 PM_ATTR_RESERVED_FLAGS(BIT_OF);
	struct asked kept = *pair->call->asked;

	if ((kept.flags & reserved) == 0)
		return false;
	snprintf(pair->what, sizeof(pair->what), "the reserved flags %#llx",
		 (unsigned long long)(kept.flags & reserved));
	kept.flags &= ~reserved;
	raw->attr.flag_bits = asked_flag_bits(&kept);
	return true;
}

static bool cut_bits(struct pair *pair, uint64_t known, const char *name, uint64_t *value)
{
	if ((*value & ~known) == 0)
		return false;
	snprintf(pair->what, sizeof(pair->what), "the unknown bits %#llx of %s",
		 (unsigned long long)(*value & ~known), name);
	*value &= known;
	return true;
}

static bool cut_sample_type(struct pair *pair, union raw *raw)
{
	uint64_t value = raw->attr.sample_type;
	const bool cut = cut_bits(pair, (1ull << PM_SAMPLE_UNUSED) - 1, "sample_type", &value);

	raw->attr.sample_type = value;
	return cut;
}

static bool cut_branches(struct pair *pair, union raw *raw)
{
	uint64_t value = raw->attr.branch_sample_type;
	const bool cut = cut_bits(pair, (1ull << PM_BRANCH_UNUSED) - 1, "branch_sample_type",
				  &value);

	raw->attr.branch_sample_type = value;
	return cut;
}

static bool cut_format(struct pair *pair, union raw *raw)
{
	uint64_t value = raw->attr.read_format;
	const bool cut = cut_bits(pair, 31, "read_format", &value);

	raw->attr.read_format = value;
	return cut;
}

static bool cut_lost(struct pair *pair, union raw *raw)
{
	if ((raw->attr.read_format & PERF_FORMAT_LOST) == 0)
		return false;
	raw->attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	snprintf(pair->what, sizeof(pair->what), "PERF_FORMAT_LOST");
	return true;
}

/* A field of samples that came late, alone: the newest that is asked for. */
static bool cut_newest(struct pair *pair, union raw *raw)
{
#define NAMED(bit, NAME, name, since) [bit] = #NAME,
	static const char *const names[] = { PM_SAMPLE_FIELDS(NAMED) };

	for (int bit = PM_SAMPLE_UNUSED - 1; bit >= 14; bit--)
		if (raw->attr.sample_type >> bit & 1) {
			raw->attr.sample_type &= ~(1ull << bit);
			snprintf(pair->what, sizeof(pair->what), "PERF_SAMPLE_%s", names[bit]);
			return true;
		}
	return false;
}

static bool cut_newest_flag(struct pair *pair, union raw *raw)
{
#define FLAG_NAMED(bit, name, beside, since) [bit] = #name,
#define PAIR_NAMED(low, high, name, since)
	static const char *const names[] = { PM_ATTR_FLAGS(FLAG_NAMED, PAIR_NAMED) };
	struct asked kept = *pair->call->asked;

	for (int bit = (int)(sizeof(names) / sizeof(names[0])) - 1; bit >= 17; bit--)
		if (kept.flags >> bit & 1 && names[bit] != NULL) {
			kept.flags &= ~(1ull << bit);
			raw->attr.flag_bits = asked_flag_bits(&kept);
			snprintf(pair->what, sizeof(pair->what), "%s", names[bit]);
			return true;
		}
	return false;
}

static bool cut_open_flags(struct pair *pair, union raw *raw)
{
	const unsigned long known = PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT |
		PERF_FLAG_PID_CGROUP;

	(void)raw;
	if ((pair->flags & ~known) == 0)
		return false;
	if ((pair->flags & ~known) == PERF_FLAG_FD_CLOEXEC)
		snprintf(pair->what, sizeof(pair->what), "PERF_FLAG_FD_CLOEXEC");
	else
		snprintf(pair->what, sizeof(pair->what), "the open flags %#lx",
			 pair->flags & ~known);
	pair->flags &= known;
	return true;
}

static bool align_address(struct pair *pair, union raw *raw)
{
	const uint64_t length = raw->attr.bp_len;

	if (raw->attr.type != PERF_TYPE_BREAKPOINT || length < 2 || length > 8 ||
	    raw->attr.bp_addr % length == 0)
		return false;
	raw->attr.bp_addr -= raw->attr.bp_addr % length;
	snprintf(pair->what, sizeof(pair->what), "an address that is no multiple of its length");
	return true;
}

/* A generic event that no release has: another one in its place. */
static bool take_event(struct pair *pair, union raw *raw)
{
	const uint64_t config = raw->attr.config;
	const bool software = raw->attr.type == PERF_TYPE_SOFTWARE;

	if ((!software && raw->attr.type != PERF_TYPE_HARDWARE) ||
	    (!software && config <= PERF_COUNT_HW_REF_CPU_CYCLES))
		return false;
	raw->attr.config = software ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_HW_CPU_CYCLES;
	snprintf(pair->what, sizeof(pair->what), "the %s event %llu", software ? "software" :
		 "hardware", (unsigned long long)config);
	return true;
}

/* The first that helps, alone; else all together; else what lib/explain knows of attrs. */
static bool find_difference(struct pair *pair)
{
	static bool (*const cuts[])(struct pair *pair, union raw *raw) = {
		fix_size, cut_beyond, cut_reserved, cut_sample_type, cut_format, cut_branches,
		cut_open_flags, align_address, take_event, cut_newest, cut_newest_flag, cut_lost,
	};
	const struct call *call = pair->call;
	const unsigned long flags = pair->flags;
	union raw *raw = raw_new(call->room);
	struct perf_event_attr attr = call->raw->attr;
	const char *part = NULL;
	bool found = false;

	if (raw == NULL)
		return false;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]) && !found; i++) {
		memcpy(raw, call->raw, call->room);
		pair->flags = flags;
		found = cuts[i](pair, raw) && opens(pair, raw);
	}
	pair->flags = flags;
	if (!found) {
		part = find_part(&attr, ask_attr, pair);
		if (part != NULL)
			snprintf(pair->what, sizeof(pair->what), "%s", part);
	}
	(void)munmap(raw, call->room);
	return found || part != NULL;
}

/* All that no release knows, at once, and which of it that was. */
static bool find_together(struct pair *pair)
{
	static bool (*const cuts[])(struct pair *pair, union raw *raw) = {
		fix_size, cut_beyond, cut_reserved, cut_sample_type, cut_format, cut_branches,
		cut_open_flags,
	};
	union raw *raw = raw_new(pair->call->room);
	char all[sizeof(pair->what)] = "";
	bool found;

	if (raw == NULL)
		return false;
	memcpy(raw, pair->call->raw, pair->call->room);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		if (cuts[i](pair, raw)) {
			const size_t used = strlen(all);

			snprintf(all + used, sizeof(all) - used, "%s%.100s", used ? " and " : "",
				 pair->what);
		}
	found = all[0] != '\0' && opens(pair, raw);
	snprintf(pair->what, sizeof(pair->what), "%s", all);
	(void)munmap(raw, pair->call->room);
	return found;
}

/* ------------------------------------------------------------------------------------ the gates */

static bool explain_gate(const struct pm_refused *refused, struct told *ret)
{
	static const enum verdict verdicts[] = {
		/* lint: allow second-list: the outcomes of a gate, however many verdicts */
		[PM_GATE_BLOCKED] = V_BLOCKED, [PM_GATE_ABSENT] = V_ABSENT,
		[PM_GATE_UNTOLD] = V_UNKNOWN,
	};
	struct pm_gate_words words;
	const struct pm_gate *gate = pm_gate_find(refused, &words);

	tell(ret, verdicts[gate->verdict], "%s", words.brief);
	return true;
}

static void explain_open(const struct call *call, size_t at, int error, struct told *ret)
{
	const struct pm_env *env = call->env;
	const struct pm_refused refused = {
		.call = PM_CALL_OPEN, .error = error, .env = env, .attr = &call->raw->attr,
		.cpu = call->cpus[at], .cgroup = call->asked->target == CGROUP,
		.reach = call->asked->target == CGROUP ? PM_REACH_CPU :
			pm_reach_of(&call->raw->attr, call->pid),
		.needs_user_chains = error == EACCES && pm_needs_user_chains(&call->raw->attr),
		.privileged = pm_env_has_cap(env, PM_CAP_PERFMON) ||
			pm_env_has_cap(env, PM_CAP_SYS_ADMIN),
		.level = env->paranoid_present ? env->paranoid : INT_MIN,
	};

	(void)explain_gate(&refused, ret);
}

/* As the kit of the probes concludes from a pair. */
static void explain_pair(int error, const char *what, bool cgroup, struct told *ret)
{
	if (cgroup)
		tell(ret, V_ABSENT, "no cgroup here takes part in perf (%s)", pm_errno_name(error));
	else if (error == EOPNOTSUPP || error == ENODEV || error == ENXIO)
		tell(ret, V_ABSENT, "no PMU here offers %s (%s with it, ok without)", what,
		     pm_errno_name(error));
	else
		tell(ret, V_NO, "%s with %s, ok without", pm_errno_name(error), what);
}

static bool is_of_pair(int error)
{
	return error == EINVAL || error == E2BIG || error == EOPNOTSUPP || error == ENOENT ||
		error == ENOSYS || error == EBADF;
}

void call_refused(const struct call *call, size_t at, int error, struct told *ret)
{
	struct pm_refused filter = { .call = PM_CALL_OPEN, .error = ENOSYS, .env = call->env };
	struct pair pair = { .call = call, .at = at, .flags = call->flags };
	const bool cgroup = call->asked->target == CGROUP;

	filter.perf = pm_perf_ask(call->env, &filter.perf_errno);
	if (filter.perf != PM_PERF_ANSWERS) {
		(void)explain_gate(&filter, ret);
		return;
	}
	if (is_of_pair(error) && (find_difference(&pair) || find_together(&pair))) {
		explain_pair(error, pair.what, false, ret);
		return;
	}
	pair.flags &= ~(unsigned long)PERF_FLAG_PID_CGROUP;
	if (cgroup && is_of_pair(error) && opens(&pair, call->raw))
		explain_pair(error, "", true, ret);
	else
		explain_open(call, at, error, ret);
}
