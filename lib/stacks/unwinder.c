/* SPDX-License-Identifier: MIT */
/* An unwinder's life: descriptors, maps, limits; and putting a stack together. */
#define _GNU_SOURCE
#include "unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "chain.h"
#include "regs.h"

uint64_t unwinder_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t pm_unwinder_registers(void)
{
	return regs_arch() != NULL ? regs_arch()->mask : 0;
}

/* ---------------------------------------------------------------------------------------- maps */

/*
 * A target may map and unmap as fast as it can. Reading its maps takes at most a tenth of the time,
 * however long they are.
 */
bool unwinder_reread(struct pm_unwinder *unwinder)
{
	const uint64_t since = unwinder_now() - unwinder->read_at;

	if (unwinder->gone || since < 10 * unwinder->read_took)
		return false;
	return pm_unwinder_refresh(unwinder) == 0;
}

int pm_unwinder_refresh(struct pm_unwinder *unwinder)
{
	const uint64_t begin = unwinder_now();
	struct maps maps;
	int err = unwinder->maps_fd < 0 ? -ESRCH : maps_read(unwinder->maps_fd, &maps);

	unwinder->read_at = unwinder_now();
	unwinder->read_took = unwinder->read_at - begin;
	if (err == -ESRCH)
		unwinder->gone = true;
	if (err < 0)
		return err;
	maps_free(&unwinder->maps);
	unwinder->sought = false;
	unwinder->maps = maps;
	unwinder->gone = false;
	unwinder_keep_modules(unwinder);
	return 0;
}

static struct map side_band(const struct pm_mapping *from)
{
	struct map map = {
		.start = from->start, .end = from->start + from->length, .offset = from->offset,
		.inode = from->inode, .name = from->name,
		.exec = from->prot & PROT_EXEC, .write = from->prot & PROT_WRITE,
	};

	if (from->build_id != NULL && from->build_id_size <= sizeof(map.build_id)) {
		memcpy(map.build_id, from->build_id, from->build_id_size);
		map.build_id_size = (uint8_t)from->build_id_size;
	}
	/* So side-band calls memory without a file, which has no name in /proc. */
	if (map.name != NULL && strcmp(map.name, "//anon") == 0)
		map.name = "";
	map.stack = map.name != NULL && strcmp(map.name, "[stack]") == 0;
	return map;
}

int pm_unwinder_map(struct pm_unwinder *unwinder, const struct pm_mapping *mapping)
{
	struct pm_mapping given = { 0 };
	struct map map;
	int err;

	if (mapping->size < offsetof(struct pm_mapping, name) + sizeof(mapping->name))
		return -EINVAL;
	given = *mapping;
	map = side_band(&given);
	if (given.length == 0 || map.end < map.start || map.name == NULL)
		return -EINVAL;
	err = maps_add(&unwinder->maps, &map);
	if (err == 0)
		unwinder_keep_modules(unwinder);
	return err;
}

/* ------------------------------------------------------------------------------ open and close */

static int open_proc(pid_t pid, const char *what)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static int take_descriptors(struct pm_unwinder *unwinder, const struct pm_unwinder_opts *opts)
{
	if (opts->descriptors) {
		unwinder->maps_fd = opts->maps_fd;
		unwinder->mem_fd = opts->mem_fd;
		unwinder->gone = opts->maps_fd < 0;
		return 0;
	}
	unwinder->maps_fd = open_proc(unwinder->pid, "maps");
	if (unwinder->maps_fd < 0)
		return unwinder->maps_fd;
	unwinder->mem_fd = open_proc(unwinder->pid, "mem");
	return 0;
}

static int make_room(struct pm_unwinder *unwinder, const struct pm_unwinder_opts *opts)
{
	const unsigned int frames = opts->frames ? opts->frames : FRAMES_DEFAULT;

	unwinder->room = frames < FRAMES_MAX ? frames : FRAMES_MAX;
	unwinder->time_limit = opts->time_limit ? opts->time_limit : TIME_DEFAULT;
	unwinder->addresses = calloc(unwinder->room, sizeof(unwinder->addresses[0]));
	unwinder->frames = calloc(unwinder->room, sizeof(unwinder->frames[0]));
	unwinder->symbols = opts->symbols;
	if (unwinder->symbols == NULL) {
		unwinder->symbols = pm_symbols_create(NULL);
		unwinder->own_symbols = true;
	}
	return unwinder->addresses && unwinder->frames && unwinder->symbols ? 0 : -ENOMEM;
}

static int set_up(struct pm_unwinder *unwinder, const struct pm_unwinder_opts *opts)
{
	int err = take_descriptors(unwinder, opts);

	if (err == 0)
		err = regs_arch() == NULL ? -ENOTSUP : make_room(unwinder, opts);
	if (err == 0 && !unwinder->gone)
		err = pm_unwinder_refresh(unwinder);
	if (err == 0)
		err = unwinder_begin(unwinder);
	return err;
}

int pm_unwinder_open(pid_t pid, const struct pm_unwinder_opts *opts, struct pm_unwinder **ret)
{
	struct pm_unwinder_opts all = { .size = sizeof(all) };
	struct pm_unwinder *unwinder;
	int err;

	if (opts != NULL)
		memcpy(&all, opts, opts->size < sizeof(all) ? opts->size : sizeof(all));
	unwinder = calloc(1, sizeof(*unwinder));
	if (unwinder == NULL) {
		if (all.descriptors) {
			close(all.maps_fd);
			close(all.mem_fd);
		}
		return -ENOMEM;
	}
	unwinder->pid = pid;
	unwinder->maps_fd = unwinder->mem_fd = -1;
	err = set_up(unwinder, &all);
	if (err < 0)
		pm_unwinder_destroy(unwinder);
	else
		*ret = unwinder;
	return err;
}

void pm_unwinder_destroy(struct pm_unwinder *unwinder)
{
	if (unwinder == NULL)
		return;
	unwinder_drop_modules(unwinder);
	if (unwinder->machine != NULL)
		elf_end(unwinder->machine);
	jit_free(&unwinder->jit);
	maps_free(&unwinder->maps);
	if (unwinder->own_symbols)
		pm_symbols_destroy(unwinder->symbols);
	if (unwinder->maps_fd >= 0)
		close(unwinder->maps_fd);
	if (unwinder->mem_fd >= 0)
		close(unwinder->mem_fd);
	free(unwinder->addresses);
	free(unwinder->frames);
	free(unwinder);
}

/* ------------------------------------------------------------------------------------- a stack */

static bool has_registers(const struct pm_stack_sample *sample)
{
	return sample->regs_abi == 2 && sample->regs != NULL;	/* PERF_SAMPLE_REGS_ABI_64 */
}

static void take_chain(struct pm_unwinder *unwinder, bool user)
{
	struct chain_frames chain = { unwinder->addresses, unwinder->frames, 0, unwinder->room };

	unwinder->count = chain_take(unwinder->sample, user, &chain);
}

static enum pm_stack_end assemble(struct pm_unwinder *unwinder)
{
	const struct pm_stack_sample *sample = unwinder->sample;

	if (!has_registers(sample) || regs_arch() == NULL) {
		enum pm_stack_end end;

		unwinder->count = pm_stack_chain(sample, unwinder->addresses, unwinder->frames,
						 unwinder->room, &end);
		return unwinder->count == 0 ? PM_END_REGISTERS : end;
	}
	take_chain(unwinder, false);
	return unwinder_walk(unwinder);
}

int pm_unwinder_stack(struct pm_unwinder *unwinder, const struct pm_stack_sample *sample,
		      struct pm_stack *ret)
{
	struct pm_stack_sample given = { 0 };
	struct pm_stack all;

	if (sample->size == 0 || ret->size == 0)
		return -EINVAL;
	memcpy(&given, sample, sample->size < sizeof(given) ? sample->size : sizeof(given));
	unwinder->sample = &given;
	unwinder->count = 0;
	all = (struct pm_stack){
		.size = ret->size < sizeof(all) ? ret->size : sizeof(all),
		.pid = given.pid, .tid = given.tid, .time = given.time,
		.weight = given.weight ? given.weight : 1, .context = given.context,
		.addresses = unwinder->addresses, .frames = unwinder->frames,
	};
	all.end = assemble(unwinder);
	all.count = unwinder->count;
	unwinder->sample = NULL;
	memcpy(ret, &all, all.size);
	return 0;
}
