/* SPDX-License-Identifier: MIT */
/* Opening events that branch, with the attributes that the kernel insists on. */
#define _GNU_SOURCE
#include "ebb.h"

#ifdef PM_HAS_EBB

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../policy/diagnosis/diag.h"
#include "../policy/spec/spec.h"
#include "open.h"

#define HWCAP2_EBB 0x10000000ul		/* PPC_FEATURE2_EBB */
#define REQUEST (1ull << 63)		/* of attr.config: branches, please */
#define NO_COUNTER 0x1eull		/* cycles on no counter: refused with REQUEST */

/*
 * All that the kernel asks for: a leader is pinned and exclusive, nobody is inherited, sampled or
 * enabled by exec.
 */
static struct perf_event_attr attr_of(uint64_t code, bool leads, unsigned int flags)
{
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PM_TYPE_RAW, .config = code | REQUEST,
	};
	struct perf_event_attr attr = pm_spec_attr(&spec, flags & PM_EBB_USER_ONLY);

	attr.pinned = attr.exclusive = attr.disabled = leads;
	attr.exclude_idle = 1;
	return attr;
}

static int refused(int err, uint64_t code, unsigned int flags, struct pm_diag *diag)
{
	const struct pm_event_spec plain = {
		.size = sizeof(plain), .type = PM_TYPE_RAW, .config = code,
		.flags = flags & PM_EBB_USER_ONLY ? PM_SPEC_USER_ONLY : 0,
	};
	struct pm_diag why = { .size = sizeof(why) };

	if (diag == NULL)
		return err;
	if (err != -EINVAL && pm_diag_open(&why, &plain, -1, -err) != PM_CAUSE_NONE)
		return pm_diag_say(diag, -err, why.cause, "%s", why.text);
	return pm_diag_say(diag, -err, PM_CAUSE_UNSUPPORTED, "perf_event_open of 0x%llx with "
			   "branches: %s: this CPU does not count it on that counter",
			   (unsigned long long)code, pm_errno_name(-err));
}

int pm_ebb_supported(struct pm_diag *diag)
{
	struct perf_event_attr bad = attr_of(NO_COUNTER, true, PM_EBB_USER_ONLY);
	struct perf_event_attr good = attr_of(NO_COUNTER | 1 << 16, true, PM_EBB_USER_ONLY);
	int fd, err;

	if (!(getauxval(AT_HWCAP2) & HWCAP2_EBB))
		return pm_diag_say(diag, ENODEV, PM_CAUSE_NO_EVENT, "no event-based branches: the "
				   "kernel announces none for this CPU (AT_HWCAP2)");
	fd = pm_open(&good, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return refused(fd, NO_COUNTER | 1 << 16, PM_EBB_USER_ONLY, diag);
	close(fd);
	err = pm_open(&bad, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (err == -EINVAL)
		return 1;
	if (err >= 0)
		close(err);
	return pm_diag_say(diag, ENODEV, PM_CAUSE_UNSUPPORTED, "no event-based branches: this PMU "
			   "ignores the bit that asks for them");
}

int pm_ebb_open_events(struct pm_ebb *ebb, int tid, struct pm_diag *diag)
{
	for (size_t i = 0; i < ebb->count; i++) {
		struct perf_event_attr attr = attr_of(ebb->codes[i], i == 0, ebb->flags);
		int fd = pm_open(&attr, tid, -1, i == 0 ? -1 : ebb->fds[0], PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			return refused(fd, ebb->codes[i], ebb->flags, diag);
		ebb->fds[i] = fd;
	}
	return 0;
}

void pm_ebb_close_events(struct pm_ebb *ebb)
{
	for (size_t i = ebb->count; i-- > 0;) {
		if (ebb->fds[i] >= 0)
			close(ebb->fds[i]);
		ebb->fds[i] = -1;
	}
}

int pm_ebb_open_for(int tid, const struct pm_ebb_counter *counter, unsigned int flags,
		    struct pm_diag *diag)
{
	struct pm_ebb one = {
		.count = 1, .flags = flags, .codes = { counter->code }, .fds = { -1 },
	};
	int err;

	if (tid <= 0 || counter->size < sizeof(*counter))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "no thread, or no counter");
	err = pm_ebb_open_events(&one, tid, diag);
	if (err == 0)
		err = pm_ioctl(one.fds[0], PERF_EVENT_IOC_ENABLE, 0);
	if (err >= 0)
		return one.fds[0];
	pm_ebb_close_events(&one);
	return err;
}

#endif
