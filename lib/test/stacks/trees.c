/* SPDX-License-Identifier: MIT */
/*
 * A program with call trees that are known: it goes into the one that its argument names, writes
 * "ready" and the calls of it, innermost first, and stays there, in a loop or asleep.
 *
 *   trees recursion|tail|signal|dlopen|vdso|leaf|jit|jitloop|thread|altstack|deep
 *
 * TREES_LIBRARY is the library that is opened late, TREES_NICE how nice the program is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((noinline, noclone))

static volatile unsigned long turns;
static volatile int done;	/* never set: but no compiler knows that spin() stays */

/* Said once, from inside, so that whoever waits for it finds the tree as it says. */
static void ready(const char *calls)
{
	static bool said;

	if (said)
		return;
	said = true;
	printf("ready %d %s\n", (int)getpid(), calls);
	fflush(stdout);
}

void spin(const char *calls);
SHOWN void spin(const char *calls)
{
	ready(calls);
	while (!done)
		turns++;
}

/* ----------------------------------------------------------------------------------- the trees */

int recurse(int depth);
SHOWN int recurse(int depth)
{
	if (depth == 0)
		spin("spin recurse recurse recurse recurse recurse main");
	return recurse(depth - 1) + (int)turns;
}

int deep(int depth);
SHOWN int deep(int depth)
{
	volatile char room[128] = { (char)depth };

	if (depth == 0)
		spin("spin deep");
	return deep(depth - 1) + room[depth & 127];
}

/* The caller of a tail call is gone, as in gdb. */
int tail_last(int x);
SHOWN int tail_last(int x)
{
	spin("spin tail_last outer main");
	return x;
}

int tail_first(int x);
SHOWN __attribute__((optimize("O2", "optimize-sibling-calls"))) int tail_first(int x)
{
	return tail_last(x + 1);
}

int outer(int x);
SHOWN int outer(int x)
{
	return tail_first(x) + (int)turns;
}

/* No frame pointer, and a stack pointer that moves by the value of an argument's size. */
int leaf(int x);
SHOWN __attribute__((optimize("O2", "omit-frame-pointer"))) int leaf(int x)
{
	volatile int room[61];

	room[x & 31] = x;
	spin("spin leaf no_pointer main");
	return room[x & 31];
}

int no_pointer(int x);
SHOWN __attribute__((optimize("O2", "omit-frame-pointer"))) int no_pointer(int x)
{
	volatile long room[17];

	room[x & 15] = leaf(x);
	return (int)room[x & 15];
}

void on_signal(int signo);
SHOWN void on_signal(int signo)
{
	(void)signo;
	spin("spin on_signal ? interrupted main");
}

void interrupted(void);
SHOWN void interrupted(void)
{
	for (;;)
		turns++;
}

static void by_signal(int flags)
{
	const struct itimerspec soon = { .it_value = { .tv_nsec = 50000000 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &soon, NULL);
}

static void on_altstack(void)
{
	static char memory[65536];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };

	sigaltstack(&stack, NULL);
	by_signal(SA_ONSTACK);
}

/* Half of its time, or so, in the vDSO. */
long in_vdso(void);
SHOWN long in_vdso(void)
{
	struct timespec now;
	long sum = 0;

	ready("? in_vdso main");
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sum += now.tv_nsec;
	}
	return sum;
}

/* qsort of the C library stands between. */
int compare(const void *a, const void *b);
SHOWN int compare(const void *a, const void *b)
{
	(void)a, (void)b;
	spin("spin compare ?");
	return 0;
}

void by_library(void);
SHOWN void by_library(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	int (*late)(void (*)(const char *)) = NULL;
	const char *own = getenv("TREES_LIBRARY");

	if (own != NULL)
		library = dlopen(own, RTLD_NOW);
	if (library != NULL)
		*(void **)&late = dlsym(library, "late");
	if (late != NULL)
		late(spin);
}

/*
 * Code that was made at run time, with a frame pointer and a line in a perf map. It calls, and goes
 * back, or stays after that in a loop of its own.
 */
void by_jit(bool stays);
SHOWN void by_jit(bool stays)
{
#if defined(__x86_64__)
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf0, 0xff, 0xd0,
					      0x5d, 0xc3 };
	static const unsigned char here[] = { 0xeb, 0xfe };
	const size_t after_call = 9;
#elif defined(__aarch64__)
	/* stp x29,x30,[sp,#-16]!; mov x29,sp; blr x1; ldp x29,x30,[sp],#16; ret */
	static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd,
					 0xd65f03c0 };
	static const uint32_t here[] = { 0x14000000 };
	const size_t after_call = 12;
#elif defined(__powerpc64__)
	/* mflr r0; std r0,16(r1); stdu r1,-32(r1); mr r12,r4; mtctr r12; bctrl; addi r1,r1,32;
	 * ld r0,16(r1); mtlr r0; blr */
	static const uint32_t code[] = { 0x7c0802a6, 0xf8010010, 0xf821ffe1, 0x7c8c2378, 0x7d8903a6,
					 0x4e800421, 0x38210020, 0xe8010010, 0x7c0803a6,
					 0x4e800020 };
	static const uint32_t here[] = { 0x48000000 };
	const size_t after_call = 24;
#else
	static const unsigned char code[] = { 0 }, here[] = { 0 };
	const size_t after_call = 0;
#endif
	char *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*made)(const char *, void (*)(const char *));
	char path[64];
	FILE *map;

	memcpy(page, code, sizeof(code));
	if (stays)
		memcpy(page + after_call, here, sizeof(here));
	mprotect(page, 65536, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(page, page + sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (map == NULL || sizeof(code) == 1)
		exit(77);
	fprintf(map, "%lx %zx made_at_run_time\n", (unsigned long)page, sizeof(code));
	fclose(map);
	*(void **)&made = page;
	if (stays)
		made("made_at_run_time by_jit main", ready);
	else
		made("spin made_at_run_time by_jit main", spin);
}

void *thread(void *unused);
SHOWN void *thread(void *unused)
{
	spin("spin thread");
	return unused;
}

static void by_thread(void)
{
	pthread_t one;

	pthread_create(&one, NULL, thread, NULL);
	pthread_join(one, NULL);
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	int pair[2] = { 2, 1 };

	alarm(600);
	if (getenv("TREES_NICE") != NULL)
		(void)setpriority(PRIO_PROCESS, 0, atoi(getenv("TREES_NICE")));
	if (strcmp(which, "recursion") == 0)
		return recurse(4);
	if (strcmp(which, "deep") == 0)
		return deep(argc > 2 ? atoi(argv[2]) : 2000);
	if (strcmp(which, "tail") == 0)
		return outer(1);
	if (strcmp(which, "leaf") == 0)
		return no_pointer(3);
	if (strcmp(which, "vdso") == 0)
		return (int)in_vdso();
	if (strcmp(which, "library") == 0)
		qsort(pair, 2, sizeof(pair[0]), compare);
	else if (strcmp(which, "dlopen") == 0)
		by_library();
	else if (strcmp(which, "jit") == 0)
		by_jit(false);
	else if (strcmp(which, "jitloop") == 0)
		by_jit(true);
	else if (strcmp(which, "thread") == 0)
		by_thread();
	else if (strcmp(which, "signal") == 0)
		by_signal(0);
	else if (strcmp(which, "altstack") == 0)
		on_altstack();
	else
		return 2;
	interrupted();
	return 0;
}
