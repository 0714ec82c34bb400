/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is perf_event_open available at all?
 *
 * A filter may answer in place of the kernel, so the call is made in a way that only perf can
 * answer: unknown flags are EINVAL before a bad pointer is EFAULT, and nothing is opened.
 */
#include "probe.h"
#include "waiter.h"

PROBE(TITLE("perf_event_open itself")
      SINCE("2.6.31")
      POINT(system_call, "perf itself answers: EINVAL to unknown flags, EFAULT to a bad pointer")
      FACT(gate, enum, "-", "who answers: open (perf), filtered, not_built, untold")
      FACT(gate_errno, string, "-", "errno that decided about the gate")
      POINT(opens, "a counter of one's own opens and counts exactly"))

/* A filter may answer success as well, but it gives no descriptor. */
static bool is_event(int answer)
{
	return answer > STDERR_FILENO && fcntl(answer, F_GETFD) >= 0;
}

TEST(system_call)
{
	static const char *const names[] = { "open", "filtered", "not_built", "untold" };
	int error = 0;
	enum pm_perf_answer gate = pm_perf_ask(probe_env(), &error);

	fact_str("gate", "%s", names[gate]);
	fact_str("gate_errno", "%s", pm_errno_name(error));
	if (gate == PM_PERF_FILTERED && is_event(pm_open_raw(NULL, 0, -1, -1, ~0ul)))
		say_broken("unknown flags and no attr open an event");
	require(REQUIRE_PERF);
}

TEST(opens)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 8, 8);
}

PROBE_MAIN
