/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does MMAP2 say which file was mapped: device, inode, protection, flags, or its build id?
 * Names are not enough for symbols: files get replaced while a profile runs.
 * Observed: this program's own file is mapped and held against fstat(2); a tiny ELF file in memory
 * brings a known build id.
 * Linux 13d7a2410fa6 ("perf: Add attr->mmap2 attribute to an event") (v3.12, usable since v3.16)
 * Linux 88a16a130933 ("perf: Add build id data in mmap2 event") (v5.12)
 */
#include "probe.h"
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

PROBE(TITLE("identity of mapped files")
      SINCE("3.16")
      POINT(file, "MMAP2 carries device, inode and name of the mapped file")
      POINT(protection, "MMAP2 carries the protection and the MAP_PRIVATE or MAP_SHARED flag")
      POINT(replaces_mmap, "a mapping is reported as MMAP2 and not as MMAP as well")
      POINT(build_id, "with build_id the record carries the build id that is in the file")
      SINCE("5.12")
      COMMIT("88a16a130933")
      POINT(build_id_anonymous, "a mapping without a file has no build id: the old layout stays")
      SINCE("5.12")
      FACT(generation, int, "-", "inode generation of the mapped file"))

static struct watch watch_maps(struct __test_metadata *_metadata, bool build_id)
{
	struct perf_event_attr attr = attr_sideband(), without;
	struct watch watch;

	attr.mmap = 1;
	without = attr;
	attr.mmap2 = 1;
	if (build_id) {
		without = attr;
		attr.build_id = 1;
	}
	watch = ask_watch(&attr, &without, 0, -1, 8, build_id ? "build_id" : "mmap2");
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

static void *map_self(struct __test_metadata *_metadata, int flags, struct stat *ret)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_EXEC, flags, fd, 0);

	if (fd < 0 || area == MAP_FAILED || fstat(fd, ret))
		cannot_tell("cannot map /proc/self/exe: %s", errno_name(errno));
	close(fd);
	return area;
}

static void must_find(struct __test_metadata *_metadata, struct watch *watch, const void *area,
		      struct pm_record *ret)
{
	int mmaps = 0;

	while (seek(watch, 0, ret)) {
		if (ret->type == PERF_RECORD_MMAP2 && ret->mmap.addr == (uintptr_t)area)
			return;
		mmaps += ret->type == PERF_RECORD_MMAP;
	}
	broken("no MMAP2 of the mapping (%d MMAP)", mmaps);
}

TEST(file)
{
	struct watch watch = watch_maps(_metadata, false);
	struct pm_record record;
	struct stat file;
	char path[512] = "";
	void *area = map_self(_metadata, MAP_PRIVATE, &file);

	must_find(_metadata, &watch, area, &record);
	if (record.mmap.ino != file.st_ino)
		broken("ino=%" PRIu64 " want=%ju", record.mmap.ino, (uintmax_t)file.st_ino);
	/* btrfs and overlayfs show fstat(2) another device than the kernel's own. */
	if (record.mmap.maj != major(file.st_dev) || record.mmap.min != minor(file.st_dev))
		broken("device=%u:%u want=%u:%u", record.mmap.maj, record.mmap.min,
		       major(file.st_dev), minor(file.st_dev));
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 &&
	    strcmp(path, record.mmap.filename))
		broken("filename=%.200s", record.mmap.filename);
	fact_int("generation", record.mmap.ino_generation);
}

TEST(protection)
{
	struct watch watch = watch_maps(_metadata, false);
	static const int kinds[] = { MAP_PRIVATE, MAP_SHARED };
	struct pm_record record;
	struct stat file;

	for (unsigned int i = 0; i < 2; i++) {
		must_find(_metadata, &watch, map_self(_metadata, kinds[i], &file), &record);
		if (record.mmap.prot != (PROT_READ | PROT_EXEC) ||
		    (record.mmap.flags & MAP_TYPE) != (uint32_t)kinds[i])
			broken("prot=%#x flags=%#x want=%#x,%#x", record.mmap.prot,
			       record.mmap.flags, PROT_READ | PROT_EXEC, kinds[i]);
	}
}

TEST(replaces_mmap)
{
	struct watch watch = watch_maps(_metadata, false);
	struct pm_record record;
	struct stat file;
	void *area = map_self(_metadata, MAP_PRIVATE, &file);
	int old = 0, new = 0;

	while (seek(&watch, 0, &record))
		if (record.mmap.addr == (uintptr_t)area) {
			old += record.type == PERF_RECORD_MMAP;
			new += record.type == PERF_RECORD_MMAP2;
		}
	if (old || new != 1)
		broken("MMAP=%d MMAP2=%d want=0,1", old, new);
}

/* What of an ELF file the kernel reads: header, one program header, the note. */
struct tiny_elf {
	ElfW(Ehdr) header;
	ElfW(Phdr) program;
	ElfW(Nhdr) note;
	char name[4];
	uint8_t id[20];
};

static const struct tiny_elf tiny_elf = {
	.header = { .e_ident = { 0x7f, 'E', 'L', 'F', sizeof(long) == 8 ? ELFCLASS64 : ELFCLASS32,
				 __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
									   : ELFDATA2MSB,
				 EV_CURRENT },
		    .e_type = ET_DYN, .e_version = EV_CURRENT,
		    .e_phoff = offsetof(struct tiny_elf, program),
		    .e_ehsize = sizeof(ElfW(Ehdr)), .e_phentsize = sizeof(ElfW(Phdr)),
		    .e_phnum = 1 },
	.program = { .p_type = PT_NOTE, .p_offset = offsetof(struct tiny_elf, note),
		     .p_filesz = sizeof(ElfW(Nhdr)) + 24, .p_memsz = sizeof(ElfW(Nhdr)) + 24,
		     .p_align = 4 },
	.note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
	.name = "GNU",
	.id = { 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 7, 6, 5, 4, 3, 2, 1, 99 },
};

/* Kernels that know build_id (v5.12) have memfd_create (v3.17), which needs no writable disk. */
static void *map_tiny_elf(struct __test_metadata *_metadata)
{
	const size_t page = probe_env()->page_size;
	int fd = syscall(SYS_memfd_create, "tiny", 0);
	void *area;

	if (fd < 0 || write(fd, &tiny_elf, sizeof(tiny_elf)) != sizeof(tiny_elf) ||
	    ftruncate(fd, page))
		say_absent("no file in memory to map: %s", errno_name(errno));
	area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (area == MAP_FAILED)
		say_blocked("no executable mapping of a memfd: %s", errno_name(errno));
	return area;
}

TEST(build_id)
{
	struct watch watch = watch_maps(_metadata, true);
	struct pm_record record;

	must_find(_metadata, &watch, map_tiny_elf(_metadata), &record);
	if (!(record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		broken("misc=%#x lacks MMAP_BUILD_ID", record.misc);
	if (record.mmap.build_id_size != sizeof(tiny_elf.id) ||
	    memcmp(record.mmap.build_id, tiny_elf.id, sizeof(tiny_elf.id)))
		broken("build id of %u bytes %02x%02x.. is not the file's",
		       record.mmap.build_id_size, record.mmap.build_id[0],
		       record.mmap.build_id[1]);
}

TEST(build_id_anonymous)
{
	const size_t page = probe_env()->page_size;
	struct watch watch = watch_maps(_metadata, true);
	struct pm_record record;
	struct stat file;
	void *area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		say_blocked("mmap of anonymous code: %s", errno_name(errno));
	must_find(_metadata, &watch, area, &record);
	if (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		broken("misc=%#x claims a build id for memory without a file", record.misc);
	must_find(_metadata, &watch, map_self(_metadata, MAP_PRIVATE, &file), &record);
}

PROBE_MAIN
