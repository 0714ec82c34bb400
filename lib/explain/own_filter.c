/* SPDX-License-Identifier: MIT */
/*
 * What a filter of system calls answers perf_event_open(2): classic BPF as seccomp(2) takes it,
 * run over the call with all arguments 0. It comes from the program and may be anything: nothing
 * is read beyond it, and it ends, as there are no jumps backward.
 */
#include "shape.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

struct machine {
	struct seccomp_data data;
	uint32_t a, x, mem[BPF_MEMWORDS];
};

static uint32_t word_at(const struct machine *machine, uint32_t offset)
{
	uint32_t ret = 0;

	if (offset <= sizeof(machine->data) - sizeof(ret))
		memcpy(&ret, (const char *)&machine->data + offset, sizeof(ret));
	return ret;
}

static uint32_t mem_at(const struct machine *machine, uint32_t at)
{
	return at < BPF_MEMWORDS ? machine->mem[at] : 0;
}

static uint32_t loaded(const struct machine *machine, const struct sock_filter *code)
{
	switch (BPF_MODE(code->code)) {
	case BPF_IMM: return code->k;
	case BPF_ABS: return word_at(machine, code->k);
	case BPF_MEM: return mem_at(machine, code->k);
	case BPF_LEN: return sizeof(machine->data);
	default: return 0;
	}
}

static uint32_t calculated(uint32_t a, uint16_t op, uint32_t by)
{
	switch (BPF_OP(op)) {
	case BPF_ADD: return a + by;
	case BPF_SUB: return a - by;
	case BPF_MUL: return a * by;
	case BPF_DIV: return by != 0 ? a / by : 0;
	case BPF_OR: return a | by;
	case BPF_AND: return a & by;
	case BPF_LSH: return by < 32 ? a << by : 0;
	case BPF_RSH: return by < 32 ? a >> by : 0;
	case BPF_NEG: return -a;
	case BPF_XOR: return a ^ by;
	default: return a;
	}
}

static bool jumps(uint32_t a, uint16_t op, uint32_t by)
{
	switch (BPF_OP(op)) {
	case BPF_JEQ: return a == by;
	case BPF_JGT: return a > by;
	case BPF_JGE: return a >= by;
	default: return (a & by) != 0;		/* BPF_JSET */
	}
}

/* One instruction. Returns how many to leave out. */
static size_t step(struct machine *machine, const struct sock_filter *code)
{
	const uint32_t by = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;

	switch (BPF_CLASS(code->code)) {
	case BPF_LD: machine->a = loaded(machine, code); break;
	case BPF_LDX: machine->x = loaded(machine, code); break;
	case BPF_ST: machine->mem[code->k % BPF_MEMWORDS] = machine->a; break;
	case BPF_STX: machine->mem[code->k % BPF_MEMWORDS] = machine->x; break;
	case BPF_ALU: machine->a = calculated(machine->a, code->code, by); break;
	case BPF_JMP:
		if (BPF_OP(code->code) == BPF_JA)
			return code->k;
		return jumps(machine->a, code->code, by) ? code->jt : code->jf;
	default:
		if (BPF_MISCOP(code->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
	}
	return 0;
}

uint32_t filter_answer(const struct sock_filter *code, size_t count)
{
	struct machine machine = { .data = { .nr = call_numbers[0].nr[CALL_OPEN],
					     .arch = call_numbers[0].arch } };

	for (size_t at = 0; at < count; at++) {
		if (BPF_CLASS(code[at].code) == BPF_RET)
			return BPF_RVAL(code[at].code) == BPF_A ? machine.a : code[at].k;
		at += step(&machine, &code[at]);
	}
	return SECCOMP_RET_ALLOW;
}
