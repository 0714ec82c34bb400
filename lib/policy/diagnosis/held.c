/* SPDX-License-Identifier: MIT */
/* The rings of other processes count against the same limit of the user; /proc shows them. */
#include "refusal.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "7f0000000000-7f0000003000 rw-s ... anon_inode:[perf_event]" */
static uint64_t kb_of_line(const char *line)
{
	char *end;
	const unsigned long long from = strtoull(line, &end, 16);

	if (strstr(line, "[perf_event]") == NULL || *end != '-')
		return 0;
	return (strtoull(end + 1, NULL, 16) - from) / 1024;
}

static uint64_t kb_of_process(int pid)
{
	char path[64], line[512];
	uint64_t kb = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return 0;
	while (fgets(line, sizeof(line), maps) != NULL)
		kb += kb_of_line(line);
	fclose(maps);
	return kb;
}

static bool is_own_users(int pid)
{
	struct stat info;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return pid != getpid() && stat(path, &info) == 0 && info.st_uid == geteuid();
}

uint64_t pm_rings_of_others(int *ret_holder)
{
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	uint64_t sum = 0, most = 0;

	*ret_holder = 0;
	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		const int pid = atoi(entry->d_name);
		const uint64_t kb = pid > 0 && is_own_users(pid) ? kb_of_process(pid) : 0;

		sum += kb;
		if (kb > most) {
			most = kb;
			*ret_holder = pid;
		}
	}
	if (proc != NULL)
		closedir(proc);
	return sum;
}
