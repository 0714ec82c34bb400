/* SPDX-License-Identifier: MIT */
/*
 * What processes have mapped, as side-band tells it: a process that has ended before anybody could
 * look at it is unwound from its samples, this and the files. A child that runs the program of its
 * parent has mapped what that has.
 */
#define _GNU_SOURCE
#include "service.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAPPINGS_MAX 4096		/* of a process */
#define PARENTS_MAX 8			/* from a child to one that has run a program */

struct mapped {
	struct mapped *next;
	size_t bytes;
	struct pm_mapping mapping;
	uint8_t build_id[32];
	char name[];
};

void mapped_add(struct source *source, struct proc *proc, const struct pm_side *side)
{
	struct service *service = source->service;
	const size_t length = strlen(side->text);
	const size_t bytes = sizeof(struct mapped) + length + 1;
	const struct pm_mapping mapping = {
		.size = sizeof(mapping), .start = side->address, .length = side->length,
		.offset = side->offset, .prot = PROT_READ | PROT_EXEC, .inode = side->inode,
		.build_id = side->build_id, .build_id_size = side->build_id_size,
		.name = side->text,
	};
	struct mapped *made;

	if (proc->unwinder)
		(void)pm_stack_worker_map(service->worker, proc->unwinder, &mapping);
	if (proc->mapped_count >= MAPPINGS_MAX ||
	    service->mapped_bytes + bytes > (uint64_t)service->config.queue_bytes)
		return;
	made = calloc(1, bytes);
	if (!made)
		return;
	made->bytes = bytes;
	memcpy(made->name, side->text, length + 1);
	made->mapping = mapping;
	made->mapping.name = made->name;
	made->mapping.build_id = NULL;
	if (side->build_id && side->build_id_size <= sizeof(made->build_id)) {
		memcpy(made->build_id, side->build_id, side->build_id_size);
		made->mapping.build_id = made->build_id;
	}
	if (!proc->mapped)
		proc->mapped_last = &proc->mapped;
	*proc->mapped_last = made;
	proc->mapped_last = &made->next;
	proc->mapped_count++;
	service->mapped_bytes += bytes;
}

void mapped_free(struct source *source, struct proc *proc)
{
	struct mapped *one = proc->mapped, *next;

	for (; one; one = next) {
		next = one->next;
		source->service->mapped_bytes -= one->bytes;
		free(one);
	}
	proc->mapped = NULL;
	proc->mapped_count = 0;
}

/* The one of that number that was there at that time, with the program that it had then. */
static const struct proc *parent_of(const struct source *source, const struct proc *child)
{
	for (size_t i = 0; i < source->procs.room; i++) {
		const struct proc *proc = &source->procs.places[i];

		if (proc->serial != 0 && proc->serial != child->serial && !proc->ended &&
		    proc->pid == child->parent && proc->begun <= child->begun)
			return proc;
	}
	return NULL;
}

/* Who has run the program: itself since an exec, or a parent. */
static const struct proc *owner_of(const struct source *source, const struct proc *proc)
{
	const struct proc *owner = proc;

	for (int i = 0; i < PARENTS_MAX && owner && owner->born; i++)
		owner = parent_of(source, owner);
	return owner;
}

static void map_all(struct pm_unwinder *unwinder, const struct proc *proc)
{
	for (const struct mapped *one = proc->mapped; one; one = one->next)
		(void)pm_unwinder_map(unwinder, &one->mapping);
}

struct pm_unwinder *mapped_unwinder(const struct source *source, const struct proc *proc)
{
	const struct proc *owner = owner_of(source, proc);
	struct pm_unwinder_opts opts = {
		.size = sizeof(opts), .descriptors = true, .maps_fd = -1, .mem_fd = -1,
		.symbols = source->service->symbols,
	};
	struct pm_unwinder *unwinder;
	char path[64];

	if (!owner || (owner == proc && !owner->mapped))
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", owner->pid);
	if (!owner->mapped)		/* it was there before, and is */
		opts.maps_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!owner->mapped && opts.maps_fd < 0)
		return NULL;
	if (pm_unwinder_open(proc->pid, &opts, &unwinder) < 0)
		return NULL;
	map_all(unwinder, owner);
	if (owner != proc)		/* what it has mapped besides */
		map_all(unwinder, proc);
	return unwinder;
}
