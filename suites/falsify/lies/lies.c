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
static int asked = -1;	/* a file where those that could be told are noted */
static bool noted[MOST];

static void write_line(const char *way, const char *name)
{
	char line[64];
	const int length = snprintf(line, sizeof(line), "%s%s\n", way, name);

	if (write(asked, line, (size_t)length) < 0)
		return;		/* the probe has closed all that it did not open */
}

/*
 * Opened once: a probe may mount something over the folder, give up its privileges, or count calls
 * of close(2). The number is out of the way of those that it opens.
 */
static void open_notes(const char *path)
{
	const int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	asked = fcntl(fd, F_DUPFD_CLOEXEC, 900);
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
	if (asked < 0)
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

	open_notes(getenv("PERFMODES_LIES_ASKED"));
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
	if (asked >= 0)
		note(number);
	return number == told;
}
