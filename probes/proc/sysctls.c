/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which settings of perf events does /proc/sys/kernel show, and are they what they claim?
 *
 * A profiler plans with the rate, the memory budget and the depth of call chains. Values are facts.
 * A point says that the file exists, holds a number in its documented range, and that only root may
 * write it. Some kernels have no such file, and some containers hide /proc/sys.
 */
#include "probe.h"
#include "privilege.h"
#include "setting.h"

/* file, fact's unit, smallest and largest value, release, what */
#define FILES(X)                                                                               \
	X(perf_event_paranoid, "-", -1, 4, "2.6.32", "the level")                              \
	X(perf_event_mlock_kb, "KiB", 0, INT32_MAX, "2.6.32", "ring memory a user gets per CPU") \
	X(perf_event_max_sample_rate, "Hz", 1, INT32_MAX, "2.6.32", "highest sampling frequency") \
	X(perf_cpu_time_max_percent, "%", 0, 100, "3.11", "CPU time sampling may take")        \
	X(perf_event_max_stack, "frames", 0, 640 * 1024, "4.8", "deepest call chain")          \
	X(perf_event_max_contexts_per_stack, "contexts", 0, 1000, "4.8", "contexts per call chain")

#define DECLARE(name, unit, low, high, since, what)                                            \
	POINT(name.present, what ": the file holds a number in its range")                     \
	SINCE(since)                                                                           \
	POINT(name.guarded, what ": only root may write the file")                             \
	SINCE(since)                                                                           \
	FACT(name, int, unit, what)                                                            \
	SINCE(since)
PROBE(TITLE("the settings of perf events")
      SINCE("2.6.32")
      FILES(DECLARE))

FIXTURE(file)
{
	char path[96];
};

FIXTURE_VARIANT(file)
{
	const char *name;
	int64_t low, high;
};

#define VARIANT(file_name, unit, lowest, highest, since, what)                                 \
	FIXTURE_VARIANT_ADD(file, file_name)                                                   \
	{                                                                                      \
		.name = #file_name, .low = lowest, .high = highest                             \
	};
FILES(VARIANT)

FIXTURE_SETUP(file)
{
	snprintf(self->path, sizeof(self->path), "/proc/sys/kernel/%s", variant->name);
	ask_setting(self->path);
}

FIXTURE_TEARDOWN(file)
{
}

TEST_F(file, present)
{
	int64_t value;
	int error = pm_read_number(self->path, &value);

	if (error == -EACCES || error == -EPERM)
		say_blocked("%s: not readable", pm_errno_name(error));
	if (error)
		say_broken("no number: %s", pm_errno_name(error));
	fact_int(variant->name, value);
	if (value < variant->low || value > variant->high)
		say_broken("value=%" PRId64 " want=%" PRId64 "..%" PRId64, value, variant->low,
			   variant->high);
}

TEST_F(file, guarded)
{
	int fd;

	ASSERT_EQ(0, drop_to(0));
	fd = open(self->path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		say_broken("nobody may write %s", variant->name);
	if (errno != EACCES && errno != EPERM && errno != EROFS)
		say_broken("errno=%s want=EACCES", pm_errno_name(errno));
}

PROBE_MAIN
