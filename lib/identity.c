/* SPDX-License-Identifier: MIT */
/*
 * Identifies the kernel and the machine, by which a profile is matched.
 *
 * Values that could name one single machine or its owner are never read: node name, serial
 * numbers (also those in /proc/cpuinfo), UUIDs, command line.
 */
#include "pm_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define VALUE_MAX 256
#define MODELS_MAX 16	/* kinds of cores in one machine; three is the most seen */

struct identity {
	void (*each)(const char *key, const char *value, void *context);
	void *context;
	char models[MODELS_MAX][VALUE_MAX];
	unsigned int model_count;
	bool is_uml;
};

/* Text from firmware may hold anything; the result is one clean line or nothing. */
static void tell(const struct identity *id, const char *key, const char *value)
{
	char clean[VALUE_MAX];
	size_t len = 0;

	while (*value != '\0' && ((unsigned char)*value <= 0x20 || *value == 0x7f))
		value++;
	for (; *value != '\0' && len < sizeof(clean) - 1; value++)
		clean[len++] = (unsigned char)*value < 0x20 || *value == 0x7f ? ' ' : *value;
	while (len > 0 && clean[len - 1] == ' ')
		len--;
	clean[len] = '\0';
	if (len > 0)
		id->each(key, clean, id->context);
}

static void tell_number(const struct identity *id, const char *key, long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", value);
	tell(id, key, text);
}

static void tell_file(const struct identity *id, const char *key, const char *path)
{
	char text[VALUE_MAX];
	int err = pm_read_text(path, text, sizeof(text));

	if (err >= 0 || err == -EFBIG)
		tell(id, key, text);
}

/* Reports a value of a key that may repeat, once. */
static void tell_once(struct identity *id, const char *key, const char *value)
{
	for (unsigned int i = 0; i < id->model_count; i++)
		if (strncmp(id->models[i], value, VALUE_MAX - 1) == 0)
			return;
	if (id->model_count == MODELS_MAX)
		return;
	snprintf(id->models[id->model_count++], VALUE_MAX, "%s", value);
	tell(id, key, value);
}

/* ---------------------------------------------------------------------------------- the kernel */

/* An ELF note: name and description follow this, each padded to 4 bytes. */
struct elf_note {
	uint32_t name_size, desc_size, type;
};
#define NOTE_GNU_BUILD_ID 3

static size_t pad4(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

/* The description of the GNU build id note among `size` bytes of notes. Returns its length or 0. */
static size_t find_build_id(const unsigned char *notes, size_t size, const unsigned char **ret)
{
	while (size >= sizeof(struct elf_note)) {
		struct elf_note note;
		const unsigned char *name = notes + sizeof(note);
		size_t room = size - sizeof(note), used;

		memcpy(&note, notes, sizeof(note));
		if (note.name_size > room || note.desc_size > room)
			return 0;
		used = pad4(note.name_size) + pad4(note.desc_size);
		if (used > room)
			return 0;
		if (note.type == NOTE_GNU_BUILD_ID && note.name_size == 4 &&
		    memcmp(name, "GNU", 4) == 0) {
			*ret = name + 4;
			return note.desc_size;
		}
		notes += sizeof(note) + used;
		size -= sizeof(note) + used;
	}
	return 0;
}

/* The notes of vmlinux; a build id is among them when it was linked with --build-id. */
static void tell_build_id(const struct identity *id)
{
	unsigned char notes[8192];
	const unsigned char *build_id = NULL;
	char hex[VALUE_MAX];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t size;
	size_t len;

	if (fd < 0)
		return;
	size = read(fd, notes, sizeof(notes));
	close(fd);
	len = size > 0 ? find_build_id(notes, (size_t)size, &build_id) : 0;
	if (len == 0 || len > (sizeof(hex) - 1) / 2)
		return;
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	tell(id, "build_id", hex);
}

static void tell_kernel(const struct identity *id)
{
	struct utsname names;

	if (uname(&names) != 0)
		return;
	tell(id, "arch", names.machine);
	tell(id, "release", names.release);
	tell(id, "version", names.version);
	tell_build_id(id);
}

/* ------------------------------------------------------------------------------------- the CPU */

/* The four numbers that name an ARM core, collected over the lines of one processor. */
struct arm_core {
	char implementer[16], variant[16], part[16];
};

static void cpuinfo_value(struct identity *id, struct arm_core *core, const char *key,
			  const char *value)
{
	static const char *const models[] = {
		"model name", "Model Name", "cpu model", "cpu", "uarch", "Hardware", "Processor",
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(key, models[i]) == 0)
			tell_once(id, "cpu_model", value);
	if (strcmp(key, "CPU implementer") == 0) {
		snprintf(core->implementer, sizeof(core->implementer), "%s", value);
	} else if (strcmp(key, "CPU variant") == 0) {
		snprintf(core->variant, sizeof(core->variant), "%s", value);
	} else if (strcmp(key, "CPU part") == 0) {
		snprintf(core->part, sizeof(core->part), "%s", value);
	} else if (strcmp(key, "CPU revision") == 0) {
		char text[VALUE_MAX];

		snprintf(text, sizeof(text), "arm implementer %s part %s variant %s revision %s",
			 core->implementer, core->part, core->variant, value);
		tell_once(id, "cpu_model", text);
	} else if (strcmp(key, "vendor_id") == 0 && strcmp(value, "User Mode Linux") == 0) {
		id->is_uml = true;
	}
}

/*
 * One line "key<blanks>: value". s390 has "processor 0: version = .., identification = ..,
 * machine = 2964" instead; identification is a serial number, only the machine is taken.
 */
static void cpuinfo_line(struct identity *id, struct arm_core *core, char *line)
{
	char *value = strchr(line, ':');
	const char *machine;
	size_t len;

	if (value == NULL)
		return;
	len = (size_t)(value - line);
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	line[len] = '\0';
	value += 1 + strspn(value + 1, " \t");
	machine = strstr(value, "machine = ");
	if (machine != NULL && strncmp(line, "processor ", 10) == 0) {
		char text[VALUE_MAX];

		snprintf(text, sizeof(text), "s390 %s", machine);
		tell_once(id, "cpu_model", text);
		return;
	}
	cpuinfo_value(id, core, line, value);
}

/* Hundreds of processors make a long file, so it is read through a small window, line by line. */
static void tell_cpu_models(struct identity *id)
{
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	struct arm_core core = { "", "", "" };
	char window[8192];
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, window + len, sizeof(window) - 1 - len)) > 0) {
		char *line = window, *end;

		window[len += (size_t)n] = '\0';
		while ((end = strchr(line, '\n')) != NULL) {
			*end = '\0';
			cpuinfo_line(id, &core, line);
			line = end + 1;
		}
		len -= (size_t)(line - window);
		memmove(window, line, len);
		if (len == sizeof(window) - 1)	/* one line fills the window: not ours */
			len = 0;
	}
	close(fd);
}

/* Main ID register (arm64): which core, to the revision. */
static void tell_midr(unsigned int cpu, void *context)
{
	char path[96], text[32];

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%u/regs/identification/midr_el1", cpu);
	if (pm_read_text(path, text, sizeof(text)) > 0)
		tell_once(context, "cpu_midr", text);
}

/* --------------------------------------------------------------------------------- the machine */

/* A model name. DMI has serial numbers too, in files of their own, which are left alone. */
static void tell_board(const struct identity *id)
{
	char vendor[64], product[64], text[VALUE_MAX];

	/* The device tree ends its strings with NUL, which also ends ours. */
	if (pm_read_text("/proc/device-tree/model", text, sizeof(text)) > 0) {
		tell(id, "board", text);
		return;
	}
	if (pm_read_text("/sys/class/dmi/id/product_name", product, sizeof(product)) <= 0)
		return;
	if (pm_read_text("/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor)) < 0)
		vendor[0] = '\0';
	snprintf(text, sizeof(text), "%s %s", vendor, product);
	tell(id, "board", text);
}

/* The hypervisor's own name, NUL-terminated. False on bare metal and where none is given. */
static bool cpuid_hypervisor(char sign[13])
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(sign, &b, 4);
	memcpy(sign + 4, &c, 4);
	memcpy(sign + 8, &d, 4);
	sign[12] = '\0';
	return true;
#else
	(void)sign;
	return false;
#endif
}

static const char *hypervisor_name(const char *sign)
{
	static const struct {
		const char *sign, *name;
	} known[] = {
		{ "KVMKVMKVM", "kvm" },		{ "TCGTCGTCGTCG", "qemu-tcg" },
		{ "XenVMMXenVMM", "xen" },	{ "VMwareVMware", "vmware" },
		{ "Microsoft Hv", "hyper-v" },	{ "bhyve bhyve ", "bhyve" },
		{ "VBoxVBoxVBox", "virtualbox" }, { "ACRNACRNACRN", "acrn" },
		{ "linux,kvm", "kvm" },		{ "linux,dummy-virt", "qemu" },
		{ "xen,xen", "xen" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].sign, sign) == 0)
			return known[i].name;
	return sign;
}

size_t pm_hypervisor(char *buf, size_t size)
{
	static const char *const device_tree[] = {
		"/proc/device-tree/hypervisor/compatible",
		"/proc/device-tree/compatible",
	};
	char text[VALUE_MAX], sign[13];
	const char *name = "";

	if (pm_read_text("/sys/hypervisor/type", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		name = text;
	} else if (cpuid_hypervisor(sign)) {
		name = sign[0] ? hypervisor_name(sign) : "unnamed";
	}
	for (size_t i = 0; name[0] == '\0' && i < sizeof(device_tree) / sizeof(device_tree[0]); i++)
		/* The second is the whole machine's: only a name that we know is an answer. */
		if (pm_read_text(device_tree[i], text, sizeof(text)) > 0 &&
		    (i == 0 || hypervisor_name(text) != text))
			name = hypervisor_name(text);
	snprintf(buf, size, "%s", name);
	return strlen(buf);
}

/* Reported only where something says so: silence does not mean bare metal. */
static void tell_hypervisor(const struct identity *id)
{
	char name[VALUE_MAX];

	if (id->is_uml)
		tell(id, "hypervisor", "uml");
	else if (pm_hypervisor(name, sizeof(name)) > 0)
		tell(id, "hypervisor", name);
}

int pm_identity_kernel(void (*each)(const char *key, const char *value, void *context),
		       void *context)
{
	tell_kernel(&(struct identity){ .each = each, .context = context });
	return 0;
}

int pm_identity_each(void (*each)(const char *key, const char *value, void *context),
		     void *context)
{
	struct identity id = { .each = each, .context = context };
	char possible[4096];
	int cpus;

	tell_kernel(&id);
	tell_cpu_models(&id);
	id.model_count = 0;
	if (pm_read_text("/sys/devices/system/cpu/possible", possible, sizeof(possible)) > 0) {
		(void)pm_cpulist_each(possible, tell_midr, &id);
		cpus = pm_cpulist_each(possible, NULL, NULL);
		if (cpus > 0)
			tell_number(&id, "cpus_possible", cpus);
	}
	cpus = pm_cpus_online();
	if (cpus > 0)
		tell_number(&id, "cpus_online", cpus);
	tell_number(&id, "page_size", sysconf(_SC_PAGESIZE));
	tell_board(&id);
	tell_hypervisor(&id);
	tell_file(&id, "lsm", "/sys/kernel/security/lsm");
	return 0;
}
