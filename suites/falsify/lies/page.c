/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about the user page. It is shared with the kernel, and where it is mapped writable what the
 * kernel wrote is written over: after the mapping, after each call about the event, and whenever
 * somebody asks what time it is, because the kernel writes some of it anew whenever the event
 * starts or stops.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "event.h"
#include "lies.h"

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static struct { struct perf_event_mmap_page *page; int owner; } pages[64];

/* The instruction that reads a counter is two bytes long on x86. */
static void step_over(int number, siginfo_t *info, void *context)
{
#ifdef __x86_64__
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
#else
	(void)context;
	_exit(number);
#endif
	(void)number;
	(void)info;
}

static void __attribute__((constructor)) survive(void)
{
	static const struct sigaction action = { .sa_sigaction = step_over,
						 .sa_flags = SA_SIGINFO };

	if (lie_is_told(LIE_signal_never_dies) || lie_is_told(LIE_page_index))
		sigaction(SIGSEGV, &action, NULL);
}

static void lie_in_capabilities(struct perf_event_mmap_page *page)
{
	if (lie(LIE_page_size))
		page->size = 0;
	if (lie(LIE_page_bit0))
		page->cap_bit0_is_deprecated = 0;
	if (lie(LIE_page_time))
		page->cap_user_time = !page->cap_user_time;
	if (lie(LIE_page_data_size) && page->data_size)
		page->data_size = page->data_size == 8192 ? 16384 : 8192;
	if (lie(LIE_page_version))
		page->version = page->compat_version = 1;
	if (lie(LIE_page_data_offset) && page->data_offset)
		page->data_offset = 8192;
}

static void lie_in_page(struct perf_event_mmap_page *page)
{
	if (lie(LIE_page_rdpmc))
		page->cap_user_rdpmc = 1;
	if (lie(LIE_page_no_rdpmc))
		page->cap_user_rdpmc = 0;
	if (lie(LIE_page_index))
		page->index = 1, page->cap_user_rdpmc = 1;
	if (lie(LIE_page_no_index))
		page->index = 0;
	if (lie(LIE_page_time_mult))
		page->time_mult = 3;
	if (lie(LIE_page_time_shift))
		page->time_shift = 5;
	if (lie(LIE_page_time_zero))
		page->time_zero = 7;
	if (lie(LIE_page_times))
		page->time_enabled = page->time_running = 5;
}

void lies_in_page(const struct event *event)
{
	const int at = event->page;

	if (!at || !pages[at].page || pages[at].owner != getpid())
		return;
	lie_in_page(pages[at].page);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		if (pages[i].page && pages[i].owner == getpid())
			lie_in_page(pages[i].page);
	return __real_clock_gettime(clock, ret);
}

/* A page that is mapped, writable. */
void lies_map_page(struct event *event, void *page)
{
	static int used;

	event->page = 0;
	if (used + 1 >= (int)(sizeof(pages) / sizeof(*pages)))
		return;
	event->page = ++used;
	pages[used].page = page;
	pages[used].owner = getpid();
	lie_in_capabilities(page);
	lie_in_page(page);
}

int __wrap_munmap(void *at, size_t size)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		if (pages[i].page == at)
			pages[i].page = NULL;
	return __real_munmap(at, size);
}
