/* SPDX-License-Identifier: MIT */
/*
 * A recording: what was asked, so that it can be held against other kernels and machines. Numbers
 * of this machine stand by name; addresses, paths and names of processes and files are left out.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "tell.h"
#include "words.h"

/* --------------------------------------------------------------------------------- the machine */

static void put_identity(const char *key, const char *value, void *context)
{
	if (strcmp(key, "arch") == 0 || strcmp(key, "release") == 0)
		json_member(context, key, value, ", ");
}

/* Raw configs mean nothing without it; where the CPUs differ, the first. */
static void find_model(const char *key, const char *value, void *context)
{
	char *model = context;

	if (strcmp(key, "cpu_model") == 0 && model[0] == '\0')
		snprintf(model, 128, "%s", value);
}

static void put_machine(FILE *file)
{
	char model[128] = "";
	struct pm_env env;

	(void)pm_env_read(&env);
	fprintf(file, " \"machine\": {");
	(void)pm_identity_kernel(put_identity, file);
	(void)pm_identity_each(find_model, model);
	if (model[0] != '\0')
		json_member(file, "cpu_model", model, ", ");
	fprintf(file, "\"page_size\": %ld, ", sysconf(_SC_PAGESIZE));
	fprintf(file, "\"cpus_online\": %d},\n \"caller\": {", env.cpus_online);
	fprintf(file, "\"root\": %s, \"perfmon\": %s, \"admin\": %s, \"no_new_privs\": %s, "
		"\"filter\": %s, ", env.euid == 0 ? "true" : "false",
		pm_env_has_cap(&env, PM_CAP_PERFMON) ? "true" : "false",
		pm_env_has_cap(&env, PM_CAP_SYS_ADMIN) ? "true" : "false",
		env.no_new_privs ? "true" : "false", env.seccomp_mode == 2 ? "true" : "false");
	if (env.paranoid != INT_MIN)
		fprintf(file, "\"paranoid\": %d, ", env.paranoid);
	if (env.mlock_kb >= 0)
		fprintf(file, "\"mlock_kb\": %lld, ", (long long)env.mlock_kb);
	fprintf(file, "\"memlock_kb\": %llu, \"nofile\": %llu},\n",
		(unsigned long long)(env.memlock_bytes / 1024), (unsigned long long)env.nofile);
}

/* ------------------------------------------------------------------------------------ the attr */

static void put_event(FILE *file, const struct shape *shape)
{
	static const char *const types[] = {
		"hardware", "software", "tracepoint", "cache", "raw", "breakpoint",
	};
	const uint32_t type = shape->attr.type;
	char name[200] = "";

	if (type < PERF_TYPE_MAX)
		json_member(file, "type", types[type], ", ");
	else
		json_member(file, "type", name_pmu(type, name, sizeof(name)) ? name : "unknown",
			    ", ");
	if (type == PERF_TYPE_TRACEPOINT) {
		if (!name_tracepoint(shape->attr.config, name, sizeof(name)))
			snprintf(name, sizeof(name), "unknown");
		json_member(file, "tracepoint", is_planted(name) ? "planted" : name, ", ");
	} else {
		fprintf(file, "\"config\": \"0x%llx\", ", (unsigned long long)shape->attr.config);
	}
}

static uint64_t number_at(const struct shape *shape, size_t offset, size_t bytes)
{
	uint64_t value = 0;

	if (offset + bytes > shape->have)
		return 0;
	memcpy(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? (char *)&value + 8 - bytes :
	       (char *)&value, shape->raw + offset, bytes);
	return value;
}

/*
 * Fields that may hold an address: that they are set is told, and not to what. Where no part of the
 * kernel reads them they may hold anything.
 */
static bool is_address(const struct shape *shape, const char *name)
{
	const int64_t type = (int64_t)shape->attr.type;
	char pmu[100];

	if (strcmp(name, "sig_data") == 0)
		return true;
	if (strncmp(name, "config", 6) != 0)
		return false;
	if (type < PERF_TYPE_RAW ||
	    (type >= PERF_TYPE_MAX && !name_pmu(shape->attr.type, pmu, sizeof(pmu))))
		return true;
	if (type == PERF_TYPE_BREAKPOINT)
		return strcmp(name, "config2") != 0;
	return strcmp(name, "config3") != 0 && type >= PERF_TYPE_MAX &&
		(type == pm_pmu_type("uprobe") || type == pm_pmu_type("kprobe"));
}

#define ROW(name, member, offset, bytes, since) { #name, offset, bytes },
#define FLAG_ROW(bit, name, beside, since) { #name, bit, 1 },
#define PAIR_ROW(low, high, name, since) { #name, low, 2 },
static const struct { const char *name; size_t offset, bytes; } fields[] = {
	PM_ATTR_FIELDS(ROW)
};
static const struct { const char *name; size_t bit, bits; } flags[] = {
	PM_ATTR_FLAGS(FLAG_ROW, PAIR_ROW)
};

static void put_fields(FILE *file, const struct shape *shape)
{
	const char *between = "";

	fprintf(file, "\"fields\": {");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const uint64_t value = number_at(shape, fields[i].offset, fields[i].bytes);

		if (value == 0 || fields[i].offset < 16 || strcmp(fields[i].name, "flags") == 0)
			continue;
		fprintf(file, "%s\"%s\": ", between, fields[i].name);
		if (is_address(shape, fields[i].name))
			fprintf(file, is_unaligned(shape) ? "\"unaligned\"" : "\"address\"");
		else
			fprintf(file, "\"0x%llx\"", (unsigned long long)value);
		between = ", ";
	}
	if (shape->text[0] != '\0')
		fprintf(file, "%s\"config1\": \"name\"", between);
	fprintf(file, "}, ");
}

/* The flags as perf_event.h numbers them: a big-endian machine has the first as its highest bit. */
static uint64_t flag_word(const struct shape *shape)
{
	const uint64_t word = number_at(shape, 40, 8);
	uint64_t turned = 0;

	if (__BYTE_ORDER__ != __ORDER_BIG_ENDIAN__)
		return word;
	for (unsigned int bit = 0; bit < 64; bit++)
		turned |= (word >> (63 - bit) & 1) << bit;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (flags[i].bits == 2) {
			turned &= ~((uint64_t)3 << flags[i].bit);
			turned |= (word >> (62 - flags[i].bit) & 3) << flags[i].bit;
		}
	}
	return turned;
}

static void put_flags(FILE *file, const struct shape *shape)
{
	const uint64_t word = flag_word(shape);
	const char *between = "";
	uint64_t left = word;

	fprintf(file, "\"flags\": {");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const uint64_t mask = ((uint64_t)1 << flags[i].bits) - 1;
		const uint64_t value = word >> flags[i].bit & mask;

		left &= ~(mask << flags[i].bit);
		if (value == 0)
			continue;
		fprintf(file, "%s\"%s\": %llu", between, flags[i].name, (unsigned long long)value);
		between = ", ";
	}
	fprintf(file, "}, ");
	if (left != 0)
		fprintf(file, "\"reserved_flags\": \"0x%llx\", ", (unsigned long long)left);
}

/* How far bytes are set beyond the last field that is known here. */
static uint32_t beyond(const struct shape *shape)
{
	uint32_t end = shape->have;

	while (end > sizeof(shape->attr) && shape->raw[end - 1] == 0)
		end--;
	return end > sizeof(shape->attr) ? end : 0;
}

/* ----------------------------------------------------------------------------------- the calls */

static void put_requests(FILE *file, const struct shape *shape)
{
	static const char *const names[REQUESTS] = {
		"ENABLE", "DISABLE", "REFRESH", "RESET", "PERIOD", "SET_OUTPUT", "SET_FILTER", "ID",
		"SET_BPF", "PAUSE_OUTPUT", "QUERY_BPF", "MODIFY_ATTRIBUTES",
	};
	const char *between = "";

	fprintf(file, "\"requests\": {");
	for (size_t i = 0; i < REQUESTS; i++) {
		if (shape->requests[i] == 0)
			continue;
		fprintf(file, "%s\"%s\": {\"calls\": %u, \"failed\": %u", between, names[i],
			shape->requests[i], shape->failed[i]);
		if (shape->failed[i] > 0)
			fprintf(file, ", \"errno\": \"%s\"",
				pm_errno_name(shape->request_error[i]));
		fprintf(file, "}");
		between = ", ";
	}
	fprintf(file, "}");
}

static void put_call(FILE *file, const struct shape *shape, bool first)
{
	fprintf(file, "%s\n  {\"attr\": {", first ? "" : ",");
	put_event(file, shape);
	put_fields(file, shape);
	put_flags(file, shape);
	if (beyond(shape) > 0)
		fprintf(file, "\"beyond\": %u, ", beyond(shape));
	fprintf(file, "\"size\": %u},\n   \"target\": \"%s\", \"cpus\": %u, \"on_cpu\": %s, "
		"\"group\": %s, \"open_flags\": %llu, \"narrow\": %s,\n   ", shape->size,
		target_word(shape->target), cpus_of(shape), shape->on_cpu ? "true" : "false",
		shape->grouped ? "true" : "false", (unsigned long long)shape->flags,
		shape->narrow ? "true" : "false");
	fprintf(file, "\"calls\": %u, \"opened\": %u, \"unseen\": %u, ", shape->calls,
		shape->opened, shape->unseen);
	if (shape->pretended > 0)
		fprintf(file, "\"pretended\": %u, ", shape->pretended);
	json_errors(file, shape);
	fprintf(file, ",\n   \"rings\": %llu, \"pages\": %llu, ", (unsigned long long)shape->rings,
		(unsigned long long)shape->most_pages);
	if (shape->map_error.count > 0)
		fprintf(file, "\"ring_errno\": \"%s\", ", pm_errno_name(shape->map_error.error));
	put_requests(file, shape);
	fprintf(file, "}");
}

void write_recording(FILE *file)
{
	fprintf(file, "{\"format\": 1, \"kind\": \"recording\",\n");
	put_machine(file);
	fprintf(file, " \"beyond\": %llu,\n \"calls\": [", (unsigned long long)shapes.beyond);
	for (size_t i = 0; i < shapes.count; i++)
		put_call(file, shapes.list[i], i == 0);
	fprintf(file, "]}\n");
}
