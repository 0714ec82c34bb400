// SPDX-License-Identifier: MIT
// A BPF program is loaded: does its PERF_RECORD_KSYMBOL (17) tell where it is, with its length?
// Exit: 0 yes, 1 no length, 4 cannot tell: refused (it takes root), or no record.
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ksymbol {
	struct perf_event_header header;
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
};

int main(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 2,
		.insns = (uintptr_t)code, .license = (uintptr_t)"GPL", .prog_name = "shown",
	};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .sample_period = 1,
		.config = PERF_COUNT_SW_DUMMY, .ksymbol = 1,
	};
	int fd = -1;

	for (int cpu = 0; cpu < 64; cpu++) {	/* each has events of its own: only ours is asked */
		cpu_set_t one;

		memset(&one, 0, sizeof(one));
		((unsigned char *)&one)[cpu / 8] = (unsigned char)(1 << cpu % 8);
		if (syscall(__NR_sched_setaffinity, 0, sizeof(one), &one) == 0 &&
		    (fd = (int)syscall(__NR_perf_event_open, &attr, -1, cpu, -1, 0)) >= 0)
			break;
	}
	struct perf_event_mmap_page *ring =
		mmap(NULL, 5 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED || syscall(__NR_bpf, BPF_PROG_LOAD, &load, sizeof(load)) < 0)
		return perror("perf_event_open, mmap or bpf"), 4;
	struct ksymbol *record = (void *)((char *)ring + getpagesize());
	if (ring->data_head == 0 || record->header.type != PERF_RECORD_KSYMBOL)
		return puts("no record"), 4;
	printf("address %#llx, length %u\n", (unsigned long long)record->address, record->length);
	return record->length == 0;
}
