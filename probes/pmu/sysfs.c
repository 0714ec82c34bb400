/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does sysfs describe the PMUs so that a tool can use them? Types above 5 are handed out at boot
 * and have to be looked up. Observed: every PMU there has a type of its own, every format can be
 * parsed, every named event uses terms that have a format, every cpumask is a list of CPUs.
 */
#include "probe.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("PMUs as sysfs describes them")
      SINCE("2.6.38")
      POINT(listed, "the software PMU is listed with type 1")
      POINT(types, "each PMU has a type, and no two the same")
      POINT(formats, "each format file is a field of config and bit ranges")
      SINCE("3.4")
      POINT(events, "each term of each named event has a format, and its value fits")
      SINCE("3.4")
      POINT(cpumasks, "each cpumask is a list of CPUs")
      POINT(unused_type, "a type that no PMU has is refused with ENOENT or EINVAL")
      FACT(pmus, string, "-", "the PMUs with their types")
      FACT(format_files, int, "files", "formats that were parsed")
      FACT(event_files, int, "files", "events that were parsed"))

#define DEVICES "/sys/bus/event_source/devices"

static char list[700], wrong[256];
static int seen[256], type_count, files;

static int note_type(const char *name, void *unused)
{
	int type = pm_pmu_type(name);

	(void)unused;
	snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.40s=%d",
		 list[0] ? " " : "", name, type);
	for (int i = 0; i < type_count; i++)
		if (seen[i] == type)
			snprintf(wrong, sizeof(wrong), "type %d twice", type);
	if (type < 0)
		snprintf(wrong, sizeof(wrong), "%.40s: type: %s", name, errno_name(type));
	if (type_count < 256)
		seen[type_count++] = type;
	return 0;
}

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
		snprintf(path, sizeof(path), DEVICES "/%.60s/%s/%.200s", pmu, folder, entry->d_name);
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

static int visit_cpumask(const char *pmu, void *masks)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), DEVICES "/%.60s/cpumask", pmu);
	if (pm_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	++*(int *)masks;
	if (pm_cpulist_each(text, NULL, NULL) < 1)
		snprintf(wrong, sizeof(wrong), "%.40s/cpumask: %.80s", pmu, text);
	return 0;
}

static void visit(struct __test_metadata *_metadata, int (*each)(const char *, void *),
		  void *context)
{
	int error = pm_pmu_each(each, context);

	if (error == -ENOENT)
		say_absent("sysfs has no event_source bus");
	if (error < 0)
		say_blocked("sysfs event_source: %s", errno_name(error));
	if (wrong[0])
		broken("%s", wrong);
}

TEST(listed)
{
	visit(_metadata, note_type, NULL);
	if (pm_pmu_type("software") != PERF_TYPE_SOFTWARE)
		broken("type of software=%d want=1", pm_pmu_type("software"));
}

TEST(types)
{
	visit(_metadata, note_type, NULL);
	fact_str("pmus", "%s", list);
}

TEST(formats)
{
	visit(_metadata, visit_formats, NULL);
	fact_int("format_files", files);
	if (!files)
		say_absent("no PMU here has formats");
}

TEST(events)
{
	visit(_metadata, visit_events, NULL);
	fact_int("event_files", files);
	if (!files)
		say_absent("no PMU here names events");
}

TEST(cpumasks)
{
	int masks = 0;

	visit(_metadata, visit_cpumask, &masks);
	if (!masks)
		say_absent("no PMU here has a cpumask");
}

TEST(unused_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.type = 0x7ffffffe;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		broken("type 0x7ffffffe is accepted");
	if (fd != -ENOENT && fd != -EINVAL)
		broken("errno=%s want=ENOENT or EINVAL", errno_name(fd));
}

PROBE_MAIN
