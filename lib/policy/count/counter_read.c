/* SPDX-License-Identifier: MIT */
/* Reads counters, a group by one system call and one event in user space, and scales them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "counter.h"
#include "../diagnosis/diag.h"
#include "../spec/spec.h"

/*
 * All on the way to read(2) and back is inline: behind a system call a CPU foresees no return,
 * where mitigations clear what it has learned of them, and three of them take 5 % of a read.
 */
#define STRAIGHT static inline __attribute__((always_inline))

#define BETWEEN_NS 1000000

/* ---------------------------------------------------------------------------------- by read(2) */

/*
 * read(2) into `words`, which is exactly as large as the answer has to be. End-of-file is how the
 * kernel says that a pinned event is in error state.
 */
STRAIGHT int read_words(struct pm_counters *counters, int fd, uint64_t *words, size_t count)
{
	ssize_t n = read(fd, words, count * sizeof(*words));

	counters->stats.system_calls++;
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ENODATA;
	return (size_t)n == count * sizeof(*words) ? 0 : -EBADMSG;
}

STRAIGHT int read_alone(struct pm_counters *counters, size_t index, struct pm_value *ret)
{
	uint64_t words[3];
	int err = read_words(counters, counters->counters[index].fd, words, 3);

	if (err == 0)
		*ret = (struct pm_value){ .value = words[0], .enabled = words[1],
					  .running = words[2] };
	return err;
}

/* The group of the events first to last, whose words are: members, enabled, running, values. */
STRAIGHT int read_group(struct pm_counters *counters, size_t first, size_t last,
		      struct pm_value *ret)
{
	uint64_t words[3 + COUNTERS_MAX];
	size_t members = last - first + 1;
	int err = read_words(counters, counters->counters[first].fd, words, 3 + members);

	if (err < 0)
		return err;
	if (words[0] != members)
		return -EBADMSG;
	for (size_t i = 0; i < members; i++)
		ret[first + i] = (struct pm_value){ .value = words[3 + i], .enabled = words[1],
						    .running = words[2] };
	return 0;
}

static size_t last_of_group(const struct pm_counters *counters, size_t first)
{
	size_t last = first;

	while (last + 1 < counters->count && counters->counters[last + 1].leader == first)
		last++;
	return last;
}

STRAIGHT int read_all(struct pm_counters *counters, struct pm_value *ret)
{
	int err = 0;

	for (size_t i = 0; i < counters->count && err == 0; i++) {
		if (!pm_counters_lead_group(counters, i)) {
			err = read_alone(counters, i, &ret[i]);
		} else {
			size_t last = last_of_group(counters, i);

			err = read_group(counters, i, last, ret);
			i = last;
		}
	}
	return err;
}

STRAIGHT struct pm_value since(const struct pm_value *now, const struct pm_value *base)
{
	return (struct pm_value){ .value = now->value - base->value,
				  .enabled = now->enabled - base->enabled,
				  .running = now->running - base->running };
}

/* Reads all into `now`. Returns how many of them the caller has room for. */
STRAIGHT int read_for(struct pm_counters *counters, struct pm_value *now, size_t room)
{
	int err = read_all(counters, now);

	return err < 0 ? err : (int)(room < counters->count ? room : counters->count);
}

/* One time of an event is read after the other, so that both may differ by a little. */
static __attribute__((noinline)) void doubt(struct pm_counters *counters,
					    const struct pm_value *now,
					    const struct pm_value *base)
{
	counters->stats.doubtful += now->value < base->value ||
		now->running > now->enabled + now->enabled / 64 + BETWEEN_NS;
}

/* To a structure of this release fields go one by one, which a call for each would outweigh. */
STRAIGHT void give(struct pm_counters *counters, struct pm_value *to, const struct pm_value *now,
		   const struct pm_value *base)
{
	struct pm_value value = since(now, base);

	/* No counter runs for longer than it is enabled, nor goes back. */
	if (__builtin_expect((now->running > now->enabled) | (now->value < base->value), 0))
		doubt(counters, now, base);

	if (to->size != sizeof(*to)) {
		(void)pm_give(to, &value, sizeof(value), sizeof(value));
		return;
	}
	to->value = value.value;
	to->enabled = value.enabled;
	to->running = value.running;
}

/* The caller's structure has the values of the first release at least. */
static bool is_value(const struct pm_value *value)
{
	return value->size >= sizeof(*value) && value->size <= 4096;
}

/* Members follow their leader, so the last event tells. */
STRAIGHT bool is_one_group(const struct pm_counters *counters)
{
	return pm_counters_lead_group(counters, 0) &&
		counters->counters[counters->count - 1].leader == 0;
}

/* pm_counters_read() of one group, from the words of the kernel to those of the caller. */
STRAIGHT int read_one_group(struct pm_counters *counters, struct pm_value *ret, size_t room)
{
	uint64_t words[3 + COUNTERS_MAX];
	const size_t members = counters->count, size = room > 0 ? ret->size : 0;
	int err = read_words(counters, counters->counters[0].fd, words, 3 + members);

	if (err < 0)
		return err;
	if (words[0] != members)
		return -EBADMSG;
	if (room > members)
		room = members;
	for (size_t i = 0; i < room; i++) {
		struct pm_value *to = (void *)((char *)ret + i * size);
		const struct pm_value now = { .value = words[3 + i], .enabled = words[1],
					      .running = words[2] };

		to->size = size;
		give(counters, to, &now, &counters->counters[i].base);
	}
	return (int)room;
}

/* Not inline, so that the path of one group keeps a small stack frame. */
static __attribute__((noinline)) int read_several(struct pm_counters *counters,
						  struct pm_value *ret, size_t count)
{
	struct pm_value now[COUNTERS_MAX];
	int taken = read_for(counters, now, count);

	for (int i = 0; i < taken; i++) {
		struct pm_value *to = (void *)((char *)ret + (size_t)i * ret->size);

		to->size = ret->size;
		give(counters, to, &now[i], &counters->counters[i].base);
	}
	return taken;
}

int pm_counters_read(struct pm_counters *counters, struct pm_value *ret, size_t count)
{
	if (count > 0 && !is_value(ret))
		return -EINVAL;
	return is_one_group(counters) ? read_one_group(counters, ret, count) :
		read_several(counters, ret, count);
}

int pm_counters_accumulate(struct pm_counters *counters, struct pm_value *sums, size_t count)
{
	struct pm_value now[COUNTERS_MAX];
	int taken;

	if (count > 0 && !is_value(sums))
		return -EINVAL;
	taken = read_for(counters, now, count);
	for (int i = 0; i < taken; i++) {
		struct pm_value more = since(&now[i], &counters->counters[i].base);
		struct pm_value *sum = pm_element(sums, (size_t)i);

		sum->value += more.value;
		sum->enabled += more.enabled;
		sum->running += more.running;
	}
	for (size_t i = 0; taken >= 0 && i < counters->count; i++)
		counters->counters[i].base = now[i];
	return taken;
}

int pm_counters_reset(struct pm_counters *counters)
{
	int err = pm_counters_accumulate(counters, NULL, 0);

	return err < 0 ? err : 0;
}

/* ------------------------------------------------------------------------------- in user space */

/*
 * The index of another thread's page may well be non-zero, but it means a counter of the CPU on
 * which that thread runs. A forked process does not even have the pages (VM_DONTCOPY).
 */
static bool is_ours(const struct pm_counters *counters)
{
	return counters->owner == pm_counters_thread() &&
		counters->parent != NULL && *counters->parent != 0;
}

/* A time that the page does not tell is 0, whatever is to be subtracted. */
static struct pm_value user_since(const struct pm_value *now, const struct pm_value *base)
{
	struct pm_value value = since(now, base);

	if (now->enabled == 0 && now->running == 0)
		value.enabled = value.running = 0;
	return value;
}

STRAIGHT int read_one_by_call(struct pm_counters *counters, size_t index, struct pm_value *ret)
{
	const struct counter *counter = &counters->counters[index];
	struct pm_value now[COUNTERS_MAX], one, *own = &one;
	int err;

	counters->stats.fallbacks++;
	if (!pm_counters_lead_group(counters, counter->leader)) {
		err = read_alone(counters, index, own);
	} else {
		own = &now[index];
		*own = (struct pm_value){ .value = 0 };
		err = read_group(counters, counter->leader,
				 last_of_group(counters, counter->leader), now);
	}
	if (err == 0)
		give(counters, ret, own, &counter->base);
	return err;
}

int pm_counters_read_one(struct pm_counters *counters, size_t index, struct pm_value *ret)
{
	struct pm_value now, value;

	if (index >= counters->count || !is_value(ret))
		return -EINVAL;
	if (counters->counters[index].page == NULL || !is_ours(counters) ||
	    pm_user_value(counters->counters[index].page, counters->registers, &now) < 0)
		return read_one_by_call(counters, index, ret);
	counters->stats.user_reads++;
	value = user_since(&now, &counters->counters[index].base);
	ret->value = value.value;
	ret->enabled = value.enabled;
	ret->running = value.running;
	return 0;
}

int pm_counters_stats(const struct pm_counters *counters, struct pm_counters_stats *ret)
{
	struct pm_counters_stats stats = counters->stats;

	stats.size = ret->size;
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}

/* -------------------------------------------------------------------------------------- meaning */

enum pm_cause pm_counters_diagnose(const struct pm_counters *counters, int error,
				   struct pm_diag *diag)
{
	char event[64];

	error = error < 0 ? -error : error;
	(void)pm_event_name(&counters->specs[0], event, sizeof(event));
	switch (error) {
	case 0:
		(void)pm_diag_say(diag, 0, PM_CAUSE_NONE, "read(%s): nothing failed", event);
		return PM_CAUSE_NONE;
	case ENODATA:
		(void)pm_diag_say(diag, error, PM_CAUSE_SILENCE, "read(%s and others): end of "
				  "file: a pinned event has no place on the PMU (other pinned "
				  "events or the NMI watchdog hold it); count fewer, end the "
				  "others and start again, or leave PM_SPEC_PINNED out", event);
		return PM_CAUSE_SILENCE;
	case ECHILD:
		(void)pm_diag_say(diag, error, PM_CAUSE_UNSUPPORTED, "read(%s and others): the "
				  "inherited copy of the group is incomplete; leave "
				  "PM_COUNTERS_INHERIT out, or count each event by itself", event);
		return PM_CAUSE_UNSUPPORTED;
	default:
		(void)pm_diag_say(diag, error, PM_CAUSE_UNKNOWN, "read(%s and others): %s", event,
				  strerror(error));
		return PM_CAUSE_UNKNOWN;
	}
}

/* a * b as two words. */
static void multiply(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
	uint64_t other = a0 * b1 + (uint32_t)middle;

	*low = other << 32 | (uint32_t)(a0 * b0);
	*high = a1 * b1 + (middle >> 32) + (other >> 32);
}

/* high:low / divisor, which fits a word because high < divisor. */
static uint64_t divide(uint64_t high, uint64_t low, uint64_t divisor)
{
	uint64_t quotient = 0;

	for (int bit = 63; bit >= 0; bit--) {
		bool carry = high >> 63;

		high = high << 1 | (low >> bit & 1);
		if (carry || high >= divisor) {
			high -= divisor;
			quotient |= (uint64_t)1 << bit;
		}
	}
	return quotient;
}

int pm_value_scale(const struct pm_value *value, uint64_t *ret)
{
	uint64_t high, low;

	if (value->enabled == value->running) {
		*ret = value->value;
		return 0;
	}
	if (value->running == 0)
		return -ENODATA;
	multiply(value->value, value->enabled, &high, &low);
	low += value->running / 2;
	high += low < value->running / 2;
	if (high >= value->running)
		return -EOVERFLOW;
	*ret = divide(high, low, value->running);
	return 0;
}
