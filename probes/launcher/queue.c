/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plan, and workers that carry it out. See queue.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"
#include "live.h"
#include "personas.h"
#include "plan.h"
#include "queue.h"
#include "regular.h"

#define WORKERS_MAX 8			/* more only wait for each other in the kernel */
#define JOBS_MAX 10000
#define APART 31			/* jobs of the plan between two that begin together */

struct job {
	const struct persona *persona;
	char id[PLAN_ID_SIZE];		/* empty: what the persona itself is like */
	enum beside beside;
	double seconds;			/* it is expected to take of the whole run */
};

struct worker {
	pid_t pid;
	int socket;
	int job;			/* in hand, or -1 */
};

struct answer {
	int job, status;
};

struct queue {
	const struct queue_options *options;
	struct job *jobs;
	int count, next;		/* jobs, and the first that nobody has taken */
	int *order;
	struct worker workers[WORKERS_MAX];
	int busy, finished, done_before;
	int status;			/* 0, or why no more is begun */
	struct live live;
	const struct job *shown;	/* there */
};

/* -------------------------------------------------------------------------- what is to be done */

/* Where a job's file is, below the results. */
static void file_of(const struct job *job, char *file, size_t size)
{
	if (job->id[0])
		snprintf(file, size, "%s/%s.ktap", job->persona->name, job->id);
	else
		snprintf(file, size, "%s/env", job->persona->name);
}

static void path_of(const struct queue *queue, const char *file, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", queue->options->results, file);
}

static bool planned(const struct queue *queue, const struct persona *persona, const char *id)
{
	for (int i = 0; i < queue->count; i++)
		if (queue->jobs[i].persona == persona && !strcmp(queue->jobs[i].id, id))
			return true;
	return false;
}

/* Add a job unless its file is there, or will be: two workers must not write the same one. */
static void add_job(struct queue *queue, const struct persona *persona, const char *id)
{
	struct job *job = &queue->jobs[queue->count];
	char file[160], path[4096];

	if (planned(queue, persona, id))
		return;
	job->persona = persona;
	snprintf(job->id, sizeof(job->id), "%s", id);
	job->beside = ANYTHING;
	file_of(job, file, sizeof(file));
	path_of(queue, file, path, sizeof(path));
	if (access(path, F_OK) == 0)
		queue->done_before += id[0] != '\0';
	else
		queue->count++;
}

static bool make_folder(const struct queue *queue, const char *persona)
{
	char path[4096];
	struct stat there;

	path_of(queue, persona, path, sizeof(path));
	if (mkdir(path, 0755) == 0)
		return true;
	if (errno == EEXIST && lstat(path, &there) == 0) {
		if (S_ISDIR(there.st_mode))
			return true;
		errno = ENOTDIR;	/* a link would lead out of the results */
	}
	fprintf(stderr, "launch: %s: %s\n", path, strerror(errno));
	return false;
}

/* Before the first probe of a persona comes the persona itself. */
static bool add_line(struct queue *queue, char *line, const struct persona **last)
{
	char id[PLAN_ID_SIZE];
	const struct persona *persona = plan_line(line, id);

	if (!persona)
		return false;
	if (persona != *last) {
		*last = persona;
		if (!make_folder(queue, persona->name))
			return false;
		add_job(queue, persona, "");
	}
	add_job(queue, persona, id);
	return true;
}

static bool read_plan(struct queue *queue)
{
	const struct persona *last = NULL;
	char path[4096], line[256];
	bool good = true;
	FILE *plan;

	path_of(queue, "plan", path, sizeof(path));
	plan = regular_open(path);
	queue->jobs = calloc(JOBS_MAX + 2, sizeof(*queue->jobs));
	if (!plan || !queue->jobs) {
		fprintf(stderr, "launch: %s: %s\n", path, strerror(errno));
		return false;
	}
	while (good && fgets(line, sizeof(line), plan)) {
		if (queue->count < JOBS_MAX) {
			good = add_line(queue, line, &last);
		} else {
			fprintf(stderr, "launch: %s: more than %d probes\n", path, JOBS_MAX);
			good = false;
		}
	}
	if (good && ferror(plan)) {
		fprintf(stderr, "launch: %s: %s\n", path, strerror(errno));
		good = false;
	}
	fclose(plan);
	return good;
}

static void declare(struct queue *queue, const char *id, enum beside beside)
{
	for (int i = 0; beside != ANYTHING && i < queue->count; i++)
		if (!strcmp(queue->jobs[i].id, id) && queue->jobs[i].beside != NOTHING)
			queue->jobs[i].beside = beside;
}

static void read_catalogue(struct queue *queue)
{
	char path[4096], line[4096], id[PLAN_ID_SIZE] = "";
	FILE *catalogue;

	path_of(queue, "catalogue", path, sizeof(path));
	catalogue = regular_open(path);
	while (catalogue && fgets(line, sizeof(line), catalogue)) {
		if (!strncmp(line, "id=", 3))
			sscanf(line, "id=%100s", id);
		declare(queue, id, plan_beside(line));
	}
	if (catalogue)
		fclose(catalogue);
}

/*
 * In the plan's order. With several at a time, jobs that must run alone come last, so that the
 * others wait for them once and not each time, and those that run one by one come first, so that
 * the rest runs beside them. Neighbours of the plan do not run side by side, as probes of one area
 * often wait for one lock.
 */
static bool put_in_order(struct queue *queue, int jobs)
{
	const int apart = jobs > 1 ? APART : 1, last = jobs > 1 ? NOTHING : NO_SECOND;
	int at = 0;

	queue->order = calloc(queue->count + 1, sizeof(*queue->order));
	for (int beside = NO_SECOND; queue->order && beside <= last; beside++)
		for (int first = 0; first < apart; first++)
			for (int i = first; i < queue->count; i += apart)
				if (jobs == 1 || (int)queue->jobs[i].beside == beside)
					queue->order[at++] = i;
	return queue->order;
}

/* ---------------------------------------------------------------------------------- a worker */

static int do_job(const struct queue *queue, const struct job *job)
{
	char file[160], out[4096], program[4096], flag[] = "--persona", *dot;
	char *arguments[] = { program, job->id[0] ? NULL : flag, NULL };

	file_of(job, file, sizeof(file));
	path_of(queue, file, out, sizeof(out));
	if (job->id[0]) {
		snprintf(program, sizeof(program), "%s/probes/%s", queue->options->programs,
			 job->id);
		dot = strrchr(program, '.');
		*dot = '/';
	} else {
		snprintf(program, sizeof(program), "%s/identify", queue->options->programs);
	}
	return supervise_run(&queue->options->bounds, job->persona, out, arguments);
}

static noreturn void work(const struct queue *queue, pid_t master, int socket)
{
	struct answer answer = { .status = 0 };

	if (supervise_prepare() < 0 || getppid() != master)
		_exit(3);
	while (!answer.status && read(socket, &answer.job, sizeof(int)) == sizeof(int)) {
		answer.status = do_job(queue, &queue->jobs[answer.job]);
		if (write(socket, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(answer.status);
}

static bool start_worker(struct queue *queue, int number)
{
	struct worker *worker = &queue->workers[number];
	const pid_t self = getpid();
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return false;
	worker->pid = fork();
	if (worker->pid == 0) {
		for (int i = 0; i < number; i++)
			close(queue->workers[i].socket);	/* or none would see its end */
		close(sockets[0]);
		work(queue, self, sockets[1]);
	}
	close(sockets[1]);
	worker->socket = sockets[0];
	worker->job = -1;
	return worker->pid > 0;
}

/* ---------------------------------------------------------------------------------- the master */

static void show_progress(struct queue *queue)
{
	if (queue->shown)
		live_show(&queue->live, queue->done_before + queue->next,
			  queue->shown->persona->name, queue->shown->id);
}

/*
 * What each job is expected to take: as long as in an earlier run, or as long as the others did
 * there. Jobs that run side by side share the time.
 */
static void expect_times(struct queue *queue, int workers)
{
	double sum = 0, each;
	char file[160];
	int known = 0;

	for (int i = 0; i < queue->count; i++) {
		file_of(&queue->jobs[i], file, sizeof(file));
		queue->jobs[i].seconds = live_spent(queue->options->like, file);
		known += queue->jobs[i].seconds >= 0;
		sum += queue->jobs[i].seconds >= 0 ? queue->jobs[i].seconds : 0;
	}
	each = known ? sum / known : 0.1;
	for (int i = 0; i < queue->count; i++) {
		struct job *job = &queue->jobs[i];

		job->seconds = (job->seconds >= 0 ? job->seconds : each) + 0.001;
		if (job->beside != NOTHING)
			job->seconds /= workers;
		queue->live.total += job->seconds;
	}
	queue->live.known = known && known * 2 >= queue->count;
	queue->live.all = queue->done_before + queue->count;
}

static bool runs(const struct queue *queue, enum beside beside)
{
	for (int i = 0; queue->busy && i < WORKERS_MAX; i++)
		if (queue->workers[i].pid > 0 && queue->workers[i].job >= 0 &&
		    queue->jobs[queue->workers[i].job].beside == beside)
			return true;
	return false;
}

/*
 * Move the job that is to begin to the front of those that nobody has taken: the first that has
 * nothing to wait for. When all that is left would wait for the one that runs, they wait together.
 */
static const struct job *choose(struct queue *queue)
{
	int *order = queue->order, at = queue->next, chosen;

	while (runs(queue, NO_SECOND) && at < queue->count &&
	       queue->jobs[order[at]].beside == NO_SECOND)
		at++;
	if (at == queue->count || queue->jobs[order[at]].beside == NOTHING)
		at = queue->next;
	chosen = order[at];
	memmove(order + queue->next + 1, order + queue->next, (at - queue->next) * sizeof(*order));
	order[queue->next] = chosen;
	return &queue->jobs[chosen];
}

/* Give a worker the next job. No job begins while one must run alone. */
static void hand_out(struct queue *queue, struct worker *worker)
{
	const struct job *job;

	if (queue->status || queue->next == queue->count || worker->job >= 0)
		return;
	job = choose(queue);
	if (runs(queue, NOTHING) || (queue->busy && job->beside == NOTHING))
		return;
	worker->job = queue->order[queue->next++];
	queue->busy++;
	queue->shown = job;
	show_progress(queue);
	if (send(worker->socket, &worker->job, sizeof(int), MSG_NOSIGNAL) >= 0 ||
	    errno == EPIPE || errno == ECONNRESET)
		return;			/* take_back() learns that a worker has exited */
	fprintf(stderr, "launch: sendto(2): %s: no worker can be told what to do\n",
		strerror(errno));
	worker->job = -1;
	queue->busy--;
	queue->status = 3;
}

static int send_file(const struct queue *queue, const struct job *job)
{
	char file[160], path[4096];
	int fd, error;

	file_of(job, file, sizeof(file));
	path_of(queue, file, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	error = fd < 0 ? -1 : frame_append(fd, queue->options->tee, file);
	if (error < 0)
		fprintf(stderr, "launch: cannot write %s: %s\n", queue->options->tee,
			strerror(errno));
	if (fd >= 0)
		close(fd);
	return error < 0 ? 3 : 0;
}

/* A worker has answered, or has exited without an answer. */
static void take_back(struct queue *queue, struct worker *worker)
{
	struct answer answer = { .status = 3 };
	const struct job *job = &queue->jobs[worker->job];
	const bool whole = read(worker->socket, &answer, sizeof(answer)) == sizeof(answer);

	worker->job = -1;
	queue->busy--;
	queue->live.done += job->seconds;
	if (!whole)
		fprintf(stderr, "launch: the worker ended while it ran %s as %s\n", job->id,
			job->persona->name);
	if (!answer.status && queue->options->tee)
		answer.status = send_file(queue, job);
	if (!answer.status)
		queue->finished++;
	else if (!queue->status)
		queue->status = answer.status;
}

static void interrupt_workers(const struct queue *queue, int workers)
{
	for (int i = 0; i < workers; i++)
		if (queue->workers[i].job >= 0)
			kill(queue->workers[i].pid, SUPERVISE_STOP);
}

static void wait_for_workers(struct queue *queue, int workers)
{
	const struct timespec second = { .tv_sec = 1 };
	struct pollfd entries[WORKERS_MAX];
	sigset_t none;

	for (int i = 0; i < workers; i++)
		entries[i] = (struct pollfd){ .fd = queue->workers[i].job < 0 ? -1 :
						queue->workers[i].socket, .events = POLLIN };
	sigemptyset(&none);
	if (ppoll(entries, workers, queue->live.on ? &second : NULL, &none) <= 0) {
		show_progress(queue);
		return;
	}
	for (int i = 0; i < workers; i++)
		if (entries[i].fd >= 0 && entries[i].revents)
			take_back(queue, &queue->workers[i]);
}

static void carry_out(struct queue *queue, int workers)
{
	bool told = false;

	for (;;) {
		if (supervise_interrupted && !told) {
			queue->status = 128 + supervise_interrupted;
			interrupt_workers(queue, workers);
			told = true;
		}
		for (int i = 0; i < workers; i++)
			hand_out(queue, &queue->workers[i]);
		if (!queue->busy)
			return;
		wait_for_workers(queue, workers);
	}
}

static int how_many(int wanted, int jobs)
{
	cpu_set_t cpus;
	int workers = wanted;

	/* What may bring the machine down runs one by one, in order: then it is known which did. */
	if (getenv("PERFMODES_HAZARDS"))
		return 1;
	if (!workers)
		workers = sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? 1 : 2 * CPU_COUNT(&cpus);
	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	return workers < jobs ? workers : jobs > 0 ? jobs : 1;
}

static int start_workers(struct queue *queue, int wanted)
{
	for (int i = 0; i < wanted; i++)
		if (!start_worker(queue, i)) {
			fprintf(stderr, "launch: no worker: %s\n", strerror(errno));
			queue->status = 3;
			return i;
		}
	return wanted;
}

/* A worker without a socket exits. Processes that a killed worker left behind are killed. */
static void dismiss(struct queue *queue, int workers)
{
	int status = 0, lost = 0;

	for (int i = 0; i < workers; i++) {
		close(queue->workers[i].socket);
		while (waitpid(queue->workers[i].pid, &status, 0) < 0 && errno == EINTR)
			;
		lost += WIFSIGNALED(status);
	}
	if (lost)
		supervise_kill_all();
}

int queue_run(const struct queue_options *options)
{
	struct queue queue = { .options = options };
	int workers;

	if (!read_plan(&queue))
		return 3;
	read_catalogue(&queue);
	workers = how_many(options->jobs, queue.count);
	if (!put_in_order(&queue, workers))
		return 3;
	expect_times(&queue, workers);
	if (supervise_begin() < 0)
		return 3;
	workers = start_workers(&queue, workers);
	live_begin(&queue.live, options->progress);
	carry_out(&queue, workers);
	dismiss(&queue, workers);
	live_end(&queue.live);
	printf("%d\n", queue.finished);
	return queue.status;
}
