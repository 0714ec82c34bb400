// SPDX-License-Identifier: MIT
// Does the sum of an inherited event ever fall while threads end? Sixty idle threads make each read
// long, so that threads end during one. Exit: 0 never, 1 it fell, 4 cannot tell.
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static int over;

static void *idle(void *unused)
{
	pthread_mutex_lock(&never);
	return unused;
}

static void *fault(void *unused)
{
	for (int i = 0; i < 20; i++)
		*(volatile char *)mmap(NULL, 1, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	return unused;
}

static void *churn(void *unused)
{
	pthread_t other;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		if (pthread_create(&other, NULL, fault, NULL) == 0)
			pthread_join(other, NULL);
	return unused;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER1, .inherit = 1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t last = 0, now = 0, grew = 0, t = (uint64_t)time(NULL);
	pthread_t thread;

	pthread_mutex_lock(&never);
	for (int i = 0; i < 63; i++)
		if (fd < 0 || pthread_create(&thread, NULL, i < 60 ? idle : churn, NULL) != 0)
			return perror("perf_event_open or pthread_create"), 4;
	for (; now >= last && (uint64_t)time(NULL) < t + (grew < 20 ? 60 : 5); grew += now > last) {
		last = now;
		if (read(fd, &now, sizeof(now)) != sizeof(now))
			return perror("read"), 4;
	}
	printf("grew %d times; last %d, then %d\n", (int)grew, (int)last, (int)now);
	return now < last ? 1 : grew < 20 ? 4 : 0;
}
