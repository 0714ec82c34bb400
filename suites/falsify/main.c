/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * falsify/launch: the launcher with fake kernels. It takes two more options and hands all others
 * to launch(). For the tests of this tree; it is in no bundle.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../probes/launcher/launch.h"
#include "fault.h"
#include "lies/lies.h"
#include "old_kernel.h"

static const char usage[] =
	"falsify/launch: launch, and besides:\n"
	"  --old-kernel           answer ENOSYS to system calls newer than Linux 3.10\n"
	"  --fault NAME           run the probe on a kernel with that fault (--fault list); the\n"
	"                         names with a dot are for programs of falsify/probes alone\n";

static const struct fault *fault;
static bool old_kernel;

static int before(void)
{
	return old_kernel && !fault ? old_kernel_filter() : 0;
}

static int inject(int socket)
{
	int error = fault ? fault_inject(fault, socket) : 0;

	/* Only now: how a fault listens is newer than Linux 3.10. */
	return !error && old_kernel && fault ? old_kernel_filter() : error;
}

static int listener(int socket)
{
	return fault ? fault_listener(fault, socket) : -1;
}

static void answer(int from)
{
	fault_answer(fault, from);
}

static void take_fault(const char *name)
{
	fault = fault_find(name);
	if (fault)
		return;
	if (lie_number(name) >= 0) {
		setenv("PERFMODES_LIE", name, 1);
		return;
	}
	if (!strcmp(name, "list")) {
		fault_list(stdout);
		for (int i = 0; i < lies_count(); i++)
			puts(lie_name(i));
		exit(0);
	}
	fprintf(stderr, "launch: no fault called '%s' (--fault list)\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct interposer fake = { before, inject, listener, answer };
	int kept = 1;
	bool options = true;

	for (int i = 1; i < argc; i++) {
		options = options && strcmp(argv[i], "--");
		if (options && !strcmp(argv[i], "--old-kernel"))
			old_kernel = true;
		else if (options && !strcmp(argv[i], "--fault") && i + 1 < argc)
			take_fault(argv[++i]);
		else
			argv[kept++] = argv[i];
		if (options && !strcmp(argv[i], "--help"))
			fputs(usage, stdout);
	}
	argv[kept] = NULL;
	return launch(kept, argv, &fake);
}
