/* SPDX-License-Identifier: MIT */
/* See words.h. */
#include "words.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../policy/diagnosis/words.h"
#include "../policy/spec/spec.h"

/* -------------------------------------------------------------------------------------- events */

static struct pm_event_spec spec_of(const struct shape *shape)
{
	return (struct pm_event_spec){ .size = sizeof(struct pm_event_spec),
		.type = shape->attr.type, .config = shape->attr.config };
}

struct tracepoint {
	int id;
	char name[120];
};

/* All there are, read once: some thousand files. */
static struct tracepoint *tracepoints;
static size_t tracepoint_count;

static void read_tracepoints_of(const char *root, const char *system)
{
	const struct dirent *event;
	char path[400];
	DIR *events;

	snprintf(path, sizeof(path), "%s/events/%.200s", root, system);
	events = opendir(path);
	while (events != NULL && (event = readdir(events)) != NULL) {
		const int id = event->d_name[0] == '.' ? -1 :
			pm_tracepoint_id(system, event->d_name);
		struct tracepoint *more = id < 0 ? NULL :
			realloc(tracepoints, (tracepoint_count + 1) * sizeof(*more));

		if (more == NULL)
			continue;
		tracepoints = more;
		more += tracepoint_count++;
		more->id = id;
		snprintf(more->name, sizeof(more->name), "%.40s:%.70s", system, event->d_name);
	}
	if (events != NULL)
		closedir(events);
}

static void read_tracepoints(void)
{
	static bool done;
	char root[128], path[160];
	const struct dirent *system;
	DIR *systems;

	if (done || pm_tracefs_root(root, sizeof(root)) < 0)
		return;
	done = true;
	snprintf(path, sizeof(path), "%s/events", root);
	systems = opendir(path);
	while (systems != NULL && (system = readdir(systems)) != NULL)
		if (system->d_name[0] != '.')
			read_tracepoints_of(root, system->d_name);
	if (systems != NULL)
		closedir(systems);
}

bool name_tracepoint(uint64_t id, char *buf, size_t size)
{
	read_tracepoints();
	for (size_t i = 0; i < tracepoint_count; i++)
		if ((uint64_t)tracepoints[i].id == id) {
			snprintf(buf, size, "%s", tracepoints[i].name);
			return true;
		}
	return false;
}

static bool is_listed(FILE *list, const char *name)
{
	const size_t length = strlen(name);
	char line[512];

	/* "p:GROUP/EVENT ...", "r2:GROUP/EVENT ...", "GROUP/EVENT" of synthetic ones */
	while (fgets(line, sizeof(line), list) != NULL) {
		const char *colon = strchr(line, ':');
		const char *at = colon != NULL && colon < line + strcspn(line, " /") ? colon + 1 :
			line;

		if (strncmp(at, name, length) == 0 && strchr(" \t\n", at[length]) != NULL)
			return true;
	}
	return false;
}

bool is_planted(const char *name)
{
	static const char *const systems[] = {
		"probe", "uprobe", "kprobe", "synthetic", "sdt_", "user_events",
	};
	static const char *const lists[] = { "dynamic_events", "kprobe_events", "uprobe_events" };
	char root[200], path[300], wanted[200];
	bool found = false;

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (strncmp(name, systems[i], strlen(systems[i])) == 0)
			return true;
	if (pm_tracefs_root(root, sizeof(root)) < 0)
		return false;
	snprintf(wanted, sizeof(wanted), "%s", name);
	if (strchr(wanted, ':') != NULL)
		*strchr(wanted, ':') = '/';
	for (size_t i = 0; !found && i < sizeof(lists) / sizeof(lists[0]); i++) {
		FILE *list;

		snprintf(path, sizeof(path), "%s/%s", root, lists[i]);
		list = fopen(path, "re");
		found = list != NULL && is_listed(list, wanted);
		if (list != NULL)
			(void)fclose(list);
	}
	return found;
}

struct wanted {
	uint32_t type;
	char *name;
	size_t size;
};

static int compare_pmu(const char *name, void *context)
{
	const struct wanted *wanted = context;
	const int type = pm_pmu_type(name);

	if (type < 0 || (uint32_t)type != wanted->type)
		return 0;
	snprintf(wanted->name, wanted->size, "%.60s", name);
	return 1;
}

bool name_pmu(uint32_t type, char *buf, size_t size)
{
	struct wanted wanted = { type, buf, size };

	return pm_pmu_each(compare_pmu, &wanted) == 1;
}

static void name_breakpoint(const struct shape *shape, char *buf, size_t size)
{
	const uint32_t type = shape->attr.bp_type;

	snprintf(buf, size, "breakpoint:%s%s%s", type & HW_BREAKPOINT_R ? "r" : "",
		 type & HW_BREAKPOINT_W ? "w" : "", type & HW_BREAKPOINT_X ? "x" : "");
}

static void name_other(const struct shape *shape, char *buf, size_t size)
{
	const struct perf_event_attr *attr = &shape->attr;
	char pmu[64] = "";

	if (attr->type == PERF_TYPE_BREAKPOINT)
		name_breakpoint(shape, buf, size);
	else if (attr->type == PERF_TYPE_RAW)
		snprintf(buf, size, "r%llx", (unsigned long long)attr->config);
	else if (attr->type == PERF_TYPE_TRACEPOINT &&
		 !name_tracepoint(attr->config, buf, size))
		snprintf(buf, size, "tracepoint %llu", (unsigned long long)attr->config);
	else if (attr->type >= PERF_TYPE_MAX && name_pmu(attr->type, pmu, sizeof(pmu)))
		snprintf(buf, size, "%s/config=0x%llx%s%.100s/", pmu,
			 (unsigned long long)attr->config, shape->text[0] ? "," : "", shape->text);
	else if (attr->type != PERF_TYPE_TRACEPOINT)
		snprintf(buf, size, "event %u:0x%llx", attr->type,
			 (unsigned long long)attr->config);
}

void name_event(const struct shape *shape, char *buf, size_t size)
{
	static const char *const modes[] = { "", "u", "k", "h" };
	const struct pm_event_spec spec = spec_of(shape);
	const struct perf_event_attr *attr = &shape->attr;
	size_t used;

	if (shape->have < PERF_ATTR_SIZE_VER0) {
		snprintf(buf, size, "an attr that could not be read");
		return;
	}
	(void)pm_event_name(&spec, buf, size);
	if (strncmp(buf, "event ", strlen("event ")) == 0)
		name_other(shape, buf, size);
	used = strlen(buf);
	if (attr->exclude_kernel && attr->exclude_user && attr->exclude_hv)
		snprintf(buf + used, size - used, " in no mode");
	else if (attr->exclude_kernel || attr->exclude_user || attr->precise_ip)
		snprintf(buf + used, size - used, ":%s%.*s", modes[attr->exclude_kernel +
			 2 * attr->exclude_user], (int)attr->precise_ip, "ppp");
}

bool counts_nothing(const struct shape *shape)
{
	const struct pm_event_spec spec = spec_of(shape);

	return shape->attr.exclude_kernel && shape->attr.type != PERF_TYPE_TRACEPOINT &&
		pm_happens_in_kernel(&spec);
}

bool is_unaligned(const struct shape *shape)
{
	const uint64_t length = shape->attr.bp_len;

	return shape->attr.type == PERF_TYPE_BREAKPOINT && length > 1 && length <= 8 &&
		shape->attr.bp_addr % length != 0;
}

/* ---------------------------------------------------------------------------------------- modes */

void name_mode(const struct shape *shape, char *buf, size_t size)
{
	static const struct { uint64_t bits; const char *name; } with[] = {
		{ PERF_SAMPLE_CALLCHAIN, "call chains" },
		{ PERF_SAMPLE_BRANCH_STACK, "branch stacks" },
		{ PERF_SAMPLE_STACK_USER, "user stacks" },
		{ PERF_SAMPLE_REGS_INTR, "registers" },
		{ PERF_SAMPLE_ADDR, "addresses" },
		{ PERF_SAMPLE_RAW, "raw data" },
		{ PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT,
		  "memory access data" },
		{ PERF_SAMPLE_PHYS_ADDR, "physical addresses" },
		{ PERF_SAMPLE_AUX, "AUX data" },
	};
	const struct perf_event_attr *attr = &shape->attr;
	struct pm_words words = { .at = buf, .left = size };
	const char *between = " with ";

	if (attr->sample_period == 0)
		pm_put(&words, "%s", attr->mmap || attr->comm || attr->task ?
		       "records of mappings and tasks," : "count");
	else if (attr->freq)
		pm_put(&words, "sample, %llu a second,", (unsigned long long)attr->sample_freq);
	else if (attr->sample_period == 1)
		pm_put(&words, "sample each");
	else
		pm_put(&words, "sample, period %llu,", (unsigned long long)attr->sample_period);
	for (size_t i = 0; attr->sample_period != 0 && i < sizeof(with) / sizeof(with[0]); i++)
		if (attr->sample_type & with[i].bits) {
			pm_put(&words, "%s%s", between, with[i].name);
			between = ", ";
		}
}

const char *target_word(enum target target)
{
	static const char *const words[TARGETS] = {
		"self", "thread", "child", "other", "cpu", "cgroup",
	};

	return words[target];
}

unsigned int cpus_of(const struct shape *shape)
{
	unsigned int count = 0;

	for (size_t i = 0; i < sizeof(shape->cpus) / sizeof(shape->cpus[0]); i++)
		count += (unsigned int)__builtin_popcountll(shape->cpus[i]);
	return count;
}

void name_target(const struct shape *shape, char *buf, size_t size)
{
	static const char *const words[TARGETS] = {
		"of its own thread", "of its threads", "of a child", "of another process",
		"of all that runs", "of a cgroup",
	};
	const struct perf_event_attr *attr = &shape->attr;
	struct pm_words text = { .at = buf, .left = size };

	pm_put(&text, "%s", words[shape->target]);
	if (shape->on_cpu)
		pm_put(&text, " on %u CPU%s", cpus_of(shape), cpus_of(shape) == 1 ? "" : "s");
	if (attr->inherit)
		pm_put(&text, ", inherited");
	if (attr->enable_on_exec)
		pm_put(&text, ", from exec on");
	if (shape->grouped)
		pm_put(&text, ", in a group");
	if (shape->narrow && sizeof(long) == 8)
		pm_put(&text, " (32-bit)");
}

void put_rings(const struct shape *shape, const char *at_gate, struct pm_words *words)
{
	const struct error_count *error = &shape->map_error;
	const unsigned long long rings = shape->rings, pages = shape->most_pages,
		refused = shape->map_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
	const bool same = rings > 0 && error->count > 0 && refused == pages && !shape->map_is_aux;

	if (rings > 0 && same)
		pm_put(words, "%s%llu of %llu rings of %llu pages, the rest %s%s", words->length ?
		       ", " : "", rings, rings + error->count, pages,
		       pm_errno_name(error->error), at_gate);
	else if (rings > 0)
		pm_put(words, "%sring%s of %llu pages", words->length ? ", " : "",
		       rings > 1 ? "s" : "", pages);
	if (error->count > 0 && !same)
		pm_put(words, "%s%s of %llu pages: %s%s", words->length ? ", " : "",
		       shape->map_is_aux ? "AUX area" : "ring", refused,
		       pm_errno_name(error->error), at_gate);
}
