/* SPDX-License-Identifier: MIT */
/*
 * lines_of FILE: reads addresses of the file (hexadecimal, a line each) and prints for each what
 * its DWARF says, as addr2line(1) does with -afi: the address, then a line with the name and one
 * with FILE:LINE for each function, innermost first; "??" for what is not known.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../stacks/file.h"
#include "../../stacks/lines.h"

int main(int argc, char **argv)
{
	struct lines lines = { .dwarf = NULL };
	struct file file;
	uint64_t address;

	if (argc != 2 || file_open(open(argv[1], O_RDONLY | O_CLOEXEC), &file) < 0) {
		fprintf(stderr, "usage: lines_of FILE < ADDRESSES\n");
		return 2;
	}
	lines_open(&lines, file.elf, UINT64_MAX);
	while (scanf("%" SCNx64, &address) == 1) {
		const struct chain_lines *chain = lines_find(&lines, address, true);

		printf("0x%016" PRIx64 "\n", address);
		if (chain == NULL || chain->count == 0)
			printf("??\n??:0\n");
		for (size_t i = 0; chain != NULL && i < chain->count; i++) {
			const struct chain_line *line = &chain->list[i];

			printf("%s\n%s:%u\n", line->name ? line->name : "??",
			       line->file ? line->file : "??", line->line);
		}
	}
	lines_close(&lines);
	file_close(&file);
	return 0;
}
