/* SPDX-License-Identifier: MIT */
/* Folded stacks, read back and sorted. */
#define _GNU_SOURCE
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX ((off_t)1 << 30)

int lines_file(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/perfmodes-sampler.XXXXXX",
		       folder && folder[0] ? folder : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)unlink(path);
	return fd;
}

size_t frame_length(const char *at, const char *end)
{
	const char *stop = memchr(at, ';', (size_t)(end - at));

	return (size_t)((stop ? stop : end) - at);
}

/* ';' sorts before all else: frames below one frame follow each other. */
static int by_frames(const void *one, const void *other)
{
	const struct line *a = one, *b = other;
	size_t common = a->length < b->length ? a->length : b->length, i = 0;

	while (i < common && a->frames[i] == b->frames[i])
		i++;
	if (i == common)
		return a->length < b->length ? -1 : a->length > b->length;
	if (a->frames[i] == ';' || b->frames[i] == ';')
		return a->frames[i] == ';' ? -1 : 1;
	return (unsigned char)a->frames[i] < (unsigned char)b->frames[i] ? -1 : 1;
}

static int read_text(int fd, char **text, size_t *size)
{
	struct stat stat;
	size_t have = 0;

	if (fstat(fd, &stat) != 0)
		return -errno;
	if (stat.st_size > TEXT_MAX)
		return -EFBIG;
	*text = malloc((size_t)stat.st_size + 1);
	if (!*text)
		return -ENOMEM;
	while (have < (size_t)stat.st_size) {
		ssize_t got = pread(fd, *text + have, (size_t)stat.st_size - have, (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		have += (size_t)got;
	}
	(*text)[have] = '\0';
	*size = have;
	return 0;
}

/* "frames weight"; a frame may hold blanks, the weight is behind the last one. */
static void split(struct lines *lines, char *at, char *end)
{
	char *blank = memrchr(at, ' ', (size_t)(end - at));

	if (!blank || blank == at)
		return;
	lines->list[lines->count++] = (struct line){
		.frames = at, .length = (size_t)(blank - at),
		.weight = strtoull(blank + 1, NULL, 10),
	};
}

static void merge(struct lines *lines)
{
	size_t to = 0;

	for (size_t i = 0; i < lines->count; i++) {
		lines->total += lines->list[i].weight;
		if (to > 0 && by_frames(&lines->list[to - 1], &lines->list[i]) == 0)
			lines->list[to - 1].weight += lines->list[i].weight;
		else
			lines->list[to++] = lines->list[i];
	}
	lines->count = to;
}

int lines_read(int fd, struct lines *ret)
{
	size_t size = 0, count = 0;
	int err;

	*ret = (struct lines){ 0 };
	err = read_text(fd, &ret->text, &size);
	if (err < 0)
		return err;
	for (size_t i = 0; i < size; i++)
		count += ret->text[i] == '\n';
	ret->list = malloc((count + 1) * sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (char *at = ret->text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
		split(ret, at, end);
	qsort(ret->list, ret->count, sizeof(*ret->list), by_frames);
	merge(ret);
	return 0;
}

void lines_free(struct lines *lines)
{
	free(lines->list);
	free(lines->text);
	*lines = (struct lines){ 0 };
}
