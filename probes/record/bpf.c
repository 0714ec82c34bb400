/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring report BPF programs as they come and go: KSYMBOL for the compiled code, BPF_EVENT
 * for the program? Without them samples in compiled BPF code have no name.
 * Observed: the smallest program is loaded and closed; its tag links the two kinds of record.
 * Linux 76193a94522f ("perf, bpf: Introduce PERF_RECORD_KSYMBOL") (v5.1)
 * Linux 6ee52e2a3fe4 ("perf, bpf: Introduce PERF_RECORD_BPF_EVENT") (v5.1)
 */
#include "probe.h"
#include "bpf.h"

#include <stdio.h>

PROBE(TITLE("BPF programs in the ring")
      SINCE("5.1")
      NEEDS("bpf")
      ALONE("programs that others load are reported, too")
      POINT(load, "loading gives one BPF_EVENT of type load, with id and tag")
      COMMIT("6ee52e2a3fe4")
      POINT(unload, "the last close gives one BPF_EVENT of type unload with the same tag")
      POINT(ksymbol, "compiled code is reported by KSYMBOL, named bpf_prog_ and the tag")
      COMMIT("76193a94522f")
      POINT(ksymbol_unregister, "and taken back by KSYMBOL marked UNREGISTER"))

/* A program that is attached to nothing. */
static int must_load(void)
{
	return must_load_empty(BPF_PROG_TYPE_SOCKET_FILTER);
}

static struct sampler watch_bpf(bool ksymbol, bool bpf_event)
{
	struct perf_event_attr attr = attr_sideband(), without = attr;

	attr.ksymbol = ksymbol;
	attr.bpf_event = bpf_event;
	return ask_run_sampler(&attr, &without, 0, -1, 4, ksymbol ? "ksymbol" : "bpf_event");
}

/* Load, and find the record of it. */
static int load_seen(struct sampler *sampler, struct pm_record *ret)
{
	int fd = must_load();

	if (!find_record(sampler, PERF_RECORD_BPF_EVENT, ret))
		say_broken("no BPF_EVENT after loading a program");
	if (ret->bpf_event.bpf_type != PERF_BPF_EVENT_PROG_LOAD || !ret->bpf_event.id)
		say_broken("type=%u id=%u want=1 and an id", ret->bpf_event.bpf_type,
			   ret->bpf_event.id);
	return fd;
}

TEST(load)
{
	struct sampler sampler = watch_bpf(false, true);
	struct pm_record record;
	char path[64], line[512], want[32];
	int fd = load_seen(&sampler, &record);

	snprintf(want, sizeof(want), "%02x%02x%02x%02x%02x%02x%02x%02x", record.bpf_event.tag[0],
		 record.bpf_event.tag[1], record.bpf_event.tag[2], record.bpf_event.tag[3],
		 record.bpf_event.tag[4], record.bpf_event.tag[5], record.bpf_event.tag[6],
		 record.bpf_event.tag[7]);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (pm_read_text(path, line, sizeof(line)) > 0 && strstr(line, "prog_tag:") &&
	    !strstr(line, want))
		say_broken("tag=%s is not the program's", want);
}

TEST(unload)
{
	struct sampler sampler = watch_bpf(false, true);
	struct pm_record record;
	int fd = load_seen(&sampler, &record);
	uint8_t tag[8];

	memcpy(tag, record.bpf_event.tag, 8);
	close(fd);
	if (!find_record(&sampler, PERF_RECORD_BPF_EVENT, &record))
		say_broken("no BPF_EVENT after the last close");
	if (record.bpf_event.bpf_type != PERF_BPF_EVENT_PROG_UNLOAD ||
	    memcmp(tag, record.bpf_event.tag, 8))
		say_broken("type=%u want=2 with the same tag", record.bpf_event.bpf_type);
}

/* The setting says so, or is not there, as in kernels without a compiler for BPF. */
static bool is_interpreted(void)
{
	char jit[8] = "";
	int error = pm_read_text("/proc/sys/net/core/bpf_jit_enable", jit, sizeof(jit));

	return error == -ENOENT ? access("/proc/sys/net/core", F_OK) == 0 : !strcmp(jit, "0");
}

static int must_see_symbol(struct sampler *sampler)
{
	struct pm_record record;
	int fd = must_load();
	bool seen = find_record(sampler, PERF_RECORD_KSYMBOL, &record);

	/* Of an interpreted program some kernels tell the interpreter's address, and no length. */
	if ((!seen || !record.ksymbol.len) && is_interpreted())
		say_absent("BPF is interpreted here: bpf_jit_enable is 0 or not there");
	if (!seen)
		say_broken("no KSYMBOL");
	if (record.ksymbol.ksym_type != PERF_RECORD_KSYMBOL_TYPE_BPF || !record.ksymbol.addr ||
	    !record.ksymbol.len || record.ksymbol.flags)
		say_broken("type=%u addr=%#" PRIx64 " len=%u flags=%u", record.ksymbol.ksym_type,
			   record.ksymbol.addr, record.ksymbol.len, record.ksymbol.flags);
	if (strncmp(record.ksymbol.name, "bpf_prog_", 9))
		say_broken("name=%.80s", record.ksymbol.name);
	return fd;
}

TEST(ksymbol)
{
	struct sampler sampler = watch_bpf(true, false);

	must_see_symbol(&sampler);
}

TEST(ksymbol_unregister)
{
	struct sampler sampler = watch_bpf(true, false);
	struct pm_record record;

	close(must_see_symbol(&sampler));
	if (!find_record(&sampler, PERF_RECORD_KSYMBOL, &record))
		say_broken("no KSYMBOL after the last close");
	if (!(record.ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		say_broken("flags=%u want=1", record.ksymbol.flags);
}

PROBE_MAIN
