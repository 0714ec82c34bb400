/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program `launch` that ships: nothing stands between the probes and the kernel.
 */
#include <stddef.h>

#include "launch.h"

int main(int argc, char **argv)
{
	return launch(argc, argv, NULL);
}
