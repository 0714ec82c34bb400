/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the settings that govern reading a counter without a system call exist and hold a legal
 * value?
 *
 * Reading a counter by an instruction is many times cheaper than read(2), but x86 has a setting
 * for each PMU, arm64 and riscv one for all, with defaults that differ. What the instruction
 * gives is asked elsewhere.
 */
#include "probe.h"
#include "privilege.h"
#include "setting.h"

PROBE(TITLE("settings of counters read by user space")
      SINCE("3.4")
      POINT(rdpmc, "each PMU of an x86 core has an rdpmc file that holds 0, 1 or 2")
      COMMIT("0c9d42ed4cee")
      NEEDS("pmu")
      FACT(rdpmc_value, int, "-", "0 never, 1 while mapped, 2 always")
      POINT(rdpmc_guarded, "only root may write the rdpmc file")
      NEEDS("pmu")
      POINT(user_access, "perf_user_access holds 0 or 1 (arm64), 0 to 2 (riscv)")
      SINCE("5.17")
      NEEDS("pmu")
      FACT(user_access_value, int, "-", "perf_user_access"))

#define ACCESS "/proc/sys/kernel/perf_user_access"

#if defined(__x86_64__) || defined(__i386__)
#define X86 1
#else
#define X86 0
#endif
#if defined(__aarch64__) || defined(__riscv)
#define ARM_OR_RISCV 1
#else
#define ARM_OR_RISCV 0
#endif

static void rdpmc_path(char *path, size_t size)
{
	char name[64];

	if (!X86)
		say_absent("rdpmc is an instruction of x86");
	require(REQUIRE_CPU_PMU);
	pm_pmu_core(name, sizeof(name));
	snprintf(path, size, "/sys/bus/event_source/devices/%s/rdpmc", name);
}

TEST(rdpmc)
{
	char path[160];
	int64_t value;
	int error;

	rdpmc_path(path, sizeof(path));
	error = pm_read_number(path, &value);
	if (error == -ENOENT)
		say_no("ENOENT: the core's PMU has no rdpmc file");
	if (error)
		say_broken("no number: %s", pm_errno_name(error));
	fact_int("rdpmc_value", value);
	if (value < 0 || value > 2)
		say_broken("rdpmc=%" PRId64 " want=0..2", value);
}

TEST(rdpmc_guarded)
{
	char path[160];

	rdpmc_path(path, sizeof(path));
	ASSERT_EQ(0, drop_to(0));
	if (access(path, F_OK) < 0)
		say_absent("no rdpmc file");
	if (open(path, O_WRONLY | O_CLOEXEC) >= 0)
		say_broken("nobody may write the rdpmc file");
}

TEST(user_access)
{
	int64_t value;
	int error;

	if (!ARM_OR_RISCV)
		say_absent("perf_user_access is a setting of arm64 and riscv");
	require(REQUIRE_CPU_PMU);
	ask_setting(ACCESS);
	error = pm_read_number(ACCESS, &value);
	if (error)
		say_broken("no number: %s", pm_errno_name(error));
	fact_int("user_access_value", value);
	if (value < 0 || value > 2)
		say_broken("perf_user_access=%" PRId64 " want=0..2", value);
}

PROBE_MAIN
