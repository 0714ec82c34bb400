/* SPDX-License-Identifier: MIT */
/* bounded FILE...: for each whether what it says of its frames is bounded, "yes" or "no". */
#include <fcntl.h>
#include <stdio.h>

#include "../../stacks/file.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct file file;

		if (file_open(open(argv[i], O_RDONLY | O_CLOEXEC), &file) < 0) {
			fprintf(stderr, "%s: no ELF file\n", argv[i]);
			return 2;
		}
		puts(cfi_is_bounded(&file) ? "yes" : "no");
		file_close(&file);
	}
	return 0;
}
