/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * * Does a sampling event of a cgroup give the samples and the side-band of its members alone? A
 * sampler that is to watch one container and nothing else would filter in user space otherwise,
 * and pay for every task of the CPU.
 * Observed: two children on the watched CPU, one in a temporary cgroup and one beside it, cause
 * page faults, take names and end. Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 */
#include "probe.h"
#include "cgroup.h"
#include <fcntl.h>
#include <sys/prctl.h>

PROBE(TITLE("samples of a cgroup's tasks")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      DISTURBS("cgroups: makes three and removes them")
      POINT(members, "each of 16 faults of a member is a sample with the member's id")
      POINT(others, "a task beside gives no sample")
      POINT(names, "COMM comes when a member takes a name, and not when a task beside does")
      POINT(ends, "EXIT comes when a member ends, and not when a task beside does"))

FIXTURE(samples)
{
	struct cgroups cgroups;
	struct worker inside, beside;
	struct sampler sampler;
};

static struct sampler must_sample(const char *path, int cpu)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sampler sampler;

	ASSERT_LE(0, directory);
	attr.disabled = 0;
	attr.comm = attr.task = 1;
	sampler.fd = pm_open(&attr, directory, cpu, -1, PERF_FLAG_PID_CGROUP);
	ASSERT_LE(0, sampler.fd);
	pm_format_of(&attr, &sampler.format);
	must_map(sampler.fd, 16, &sampler.ring);
	return sampler;
}

/* A cgroup with a cpuset gives a task that moves in all of its CPUs: back to the one it had. */
static void must_start_in(struct worker *child, const char *cgroup)
{
	int error;

	must_start_worker(child, WORKER_CHILD);
	error = cgroup_move(cgroup, child->tid);
	if (error)
		say_blocked("a task cannot be moved into a cgroup: %s", pm_errno_name(error));
	ASSERT_EQ(move_to_nth_cpu(0), worker_move(child, 0));
}

FIXTURE_SETUP(samples)
{
	const int cpu = move_to_nth_cpu(0);

	must_make_cgroups(cpu, &self->cgroups);
	must_start_in(&self->inside, self->cgroups.top);
	must_start_in(&self->beside, self->cgroups.beside);
	self->sampler = must_sample(self->cgroups.top, cpu);
}

FIXTURE_TEARDOWN(samples)
{
	worker_stop(&self->inside);
	worker_stop(&self->beside);
	cgroups_remove(&self->cgroups);
}

/* The samples of a task among all, and those of any other task. */
static void count_by_task(struct sampler *sampler, const struct worker *worker, int *ret_own,
			  int *ret_others)
{
	struct pm_record record;

	*ret_own = *ret_others = 0;
	while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
		++*(record.sample.sid.tid == (uint32_t)worker->tid ? ret_own : ret_others);
}

TEST_F(samples, members)
{
	int own, others;

	ASSERT_EQ(0, worker_faults(&self->inside, 1));
	count_samples(&self->sampler, 0);
	ASSERT_EQ(0, worker_faults(&self->inside, 16));
	count_by_task(&self->sampler, &self->inside, &own, &others);
	if (own != 16 || others)
		say_broken("samples=%d want=16, of other tasks=%d", own, others);
}

TEST_F(samples, others)
{
	int own, others;

	ASSERT_EQ(0, worker_faults(&self->inside, 1));
	count_samples(&self->sampler, 0);
	ASSERT_EQ(0, worker_faults(&self->beside, 16));
	ASSERT_EQ(0, worker_faults(&self->inside, 2));
	count_by_task(&self->sampler, &self->beside, &own, &others);
	if (own)
		say_broken("samples of a task beside=%d", own);
	if (others < 2)
		say_unknown("no sample of a member afterwards");
}

static int take_name(void *name)
{
	return prctl(PR_SET_NAME, name) ? -errno : 0;
}

/* How many records of that type came of a task, and of others. */
static void count_types(struct sampler *sampler, uint32_t type, pid_t own, int *ret_own,
			int *ret_others)
{
	struct pm_record record;
	uint32_t tid;

	*ret_own = *ret_others = 0;
	while (find_record(sampler, type, &record)) {
		tid = type == PERF_RECORD_COMM ? record.comm.tid : record.task.tid;
		++*(tid == (uint32_t)own ? ret_own : ret_others);
	}
}

TEST_F(samples, names)
{
	int own, others;

	ASSERT_EQ(0, worker_do(&self->beside, take_name, (void *)"beside"));
	ASSERT_EQ(0, worker_do(&self->inside, take_name, (void *)"inside"));
	count_types(&self->sampler, PERF_RECORD_COMM, self->inside.tid, &own, &others);
	if (own != 1 || others)
		say_broken("COMM records=%d want=1, of other tasks=%d", own, others);
}

TEST_F(samples, ends)
{
	const pid_t inside = self->inside.tid;
	int own, others;

	worker_stop(&self->beside);
	worker_stop(&self->inside);
	count_types(&self->sampler, PERF_RECORD_EXIT, inside, &own, &others);
	if (own != 1 || others)
		say_broken("EXIT records=%d want=1, of other tasks=%d", own, others);
}

PROBE_MAIN
