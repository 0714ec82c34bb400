/* SPDX-License-Identifier: MIT */
/*
 * What the kernel tells as text: sysfs PMU descriptions, tracefs event descriptions, CPU lists.
 */
#define _FILE_OFFSET_BITS 64	/* a 32-bit readdir(3) gives up on a large inode number */
#include "pm_sys.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PMU_DIR "/sys/bus/event_source/devices"

/* ------------------------------------------------------------------------------------- files */

int pm_read_text(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;
	char more;
	int fd;

	if (size == 0 || size > INT_MAX)
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (n > 0)
		n = read(fd, &more, 1) > 0 ? -EFBIG : 0;
	else if (n < 0)
		n = -errno;
	close(fd);
	if (len > 0 && n == 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return n < 0 ? (int)n : (int)len;
}

int pm_read_number(const char *path, int64_t *ret)
{
	char buf[64], *end;
	long long value;
	int err = pm_read_text(path, buf, sizeof(buf));

	if (err < 0)
		return err;
	errno = 0;
	value = strtoll(buf, &end, strncmp(buf, "0x", 2) == 0 ? 16 : 10);
	if (errno == ERANGE)
		return -ERANGE;
	if (end == buf || *end != '\0')
		return -EINVAL;
	*ret = value;
	return 0;
}

/* A name that came from a caller becomes one path component and nothing else. */
static bool is_component(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static int read_below(const char *dir, const char *name, const char *file, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s/%s", dir, name, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* -------------------------------------------------------------------------------------- PMUs */

int pm_pmu_type(const char *name)
{
	char path[PATH_MAX];
	int64_t type;
	int err;

	if (!is_component(name))
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
};

/* Directory order says nothing, so the first in the alphabet is taken; "cpu" precedes "cpu_*". */
static int consider_core(const char *name, void *context)
{
	struct core_search *search = context;

	if ((search->best[0] == '\0' || strcmp(name, search->best) < 0) && is_core(name))
		snprintf(search->best, sizeof(search->best), "%s", name);
	return 0;
}

int pm_pmu_core(char *buf, size_t size)
{
	struct core_search search = { "" };
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

/* A decimal number at *text, which is moved behind it. False when there is none or it is huge. */
static bool take_number(const char **text, unsigned int *ret)
{
	unsigned int value = 0;
	const char *at = *text;

	for (; isdigit((unsigned char)*at); at++) {
		if (value > (UINT_MAX - 9) / 10)
			return false;
		value = value * 10 + (unsigned int)(*at - '0');
	}
	if (at == *text)
		return false;
	*text = at;
	*ret = value;
	return true;
}

/* "3" or "0-7" at *text; moves behind it and behind a comma that follows. */
static bool take_range(const char **text, unsigned int *first, unsigned int *last)
{
	if (!take_number(text, first))
		return false;
	*last = *first;
	if (**text == '-') {
		(*text)++;
		if (!take_number(text, last) || *last < *first)
			return false;
	}
	if (**text == '\0')
		return true;
	if (**text != ',' || (*text)[1] == '\0')
		return false;
	(*text)++;
	return true;
}

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

		if (!take_range(&at, &first, &last) || last > 63)
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

/* ----------------------------------------------------------------------------------- tracefs */

static const char *const tracefs_roots[] = {
	"/sys/kernel/tracing",		/* v4.1 */
	"/sys/kernel/debug/tracing",
};
#define TRACEFS_ROOTS (sizeof(tracefs_roots) / sizeof(tracefs_roots[0]))

/* Of the answers of all roots the first that says more than "not here"; lockdown says EPERM. */
static int firmer(int err, int other)
{
	if (err != -ENOENT)
		return err;
	return other == -EPERM ? -EACCES : other;
}

int pm_tracefs_root(char *buf, size_t size)
{
	int err = -ENOENT;

	for (size_t i = 0; i < TRACEFS_ROOTS; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%s/events", tracefs_roots[i]);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0) {
			err = firmer(err, -errno);
			continue;
		}
		close(fd);
		if (strlen(tracefs_roots[i]) >= size)
			return -ENAMETOOLONG;
		strcpy(buf, tracefs_roots[i]);
		return 0;
	}
	return err;
}

/* Both roots are asked even when one refuses: debugfs is often closed where tracefs is open. */
int pm_tracepoint_id(const char *system, const char *event)
{
	int ret = -ENOENT;

	if (!is_component(system) || !is_component(event))
		return -ENOENT;
	for (size_t i = 0; i < TRACEFS_ROOTS; i++) {
		char path[PATH_MAX];
		int64_t id;
		int n = snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs_roots[i],
				 system, event);
		int err = (size_t)n < sizeof(path) ? pm_read_number(path, &id) : -ENAMETOOLONG;

		if (err == 0)
			return id < 0 || id > INT_MAX ? -ERANGE : (int)id;
		ret = firmer(ret, err);
	}
	return ret;
}

/* Is `name` the last word of a declaration such as "char comm[16]" or "__data_loc char[] name"? */
static bool declares(const char *declaration, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	if (len > 0 && declaration[len - 1] == ']')
		while (len > 0 && declaration[--len] != '[')
			;
	if (name_len == 0 || len <= name_len)
		return false;
	if (memcmp(declaration + len - name_len, name, name_len) != 0)
		return false;
	return strchr(" *\t", declaration[len - name_len - 1]) != NULL;
}

/* The number behind `key` within one line. */
static bool line_number(const char *line, size_t len, const char *key, unsigned int *ret)
{
	size_t key_len = strlen(key);

	for (size_t i = 0; i + key_len < len; i++)
		if (memcmp(line + i, key, key_len) == 0) {
			const char *at = line + i + key_len;

			return take_number(&at, ret) && at <= line + len;
		}
	return false;
}

/*
 * Lines of a format file look like this, with tabs between the parts; the oldest kernels leave
 * "signed" out:
 *	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 */
int pm_tracepoint_field(const char *format_text, const char *name, struct pm_trace_field *ret)
{
	for (const char *line = format_text; *line != '\0';) {
		size_t len = strcspn(line, "\n");
		const char *at = line + strspn(line, " \t");
		size_t left = len - (size_t)(at - line);
		unsigned int offset, size, is_signed = 0;

		if (left > 6 && memcmp(at, "field:", 6) == 0 &&
		    declares(at + 6, strcspn(at + 6, ";\n"), name)) {
			if (!line_number(at, left, "offset:", &offset) ||
			    !line_number(at, left, "size:", &size))
				return -EINVAL;
			(void)line_number(at, left, "signed:", &is_signed);
			*ret = (struct pm_trace_field){ offset, size, is_signed == 1 };
			return 0;
		}
		line += len + (line[len] == '\n');
	}
	return -ENOENT;
}

/* ---------------------------------------------------------------------------------- CPU lists */

#define CPU_MAX 65536	/* far above any kernel's NR_CPUS; bounds what a bad list can cost */

static int check_cpulist(const char *list)
{
	unsigned int first, last;
	int count = 0;

	while (*list != '\0') {
		if (!take_range(&list, &first, &last) || last >= CPU_MAX)
			return -EINVAL;
		count += (int)(last - first) + 1;
		if (count > CPU_MAX)
			return -EINVAL;
	}
	return count;
}

/* Twice over the list, so that a caller never acts on half of a bad one. */
int pm_cpulist_each(const char *list, void (*each)(unsigned int cpu, void *context), void *context)
{
	int count = check_cpulist(list);
	unsigned int first, last;

	if (count < 0)
		return count;
	while (each != NULL && *list != '\0' && take_range(&list, &first, &last))
		for (unsigned int cpu = first; cpu <= last; cpu++)
			each(cpu, context);
	return count;
}

int pm_cpus_online(void)
{
	char list[4096];
	int err = pm_read_text("/sys/devices/system/cpu/online", list, sizeof(list));

	return err < 0 ? err : pm_cpulist_each(list, NULL, NULL);
}
