/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which lie is told, and which ones could be. See lies.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lies.h"

#define NONE (-2)
#define MOST 1024
#define PAGE 4096

extern char __bss_start[], _end[];	/* of the linker: zeroed memory */

static int told = NONE;
static const char *asked;
static bool noted[MOST];

static void write_line(const char *way, const char *name)
{
	char line[64];
	const int length = snprintf(line, sizeof(line), "%s%s\n", way, name);
	const int fd = open(asked, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd >= 0 && write(fd, line, (size_t)length) > 0)
		close(fd);
}

static void note(int number)
{
	if (number >= MOST || noted[number])
		return;
	noted[number] = true;
	write_line("", lie_name(number));
}

void lies_use_attr(const char *name)
{
	if (!asked)
		return;
	write_line("attr-", name);
	write_line("refuse-", name);
}

/*
 * Before anything of the probe runs, so that threads find it settled, and so that no page of ours
 * is touched for the first time while a probe counts page faults.
 */
static void __attribute__((constructor(101))) settle(void)
{
	const char *ways;

	lies_count();
	lie_of_field(0, &ways);
	const char *name = getenv("PERFMODES_LIE");

	asked = getenv("PERFMODES_LIES_ASKED");
	told = name && *name ? lie_number(name) : NONE;
}

/*
 * Memory that lies use is written to before the first event is open, the stack below as well: after
 * a fork a page is the child's only once it writes, and the fault would be counted.
 */
void lies_own_pages(void)
{
	volatile char stack[4 * PAGE];
	static int owner;

	if (owner == getpid())
		return;
	owner = getpid();
	for (size_t at = 0; at < sizeof(stack); at += PAGE)
		stack[at] = 0;
	for (char *at = __bss_start; at < _end; at += PAGE)
		__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
}

bool lie_is_told(int number)
{
	return number == told;
}

bool lie(int number)
{
	if (asked)
		note(number);
	return number == told;
}
