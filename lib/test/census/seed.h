/* SPDX-License-Identifier: MIT */
/*
 * One fixed recipe for observing all threads of a process, as a program had it that was written for
 * the kernels of its day: one attr for all, an inheriting event for each thread and CPU, the first
 * of a CPU mapped, the others forwarded to it, leaders and a stop channel polled without end.
 * It decides nothing by what the kernel can do; the census shows where that ends.
 */
#ifndef SEED_H
#define SEED_H

struct seed {
	int fds[4096], leaders[64], stop;
	unsigned char cpu_of[4096];
	void *rings[64];
	unsigned int count, cpus;
};

/* 0; -errno with what was refused. */
int seed_attach(struct seed *seed, const char **ret_refused);

/* Polls once for so long and tells the crowd. Returns how many descriptors were ready. */
int seed_poll(struct seed *seed, int timeout_ms);

void seed_detach(struct seed *seed);

/*
 * A thread's event is polled after the thread has ended: how many of `tries` polls of 10 ms came
 * back at once. -errno when the recipe's event does not open.
 */
int seed_spins(unsigned int tries);

#endif
