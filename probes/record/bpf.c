/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring report BPF programs as they come and go: KSYMBOL for the compiled code, BPF_EVENT
 * for the program? Without them samples in compiled BPF code have no name.
 * Observed: the smallest program is loaded and closed. Id, tag, name, address and length in the
 * records are compared with what BPF_OBJ_GET_INFO_BY_FD says.
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
      POINT(load, "loading a program gives BPF_EVENT of type load with the program's id and tag")
      COMMIT("6ee52e2a3fe4")
      POINT(unload, "the last close of a program gives BPF_EVENT of type unload with the same tag")
      POINT(ksymbol, "KSYMBOL has the address, length and name (bpf_prog_ and the tag) of compiled "
		     "code")
      COMMIT("76193a94522f")
      POINT(ksymbol_unregister,
	    "the last close of a program gives the same KSYMBOL marked UNREGISTER"))

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

/* What the kernel says about a program: where its code is, to those who may know addresses. */
struct program {
	struct bpf_prog_info info;
	uint64_t address;
	char tag[20];
};

static struct program must_ask(int fd)
{
	struct program ret = { .address = 0 };
	union bpf_attr order = { .info.bpf_fd = fd, .info.info_len = sizeof(ret.info) };

	ret.info.nr_jited_ksyms = 1;
	ret.info.jited_ksyms = (uintptr_t)&ret.address;
	order.info.info = (uintptr_t)&ret.info;
	bpf_needed(bpf_order(BPF_OBJ_GET_INFO_BY_FD, &order), "BPF_OBJ_GET_INFO_BY_FD");
	for (int i = 0; i < 8; i++)
		snprintf(ret.tag + 2 * i, 3, "%02x", ret.info.tag[i]);
	return ret;
}

/* Load a program and compare the record with it. */
static int load_seen(struct sampler *sampler, struct program *ret)
{
	struct pm_record record;
	int fd = must_load();

	*ret = must_ask(fd);
	do
		if (!find_record(sampler, PERF_RECORD_BPF_EVENT, &record))
			say_broken("no BPF_EVENT of type load with id %u", ret->info.id);
	while (record.bpf_event.bpf_type != PERF_BPF_EVENT_PROG_LOAD ||
	       record.bpf_event.id != ret->info.id);
	if (memcmp(record.bpf_event.tag, ret->info.tag, 8) || record.bpf_event.flags)
		say_broken("tag=%02x%02x.. want=%s, flags=%u", record.bpf_event.tag[0],
			   record.bpf_event.tag[1], ret->tag, record.bpf_event.flags);
	return fd;
}

TEST(load)
{
	struct sampler sampler = watch_bpf(false, true);
	struct pm_record record;
	struct program program;

	load_seen(&sampler, &program);
	while (find_record(&sampler, PERF_RECORD_BPF_EVENT, &record))
		if (record.bpf_event.bpf_type == PERF_BPF_EVENT_PROG_LOAD &&
		    record.bpf_event.id == program.info.id)
			say_broken("a second record of program %u", program.info.id);
}

/*
 * Who asks for each new program, as perf record does for its names, may be the one who closes it
 * last, and has the record then: so some programs are tried.
 */
#define PROGRAMS 10

static bool find_unload(struct sampler *sampler, const struct program *program)
{
	struct pm_record record;

	while (find_record(sampler, PERF_RECORD_BPF_EVENT, &record))
		if (record.bpf_event.bpf_type == PERF_BPF_EVENT_PROG_UNLOAD &&
		    !memcmp(program->info.tag, record.bpf_event.tag, 8))
			return true;
	return false;
}

TEST(unload)
{
	struct sampler sampler = watch_bpf(false, true);
	struct program program;

	for (int i = 0; i < PROGRAMS; i++) {
		close(load_seen(&sampler, &program));
		if (find_unload(&sampler, &program))
			return;
	}
	say_broken("no BPF_EVENT of type unload with tag %s, of %d programs", program.tag,
		   PROGRAMS);
}

/* The setting says so, or is not there, as in kernels without a compiler for BPF. */
static bool is_interpreted(void)
{
	char jit[8] = "";
	int error = pm_read_text("/proc/sys/net/core/bpf_jit_enable", jit, sizeof(jit));

	return error == -ENOENT ? access("/proc/sys/net/core", F_OK) == 0 : !strcmp(jit, "0");
}

/* The record of a program's code, registered or unregistered; false when there is none. */
static bool find_symbol(struct sampler *sampler, const struct program *program, bool gone)
{
	struct pm_record record;
	char name[32];

	snprintf(name, sizeof(name), "bpf_prog_%s", program->tag);
	do
		if (!find_record(sampler, PERF_RECORD_KSYMBOL, &record))
			return false;
	while (strncmp(record.ksymbol.name, name, strlen(name)) ||
	       record.ksymbol.flags != (gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0));
	/* Some kernels tell the interpreter's address for an interpreted program, and no length. */
	if (!record.ksymbol.len && is_interpreted())
		return false;
	if (record.ksymbol.ksym_type != PERF_RECORD_KSYMBOL_TYPE_BPF || !record.ksymbol.addr ||
	    (program->address && record.ksymbol.addr != program->address))
		say_broken("type=%u want=1, addr=%#" PRIx64 " want=%#" PRIx64,
			   record.ksymbol.ksym_type, record.ksymbol.addr, program->address);
	if (!record.ksymbol.len ||
	    (program->info.jited_prog_len && record.ksymbol.len != program->info.jited_prog_len))
		say_broken("len=%u want=%u", record.ksymbol.len, program->info.jited_prog_len);
	return true;
}

static int must_see_symbol(struct sampler *sampler, struct program *ret)
{
	int fd = must_load();

	*ret = must_ask(fd);
	if (find_symbol(sampler, ret, false))
		return fd;
	if (is_interpreted())
		say_absent("BPF is interpreted here: bpf_jit_enable is 0 or not there");
	say_broken("no KSYMBOL bpf_prog_%s after loading it", ret->tag);
}

TEST(ksymbol)
{
	struct sampler sampler = watch_bpf(true, false);
	struct program program;

	must_see_symbol(&sampler, &program);
	if (find_symbol(&sampler, &program, false))
		say_broken("two KSYMBOL records of one program");
}

TEST(ksymbol_unregister)
{
	struct sampler sampler = watch_bpf(true, false);
	struct program program;

	for (int i = 0; i < PROGRAMS; i++) {
		close(must_see_symbol(&sampler, &program));
		if (find_symbol(&sampler, &program, true))
			return;
	}
	say_broken("no KSYMBOL bpf_prog_%s marked UNREGISTER after the last close, of %d programs",
		   program.tag, PROGRAMS);
}

PROBE_MAIN
