/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which flags and fields of a task's own event need a capability although the kernel is excluded?
 *
 * Namespaces and physical addresses always did. Kernel call chains and text_poke need one since a
 * stable update (v6.12.113, v7.2.10), which breaks profilers that do not exclude kernel call
 * chains. Each is asked with the capabilities of this persona, and with none.
 */
#include "probe.h"
#include "finding.h"
#include "privilege.h"

#define AS(name)                                                                               \
	POINT(name.namespaces, "namespaces: EACCES without CAP_PERFMON at any level")          \
	SINCE("4.12")                                                                          \
	POINT(name.phys_addr, "PERF_SAMPLE_PHYS_ADDR: EACCES without CAP_PERFMON above level 1") \
	SINCE("4.14")                                                                          \
	POINT(name.text_poke, "text_poke opens; without CAP_PERFMON it may be EACCES instead") \
	SINCE("5.9")                                                                           \
	POINT(name.callchain, "call chains open; without CAP_PERFMON they may be EACCES instead") \
	POINT(name.user_callchain, "call chains with exclude_callchain_kernel are for anybody") \
	SINCE("3.7")
PROBE(TITLE("fields that need a capability")
      SINCE("3.7")
      AS(held)
      AS(dropped)
      FACT(unprivileged_text_poke, enum, "-", "opens, or the errno, without capabilities")
      FACT(unprivileged_callchain, enum, "-", "opens, or the errno, without capabilities"))

FIXTURE(as)
{
	bool privileged;
	struct perf_event_attr plain;
};

FIXTURE_VARIANT(as)
{
	bool drop;
};

FIXTURE_VARIANT_ADD(as, held)
{
	.drop = false,
};

FIXTURE_VARIANT_ADD(as, dropped)
{
	.drop = true,
};

FIXTURE_SETUP(as)
{
	const struct pm_env *env = probe_env();

	self->privileged = !variant->drop && (pm_env_has_cap(env, PM_CAP_PERFMON) ||
					      pm_env_has_cap(env, PM_CAP_SYS_ADMIN));
	if (variant->drop && drop_to(0) < 0)
		say_unknown("capabilities cannot be dropped");
	self->plain = attr_faults(0);
	close(must_open(&self->plain, 0, -1, -1, 0));
}

FIXTURE_TEARDOWN(as)
{
}

/*
 * The gate is open to the privileged. It is shut to others where the level is above 1, and
 * always for what takes no heed of the level. `accepted` is YES where kernels differ.
 */
static void ask_gate(const FIXTURE_DATA(as) * self, const struct perf_event_attr *attr,
		     bool by_level, enum verdict accepted, const char *what)
{
	struct finding finding;
	int answer = pm_open(attr, 0, -1, -1, 0);

	if (self->privileged || (by_level && probe_env()->paranoid <= 1)) {
		if (answer >= 0) {
			must_ioctl(answer, PERF_EVENT_IOC_ENABLE, 0);
			expect_gain(answer, NULL, 4, 4);
			return;
		}
		classify_asked(-answer, what, attr, 0, -1, &finding);
		say(&finding);
	}
	if (answer == -EINVAL || answer == -E2BIG)
		say_no("%s with %s, ok without", pm_errno_name(answer), what);
	expect_refused(answer, EACCES, accepted, what);
}

static void record(const char *name, const struct perf_event_attr *attr)
{
	int answer = pm_open(attr, 0, -1, -1, 0);

	fact_str(name, "%s", answer < 0 ? pm_errno_name(answer) : "opens");
	if (answer >= 0)
		close(answer);
}

TEST_F(as, namespaces)
{
	struct perf_event_attr attr = self->plain;

	attr.namespaces = 1;
	ask_gate(self, &attr, false, BROKEN, "namespaces");
}

TEST_F(as, phys_addr)
{
	struct perf_event_attr attr = self->plain;

	attr.sample_type = PERF_SAMPLE_PHYS_ADDR;
	ask_gate(self, &attr, true, BROKEN, "PERF_SAMPLE_PHYS_ADDR");
}

TEST_F(as, text_poke)
{
	struct perf_event_attr attr = self->plain;

	attr.text_poke = 1;
	if (variant->drop)
		record("unprivileged_text_poke", &attr);
	ask_gate(self, &attr, true, YES, "text_poke");
}

TEST_F(as, callchain)
{
	struct perf_event_attr attr = self->plain;

	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	if (variant->drop)
		record("unprivileged_callchain", &attr);
	ask_gate(self, &attr, true, YES, "PERF_SAMPLE_CALLCHAIN");
}

TEST_F(as, user_callchain)
{
	struct perf_event_attr attr = self->plain;

	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	close(ask_open(&attr, &self->plain, 0, -1, "a user call chain"));
}

PROBE_MAIN
