// SPDX-License-Identifier: MIT
// An event of a thread that has ended has a ring: may another event be opened with its output there
// (PERF_FLAG_FD_OUTPUT), as PERF_EVENT_IOC_SET_OUTPUT may? Exit: 0 yes, 1 no, 4 cannot tell.
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t told, over;
static pid_t tid;

static void *thread(void *unused)
{
	tid = (pid_t)syscall(__NR_gettid);
	pthread_barrier_wait(&told);
	pthread_barrier_wait(&over);
	return unused;
}

static int open_event(pid_t target, int output, unsigned long flags)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
		.sample_type = PERF_SAMPLE_TID, .exclude_kernel = 1,
	};

	return (int)syscall(__NR_perf_event_open, &attr, target, 0, output, flags);
}

int main(void)
{
	const unsigned long flags = PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
	pthread_t other;
	int target, fd, saved;

	pthread_barrier_init(&told, NULL, 2);
	pthread_barrier_init(&over, NULL, 2);
	if (pthread_create(&other, NULL, thread, NULL) != 0)
		return 4;
	pthread_barrier_wait(&told);
	target = open_event(tid, -1, 0);
	if (mmap(NULL, 2 * getpagesize(), PROT_READ, MAP_SHARED, target, 0) == MAP_FAILED ||
	    open_event(0, target, flags) < 0)
		return perror("while the thread lives"), 4;
	pthread_barrier_wait(&over);
	pthread_join(other, NULL);
	while (syscall(__NR_tgkill, getpid(), tid, 0) == 0)
		usleep(1000);		// its last steps in the kernel
	fd = open_event(0, target, flags);
	saved = errno;
	printf("FD_OUTPUT: %s; SET_OUTPUT: %d\n", fd < 0 ? strerror(saved) : "accepted",
	       ioctl(open_event(0, -1, 0), PERF_EVENT_IOC_SET_OUTPUT, target));
	return fd < 0;
}
