/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does what a BPF program sends arrive in the ring? perf_event_output() is how BPF tracers talk to
 * user space. Observed: a socket filter of six instructions that sends 8 bytes for each packet of
 * a socket pair, and the raw data of the samples. Needs a kernel that lets socket filters send.
 * Linux 7c4b90d79d0f ("bpf: Allow bpf_skb_event_output for a few prog types") (v5.6)
 */
#include "probe.h"
#include "bpf.h"

#include <sys/socket.h>

PROBE(TITLE("what BPF programs write")
      SINCE("4.4")
      NEEDS("bpf")
      NEEDS("root")
      POINT(arrives, "5 packets give 5 samples with the program's 8 bytes, on the event in the map")
      SINCE("5.6"))

#define EVENT_OUTPUT 25		/* the helper's number, v4.4 */
#define VALUE 0x11223344

/* send(context, map, element 0, &VALUE as 8 bytes, 8); accept the packet */
static int load_sender(int map)
{
	const struct bpf_insn code[] = {
		INSN(BPF_ST | BPF_DW | BPF_MEM, BPF_REG_10, 0, -8, VALUE),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_5, 0, 0, 8),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, EVENT_OUTPUT),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return bpf_load(BPF_PROG_TYPE_SOCKET_FILTER, code, sizeof(code) / sizeof(*code));
}

/* A map with that event as its only element. */
static int must_hold_event(int event)
{
	union bpf_attr make = { .map_type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .key_size = 4,
				.value_size = 4, .max_entries = 1 };
	int map = bpf_order(BPF_MAP_CREATE, &make), error;
	union bpf_attr put = { .map_fd = map };
	uint32_t key = 0, value = event;

	if (map == -EINVAL && must_counter() >= 0)
		say_no("no maps of events: EINVAL, while others can be made");
	bpf_needed(map, "BPF_MAP_CREATE");
	put.key = (uintptr_t)&key;
	put.value = (uintptr_t)&value;
	error = bpf_order(BPF_MAP_UPDATE_ELEM, &put);
	if (error == -EINVAL)
		say_broken("an event cannot be put into a map of events: EINVAL");
	bpf_needed(error, "BPF_MAP_UPDATE_ELEM");
	return map;
}

/* A filter that sends. Refused, while one that does not is taken, it is a "no". */
static int ask_sender(int map)
{
	int program = load_sender(map);

	if ((program == -EINVAL || program == -EACCES) &&
	    must_load_empty(BPF_PROG_TYPE_SOCKET_FILTER) >= 0)
		say_no("%s: socket filters may not send, but maps take the event",
		       pm_errno_name(program));
	return bpf_needed(program, "BPF_PROG_LOAD");
}

TEST(arrives)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_BPF_OUTPUT), control;
	int cpu = move_to_nth_cpu(0), pair[2], samples = 0;
	struct pm_record record;
	struct sampler sampler;
	uint64_t value;
	int program;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	control = attr;
	control.config = PERF_COUNT_SW_PAGE_FAULTS;
	sampler = ask_sampler(&attr, &control, -1, cpu, 2, "bpf-output event");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	program = ask_sender(must_hold_event(sampler.fd));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	if (setsockopt(pair[0], SOL_SOCKET, 50 /* SO_ATTACH_BPF */, &program, 4) < 0)
		say_unknown("SO_ATTACH_BPF: %s", pm_errno_name(-errno));
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(1, write(pair[1], "x", 1));
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		if (record.sample.raw_size < sizeof(value))
			say_broken("raw size=%u want>=8", record.sample.raw_size);
		memcpy(&value, record.sample.raw, sizeof(value));
		if (value != VALUE)
			say_broken("raw data=%#" PRIx64 " want=%#x", value, VALUE);
		samples++;
	}
	if (samples != 5)
		say_broken("samples=%d want=5", samples);
}

PROBE_MAIN
