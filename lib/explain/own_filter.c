/* SPDX-License-Identifier: MIT */
/*
 * What a filter of system calls answers: classic BPF as seccomp(2) takes it. It comes from the
 * program and may be anything: nothing is read beyond it, and it ends, as there are no jumps
 * backward.
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

/* It is run over the call with all arguments 0. */
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

/* ------------------------------------------------------------------- whatever the arguments are */

struct value {
	bool known;
	uint32_t is;
};

/* An instruction, and what is in the registers on all ways to it. */
struct point {
	bool reached;
	struct value a, x;
};

static struct point points[FILTER_MOST];

static void reach(size_t count, size_t at, struct value a, struct value x)
{
	struct point *point = at < count ? &points[at] : NULL;

	if (point == NULL)
		return;
	if (!point->reached) {
		*point = (struct point){ true, a, x };
		return;
	}
	point->a.known &= a.known && a.is == point->a.is;
	point->x.known &= x.known && x.is == point->x.is;
}

/* What is kept in between may be anything, and so may arguments and the address of the call. */
static struct value loads(const struct sock_filter *code, uint32_t arch, int nr)
{
	const struct value none = { false, 0 };

	switch (BPF_MODE(code->code)) {
	case BPF_IMM: return (struct value){ true, code->k };
	case BPF_LEN: return (struct value){ true, sizeof(struct seccomp_data) };
	case BPF_ABS:
		if (code->k == offsetof(struct seccomp_data, nr))
			return (struct value){ true, (uint32_t)nr };
		return code->k == offsetof(struct seccomp_data, arch) ?
			(struct value){ true, arch } : none;
	default: return none;
	}
}

static void reach_jumps(const struct sock_filter *code, size_t count, size_t at)
{
	const struct point now = points[at];
	const struct value by = BPF_SRC(code->code) == BPF_X ? now.x :
		(struct value){ true, code->k };
	const bool known = now.a.known && by.known;
	const bool taken = known && jumps(now.a.is, code->code, by.is);

	if (BPF_OP(code->code) == BPF_JA) {
		reach(count, at + 1 + code->k, now.a, now.x);
		return;
	}
	if (!known || taken)
		reach(count, at + 1 + code->jt, now.a, now.x);
	if (!known || !taken)
		reach(count, at + 1 + code->jf, now.a, now.x);
}

static void reach_next(const struct sock_filter *code, size_t count, size_t at,
		       uint32_t arch, int nr)
{
	struct value a = points[at].a, x = points[at].x;
	const struct value by = BPF_SRC(code->code) == BPF_X ? x : (struct value){ true, code->k };

	switch (BPF_CLASS(code->code)) {
	case BPF_JMP: reach_jumps(code, count, at); return;
	case BPF_LD: a = loads(code, arch, nr); break;
	case BPF_LDX: x = loads(code, arch, nr); break;
	case BPF_ALU:
		a.known &= by.known || BPF_OP(code->code) == BPF_NEG;
		a.is = calculated(a.is, code->code, by.is);
		break;
	case BPF_MISC:
		if (BPF_MISCOP(code->code) == BPF_TAX)
			x = a;
		else
			a = x;
		break;
	default: break;			/* what is stored is not kept here */
	}
	reach(count, at + 1, a, x);
}

static bool may_wake(const struct sock_filter *code, size_t count, uint32_t arch, int nr)
{
	const struct value zero = { true, 0 };

	memset(points, 0, count * sizeof(points[0]));
	reach(count, 0, zero, zero);
	for (size_t at = 0; at < count; at++) {
		const bool by_a = BPF_RVAL(code[at].code) == BPF_A;

		if (!points[at].reached)
			continue;
		if (BPF_CLASS(code[at].code) != BPF_RET) {
			reach_next(&code[at], count, at, arch, nr);
			continue;
		}
		if (by_a && !points[at].a.known)
			return true;
		if (((by_a ? points[at].a.is : code[at].k) & FILTER_ACTION) == SECCOMP_RET_TRACE)
			return true;
	}
	return false;
}

bool filter_may_wake(const struct sock_filter *code, size_t count)
{
	for (size_t i = 0; i < call_number_count && count <= FILTER_MOST; i++)
		for (int which = 0; which < CALLS; which++)
			if (call_numbers[i].nr[which] >= 0 &&
			    may_wake(code, count, call_numbers[i].arch, call_numbers[i].nr[which]))
				return true;
	return false;
}
