/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which PMUs does sysfs show, and can a program build an event from what it finds there?
 *
 * The type is the only way to a dynamic PMU, the format files are the only description of its
 * config bits, the CPU mask says where it may be opened. Each file is parsed as a library would;
 * one that does not parse names an event that nobody can open. The PMUs of old have fixed types.
 */
#include "probe.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICES "/sys/bus/event_source/devices"
#define FIXED(X) X(software, 1) X(tracepoint, 2) X(breakpoint, 5)
#define DYNAMIC(X) X(kprobe, "4.17") X(uprobe, "4.17") X(msr, "4.3") X(power, "3.14")
#define DECLARE_FIXED(name, number) POINT(name, "PMU " #name " has the type " #number)
#define DECLARE_DYNAMIC(name, since) POINT(name, "PMU " #name " is here") SINCE(since)

PROBE(TITLE("the PMUs in sysfs")
      SINCE("2.6.38")
      POINT(types, "each PMU has a type, a number that is its own")
      FACT(list, string, "-", "name and type of each PMU")
      FACT(count, int, "PMUs", "PMUs in sysfs")
      POINT(formats, "each format file says which bits of which field it means")
      SINCE("3.4")
      POINT(events, "each named event is a list of terms that the formats of its PMU know")
      SINCE("3.4")
      POINT(cpu_masks, "each cpumask or cpus file is a list of CPUs")
      SINCE("3.7")
      POINT(mux_intervals, "each perf_event_mux_interval_ms is a number; 0 takes no turns")
      SINCE("3.11")
      FIXED(DECLARE_FIXED)
      DYNAMIC(DECLARE_DYNAMIC))

/* What is wrong with one PMU, or nothing; and how many files were looked at. */
struct look {
	const char *pmu, *folder;
	char wrong[200];
	int files;
};

static char list[600];
static int64_t seen[256];
static int count;

static int look_type(const char *pmu, void *context)
{
	struct look *look = context;
	char path[300];
	int64_t type;
	size_t used = strlen(list);

	snprintf(path, sizeof(path), DEVICES "/%.100s/type", pmu);
	if (pm_read_number(path, &type) < 0 || type < 0)
		snprintf(look->wrong, sizeof(look->wrong), "%.100s has no type", pmu);
	for (int i = 0; i < count; i++)
		if (seen[i] == type)
			snprintf(look->wrong, sizeof(look->wrong), "%.100s: type %" PRId64 " twice",
				 pmu, type);
	if (count < 256)
		seen[count++] = type;
	snprintf(list + used, sizeof(list) - used, "%s%.100s:%" PRId64, used ? " " : "", pmu,
		 type);
	return 0;
}

TEST(types)
{
	struct look look = { .wrong = "" };
	int error = pm_pmu_each(look_type, &look);

	if (error < 0)
		say_blocked("%s: " DEVICES " is not to be seen here", errno_name(error));
	fact_str("list", "%s", list);
	fact_int("count", count);
	if (look.wrong[0])
		broken("%s", look.wrong);
	if (!count)
		broken("no PMU at all");
}

static void check_format(struct look *look, const char *file, const char *text)
{
	struct perf_event_attr attr = { .type = 0 };
	int error = pm_pmu_place(text, 0, &attr);

	if (error)
		snprintf(look->wrong, sizeof(look->wrong), "%.60s: format %.60s is %.60s",
			 look->pmu, file, text);
}

/* Each term, "name" or "name=value", must have a format file of its name. */
static void check_event(struct look *look, const char *file, char *text)
{
	char *rest = text, *term, path[400];

	if (strchr(file, '.'))			/* unit and scale are no events */
		return;
	while ((term = strsep(&rest, ",")) != NULL) {
		term[strcspn(term, "=")] = '\0';
		if (!strncmp(term, "config", 6))	/* a whole field needs no format */
			continue;
		snprintf(path, sizeof(path), DEVICES "/%.100s/format/%.100s", look->pmu, term);
		if (access(path, F_OK) < 0)
			snprintf(look->wrong, sizeof(look->wrong), "%.60s: event %.60s: term %.60s",
				 look->pmu, file, term);
	}
}

static int look_folder(const char *pmu, void *context)
{
	struct look *look = context;
	char path[400], text[1024];
	struct dirent *entry;
	DIR *folder;

	look->pmu = pmu;
	snprintf(path, sizeof(path), DEVICES "/%.100s/%s", pmu, look->folder);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL) {
		snprintf(path, sizeof(path), DEVICES "/%.100s/%s/%.100s", pmu, look->folder,
			 entry->d_name);
		if (entry->d_name[0] == '.' || pm_read_text(path, text, sizeof(text)) < 0)
			continue;
		look->files++;
		if (!strcmp(look->folder, "format"))
			check_format(look, entry->d_name, text);
		else
			check_event(look, entry->d_name, text);
	}
	if (folder)
		closedir(folder);
	return 0;
}

static void walk(struct __test_metadata *_metadata, int (*each)(const char *, void *),
		 const char *folder)
{
	struct look look = { .folder = folder };
	int error = pm_pmu_each(each, &look);

	if (error < 0)
		say_blocked("%s: " DEVICES " is not to be seen here", errno_name(error));
	if (look.wrong[0])
		broken("%s", look.wrong);
	if (!look.files)
		say_absent("no PMU here has %s", folder);
}

TEST(formats)
{
	walk(_metadata, look_folder, "format");
}

TEST(events)
{
	walk(_metadata, look_folder, "events");
}

static int look_mask(const char *pmu, void *context)
{
	static const char *const names[] = { "cpumask", "cpus" };
	struct look *look = context;
	char path[300], text[4096];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), DEVICES "/%.100s/%s", pmu, names[i]);
		if (pm_read_text(path, text, sizeof(text)) < 0)
			continue;
		look->files++;
		if (text[0] && pm_cpulist_each(text, NULL, NULL) < 0)
			snprintf(look->wrong, sizeof(look->wrong), "%.100s: %.80s", pmu, text);
	}
	return 0;
}

TEST(cpu_masks)
{
	walk(_metadata, look_mask, "a cpumask or cpus file");
}

static int look_interval(const char *pmu, void *context)
{
	struct look *look = context;
	char path[300];
	int64_t value;
	int error;

	snprintf(path, sizeof(path), DEVICES "/%.100s/perf_event_mux_interval_ms", pmu);
	error = pm_read_number(path, &value);
	if (error == -ENOENT)
		return 0;
	look->files++;
	if (error || value < 0)
		snprintf(look->wrong, sizeof(look->wrong), "%.100s: %s", pmu, errno_name(error));
	return 0;
}

TEST(mux_intervals)
{
	walk(_metadata, look_interval, "perf_event_mux_interval_ms");
}

static void has_type(struct __test_metadata *_metadata, const char *name, int want)
{
	int type = pm_pmu_type(name);

	if (type == -ENOENT)
		say_absent("no PMU named %s", name);
	if (type != want && want >= 0)
		broken("%s has type %d want=%d", name, type, want);
	if (type < 0)
		broken("%s: type unreadable: %s", name, errno_name(type));
}

#define TEST_FIXED(name, number)                                                               \
	TEST(name)                                                                             \
	{                                                                                      \
		has_type(_metadata, #name, number);                                            \
	}
#define TEST_DYNAMIC(name, since) TEST_FIXED(name, -1)
FIXED(TEST_FIXED)
DYNAMIC(TEST_DYNAMIC)

PROBE_MAIN
