/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each ioctl of an event refuse a wrong argument with the right errno?
 *
 * An ioctl that accepts nonsense leaves the event in a state that nobody asked for. Each is asked
 * with one wrong argument on an event that takes RESET, which tells an unknown ioctl (ENOTTY)
 * from a refusal; PERIOD is asked on an event that has taken a right period. Kernels without
 * filters or BPF refuse before they look: that is a no.
 * Linux 913a90bc5a3a ("perf/ioctl: Add check for the sample_period value") (v5.3): until then, and
 * its stable backports, a period with the top bit set was refused at open alone.
 */
#include "probe.h"
#include "finding.h"

#define BAD_POINTER 8ul
#define NOT_OPEN 1000000ul

/* name, release, event, request, argument, errno, errno of a kernel that has no such thing, what */
#define MISTAKES(X)                                                                            \
	X(id_pointer, "3.12", counting(), ID, BAD_POINTER, EFAULT, 0, "to a bad pointer")      \
	X(period_pointer, "2.6.32", sampling(), PERIOD, BAD_POINTER, EFAULT, 0,                \
	  "from a bad pointer")                                                                \
	X(period_zero, "2.6.32", sampling(), PERIOD, period_of(0), EINVAL, 0, "of 0")          \
	X(period_counting, "2.6.32", counting(), PERIOD, period_of(1), EINVAL, 0,              \
	  "on an event that does not sample")                                                  \
	X(period_frequency, "2.6.36", by_frequency(), PERIOD, too_frequent(), EINVAL, 0,       \
	  "of twice perf_event_max_sample_rate")                                               \
	X(refresh_counting, "2.6.37", counting(), REFRESH, 1, EINVAL, 0,                       \
	  "on an event that does not sample")                                                  \
	X(refresh_inherit, "2.6.31", inheriting(), REFRESH, 1, EINVAL, 0,                      \
	  "on an event that inherits")                                                         \
	X(output_closed, "2.6.32", sampling(), SET_OUTPUT, NOT_OPEN, EBADF, 0,                 \
	  "to a descriptor that is not open")                                                  \
	X(output_pipe, "2.6.32", sampling(), SET_OUTPUT, a_pipe(), EBADF, 0, "to a pipe")      \
	X(filter_pointer, "4.7", counting(), SET_FILTER, BAD_POINTER, EFAULT, EINVAL,          \
	  "from a bad pointer")                                                                \
	X(filter_software, "2.6.33", counting(), SET_FILTER, (uintptr_t)"a == 1", EINVAL,      \
	  ENOENT, "on a software event")                                                       \
	X(bpf_closed, "4.9", counting(), SET_BPF, NOT_OPEN, EBADF, EINVAL,                     \
	  "of a descriptor that is not open")                                                  \
	X(pause_unmapped, "4.7", sampling(), PAUSE_OUTPUT, 1, EINVAL, 0, "without a ring")     \
	X(modify_pointer, "4.17", counting(), MODIFY_ATTRIBUTES, BAD_POINTER, EFAULT, 0,       \
	  "from a bad pointer")                                                                \
	X(modify_software, "4.17", counting(), MODIFY_ATTRIBUTES, (uintptr_t)&small,           \
	  EOPNOTSUPP, 0, "of a software event")

#define DECLARE(name, since, event, request, argument, error, lacking, what)                   \
	POINT(name, "IOC_" #request " " what " is " #error) SINCE(since)
PROBE(TITLE("errnos of the ioctls")
      SINCE("2.6.31")
      MISTAKES(DECLARE)
      POINT(period_sign, "IOC_PERIOD of 2^63 is EINVAL")
      SINCE("5.3")
      COMMIT("913a90bc5a3a"))

static struct perf_event_attr small;

static struct perf_event_attr counting(void)
{
	small = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	small.size = PERF_ATTR_SIZE_VER5;
	return small;
}

static struct perf_event_attr sampling(void)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.sample_period = 1000;
	return attr;
}

static struct perf_event_attr inheriting(void)
{
	struct perf_event_attr attr = sampling();

	attr.inherit = 1;
	return attr;
}

/* cpu-clock turns its frequency into a period at open, and so would take any number. */
static struct perf_event_attr by_frequency(void)
{
	struct perf_event_attr attr = sampling();

	attr.freq = 1;
	attr.sample_freq = 1;
	return attr;
}

static unsigned long a_pipe(void)
{
	int ends[2];

	return pipe(ends) < 0 ? -1 : ends[1];
}

static unsigned long period_of(uint64_t period)
{
	static uint64_t place;

	place = period;
	return (uintptr_t)&place;
}

/* The limit sinks by itself under load: twice the first reading is above it for sure. */
static unsigned long too_frequent(void)
{
	if (probe_env()->max_sample_rate < 1)
		say_absent("perf_event_max_sample_rate is not readable");
	return period_of(2 * probe_env()->max_sample_rate);
}

/* The right way works: an event that samples takes another period. */
static int must_open_for(unsigned long request, const struct perf_event_attr *attr)
{
	int fd = must_open(attr, 0, -1, -1, 0);

	if (request == PERF_EVENT_IOC_PERIOD && attr->sample_period)
		must_ioctl(fd, request, period_of(2));
	return fd;
}

/* ENOTTY, while RESET works: the ioctl is not known. */
static void judge(int fd, int answer, int want, int lacking, const char *what)
{
	struct finding finding;

	if (answer == -want)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	if (lacking && (answer == -lacking || answer == -ENOENT || answer == -EOPNOTSUPP))
		say_no("%s: %s, refused without a look at it", what, pm_errno_name(answer));
	if (answer != -ENOTTY)
		say_broken("%s: %s, want %s", what, answer < 0 ? pm_errno_name(answer) : "accepted",
			   pm_errno_name(want));
	classify_asked(ENOTTY, what, NULL, 0, -1, &finding);
	say(&finding);
}

#define ASK(name, since, event, request, argument, want, lacking, what)                        \
	TEST(name)                                                                             \
	{                                                                                      \
		struct perf_event_attr attr = event;                                           \
		int fd = must_open_for(PERF_EVENT_IOC_##request, &attr);                       \
		int answer = pm_ioctl(fd, PERF_EVENT_IOC_##request, argument);                 \
		judge(fd, answer, want, lacking, "IOC_" #request " " what);                    \
	}
MISTAKES(ASK)

/* Where it is accepted, the event never samples again. */
TEST(period_sign)
{
	struct perf_event_attr attr = sampling();
	int fd = must_open_for(PERF_EVENT_IOC_PERIOD, &attr);
	int answer = pm_ioctl(fd, PERF_EVENT_IOC_PERIOD, period_of(1ull << 63));

	if (answer == 0)
		say_no("a period of 2^63 is accepted");
	judge(fd, answer, EINVAL, 0, "a period of 2^63");
}

PROBE_MAIN
