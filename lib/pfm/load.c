/* SPDX-License-Identifier: MIT */
/*
 * libpfm4 at run time. It is loaded and not linked, so that a program can offer its names and needs
 * no package for all others.
 */
#include "pfm.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
	struct pfm pfm;
	bool tried, works;
	char why[200];		/* it does not */
} library;

int pm_pfm_say(struct pm_diag *diag, int error, enum pm_cause cause, const char *name,
	       const char *format, ...)
{
	const size_t text = offsetof(struct pm_diag, text);
	size_t room;
	va_list list;
	int used;

	if (diag == NULL || diag->size <= text)
		return -error;
	room = diag->size - text < sizeof(diag->text) ? diag->size - text : sizeof(diag->text);
	diag->error = error;
	diag->cause = cause;
	used = snprintf(diag->text, room, "event \"%.100s\": ", name);
	va_start(list, format);
	if (used >= 0 && (size_t)used < room)
		vsnprintf(diag->text + used, room - (size_t)used, format, list);
	va_end(list);
	return -error;
}

static bool find_functions(void *handle)
{
	bool all = true;

#define PFM_FIND(function) \
	*(void **)&library.pfm.function = dlsym(handle, #function); \
	all = all && library.pfm.function != NULL;
	PFM_FUNCTIONS(PFM_FIND)
#undef PFM_FIND
	return all;
}

static void load(void)
{
	void *handle = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	int err;

	library.tried = true;
	if (handle == NULL) {
		snprintf(library.why, sizeof(library.why), "libpfm4 is not here (libpfm.so.4); on "
			 "Debian: apt-get install libpfm4");
		return;
	}
	if (!find_functions(handle)) {
		snprintf(library.why, sizeof(library.why), "libpfm.so.4 lacks functions that "
			 "libpfm 4.4 and later have");
		dlclose(handle);
		return;
	}
	err = library.pfm.pfm_initialize();
	library.works = err == PFM_SUCCESS;
	if (!library.works)
		snprintf(library.why, sizeof(library.why), "libpfm4 does not start: %s",
			 library.pfm.pfm_strerror(err));
}

const struct pfm *pm_pfm_lock(const char *name, struct pm_diag *diag)
{
	pthread_mutex_lock(&mutex);
	if (!library.tried)
		load();
	if (library.works)
		return &library.pfm;
	(void)pm_pfm_say(diag, ENOSYS, PM_CAUSE_NO_EVENT, name, "%s", library.why);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

void pm_pfm_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}
