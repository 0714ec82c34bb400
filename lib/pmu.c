/* SPDX-License-Identifier: MIT */
/*
 * PMUs as sysfs describes them: names, types, and where a term lies in the attr.
 */
#define _FILE_OFFSET_BITS 64	/* a 32-bit readdir(3) gives up on a large inode number */
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PMU_DIR "/sys/bus/event_source/devices"

static int read_below(const char *dir, const char *name, const char *file, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s/%s", dir, name, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int pm_pmu_type(const char *name)
{
	char path[PATH_MAX];
	int64_t type;
	int err;

	if (!pm_is_component(name))
		return -ENOENT;
	err = read_below(PMU_DIR, name, "type", path, sizeof(path));
	if (err == 0)
		err = pm_read_number(path, &type);
	if (err < 0)
		return err;
	return type < 0 || type > INT_MAX ? -ERANGE : (int)type;
}

int pm_pmu_each(int (*each)(const char *name, void *context), void *context)
{
	int fd = open(PMU_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	int ret = 0;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (dir == NULL) {
		ret = -errno;
		close(fd);
		return ret;
	}
	while (ret == 0 && (errno = 0, entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			ret = each(entry->d_name, context);
	if (ret == 0)
		ret = -errno;
	closedir(dir);
	return ret;
}

/* Whether it can be read is not the question, only whether it is there. */
static bool has_file(const char *pmu, const char *file)
{
	char path[PATH_MAX], unused[8];
	int err = read_below(PMU_DIR, pmu, file, path, sizeof(path));

	if (err == 0)
		err = pm_read_text(path, unused, sizeof(unused));
	return err >= 0 || err == -EFBIG || err == -EACCES;
}

/*
 * x86, POWER and RISC-V call it "cpu", s390 "cpum_cf". Where cores differ each kind has its own
 * PMU with a file "cpus" (uncore PMUs have "cpumask"). Before that file came, v4.4, the core
 * PMU of ARM still was the one that owns type 4, PERF_TYPE_RAW.
 */
static bool is_core(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "cpum_cf") == 0 ||
	       has_file(name, "cpus") || pm_pmu_type(name) == PERF_TYPE_RAW;
}

struct core_search {
	char best[NAME_MAX + 1];
	bool generic;
};

/*
 * Where cores differ, generic events land on the PMU that owns PERF_TYPE_RAW. If none does, the
 * first in the alphabet is taken, as directory order says nothing.
 */
static int consider_core(const char *name, void *context)
{
	struct core_search *search = context;
	bool generic;

	if (!is_core(name))
		return 0;
	generic = pm_pmu_type(name) == PERF_TYPE_RAW;
	if (search->best[0] != '\0' && generic == search->generic && strcmp(name, search->best) > 0)
		return 0;
	if (search->best[0] != '\0' && search->generic && !generic)
		return 0;
	snprintf(search->best, sizeof(search->best), "%s", name);
	search->generic = generic;
	return 0;
}

int pm_pmu_core(char *buf, size_t size)
{
	struct core_search search = { .generic = false };
	int err = pm_pmu_each(consider_core, &search);
	size_t len = strlen(search.best);

	if (err < 0)
		return err;
	if (len == 0)
		return -ENOENT;
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(buf, search.best, len + 1);
	return 0;
}

/* ----------------------------------------------------------------------- format specifications */

static uint64_t *config_field(struct perf_event_attr *attr, const char *name, size_t len)
{
	const struct {
		const char *name;
		uint64_t *field;
	} fields[] = {
		{ "config", &attr->config },   { "config1", &attr->config1 },
		{ "config2", &attr->config2 }, { "config3", &attr->config3 },
		{ "config4", &attr->config4 },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strlen(fields[i].name) == len && memcmp(fields[i].name, name, len) == 0)
			return fields[i].field;
	return NULL;
}

static uint64_t low_bits(unsigned int count)
{
	return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/*
 * The value's low bits go into the ranges in the order in which they are written. Nothing is
 * changed before everything is known to fit.
 */
int pm_pmu_place(const char *format, uint64_t value, struct perf_event_attr *attr)
{
	size_t name_len = strcspn(format, ":");
	uint64_t *field = config_field(attr, format, name_len);
	const char *at = format + name_len + 1;
	uint64_t mask = 0, bits = 0;

	if (field == NULL || format[name_len] == '\0' || *at == '\0')
		return -EINVAL;
	while (*at != '\0') {
		unsigned int first, last, count;
		uint64_t here;

		if (!pm_take_range(&at, &first, &last) || last > 63)
			return -EINVAL;
		count = last - first + 1;
		here = low_bits(count) << first;
		if (mask & here)
			return -EINVAL;
		mask |= here;
		bits |= (value & low_bits(count)) << first;
		value = count >= 64 ? 0 : value >> count;
	}
	if (value != 0)
		return -ERANGE;
	*field = (*field & ~mask) | bits;
	return 0;
}
