/* SPDX-License-Identifier: MIT */
/*
 * The whole way, live: a program faults pages in, a sample each, while its own session or perf(1)
 * reads: 100,000 a second for five seconds, which is the same rate for both, and long beside the
 * start of perf(1). What tells is the CPU time of the reader, and loss.
 *
 *   live [rounds]      live work: the program by itself, for perf(1)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../perfmodes.h"
#include "bench.h"

#define FAULTS 500000
#define BURST 1000
#define BURST_NS 10000000	/* so 5 s, of which a tenth is work */

static uint64_t samples;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	samples += sample->address != 1;
}

static void cause_faults(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (int left = FAULTS; left > 0; left -= BURST) {
		const struct timespec rest = { 0, BURST_NS };
		char *area = mmap(NULL, BURST * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED)
			bench_fail("mmap", errno);
		madvise(area, BURST * page, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < BURST; i++)
			((volatile char *)area)[i * page] = 1;
		munmap(area, BURST * page);
		nanosleep(&rest, NULL);
	}
}

static void *read_records(void *session)
{
	uint64_t begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);

	(void)pm_session_run(session);
	return (void *)(uintptr_t)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin);
}

static void say(const char *subject, uint64_t cpu, uint64_t delivered)
{
	bench_say("live, CPU time of the reader", subject, "ns a fault", (double)cpu / FAULTS);
	bench_say("live, faults without a sample", subject, "%",
		  delivered < FAULTS ? 100.0 * (double)(FAULTS - delivered) / FAULTS : 0.0);
}

static void measure_ours(void)
{
	const struct pm_event_spec faults = { .size = sizeof(faults), .type = 1, .config = 5,
					      .period = 1, .tid = PM_ALL_THREADS,
					      .want = PM_WANT_ADDRESS };
	const struct pm_session_opts opts = { .size = sizeof(opts), .ring_pages = 128 };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;
	pthread_t reader;
	void *cpu;

	if (pm_plan_make(&faults, 1, &opts, NULL, &diag, &plan) < 0)
		bench_fail(diag.text, ENOTSUP);
	session = pm_session_create(plan, &listener, NULL);
	if (session == NULL || pm_session_attach(session, &diag) < 0)
		bench_fail(diag.text, ENOTSUP);
	pthread_create(&reader, NULL, read_records, session);
	samples = 0;
	cause_faults();
	pm_session_interrupt(session);
	pthread_join(reader, &cpu);
	say("perfmodes", (uintptr_t)cpu, samples);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ---------------------------------------------------------------------------------- perf record */

/* Says what CPU time, in ns, the parent took meanwhile, which is perf(1). */
static int work(void)
{
	clockid_t clock;
	uint64_t begin;

	if (clock_getcpuclockid(getppid(), &clock) != 0)
		return 1;
	begin = bench_clock(clock);
	cause_faults();
	printf("%llu\n", (unsigned long long)(bench_clock(clock) - begin));
	return 0;
}

static uint64_t count_samples(const char *file)
{
	char command[256], line[256];
	uint64_t count = 0;
	FILE *report;

	snprintf(command, sizeof(command), "perf report --stats -i %s 2>/dev/null", file);
	report = popen(command, "r");
	while (report != NULL && fgets(line, sizeof(line), report) != NULL)
		if (strstr(line, "SAMPLE events:") != NULL && count == 0)
			count = strtoull(strchr(line, ':') + 1, NULL, 10);
	if (report != NULL)
		pclose(report);
	return count;
}

static void run_perf(const char *self, const char *file, int out)
{
	dup2(out, 1);
	(void)!freopen("/dev/null", "w", stderr);
	execlp("perf", "perf", "record", "-q", "-B", "-N", "-e", "minor-faults", "-c", "1", "-d",
	       "-m", "128", "-o", file, self, "work", (char *)NULL);
	_exit(127);
}

/* Its own CPU time in ns while the program worked; 0: it could not run. */
static uint64_t time_perf(const char *self, const char *file)
{
	unsigned long long cpu = 0;
	char text[64] = "";
	int ends[2], status;
	pid_t pid;

	if (pipe(ends) != 0)
		bench_fail("pipe", errno);
	pid = fork();
	if (pid < 0)
		bench_fail("fork", errno);
	if (pid == 0)
		run_perf(self, file, ends[1]);
	close(ends[1]);
	if (waitpid(pid, &status, 0) != pid || status != 0 ||
	    read(ends[0], text, sizeof(text) - 1) <= 0 || sscanf(text, "%llu", &cpu) != 1)
		cpu = 0;
	close(ends[0]);
	return cpu;
}

static void measure_perf(const char *self)
{
	char file[] = "/tmp/perfmodes-bench-XXXXXX";
	int fd = mkstemp(file);
	uint64_t cpu;

	if (fd < 0)
		bench_fail("a file", errno);
	cpu = time_perf(self, file);
	if (cpu > 0)
		say("perf record to a file", cpu, count_samples(file));
	else
		fprintf(stderr, "bench: perf record cannot run here\n");
	close(fd);
	unlink(file);
}

int main(int argc, char **argv)
{
	unsigned int rounds;

	if (argc > 1 && strcmp(argv[1], "work") == 0)
		return work();
	rounds = bench_argument(argc, argv, 1, 3);
	for (unsigned int i = 0; i < rounds; i++) {
		measure_ours();
		measure_perf(argv[0]);
	}
	return 0;
}
