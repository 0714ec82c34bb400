/* SPDX-License-Identifier: MIT */
/* Asking for descriptors: what comes back, and whether it is the memory of who was asked. */
#ifndef TEST_SAMPLER_ASKER_H
#define TEST_SAMPLER_ASKER_H

#include <dirent.h>

#include "targets.h"

#define SHORT 150000000ull	/* ns: long enough to be answered, where nobody answers */
#define LONG 20000000000ull	/* ns: where an answer must come on a loaded machine */

static const uint64_t marked = 0x706d2d6d61726b64;	/* at the same address in forked children */

static struct pm_descriptors_answer last, each[20];
static int answers;

static inline void on_answer(void *context, const struct pm_descriptors_answer *answer)
{
	(void)context;
	last = *answer;
	each[answers++ % ARRAY_SIZE(each)] = *answer;
}

static inline struct pm_descriptors *start_asking(unsigned int flags, uint64_t timeout)
{
	struct pm_descriptors_opts opts = {
		.size = sizeof(opts), .answer = on_answer, .flags = flags, .timeout_ns = timeout,
	};
	struct pm_descriptors *descriptors = NULL;

	if (socket_name[0] == '@')
		name_socket();
	opts.socket = socket_name;
	answers = 0;
	last = (struct pm_descriptors_answer){ .maps = -1, .mem = -1 };
	assert_int_equal(pm_descriptors_open(&opts, &descriptors), 0);
	return descriptors;
}

static inline void wait_for(struct pm_descriptors *descriptors, int count)
{
	int wait;

	while (answers < count && (wait = pm_descriptors_run(descriptors)) >= 0) {
		struct pollfd ready = { .fd = pm_descriptors_fd(descriptors), .events = POLLIN };

		if (answers < count)
			(void)poll(&ready, 1, wait);
	}
	assert_int_equal(answers, count);
}

static inline void ask(struct pm_descriptors *descriptors, int pid)
{
	answers = 0;
	assert_int_equal(pm_descriptors_ask(descriptors, pid), 0);
	wait_for(descriptors, 1);
	assert_int_equal(last.pid, pid);
}

static inline struct pm_descriptors_stats stats_of(const struct pm_descriptors *descriptors)
{
	struct pm_descriptors_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_descriptors_stats(descriptors, &stats), 0);
	return stats;
}

/* What the descriptors read is the target's: its mark, and its own name of the mapping. */
static inline void descriptors_work(void)
{
	uint64_t value = 0;
	char text[64];

	assert_int_equal(pread(last.mem, &value, sizeof(value), (off_t)(uintptr_t)&marked),
			 sizeof(value));
	assert_true(value == marked);
	assert_true(read(last.maps, text, sizeof(text)) > 16);
	assert_true(fcntl(last.mem, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(last.maps, F_GETFD) & FD_CLOEXEC);
	close(last.mem);
	close(last.maps);
}

static inline int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}


static volatile sig_atomic_t got_token;

static inline void be_willing(const struct target *self)
{
	struct pm_willing_opts opts = { .size = sizeof(opts), .socket = socket_name };

	(void)self;
	if (pm_willing_start(&opts) != 0)
		_exit(98);
}

static inline void be_ordinary(const struct target *self)
{
	(void)self;
}

static inline void say_nothing(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	got_token = info->si_value.sival_int;
}

static inline void be_silent(const struct target *self)
{
	(void)self;
	on_signal(say_nothing);
}

static inline int open_self(const char *name, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/%s", name);
	return open(path, flags | O_CLOEXEC);
}

static inline bool answer_rightly(int token)
{
	struct willing_answer answer = { WILLING_MAGIC, WILLING_VERSION, token, 0 };
	int fds[2] = { open_self("maps", O_RDONLY), open_self("mem", O_RDONLY) };
	bool sent = answer_by_hand(&answer, sizeof(answer), fds, 2);

	close(fds[0]);
	close(fds[1]);
	return sent;
}

#endif
