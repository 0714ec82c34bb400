/* SPDX-License-Identifier: MIT */
/*
 * Whether a filter of system calls may wake a tracer, held against the kernel: a child without a
 * tracer sets the filter, and a call that was to wake one ends with ENOSYS.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../explain/numbers.c"
#include "../explain/own_filter.c"

#define FILTERS 1000
#define MOST_CODE 24
#define CALLS_MADE 24

static unsigned int state = 1;

static unsigned int draw(unsigned int below)
{
	state = state * 1103515245u + 12345u;
	return (state >> 8) % below;
}

/* Values that a filter compares with, and that arguments have. */
static uint32_t draw_value(void)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 64, 200, 0x2400, 0x80000000u, SECCOMP_RET_TRACE, SECCOMP_RET_ALLOW,
		__NR_perf_event_open, __NR_close, __NR_ioctl, NATIVE,
	};

	return values[draw(sizeof(values) / sizeof(values[0]))];
}

static struct sock_filter draw_code(unsigned int left)
{
	static const uint16_t jumps_[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	static const uint16_t sums[] = { BPF_ADD, BPF_SUB, BPF_OR, BPF_AND, BPF_XOR };
	static const uint32_t answers[] = {
		SECCOMP_RET_ALLOW, SECCOMP_RET_TRACE, SECCOMP_RET_TRACE | 7,
		SECCOMP_RET_ERRNO | EPERM,
	};
	const uint16_t source = draw(4) ? BPF_K : BPF_X;

	switch (draw(12)) {
	case 0: case 1: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * draw(16));
	case 2: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	case 3: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, draw_value());
	case 4: return (struct sock_filter)BPF_STMT(BPF_ST, draw(16));
	case 5: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, draw(16));
	case 6: return (struct sock_filter)BPF_STMT(BPF_ALU | sums[draw(5)] | source, draw_value());
	case 7: return (struct sock_filter)BPF_STMT(BPF_MISC | (draw(2) ? BPF_TAX : BPF_TXA), 0);
	case 8: return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answers[draw(4)]);
	case 9: return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, draw_value());
	default: return (struct sock_filter)BPF_JUMP(BPF_JMP | jumps_[draw(4)] | source,
			draw_value(), (uint8_t)draw(left), (uint8_t)draw(left));
	}
}

/* As the kernel takes it: no jump leaves it, it ends with an answer, and nothing is read unset. */
static size_t draw_filter(struct sock_filter *code)
{
	const size_t count = 3 + draw(MOST_CODE - 3);

	for (size_t i = 0; i + 1 < count; i++)
		code[i] = draw_code((unsigned int)(count - 1 - i));
	code[count - 1] = (struct sock_filter)BPF_STMT(BPF_RET | (draw(3) ? BPF_K : BPF_A),
		draw(2) ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW);
	return count;
}

struct outcome {
	int set, done, woke;
};

static _Noreturn void try_filter(struct sock_filter *code, size_t count, struct outcome *ret)
{
	static const int numbers[] = { __NR_perf_event_open, __NR_close, __NR_ioctl };
	struct sock_fprog program = { (unsigned short)count, code };
	uint32_t args[CALLS_MADE][6];

	for (size_t i = 0; i < sizeof(args) / sizeof(args[0][0]); i++)
		args[i / 6][i % 6] = draw_value();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	ret->set = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
	for (size_t i = 0; ret->set && i < CALLS_MADE; i++) {
		const uint32_t *arg = args[i];
		const long got = syscall(numbers[i % 3], (unsigned long)arg[0], arg[1],
					 arg[2], arg[3], arg[4], arg[5]);

		ret->woke |= got == -1 && errno == ENOSYS;
	}
	__atomic_store_n(&ret->done, 1, __ATOMIC_RELEASE);
	for (;;)
		;		/* the filter may not let it end */
}

static void run_filter(struct sock_filter *code, size_t count, struct outcome *ret)
{
	pid_t child;

	memset(ret, 0, sizeof(*ret));
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		try_filter(code, count, ret);
	while (!__atomic_load_n(&ret->done, __ATOMIC_ACQUIRE) && waitpid(child, NULL, WNOHANG) == 0)
		(void)sched_yield();
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

static void test_what_the_kernel_wakes_for_is_foretold(void **context)
{
	struct outcome *outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int set = 0, woke = 0, never = 0;

	(void)context;
	assert_true(outcome != MAP_FAILED);
	for (unsigned int i = 0; i < FILTERS; i++) {
		struct sock_filter code[MOST_CODE];
		size_t count;
		bool foretold;

		state = i * 7919 + 1;
		count = draw_filter(code);
		foretold = filter_may_wake(code, count);
		run_filter(code, count, outcome);
		if (outcome->woke && !foretold)
			print_message("filter %u woke, and that was not foretold\n", i);
		assert_true(!outcome->woke || foretold);
		set += (unsigned int)outcome->set;
		woke += (unsigned int)outcome->woke;
		never += !foretold;
	}
	(void)munmap(outcome, sizeof(*outcome));
	print_message("%u of %u were set, %u woke, %u cannot\n", set, FILTERS, woke, never);
	if (set == 0)
		skip();		/* no filters here */
	assert_true(set > FILTERS / 4 && woke > FILTERS / 10 && never > FILTERS / 20);
}

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define MACHINE BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch))
#define ARGUMENT(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[at]))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define IS(value, over) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, over)

#define assert_wakes(expected, ...) do { \
	const struct sock_filter code[] = { __VA_ARGS__ }; \
	assert_int_equal(filter_may_wake(code, sizeof(code) / sizeof(code[0])), expected); \
} while (0)

static void test_sandboxes_are_told_from_tracers(void **context)
{
	(void)context;
	/* as libseccomp makes them: the machine, then numbers */
	assert_wakes(false, MACHINE, IS(NATIVE, 3), NUMBER, IS(__NR_ptrace, 1),
		     ANSWER(SECCOMP_RET_ERRNO | EPERM), ANSWER(SECCOMP_RET_ALLOW));
	/* calls that are not looked at alone */
	assert_wakes(false, NUMBER, IS(__NR_getpid, 1), ANSWER(SECCOMP_RET_TRACE),
		     ANSWER(SECCOMP_RET_ALLOW));
	/* one that is, whatever its arguments */
	assert_wakes(true, NUMBER, IS(__NR_openat, 1), ANSWER(SECCOMP_RET_TRACE),
		     ANSWER(SECCOMP_RET_ALLOW));
	assert_wakes(true, NUMBER, IS(__NR_openat, 3), ARGUMENT(2), IS(77, 1),
		     ANSWER(SECCOMP_RET_TRACE | 3), ANSWER(SECCOMP_RET_ALLOW));
	assert_wakes(true, ANSWER(SECCOMP_RET_TRACE));
	/* what it answers is calculated */
	assert_wakes(true, ARGUMENT(0), BPF_STMT(BPF_RET | BPF_A, 0));
	assert_wakes(false, BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW),
		     BPF_STMT(BPF_RET | BPF_A, 0));
	/* on another machine, where no call is looked at */
	assert_wakes(false, MACHINE, IS(1, 1), ANSWER(SECCOMP_RET_TRACE),
		     ANSWER(SECCOMP_RET_ALLOW));
	/* it does not end, and jumps out of itself */
	assert_wakes(false, NUMBER, BPF_STMT(BPF_JMP | BPF_JA, 0xffffffffu));
	assert_wakes(false, NUMBER);
	assert_false(filter_may_wake(NULL, 0));
}

#define VALUE(value) BPF_STMT(BPF_LD | BPF_IMM, value)
#define OVER(count) BPF_STMT(BPF_JMP | BPF_JA, count)

static void test_what_registers_hold_is_followed(void **context)
{
	(void)context;
	/* two ways meet, with two values or one */
	assert_wakes(true, ARGUMENT(0), IS(5, 2), VALUE(1), OVER(1), VALUE(2), IS(2, 1),
		     ANSWER(SECCOMP_RET_TRACE), ANSWER(SECCOMP_RET_ALLOW));
	assert_wakes(false, ARGUMENT(0), IS(5, 2), VALUE(1), OVER(1), VALUE(1), IS(2, 1),
		     ANSWER(SECCOMP_RET_TRACE), ANSWER(SECCOMP_RET_ALLOW));
	/* a number that is calculated, with what is known and what is not */
	assert_wakes(false, VALUE(1), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 2), IS(3, 1),
		     ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_TRACE));
	assert_wakes(true, ARGUMENT(0), BPF_STMT(BPF_MISC | BPF_TAX, 0), VALUE(1),
		     BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0), IS(1, 1),
		     ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_TRACE));
	/* from one register into the other, and back */
	assert_wakes(true, NUMBER, BPF_STMT(BPF_MISC | BPF_TAX, 0), VALUE(0),
		     BPF_STMT(BPF_MISC | BPF_TXA, 0), IS(__NR_openat, 1),
		     ANSWER(SECCOMP_RET_TRACE), ANSWER(SECCOMP_RET_ALLOW));
	assert_wakes(true, NUMBER, BPF_STMT(BPF_LDX | BPF_IMM, __NR_openat),
		     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1), ANSWER(SECCOMP_RET_TRACE),
		     ANSWER(SECCOMP_RET_ALLOW));
	/* what was kept may be anything */
	assert_wakes(true, VALUE(1), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_MEM, 3), IS(1, 1),
		     ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_TRACE));
}

/* The kernel would refuse it; it is read before, and the sanitizers see what is read and where. */
static void test_what_is_no_filter_is_read_within_bounds(void **context)
{
	static struct sock_filter code[FILTER_MOST];
	unsigned int wakes = 0;

	(void)context;
	for (unsigned int i = 0; i < 20000; i++) {
		const size_t count = i % 100 == 0 ? FILTER_MOST : draw(64);

		for (size_t at = 0; at < count; at++)
			code[at] = (struct sock_filter){ (uint16_t)draw(0x200), (uint8_t)draw(256),
				(uint8_t)draw(256), draw(4) ? draw_value() : draw(0xffffff) * 256 };
		wakes += filter_may_wake(code, count);
		(void)filter_answer(code, count);
	}
	assert_false(filter_may_wake(code, FILTER_MOST + 1));
	assert_true(wakes > 0 && wakes < 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandboxes_are_told_from_tracers),
		cmocka_unit_test(test_what_registers_hold_is_followed),
		cmocka_unit_test(test_what_is_no_filter_is_read_within_bounds),
		cmocka_unit_test(test_what_the_kernel_wakes_for_is_foretold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
