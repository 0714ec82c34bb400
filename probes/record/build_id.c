/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does MMAP2 carry the file's build id when asked for? It leads to symbols wherever the file came
 * from, and the kernel reads it at once, not when the file may be gone.
 * Observed: a tiny ELF file in memory has a known build id.
 * Linux 88a16a130933 ("perf: Add build id data in mmap2 event") (v5.12)
 */
#include "probe.h"
#include "map_program.h"
#include <elf.h>
#include <link.h>
#include <sys/syscall.h>

PROBE(TITLE("build ids of mapped files")
      SINCE("5.12")
      COMMIT("88a16a130933")
      POINT(build_id, "with build_id MMAP2 carries the build id that is in the file")
      POINT(build_id_anonymous, "MMAP2 of a mapping without a file carries no build id"))

static struct sampler watch_maps(void)
{
	struct perf_event_attr attr = attr_sideband(), without;

	attr.mmap = 1;
	without = attr;
	attr.mmap2 = 1;
	close(ask_open(&attr, &without, 0, -1, "mmap2, which build_id needs"));
	without = attr;
	attr.build_id = 1;
	return ask_run_sampler(&attr, &without, 0, -1, 8, "build_id");
}

static void must_find(struct sampler *sampler, const void *area, struct pm_record *ret)
{
	do
		if (!find_record(sampler, PERF_RECORD_MMAP2, ret))
			say_broken("no MMAP2 of the mapping");
	while (ret->mmap.addr != (uintptr_t)area);
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
static void *map_tiny_elf(void)
{
	const size_t page = probe_env()->page_size;
	int fd = syscall(SYS_memfd_create, "tiny", 0);
	void *area;

	if (fd < 0 || write(fd, &tiny_elf, sizeof(tiny_elf)) != sizeof(tiny_elf) ||
	    ftruncate(fd, page))
		say_absent("no file in memory to map: %s", pm_errno_name(errno));
	area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (area == MAP_FAILED)
		say_blocked("no executable mapping of a memfd: %s", pm_errno_name(errno));
	return area;
}

TEST(build_id)
{
	struct sampler sampler = watch_maps();
	struct pm_record record;

	must_find(&sampler, map_tiny_elf(), &record);
	if (!(record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		say_broken("misc=%#x lacks MMAP_BUILD_ID", record.misc);
	if (record.mmap.build_id_size != sizeof(tiny_elf.id) ||
	    memcmp(record.mmap.build_id, tiny_elf.id, sizeof(tiny_elf.id)))
		say_broken("build id of %u bytes %02x%02x.. is not the file's",
			   record.mmap.build_id_size, record.mmap.build_id[0],
			   record.mmap.build_id[1]);
}

TEST(build_id_anonymous)
{
	const size_t page = probe_env()->page_size;
	struct sampler sampler = watch_maps();
	struct pm_record record;
	void *area = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		say_blocked("mmap of anonymous code: %s", pm_errno_name(errno));
	must_find(&sampler, area, &record);
	if (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		say_broken("misc=%#x claims a build id for memory without a file", record.misc);
	must_find(&sampler, map_program(MAP_PRIVATE, PROT_READ | PROT_EXEC), &record);
}

PROBE_MAIN
