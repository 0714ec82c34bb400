/* SPDX-License-Identifier: MIT */
/*
 * symbols_of FILE: reads addresses of the file (hexadecimal, a line each) and prints for each its
 * symbol and how far behind it the address stands, "NAME+0xN"; "??" where there is none.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../stacks/symbols.h"

int main(int argc, char **argv)
{
	const struct pm_symbols_opts opts = { .size = sizeof(opts), .mangled = true };
	struct pm_symbols *symbols = pm_symbols_create(&opts);
	struct cached *cached = NULL;
	uint64_t address;
	int fd;

	if (argc != 2 || symbols == NULL || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0 ||
	    cache_get(symbols, fd, argv[1], &cached) < 0) {
		fprintf(stderr, "usage: symbols_of FILE < ADDRESSES\n");
		return 2;
	}
	symbols_load(symbols, cached);
	while (scanf("%" SCNx64, &address) == 1) {
		const struct entry *entry = table_find(&cached->table, address);

		if (entry != NULL)
			printf("%s+0x%" PRIx64 "\n", entry->name, address - entry->address);
		else
			printf("??\n");
	}
	cache_put(symbols, cached);
	pm_symbols_destroy(symbols);
	return 0;
}
