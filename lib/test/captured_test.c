/* SPDX-License-Identifier: MIT */
/*
 * Streams of real kernels, recorded by capture.c together with what it did: the decoder must find
 * exactly that in them.
 */
#include "test.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char samples[] =
#include "data/samples-6.18-x86_64.inc"
	;
static const char sideband[] =
#include "data/sideband-6.18-x86_64.inc"
	;

/* ------------------------------------------------------------------------------------ the text */

/* The line after `line`, or the first one for NULL; NULL at the end. */
static const char *next_line(const char *text, const char *line)
{
	if (line == NULL)
		return text;
	line = strchr(line, '\n');
	return line[1] ? line + 1 : NULL;
}

static bool is_key(const char *line, const char *key)
{
	size_t len = strlen(key);

	return strncmp(line, key, len) == 0 && line[len] == '=';
}

/* The value of the `nth` line with this key. */
static uint64_t number(const char *text, const char *key, unsigned int nth)
{
	for (const char *line = NULL; (line = next_line(text, line)) != NULL;)
		if (is_key(line, key) && nth-- == 0)
			return strtoull(line + strlen(key) + 1, NULL, 0);
	fail_msg("no %s", key);
	return 0;
}

static struct pm_format format_of(const char *text)
{
	return (struct pm_format){
		.sample_type = number(text, "sample_type", 0),
		.read_format = number(text, "read_format", 0),
		.sample_regs_user = number(text, "sample_regs_user", 0),
		.sample_regs_intr = number(text, "sample_regs_intr", 0),
		.sample_id_all = number(text, "sample_id_all", 0),
	};
}

/* The bytes of a "record=" line, freed by the caller. */
static void *bytes_of(const char *line)
{
	const char *hex = line + strlen("record=");
	size_t size = strcspn(hex, "\n") / 2;
	unsigned char *bytes = malloc(size);

	for (size_t i = 0; i < size; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = (unsigned char)byte;
	}
	return bytes;
}

/* Calls `each` for every record of the stream, decoded; returns how many there were. */
static unsigned int decode_stream(const char *text,
				  void (*each)(const struct pm_record *rec, unsigned int nth))
{
	struct pm_format format = format_of(text);
	unsigned int count = 0;

	for (const char *line = NULL; (line = next_line(text, line)) != NULL;) {
		struct pm_record rec;
		void *bytes;

		if (!is_key(line, "record"))
			continue;
		bytes = bytes_of(line);
		assert_int_equal(pm_record_decode(bytes, &format, &rec), 0);
		assert_int_equal(rec.trailing, 0);
		each(&rec, count++);
		free(bytes);
	}
	return count;
}

/* --------------------------------------------------------------------------------- page faults */

/* Place of the instruction pointer among x86 registers. */
#define REG_IP 8

static void check_sample(const struct pm_record *rec, unsigned int nth)
{
	const struct pm_sample *s = &rec->sample;
	const uint64_t addr = number(samples, "addr", nth);

	assert_int_equal(rec->type, PERF_RECORD_SAMPLE);
	assert_int_equal(rec->misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
	assert_int_equal(s->sid.pid, number(samples, "pid", 0));
	assert_int_equal(s->sid.tid, number(samples, "tid", 0));
	assert_int_equal(s->sid.id, number(samples, "id", 0));
	assert_in_range(s->sid.time, number(samples, "begin", 0), number(samples, "end", 0));
	assert_int_equal(s->sid.cpu_reserved, 0);
	assert_true(s->addr == addr);
	assert_int_equal(s->period, 1);
	assert_int_equal(s->read.nr, 2);
	assert_int_equal(s->read.member[0].id, number(samples, "id", 0));
	assert_int_equal(s->read.member[1].id, number(samples, "member", 0));
	assert_int_equal(s->read.member[0].value, nth + 1);
	assert_int_equal(s->read.member[0].lost, 0);
	assert_true(s->read.time_enabled >= s->read.time_running && s->read.time_running > 0);
	assert_true(s->callchain_nr >= 2);
	assert_true(s->callchain[0] == PERF_CONTEXT_USER);
	assert_true(s->callchain[1] == s->ip);
	assert_int_equal(s->regs_user_abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(s->regs_user_nr, 9);
	assert_true(s->regs_user[REG_IP] == s->ip);
	assert_int_equal(s->regs_intr_nr, 1);
	assert_true(s->regs_intr[0] == s->ip);
	assert_int_equal(s->stack_user_size, 64);
	assert_int_equal(s->stack_user_dyn_size, 64);
	/* the program asked for one page after the other, each touched a little further in */
	assert_true(s->phys_addr == 0 || s->phys_addr % 4096 == addr % 4096);
	assert_true(s->data_page_size == 0 || s->data_page_size == 4096);
	assert_int_equal(s->code_page_size, 4096);
	assert_true(s->cgroup != 0);
}

static void page_faults(void **state)
{
	(void)state;
	if (number(samples, "little_endian", 0) != IS_LITTLE_ENDIAN)
		skip();
	assert_int_equal(decode_stream(samples, check_sample), 12);
}

/* ----------------------------------------------------------------------------------- side band */

static unsigned int comms, maps, forks, switches_out, switches_in, others;

static void check_sideband(const struct pm_record *rec, unsigned int nth)
{
	const uint32_t pid = (uint32_t)number(sideband, "pid", 0);
	const uint32_t child = (uint32_t)number(sideband, "child", 0);

	(void)nth;
	assert_true(rec->sid.pid == pid || rec->sid.pid == child);
	assert_int_equal(rec->sid.id, number(sideband, "id", 0));
	assert_int_equal(rec->sid.stream_id, rec->sid.id);
	assert_int_equal(rec->sid.cpu_reserved, 0);
	assert_in_range(rec->sid.time, number(sideband, "begin", 0), number(sideband, "end", 0));
	if (rec->type == PERF_RECORD_COMM) {
		assert_string_equal(rec->comm.comm, "captured-name");
		assert_int_equal(rec->comm.tid, number(sideband, "tid", 0));
		comms++;
	} else if (rec->type == PERF_RECORD_MMAP2) {
		assert_true(rec->mmap.addr == number(sideband, "map", 0));
		assert_int_equal(rec->mmap.len, 8192);
		assert_int_equal(rec->mmap.pgoff, 4096);
		assert_int_equal(rec->mmap.prot, 5);	/* read and execute */
		assert_int_equal(rec->mmap.flags, 2);	/* private */
		assert_non_null(strstr(rec->mmap.filename, "bin/true"));
		maps++;
	} else if (rec->type == PERF_RECORD_FORK) {
		assert_int_equal(rec->task.pid, child);
		assert_int_equal(rec->task.tid, child);
		assert_int_equal(rec->task.ppid, pid);
		assert_int_equal(rec->task.ptid, pid);
		assert_true(rec->task.time <= rec->sid.time + 1000000);
		forks++;
	} else if (rec->type == PERF_RECORD_SWITCH) {
		if (rec->misc & PERF_RECORD_MISC_SWITCH_OUT)
			switches_out++;
		else
			switches_in++;
	} else {
		others++;
	}
}

static void side_band(void **state)
{
	(void)state;
	if (number(sideband, "little_endian", 0) != IS_LITTLE_ENDIAN)
		skip();
	(void)decode_stream(sideband, check_sideband);
	assert_int_equal(comms, 1);
	assert_int_equal(maps, 1);
	assert_int_equal(forks, 1);
	assert_true(switches_out >= 1);
	assert_int_equal(switches_out, switches_in);
	assert_int_equal(others, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_faults),
		cmocka_unit_test(side_band),
	};

	return cmocka_run_group_tests_name("captured", tests, NULL, NULL);
}
