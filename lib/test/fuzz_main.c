/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over files, for compilers without libFuzzer: each argument is a file or a
 * directory of files. Exit 0 when all ran, 2 when there was nothing to run.
 */
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int count;

static void run_file(const char *path)
{
	static uint8_t data[1 << 17];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (file == NULL) {
		perror(path);
		exit(2);
	}
	size = fread(data, 1, sizeof(data), file);
	if (ferror(file)) {
		perror(path);
		exit(2);
	}
	fclose(file);
	(void)LLVMFuzzerTestOneInput(data, size);
	count++;
}

static void run_directory(const char *path, DIR *directory)
{
	const struct dirent *entry;
	char below[PATH_MAX];

	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		run_file(below);
	}
	closedir(directory);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *directory = opendir(argv[i]);

		if (directory != NULL)
			run_directory(argv[i], directory);
		else
			run_file(argv[i]);
	}
	printf("%u inputs\n", count);
	return count > 0 ? 0 : 2;
}
