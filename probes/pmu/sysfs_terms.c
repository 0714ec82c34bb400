/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does sysfs describe the PMUs' events so that a tool can put them together? Observed: every format
 * can be parsed, and every named event uses terms that have a format, with values that fit.
 */
#include "probe.h"
#include "pmu.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("events as sysfs describes them")
      SINCE("3.4")
      POINT(formats, "each format file is a field of config and bit ranges")
      POINT(events, "each term of each named event has a format, and its value fits")
      FACT(format_files, int, "files", "formats that were parsed")
      FACT(event_files, int, "files", "events that were parsed"))

#define DEVICES "/sys/bus/event_source/devices"

static char wrong[256];

static int files;

/* Let `check` look at each file of a PMU's folder. */
static int each_file(const char *pmu, const char *folder,
		     int (*check)(const char *pmu, const char *name, const char *text))
{
	char path[512], text[1024];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), DEVICES "/%.60s/%s", pmu, folder);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && !wrong[0]) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), DEVICES "/%.60s/%s/%.200s", pmu, folder,
			 entry->d_name);
		if (pm_read_text(path, text, sizeof(text)) < 0)
			continue;
		files++;
		if (check(pmu, entry->d_name, text) < 0)
			snprintf(wrong, sizeof(wrong), "%.40s/%s/%.60s: %.80s", pmu, folder,
				 entry->d_name, text);
	}
	if (dir)
		closedir(dir);
	return 0;
}

static int check_format(const char *pmu, const char *name, const char *text)
{
	struct perf_event_attr attr = attr_of(0, 0);

	(void)pmu;
	(void)name;
	return pm_pmu_place(text, 0, &attr);
}

static int check_event(const char *pmu, const char *name, const char *text)
{
	struct perf_event_attr attr = attr_of(0, 0);
	char path[512], format[128], terms[1024], *rest = NULL;

	if (strchr(name, '.'))		/* .unit and .scale describe, they are no events */
		return 0;
	snprintf(terms, sizeof(terms), "%s", text);
	for (char *term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(term, '=');
		int error;

		if (value)
			*value++ = '\0';
		if (value && strchr(value, '?'))	/* a parameter for the user to give */
			continue;
		snprintf(path, sizeof(path), DEVICES "/%.60s/format/%.100s", pmu, term);
		error = pm_read_text(path, format, sizeof(format));
		if (error < 0 && !strncmp(term, "config", 6))
			continue;
		if (error >= 0)
			error = pm_pmu_place(format, value ? strtoull(value, NULL, 0) : 1, &attr);
		if (error < 0)
			return error;
	}
	return 0;
}

static int visit_formats(const char *pmu, void *unused)
{
	(void)unused;
	return each_file(pmu, "format", check_format);
}

static int visit_events(const char *pmu, void *unused)
{
	(void)unused;
	return each_file(pmu, "events", check_event);
}

static void visit(int (*each)(const char *, void *), void *context)
{
	visit_pmus(each, context);
	if (wrong[0])
		say_broken("%s", wrong);
}

TEST(formats)
{
	visit(visit_formats, NULL);
	fact_int("format_files", files);
	if (!files)
		say_absent("no PMU here has formats");
}

TEST(events)
{
	visit(visit_events, NULL);
	fact_int("event_files", files);
	if (!files)
		say_absent("no PMU here names events");
}

PROBE_MAIN
