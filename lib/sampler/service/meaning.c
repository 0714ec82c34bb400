/* SPDX-License-Identifier: MIT */
/* What keys stand for: how large rings are and how often they are read, a clock, targets. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "../target/target.h"

#define READ_MS 100
#define READ_MS_LEAST 5
#define LATE_MS 200
#define RING_USUAL INT64_C(2048)	/* pages: 8 MiB */
#define RING_MOST INT64_C(16384)	/* 64 MiB, of each CPU */

/*
 * What comes of one CPU in a second: a sample with a copy of the stack is some kilobytes. With a
 * period the rate is not known.
 */
static int64_t bytes_a_second(const struct source_config *source)
{
	int64_t record = source->stacks == STACKS_DWARF ? source->stack_bytes + 512 : 512;

	return record * (source->frequency ? source->frequency : 1000);
}

static int64_t pages_of(int64_t bytes, int64_t most)
{
	int64_t pages = 128;

	while (pages < most && pages * 4096 < bytes)
		pages *= 2;
	return pages;
}

/*
 * Rings hold what comes in two readings, or, up to 8 MiB, until a reader that had to wait for a CPU
 * comes. Where neither is told they are read as often as 8 MiB ask for; where readings are told
 * rings are as large as that needs, or it is refused.
 */
int config_size_rings(struct source_config *source, char *error, size_t size)
{
	const int64_t rate = bytes_a_second(source), told = source->read_ms;
	int64_t two, late;

	if (told == 0)
		source->read_ms = READ_MS;
	if (told == 0 && 2 * rate * READ_MS / 1000 > RING_USUAL * 4096)
		source->read_ms = RING_USUAL * 4096 * 1000 / (2 * rate);
	if (told == 0 && source->read_ms < READ_MS_LEAST)
		source->read_ms = READ_MS_LEAST;
	if (source->ring_pages != 0)
		return 0;
	two = 2 * rate * source->read_ms / 1000;
	late = pages_of(rate * LATE_MS / 1000, RING_USUAL);
	source->ring_pages = pages_of(two, RING_MOST);
	if (source->ring_pages < late)
		source->ring_pages = late;
	/* What a period makes of it is a guess. */
	if (source->frequency == 0 || source->ring_pages * 4096 >= two)
		return 0;
	(void)snprintf(error, size, "source \"%s\": two readings need rings of %lld MiB, more than "
		       "%lld: lower \"frequency\" (-F), \"stack_bytes\" or \"read_ms\", take no "
		       "copies of stacks (-g fp, \"stacks\"), or set \"ring_pages\"", source->name,
		       (long long)((two + (1 << 20) - 1) >> 20), (long long)(RING_MOST >> 8));
	return -EINVAL;
}

static int judge_targets(const struct source_config *source, char *const *texts, size_t count,
			 struct pm_diag *diag)
{
	struct pm_target targets[TARGETS];
	struct targets taken;
	int err = 0;

	for (size_t i = 0; i < count && err == 0; i++) {
		targets[i] = (struct pm_target){ .size = sizeof(targets[i]) };
		err = pm_target_parse(texts[i], diag, &targets[i]);
		if (err == 0 && texts == source->stack_targets && targets[i].by == PM_BY_CGROUP) {
			(void)snprintf(diag->text, sizeof(diag->text), "target \"%s\": a cgroup "
				       "has no stacks of its own: name it in \"targets\"",
				       texts[i]);
			err = -EINVAL;
		}
	}
	if (err == 0)
		err = pm_targets_take(targets, count, diag, &taken);
	if (err == 0)
		pm_targets_free(&taken);
	return err;
}

int config_judge_targets(const struct source_config *source, char *error, size_t size)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	int err = judge_targets(source, source->targets, source->target_count, &diag);

	if (err == 0)
		err = judge_targets(source, source->stack_targets, source->stack_target_count,
				    &diag);
	if (err < 0)
		(void)snprintf(error, size, "source \"%s\": %s", source->name, diag.text);
	return err;
}

int config_clock(const struct source_config *source)
{
	static const clockid_t clocks[] = {
		[SOURCE_MONOTONIC] = CLOCK_MONOTONIC, [SOURCE_MONOTONIC_RAW] = CLOCK_MONOTONIC_RAW,
		[SOURCE_BOOTTIME] = CLOCK_BOOTTIME, [SOURCE_REALTIME] = CLOCK_REALTIME,
	};

	return clocks[source->clock];
}
