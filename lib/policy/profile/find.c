/* SPDX-License-Identifier: MIT */
/* Finding the profile that is about this machine: files, directories, what is built in. */
#include "profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../diagnosis/diag.h"

#define DIRECTORY_MAX 4096
#define SUBJECT "profile: "	/* what a sentence about one begins with */

static int read_all(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	return (int)used;
}

static int load_descriptor(int fd, enum pm_rank least, struct pm_diag *diag,
			   struct pm_profile **ret)
{
	struct stat info;
	size_t room = PROFILE_BYTES_MAX + 1;
	char *text;
	int err;

	/* One byte more than allowed tells a file that is too large from one that fits. */
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < PROFILE_BYTES_MAX)
		room = (size_t)info.st_size + 1;
	text = malloc(room);
	if (text == NULL)
		return -ENOMEM;
	err = read_all(fd, text, room);
	if (err >= 0)
		err = pm_profile_parse(text, (size_t)err, least, diag, ret);
	free(text);
	return err;
}

/* Which file, and what is wrong with it: with its text, or with reading it. */
static void say_file(struct pm_diag *diag, int err, const char *path, const char *text)
{
	const bool of_text = strncmp(text, SUBJECT, strlen(SUBJECT)) == 0;

	(void)pm_diag_say(diag, -err, err == -ENOMEM ? PM_CAUSE_NONE : PM_CAUSE_INPUT,
			  SUBJECT "%.300s: %s", path,
			  of_text ? text + strlen(SUBJECT) : strerror(-err));
}

/* A FIFO in the directory must not block this. */
static int load_at(int directory, const char *path, enum pm_rank least, struct pm_diag *diag,
		   struct pm_profile **ret)
{
	struct pm_diag said = { .size = sizeof(said) };
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err = fd < 0 ? -errno : load_descriptor(fd, least, &said, ret);

	if (err < 0)
		say_file(diag, err, path, said.text);
	if (fd >= 0)
		close(fd);
	return err;
}

int pm_profile_load_file(const char *path, struct pm_diag *diag, struct pm_profile **ret)
{
	return load_at(AT_FDCWD, path, PM_RANK_NONE, diag, ret);
}

static bool ends_in_json(const char *name)
{
	size_t size = strlen(name);

	return size > 5 && name[0] != '.' && strcmp(name + size - 5, ".json") == 0;
}

/* What ranks higher in the directory takes the place of *best, NULL where there is none yet. */
static int search(const char *directory, struct pm_profile **best)
{
	const struct dirent *entry;
	struct pm_profile *next;
	DIR *dir = opendir(directory);

	if (dir == NULL)
		return -errno;
	for (int i = 0; i < DIRECTORY_MAX && (entry = readdir(dir)) != NULL; i++) {
		enum pm_rank least = *best ? (*best)->rank + 1 : PM_RANK_HINT;

		if (least > PM_RANK_BUILD)
			break;
		if (!ends_in_json(entry->d_name) ||
		    load_at(dirfd(dir), entry->d_name, least, NULL, &next) < 0)
			continue;
		if (next->rank < least) {
			pm_profile_destroy(next);
			continue;
		}
		pm_profile_destroy(*best);
		*best = next;
	}
	closedir(dir);
	return 0;
}

int pm_profile_load_dir(const char *directory, struct pm_diag *diag, struct pm_profile **ret)
{
	struct pm_profile *best = NULL;
	int err = search(directory, &best);

	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_INPUT, "profile: %.300s: %s", directory,
				   strerror(-err));
	if (best == NULL)
		return pm_diag_say(diag, ENOENT, PM_CAUSE_INPUT,
				   "profile: none in %.300s is about this kernel", directory);
	*ret = best;
	return 0;
}

static int load_path(const char *path, struct pm_diag *diag, struct pm_profile **ret)
{
	struct stat info;

	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		return pm_profile_load_dir(path, diag, ret);
	return pm_profile_load_file(path, diag, ret);
}

/* The first of equal rank counts, so an administrator's profile precedes the library's own. */
static int load_installed(struct pm_profile **ret)
{
	static const char *const places[] = {
		"/etc/perfmodes", "/usr/local/share/perfmodes", "/usr/share/perfmodes",
	};
	struct pm_profile *profile = NULL;
	int err;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		(void)search(places[i], &profile);
	if (profile != NULL) {
		*ret = profile;
		return 0;
	}
	profile = pm_profile_create();
	if (profile == NULL)
		return -ENOMEM;
	err = pm_profile_builtin(profile);
	if (err < 0) {
		pm_profile_destroy(profile);
		return err;
	}
	*ret = profile;
	return 0;
}

int pm_profile_load_default(struct pm_diag *diag, struct pm_profile **ret)
{
	const char *path = getauxval(AT_SECURE) ? NULL : getenv("PERFMODES_PROFILE");
	struct pm_profile *profile;
	int err, instead = 0;

	if (path != NULL && path[0] != '\0')
		err = load_path(path, diag, &profile);
	else
		err = load_installed(&profile);
	if (err == -EBADMSG || err == -E2BIG) {
		instead = 1;
		err = load_installed(&profile);
	}
	if (err < 0)
		return err;
	err = pm_profile_use_persona(profile, NULL);
	if (err < 0) {
		pm_profile_destroy(profile);
		return err;
	}
	*ret = profile;
	return instead;
}
