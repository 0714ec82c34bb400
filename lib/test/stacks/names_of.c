/* SPDX-License-Identifier: MIT */
/* Reads names, a line each, and writes them as the library shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../stacks/demangle.h"

int main(void)
{
	static char line[1 << 16];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		char *plain;

		line[strcspn(line, "\n")] = '\0';
		plain = demangle(line);
		puts(plain != NULL ? plain : line);
		free(plain);
	}
	return 0;
}
