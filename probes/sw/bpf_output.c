/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does what a BPF program sends arrive in the ring? perf_event_output() is how BPF tracers talk to
 * user space. Observed: a socket filter of six instructions that sends 8 bytes for each packet of
 * a socket pair, and the raw data of the samples. Needs a kernel that lets socket filters send.
 * Linux 7c4b90d79d0f ("bpf: Allow bpf_skb_event_output for a few prog types") (v5.6)
 */
#include "probe.h"
#include <linux/bpf.h>
#include <sys/socket.h>
#include <sys/syscall.h>

PROBE(TITLE("what BPF programs write")
      SINCE("4.4")
      NEEDS("bpf")
      NEEDS("root")
      POINT(arrives, "5 packets are 5 samples with the program's 8 bytes, on the event in the map")
      SINCE("5.6"))

#define EVENT_OUTPUT 25		/* the helper's number, v4.4 */
#define VALUE 0x11223344

static long bpf(int command, union bpf_attr *attr, size_t size)
{
	long result = syscall(SYS_bpf, command, attr, size);

	return result < 0 ? -errno : result;
}

static struct bpf_insn insn(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	return (struct bpf_insn){ .code = code, .dst_reg = dst, .src_reg = src, .off = off,
				  .imm = imm };
}

/* send(context, map, this CPU, &VALUE as 8 bytes, 8); accept the packet */
static long load_program(int map)
{
	const struct bpf_insn code[] = {
		insn(BPF_ST | BPF_DW | BPF_MEM, BPF_REG_10, 0, -8, VALUE),
		insn(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0, map),
		insn(0, 0, 0, 0, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_10, 0, 0),
		insn(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, -8),
		insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_5, 0, 0, 8),
		insn(BPF_JMP | BPF_CALL, 0, 0, 0, EVENT_OUTPUT),
		insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER };

	attr.insns = (uintptr_t)code;
	attr.insn_cnt = sizeof(code) / sizeof(*code);
	attr.license = (uintptr_t)"GPL";
	return bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static long make_map(int event)
{
	union bpf_attr make = { .map_type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .key_size = 4,
				.value_size = 4, .max_entries = 1 };
	long map = bpf(BPF_MAP_CREATE, &make, sizeof(make)), error;
	union bpf_attr put = { .map_fd = map };
	uint32_t key = 0, value = event;

	put.key = (uintptr_t)&key;
	put.value = (uintptr_t)&value;
	error = map < 0 ? map : bpf(BPF_MAP_UPDATE_ELEM, &put, sizeof(put));
	return error < 0 ? error : map;
}

TEST(arrives)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_BPF_OUTPUT), control;
	int cpu = move_to_nth_cpu(0), pair[2], samples = 0;
	struct pm_record record;
	struct watch watch;
	long map, program;
	uint64_t value;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	control = attr;
	control.config = PERF_COUNT_SW_PAGE_FAULTS;
	watch = ask_watch(&attr, &control, -1, cpu, 2, "bpf-output event");
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	map = make_map(watch.fd);
	if (map == -EPERM || map == -ENOSYS)
		say_blocked("bpf(2): %s", errno_name(map));
	if (map < 0)
		broken("an event cannot be put into a map: %s", errno_name(map));
	program = load_program(map);
	if (program == -EPERM)
		say_blocked("loading a program: %s", errno_name(program));
	if (program < 0)
		say_no("%s: socket filters may not send, but maps take the event",
		       errno_name(program));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	ASSERT_EQ(0, setsockopt(pair[0], SOL_SOCKET, 50 /* SO_ATTACH_BPF */, &program, 4));
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(1, write(pair[1], "x", 1));
	while (seek(&watch, PERF_RECORD_SAMPLE, &record)) {
		if (record.sample.raw_size < sizeof(value))
			broken("raw size=%u want>=8", record.sample.raw_size);
		memcpy(&value, record.sample.raw, sizeof(value));
		if (value != VALUE)
			broken("raw data=%#" PRIx64 " want=%#x", value, VALUE);
		samples++;
	}
	if (samples != 5)
		broken("samples=%d want=5", samples);
}

PROBE_MAIN
