/* SPDX-License-Identifier: MIT */
/*
 * Reads what the kernel tells as text: small files, numbers, lists of CPUs.
 */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
bool pm_is_component(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

/* ---------------------------------------------------------------------- numbers and CPU lists */

bool pm_take_number(const char **text, unsigned int *ret)
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

bool pm_take_range(const char **text, unsigned int *first, unsigned int *last)
{
	if (!pm_take_number(text, first))
		return false;
	*last = *first;
	if (**text == '-') {
		(*text)++;
		if (!pm_take_number(text, last) || *last < *first)
			return false;
	}
	if (**text == '\0')
		return true;
	if (**text != ',' || (*text)[1] == '\0')
		return false;
	(*text)++;
	return true;
}

#define CPU_MAX 65536	/* far above any kernel's NR_CPUS; bounds what a bad list can cost */

static int check_cpulist(const char *list)
{
	unsigned int first, last;
	int count = 0;

	while (*list != '\0') {
		if (!pm_take_range(&list, &first, &last) || last >= CPU_MAX)
			return -EINVAL;
		count += (int)(last - first) + 1;
		if (count > CPU_MAX)
			return -EINVAL;
	}
	return count;
}

/* Walks the list twice, so that a caller never acts on half of a malformed one. */
int pm_cpulist_each(const char *list, void (*each)(unsigned int cpu, void *context), void *context)
{
	int count = check_cpulist(list);
	unsigned int first, last;

	if (count < 0)
		return count;
	while (each != NULL && *list != '\0' && pm_take_range(&list, &first, &last))
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
