/* SPDX-License-Identifier: MIT */
/* The bodies of all record types but SAMPLE, and what must come out of them. */
#ifndef RECORD_KINDS_H
#define RECORD_KINDS_H

#include "builder.h"

static struct builder b;
static struct pm_record rec;

static void body_mmap(void)
{
	put32(&b, 1);
	put32(&b, 2);
	put64(&b, 0x7000);
	put64(&b, 0x2000);
	put64(&b, 0x1000);
	put_text(&b, "/usr/lib/libc.so.6");
}

static void check_mmap(void)
{
	assert_int_equal(rec.mmap.pid, 1);
	assert_int_equal(rec.mmap.tid, 2);
	assert_int_equal(rec.mmap.addr, 0x7000);
	assert_int_equal(rec.mmap.len, 0x2000);
	assert_int_equal(rec.mmap.pgoff, 0x1000);
	assert_string_equal(rec.mmap.filename, "/usr/lib/libc.so.6");
	assert_null(rec.mmap.build_id);
}

static void body_mmap2(void)
{
	put32(&b, 1);
	put32(&b, 2);
	put64(&b, 0x7000);
	put64(&b, 0x2000);
	put64(&b, 0x1000);
	put32(&b, 8);
	put32(&b, 3);
	put64(&b, 4711);
	put64(&b, 4712);
	put32(&b, 5);
	put32(&b, 6);
	put_text(&b, "/usr/lib/libc.so.6");
}

static void check_mmap2(void)
{
	check_mmap();
	assert_int_equal(rec.mmap.maj, 8);
	assert_int_equal(rec.mmap.min, 3);
	assert_int_equal(rec.mmap.ino, 4711);
	assert_int_equal(rec.mmap.ino_generation, 4712);
	assert_int_equal(rec.mmap.prot, 5);
	assert_int_equal(rec.mmap.flags, 6);
	assert_int_equal(rec.mmap.build_id_size, 0);
}

static void body_lost(void)
{
	put64(&b, 1);
	put64(&b, 2);
}

static void check_lost(void)
{
	assert_int_equal(rec.lost.id, 1);
	assert_int_equal(rec.lost.lost, 2);
}

static void body_comm(void)
{
	put32(&b, 1);
	put32(&b, 2);
	put_text(&b, "sixteen_letters");
}

static void check_comm(void)
{
	assert_int_equal(rec.comm.pid, 1);
	assert_int_equal(rec.comm.tid, 2);
	assert_string_equal(rec.comm.comm, "sixteen_letters");
}

static void body_task(void)
{
	put32(&b, 1);
	put32(&b, 2);
	put32(&b, 3);
	put32(&b, 4);
	put64(&b, 5);
}

static void check_task(void)
{
	assert_int_equal(rec.task.pid, 1);
	assert_int_equal(rec.task.ppid, 2);
	assert_int_equal(rec.task.tid, 3);
	assert_int_equal(rec.task.ptid, 4);
	assert_int_equal(rec.task.time, 5);
}

static void body_throttle(void)
{
	put64(&b, 1);
	put64(&b, 2);
	put64(&b, 3);
}

static void check_throttle(void)
{
	assert_int_equal(rec.throttle.time, 1);
	assert_int_equal(rec.throttle.id, 2);
	assert_int_equal(rec.throttle.stream_id, 3);
}

static void body_read(void)
{
	put32(&b, 1);
	put32(&b, 2);
	put64(&b, 3);
	put64(&b, 4);
}

static void check_read(void)
{
	assert_int_equal(rec.read.pid, 1);
	assert_int_equal(rec.read.tid, 2);
	assert_int_equal(rec.read.counts.nr, 1);
	assert_int_equal(rec.read.counts.member[0].value, 3);
	assert_int_equal(rec.read.counts.member[0].id, 4);
}

static void check_aux(void)
{
	assert_int_equal(rec.aux.offset, 1);
	assert_int_equal(rec.aux.size, 2);
	assert_int_equal(rec.aux.flags, 3);
}

static void body_pair(void)
{
	put32(&b, 1);
	put32(&b, 2);
}

static void check_itrace_start(void)
{
	assert_int_equal(rec.itrace_start.pid, 1);
	assert_int_equal(rec.itrace_start.tid, 2);
}

static void body_word(void)
{
	put64(&b, 0x1122334455667788);
}

static void check_lost_samples(void)
{
	assert_true(rec.lost_samples.lost == 0x1122334455667788);
}

static void body_nothing(void)
{
}

static void check_nothing(void)
{
}

static void check_switch_cpu_wide(void)
{
	assert_int_equal(rec.switch_cpu_wide.next_prev_pid, 1);
	assert_int_equal(rec.switch_cpu_wide.next_prev_tid, 2);
}

static void body_namespaces(void)
{
	put32(&b, 1);
	put32(&b, 2);
	put64(&b, 3);
	for (uint64_t i = 0; i < 6; i++)
		put64(&b, 10 + i);
}

static void check_namespaces(void)
{
	const struct perf_ns_link_info *entries = rec.namespaces.entries;

	assert_int_equal(rec.namespaces.pid, 1);
	assert_int_equal(rec.namespaces.tid, 2);
	assert_int_equal(rec.namespaces.nr, 3);
	assert_int_equal(entries[0].dev, 10);
	assert_int_equal(entries[2].ino, 15);
}

static void body_ksymbol(void)
{
	put64(&b, 0x7000);
	put32(&b, 2);
	put16(&b, 3);
	put16(&b, 4);
	put_text(&b, "bpf_prog_1234");
}

static void check_ksymbol(void)
{
	assert_int_equal(rec.ksymbol.addr, 0x7000);
	assert_int_equal(rec.ksymbol.len, 2);
	assert_int_equal(rec.ksymbol.ksym_type, 3);
	assert_int_equal(rec.ksymbol.flags, 4);
	assert_string_equal(rec.ksymbol.name, "bpf_prog_1234");
}

static void body_bpf_event(void)
{
	put16(&b, 1);
	put16(&b, 2);
	put32(&b, 3);
	put(&b, "TAGtagXY", 8);
}

static void check_bpf_event(void)
{
	assert_int_equal(rec.bpf_event.bpf_type, 1);
	assert_int_equal(rec.bpf_event.flags, 2);
	assert_int_equal(rec.bpf_event.id, 3);
	assert_memory_equal(rec.bpf_event.tag, "TAGtagXY", 8);
}

static void body_cgroup(void)
{
	put64(&b, 99);
	put_text(&b, "/a/group");
}

static void check_cgroup(void)
{
	assert_int_equal(rec.cgroup.id, 99);
	assert_string_equal(rec.cgroup.path, "/a/group");
}

static void body_text_poke(void)
{
	put64(&b, 0x7000);
	put16(&b, 2);
	put16(&b, 5);
	put(&b, "ooNNNNN\0\0\0\0\0", 12);
}

static void check_text_poke(void)
{
	assert_int_equal(rec.text_poke.addr, 0x7000);
	assert_int_equal(rec.text_poke.old_len, 2);
	assert_int_equal(rec.text_poke.new_len, 5);
	assert_memory_equal(rec.text_poke.bytes, "ooNNNNN", 7);
}

static void check_hw_id(void)
{
	assert_true(rec.aux_output_hw_id.hw_id == 0x1122334455667788);
}

static void body_deferred(void)
{
	put64(&b, 1);
	put64(&b, 2);
	put64(&b, 3);
	put64(&b, 4);
}

static void check_deferred(void)
{
	assert_int_equal(rec.callchain_deferred.cookie, 1);
	assert_int_equal(rec.callchain_deferred.nr, 2);
	assert_int_equal(rec.callchain_deferred.ips[0], 3);
	assert_int_equal(rec.callchain_deferred.ips[1], 4);
}

static const struct kind {
	uint32_t type;
	void (*body)(void);
	void (*check)(void);
	bool text;	/* may lose padding and still be true */
} kinds[] = {
	{ PERF_RECORD_MMAP, body_mmap, check_mmap, true },
	{ PERF_RECORD_LOST, body_lost, check_lost, false },
	{ PERF_RECORD_COMM, body_comm, check_comm, true },
	{ PERF_RECORD_EXIT, body_task, check_task, false },
	{ PERF_RECORD_THROTTLE, body_throttle, check_throttle, false },
	{ PERF_RECORD_UNTHROTTLE, body_throttle, check_throttle, false },
	{ PERF_RECORD_FORK, body_task, check_task, false },
	{ PERF_RECORD_READ, body_read, check_read, false },
	{ PERF_RECORD_MMAP2, body_mmap2, check_mmap2, true },
	{ PERF_RECORD_AUX, body_throttle, check_aux, false },
	{ PERF_RECORD_ITRACE_START, body_pair, check_itrace_start, false },
	{ PERF_RECORD_LOST_SAMPLES, body_word, check_lost_samples, false },
	{ PERF_RECORD_SWITCH, body_nothing, check_nothing, false },
	{ PERF_RECORD_SWITCH_CPU_WIDE, body_pair, check_switch_cpu_wide, false },
	{ PERF_RECORD_NAMESPACES, body_namespaces, check_namespaces, false },
	{ PERF_RECORD_KSYMBOL, body_ksymbol, check_ksymbol, true },
	{ PERF_RECORD_BPF_EVENT, body_bpf_event, check_bpf_event, false },
	{ PERF_RECORD_CGROUP, body_cgroup, check_cgroup, true },
	{ PERF_RECORD_TEXT_POKE, body_text_poke, check_text_poke, true },
	{ PERF_RECORD_AUX_OUTPUT_HW_ID, body_word, check_hw_id, false },
	{ PERF_RECORD_CALLCHAIN_DEFERRED, body_deferred, check_deferred, false },
};

#endif
