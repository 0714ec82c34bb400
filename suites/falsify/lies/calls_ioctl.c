/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about ioctl(2) and prctl(2) of events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "event.h"
#include "lies.h"

int __real_ioctl(int fd, int request, ...);
int __wrap_ioctl(int fd, int request, ...);
int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

#define ENABLE PERF_EVENT_IOC_ENABLE
#define DISABLE PERF_EVENT_IOC_DISABLE
#define RESET PERF_EVENT_IOC_RESET

static int do_refresh(int fd, unsigned long argument)
{
	if (lie(LIE_ioctl_refresh_resets))
		__real_ioctl(fd, (int)RESET, 0);
	if (!argument && lie(LIE_ioctl_refresh_zero)) {
		errno = EINVAL;
		return -1;
	}
	if (lie(LIE_ioctl_refresh_enables))
		return __real_ioctl(fd, (int)ENABLE, 0);
	if (lie(LIE_ioctl_refresh_twice))
		__real_ioctl(fd, (int)PERF_EVENT_IOC_REFRESH, argument);
	if (argument > 3 && lie(LIE_ioctl_refresh_three))
		argument = 3;
	return __real_ioctl(fd, (int)PERF_EVENT_IOC_REFRESH,
			    argument + (lie(LIE_ioctl_refresh_more) ? 1 : 0));
}

static int do_period(int fd, unsigned long argument)
{
	uint64_t *asked = (uint64_t *)argument, period;

	if (argument < 65536)
		return __real_ioctl(fd, (int)PERF_EVENT_IOC_PERIOD, argument);
	period = *asked;
	if (lie(LIE_ioctl_period_resets))
		__real_ioctl(fd, (int)RESET, 0);
	if (lie(LIE_ioctl_period_more))
		period++;
	if (lie(LIE_ioctl_period_twice))
		period *= 2;
	return __real_ioctl(fd, (int)PERF_EVENT_IOC_PERIOD, &period);
}

static int do_id(struct event *event, int fd, unsigned long argument)
{
	const int from = event_first() >= 0 && lie(LIE_ioctl_id_of_first) ? event_first() : fd;
	const int result = __real_ioctl(from, (int)PERF_EVENT_IOC_ID, argument);

	if (result >= 0 && lie(LIE_ioctl_id_more))
		++*(uint64_t *)argument;
	if (result >= 0 && lie(LIE_ioctl_id_changes))
		*(uint64_t *)argument += event->ids++;
	return result;
}

static int do_pause(struct event *event, int fd, unsigned long argument)
{
	if (event->paused && !argument && lie(LIE_ioctl_pause_first))
		return 0;
	event->paused = true;
	if (argument && lie(LIE_ioctl_pause_disables))
		__real_ioctl(fd, (int)DISABLE, 0);
	if (lie(LIE_ioctl_pause_inverted))
		argument = !argument;
	return __real_ioctl(fd, (int)PERF_EVENT_IOC_PAUSE_OUTPUT, argument);
}

static int do_output(int fd, unsigned long argument)
{
	if ((int)argument == -1 && lie(LIE_ioctl_output_kept))
		return 0;
	if ((int)argument != -1 && lie(LIE_ioctl_output_none))
		argument = ~0ul;
	return __real_ioctl(fd, (int)PERF_EVENT_IOC_SET_OUTPUT, argument);
}

/* A filter with other operators; NULL where it has none of them. */
static const char *other_operators(const char *asked, const char *from, const char *to)
{
	static char text[1024];
	char *at;

	if (!strstr(asked, from))
		return NULL;
	snprintf(text, sizeof(text), "%s", asked);
	while ((at = strstr(text, from)))
		memcpy(at, to, strlen(to));
	return text;
}

/* Another filter in place of the one that was asked for; NULL where that is kept. */
static const char *other_filter(const struct event *event, const char *asked)
{
	static char text[1024];
	const char *both = strstr(asked, "&&"), *either = strstr(asked, "||");
	const char *end = both && (!either || both < either) ? both : either;

	if (event->attr.type != PERF_TYPE_TRACEPOINT)
		return NULL;
	if (lie(LIE_ioctl_filter_inverted)) {
		snprintf(text, sizeof(text), "!(%s)", asked);
		return text;
	}
	if (either && lie(LIE_ioctl_filter_or))
		return other_operators(asked, "||", "&&");
	if (strstr(asked, "!=") && lie(LIE_ioctl_filter_unequal))
		return other_operators(asked, "!=", "==");
	if (!end || !lie(LIE_ioctl_filter_first_term))
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)(end - asked), asked);
	return text;
}

static int do_filter(struct event *event, int fd, unsigned long argument)
{
	const char *other = argument > 65536 ? other_filter(event, (const char *)argument) : NULL;
	int result;

	if (other)
		return __real_ioctl(fd, (int)PERF_EVENT_IOC_SET_FILTER, (unsigned long)other);

	if (event->filtered && lie(LIE_ioctl_filter_once))
		return 0;
	result = __real_ioctl(fd, (int)PERF_EVENT_IOC_SET_FILTER, lie(LIE_ioctl_filter_gone) ?
			      (unsigned long)"common_pid >= 0" : argument);
	event->filtered |= result == 0;
	return result;
}

static int do_modify(int fd, unsigned long argument)
{
	struct perf_event_attr attr = { 0 };
	const struct perf_event_attr *asked = (const void *)argument;

	if (argument < 65536 || asked->type != PERF_TYPE_BREAKPOINT ||
	    asked->size > sizeof(attr) || !lie(LIE_ioctl_modify_beside))
		return __real_ioctl(fd, (int)PERF_EVENT_IOC_MODIFY_ATTRIBUTES, argument);
	memcpy(&attr, asked, asked->size);
	attr.bp_addr += attr.bp_type == HW_BREAKPOINT_X ? 1 : attr.bp_len;
	return __real_ioctl(fd, (int)PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
}

static int whose(int fd, unsigned int request)
{
	const int other = event_last();

	if (other < 0 || other == fd)
		return fd;
	if (request == ENABLE)
		return lie(LIE_ioctl_enable_other) ? other : fd;
	if (request == DISABLE)
		return lie(LIE_ioctl_disable_other) ? other : fd;
	return lie(LIE_ioctl_reset_other) ? other : fd;
}

/* Whether this one was there before, and is not done again. */
static bool is_repeated(struct event *event, unsigned int request)
{
	bool *before = request == ENABLE ? &event->enabled : &event->disabled;
	const bool again = *before;

	if (request == RESET)
		return false;
	*before = true;
	return again && lie(request == ENABLE ? LIE_ioctl_enable_once : LIE_ioctl_disable_once);
}

/* What is left undone, or done besides. Returns whether the call does nothing more. */
static bool is_left_out(struct event *event, int fd, unsigned int request, unsigned long argument)
{
	const int sibling = argument & PERF_IOC_FLAG_GROUP ? event_last_sibling(fd) : -1;
	static unsigned int enables;

	if (request != RESET)
		event->off = request == DISABLE;
	if (request != RESET && sibling >= 0 && lie(LIE_ioctl_group_misses_last)) {
		__real_ioctl(fd, (int)request, argument);
		__real_ioctl(sibling, request == ENABLE ? (int)DISABLE : (int)ENABLE, 0);
		return true;
	}
	if (request == RESET && event->attr.read_format & 3 && lie(LIE_ioctl_reset_times))
		lies_keep_times(event, fd);
	if (request == RESET && event->opener != getpid() && lie(LIE_ioctl_reset_forked))
		return true;
	return request == ENABLE && lie(LIE_ioctl_enable_seventh) && ++enables % 7 == 0;
}

/* ENABLE, DISABLE and RESET. */
static int do_plain(struct event *event, int fd, unsigned int request, unsigned long argument)
{
	const int to = whose(fd, request);
	int result;

	if (is_left_out(event, fd, request, argument) || is_repeated(event, request))
		return 0;
	if (lie(LIE_ioctl_late)) {
		if (event->has_late)
			__real_ioctl(fd, (int)event->late, event->late_argument);
		event->late = request;
		event->late_argument = argument;
		event->has_late = true;
		return 0;
	}
	if (lie(LIE_ioctl_group_always))
		argument = PERF_IOC_FLAG_GROUP;
	if (argument && lie(LIE_ioctl_group_never))
		argument = 0;
	result = __real_ioctl(to, (int)request, argument);
	if ((request == ENABLE && lie(LIE_ioctl_enable_resets)) ||
	    (request == DISABLE && lie(LIE_ioctl_disable_resets)))
		__real_ioctl(fd, (int)RESET, 0);
	if (request == RESET && lie(LIE_ioctl_reset_disables))
		__real_ioctl(fd, (int)DISABLE, 0);
	if (request == RESET && lie(LIE_ioctl_reset_enables))
		__real_ioctl(fd, (int)ENABLE, 0);
	return result;
}

static int do_it(struct event *event, int fd, unsigned int request, unsigned long argument)
{
	switch (request) {
	case PERF_EVENT_IOC_REFRESH: return do_refresh(fd, argument);
	case PERF_EVENT_IOC_PERIOD: return do_period(fd, argument);
	case PERF_EVENT_IOC_ID: return do_id(event, fd, argument);
	case PERF_EVENT_IOC_PAUSE_OUTPUT: return do_pause(event, fd, argument);
	case PERF_EVENT_IOC_SET_OUTPUT: return do_output(fd, argument);
	case PERF_EVENT_IOC_SET_FILTER: return do_filter(event, fd, argument);
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_RESET: return do_plain(event, fd, request, argument);
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES: return do_modify(fd, argument);
	default: return __real_ioctl(fd, (int)request, argument);
	}
}

int __wrap_ioctl(int fd, int request, ...)
{
	struct event *event = event_of(fd);
	unsigned long argument;
	va_list list;
	int result;

	va_start(list, request);
	argument = va_arg(list, unsigned long);
	va_end(list);
	if (!event && ((unsigned int)request & 0xff00) == '$' << 8 && lie(LIE_ioctl_any_file))
		return 0;
	if (!event)
		return __real_ioctl(fd, request, argument);
	result = do_it(event, fd, (unsigned int)request, argument);
	lies_take_code();
	lies_in_page(event);
	if (result == 0 && lie(LIE_ioctl_answers_one))
		return 1;
	if (result >= 0 && lie(LIE_ioctl_refused)) {
		errno = EINVAL;
		return -1;
	}
	if (result < 0 && lie(LIE_ioctl_other_errno))
		errno = errno == EINVAL ? ENOTTY : EINVAL;
	return result;
}

int __wrap_prctl(int option, ...)
{
	unsigned long words[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		words[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option != PR_TASK_PERF_EVENTS_DISABLE && option != PR_TASK_PERF_EVENTS_ENABLE)
		return __real_prctl(option, words[0], words[1], words[2], words[3]);
	if (lie(LIE_prctl_swapped))
		option = option == PR_TASK_PERF_EVENTS_DISABLE ? PR_TASK_PERF_EVENTS_ENABLE :
								 PR_TASK_PERF_EVENTS_DISABLE;
	if (lie(LIE_prctl_last_only) && event_last() >= 0)
		return __real_ioctl(event_last(), option == PR_TASK_PERF_EVENTS_DISABLE ?
				    (int)DISABLE : (int)ENABLE, 0);
	if (lie(LIE_prctl_disable_resets) && event_last() >= 0)
		__real_ioctl(event_last(), (int)RESET, 0);
	return __real_prctl(option, words[0], words[1], words[2], words[3]);
}
