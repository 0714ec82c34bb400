/* SPDX-License-Identifier: GPL-2.0-only */
/* One line on a terminal. See live.h. */
#define _GNU_SOURCE
#include "live.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FOOTER_MAX 512
#define SHOWN_EVERY 0.1		/* seconds */
#define ERASE "\r\033[K"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

double live_spent(const char *folder, const char *file)
{
	char path[4096], end[FOOTER_MAX + 1], *at;
	ssize_t got;
	long ms = -1;
	int fd;

	if (!folder || snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	lseek(fd, -FOOTER_MAX, SEEK_END);	/* a shorter file is read from its start */
	got = read(fd, end, FOOTER_MAX);
	close(fd);
	if (got <= 0)
		return -1;
	end[got] = '\0';
	at = strstr(end, "#:launch: ");
	at = at ? strstr(at, " ms=") : NULL;
	if (at)
		ms = strtol(at + 4, NULL, 10);
	return ms >= 0 && ms < 1000000000 ? ms / 1e3 : -1;
}

void live_begin(struct live *live, bool wanted)
{
	const char *terminal = getenv("TERM");

	live->on = wanted && isatty(STDERR_FILENO) && terminal && *terminal &&
		   strcmp(terminal, "dumb");
	live->began = now();
}

double live_left(const struct live *live, double elapsed)
{
	const double rest = live->total - live->done;

	/* A tenth of the run tells how fast this one is; until then an earlier one has to do. */
	if (live->done * 10 >= live->total && live->done > 0)
		return elapsed * rest / live->done;
	return live->known ? (rest > elapsed ? rest - elapsed : 0) : -1;
}

static int columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return 80;
	return size.ws_col;
}

void live_show(struct live *live, int number, const char *persona, const char *id)
{
	const double time = now();
	char line[256], when[48] = "";
	double left;

	if (!live->on || time - live->shown < SHOWN_EVERY)
		return;
	live->shown = time;
	left = live_left(live, time - live->began);
	if (left >= 99.5)
		snprintf(when, sizeof(when), ", %.0f min left", left / 60);
	else if (left >= 0)
		snprintf(when, sizeof(when), ", %.0f s left", left);
	snprintf(line, sizeof(line), "[%d/%d]%s  %s %s", number, live->all, when, persona, id);
	fprintf(stderr, ERASE "%.*s", columns() - 1, line);
}

void live_end(const struct live *live)
{
	if (live->on)
		fputs(ERASE, stderr);
}
