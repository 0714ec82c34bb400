/* SPDX-License-Identifier: MIT */
/* Instructions that trap, tried without harm to the program; and counters whose page lies. */
#include "counter_test.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../policy/count/trial.h"

#define TIMES 200

static unsigned int reached;

static void pass(void *context)
{
	(void)context;
	reached++;
}

/* As the kernel raises it for an instruction: the signal cannot wait. */
static void fault(void *context)
{
	reached++;
	(void)raise(*(const int *)context);
	reached += 100;
}

static char *nowhere;		/* memory that may not be written */

static void write_nowhere(void *context)
{
	(void)context;
	*(volatile char *)nowhere = 1;
}

static void each_signal(void **state)
{
	const int signals[] = { SIGSEGV, SIGILL, SIGBUS };

	(void)state;
	reached = 0;
	assert_true(pm_trial(pass, NULL));
	assert_int_equal(reached, 1);	/* the memory is shared */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		assert_false(pm_trial(fault, (void *)(uintptr_t)&signals[i]));
	assert_int_equal(reached, 4);
	assert_false(pm_trial(write_nowhere, NULL));
}

/* --------------------------------------------------------------------------- the program itself */

static volatile sig_atomic_t handled;

static void count_signal(int signal)
{
	(void)signal;
	handled++;
}

static void program_notices_nothing(void **state)
{
	const int signals[] = { SIGSEGV, SIGCHLD };
	const struct sigaction action = { .sa_handler = count_signal };
	struct sigaction before[2], now;
	sigset_t mask, before_mask, later;

	(void)state;
	handled = 0;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(sigaction(signals[i], &action, &before[i]), 0);
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &mask, &before_mask), 0);
	assert_true(pm_trial(pass, NULL));
	assert_false(pm_trial(write_nowhere, NULL));
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before_mask, &later), 0);
	for (int i = 1; i < SIGRTMIN; i++)
		assert_int_equal(sigismember(&later, i), i == SIGUSR2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(sigaction(signals[i], &before[i], &now), 0);
		assert_ptr_equal(now.sa_handler, count_signal);
	}
	assert_int_equal(handled, 0);
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);	/* nobody is left to wait for */
	assert_int_equal(errno, ECHILD);
}

static void *try_often(void *wrong)
{
	for (unsigned int i = 0; i < TIMES; i++)
		*(unsigned int *)wrong += !pm_trial(pass, NULL) + pm_trial(write_nowhere, NULL);
	return NULL;
}

static void from_several_threads(void **state)
{
	pthread_t threads[4];
	unsigned int wrong[4] = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, try_often, &wrong[i]), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(wrong[0] + wrong[1] + wrong[2] + wrong[3], 0);
}

/* ---------------------------------------------------------------------- in a process of its own */

#define NOT_HERE 77

/* What a child answers, or 128 and the signal that ended it. */
static int in_child(int (*work)(void))
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(work());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int without_children(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return NOT_HERE;
	return pm_trial(pass, NULL);
}

static void sandbox_without_children(void **state)
{
	int answer = in_child(without_children);

	(void)state;
	if (answer == NOT_HERE)
		skip();
	assert_int_equal(answer, 0);
}

static void read_bare(void *unused)
{
	uint64_t value;

	(void)unused;
	(void)pm_registers.counter(0, &value);
}

static void read_cycles(void *unused)
{
	uint64_t value;

	(void)unused;
	(void)pm_registers.cycles(&value);
}

static int read_bare_here(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	(void)sigaction(SIGSEGV, &action, NULL);	/* without the sanitizer's report */
	read_bare(NULL);
	return 0;
}

/* This machine's own instruction: the trial says what a process finds that does without. */
static void bare_instruction(void **state)
{
	(void)state;
	if (pm_registers.counter == NULL)
		skip();
	assert_int_equal(pm_trial(read_bare, NULL), in_child(read_bare_here) == 0);
}

#if defined(__x86_64__) || defined(__i386__)
static int read_cycles_here(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	(void)sigaction(SIGSEGV, &action, NULL);	/* without the sanitizer's report */
	read_cycles(NULL);
	return 0;
}

/* Not here, too, where the kernel forbids it and it works: some virtual machines are so. */
static int without_tsc(void)
{
	bool with = pm_trial(read_cycles, NULL), without;

	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0 || in_child(read_cycles_here) == 0)
		return NOT_HERE;
	without = pm_trial(read_cycles, NULL);
	(void)prctl(PR_SET_TSC, PR_TSC_ENABLE);
	return with && !without ? 0 : 1;
}

static void forbidden_tsc(void **state)
{
	int answer = in_child(without_tsc);

	(void)state;
	if (answer == NOT_HERE)
		skip();
	assert_int_equal(answer, 0);
}
#else
static void forbidden_tsc(void **state)
{
	(void)state;
	(void)read_cycles;
	skip();
}
#endif

/* ------------------------------------------------------------------------------------- counters */

static const struct pm_event_spec cycles = SPEC(0, 0);
static struct perf_event_mmap_page page = {
	.lock = 2, .index = 1, .offset = 1000, .pmc_width = 48,
};
static bool traps;

static bool count_or_trap(uint32_t index, uint64_t *ret)
{
	if (traps)
		write_nowhere(NULL);
	*ret = 23;
	return index == 0;
}

static bool trap_or_tick(uint64_t *ret)
{
	*ret = 0;
	return count_or_trap(0, ret);
}

static void start(const struct pm_registers *machine, bool machine_traps)
{
	traps = machine_traps;
	registers = machine;
	fake_kernel.on = fake_kernel.mappable = true;
	fake_kernel.page = &page;
	page.cap_bit0_is_deprecated = page.cap_user_rdpmc = 1;
	page.cap_user_time = 0;
	assert_int_equal(open_specs(&cycles, 1, 0), 0);
}

static bool is_readable(void)
{
	const bool is = counters->counters[0].page != NULL;

	pm_counters_destroy(counters);
	counters = NULL;
	return is;
}

static void page_that_promises(void **state)
{
	static const struct pm_registers machine = { count_or_trap, trap_or_tick };

	(void)state;
	start(&machine, false);
	assert_true(is_readable());
	start(&machine, true);
	assert_false(is_readable());
	page.index = 0;			/* nothing tried, so nothing known */
	start(&machine, false);
	assert_false(is_readable());
	page.index = 1;
}

static bool just_count(uint32_t index, uint64_t *ret)
{
	*ret = 23;
	return index == 0;
}

/* Of the page's two instructions only the clock's traps. */
static void clock_that_traps(void **state)
{
	static const struct pm_registers machine = { just_count, trap_or_tick };

	(void)state;
	start(&machine, true);
	assert_true(is_readable());	/* without a clock in the page */
	page.time_offset = 5;
	page.cap_user_time = 1;
	traps = true;
	assert_int_equal(open_specs(&cycles, 1, 0), 0);
	assert_false(is_readable());
}

/* A hypervisor's kernel may offer what its machine does not have: this machine's instruction. */
static void page_over_this_machine(void **state)
{
	(void)state;
	if (pm_registers.counter == NULL)
		skip();
	start(&pm_registers, false);
	assert_int_equal(is_readable(), in_child(read_bare_here) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_signal), cmocka_unit_test(program_notices_nothing),
		cmocka_unit_test(from_several_threads), cmocka_unit_test(sandbox_without_children),
		cmocka_unit_test(bare_instruction), cmocka_unit_test(forbidden_tsc),
		TEST(page_that_promises), TEST(clock_that_traps), TEST(page_over_this_machine),
	};

	fake_kernel.on = false;
	nowhere = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (nowhere == MAP_FAILED)
		return 4;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
