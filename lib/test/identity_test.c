/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_files.h"

#include <ctype.h>
#include <sys/utsname.h>

/* What pm_identity_each told: "key=value\n" after each other. */
static char told[65536];

static void tell(const char *key, const char *value, void *context)
{
	size_t len = strlen(told);

	assert_ptr_equal(context, told);
	snprintf(told + len, sizeof(told) - len, "%s=%s\n", key, value);
}

static void identify(void)
{
	told[0] = '\n';
	told[1] = '\0';
	assert_int_equal(pm_identity_each(tell, told), 0);
}

/* How often this very line was told. */
static int times(const char *line)
{
	char whole[512];
	int count = 0;

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	for (const char *at = told; (at = strstr(at, whole)) != NULL; at++)
		count++;
	return count;
}

static bool told_key(const char *key)
{
	char begin[64];

	snprintf(begin, sizeof(begin), "\n%s=", key);
	return strstr(told, begin) != NULL;
}

static void a_machine_without_files(void **state)
{
	struct utsname names;
	char line[256];

	(void)state;
	identify();
	uname(&names);
	snprintf(line, sizeof(line), "release=%s", names.release);
	assert_int_equal(times(line), 1);
	snprintf(line, sizeof(line), "arch=%s", names.machine);
	assert_int_equal(times(line), 1);
	assert_true(told_key("version"));
	assert_true(told_key("page_size"));
	assert_false(told_key("build_id"));
	assert_false(told_key("cpu_model"));
	assert_false(told_key("cpu_midr"));
	assert_false(told_key("board"));
	assert_false(told_key("lsm"));
	assert_false(told_key("cpus_online"));
	assert_false(told_key("cpus_possible"));
}

/* ----------------------------------------------------------------------------------- build id */

static size_t put_note(unsigned char *at, const char *name, uint32_t name_size, uint32_t type,
		       const void *desc, uint32_t desc_size)
{
	const uint32_t head[3] = { name_size, desc_size, type };
	size_t name_room = (name_size + 3u) / 4 * 4, desc_room = (desc_size + 3u) / 4 * 4;

	memcpy(at, head, sizeof(head));
	memset(at + 12, 0, name_room + desc_room);
	memcpy(at + 12, name, name_size);
	memcpy(at + 12 + name_room, desc, desc_size);
	return 12 + name_room + desc_room;
}

static void build_id_among_other_notes(void **state)
{
	const unsigned char id[] = { 0x00, 0x1f, 0xa0, 0xff, 0x12 };
	unsigned char notes[256];
	size_t size = 0;

	(void)state;
	size += put_note(notes + size, "Xen", 4, 3, "abcd", 4);
	size += put_note(notes + size, "Linux", 6, 257, "x", 1);
	size += put_note(notes + size, "GNU", 4, 1, "abcd", 4);
	size += put_note(notes + size, "GNU", 4, 3, id, sizeof(id));
	size += put_note(notes + size, "GNU", 4, 3, "late", 4);
	fake_write("/sys/kernel/notes", notes, size);
	identify();
	assert_int_equal(times("build_id=001fa0ff12"), 1);
}

/* What tells one kernel from another comes first, and alone where no more is asked for. */
static void the_kernel_alone(void **state)
{
	static const unsigned char id[] = { 0xab, 0xcd };
	unsigned char notes[64];
	size_t lines = 0;

	(void)state;
	fake_write("/sys/kernel/notes", notes, put_note(notes, "GNU", 4, 3, id, sizeof(id)));
	told[0] = '\n';
	told[1] = '\0';
	assert_int_equal(pm_identity_kernel(tell, told), 0);
	assert_true(told_key("arch") && told_key("release") && told_key("version"));
	assert_int_equal(times("build_id=abcd"), 1);
	for (const char *at = told + 1; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, 4);
}

static void notes_cut_short_or_lying(void **state)
{
	unsigned char notes[256];
	const uint32_t huge[] = { 21, 0x7ffffffc, 0xfffffffc, 0xffffffff };
	size_t size = put_note(notes, "GNU", 4, 3, "0123456789abcdefghij", 20);

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		fake_write("/sys/kernel/notes", notes, cut);
		identify();
		assert_false(told_key("build_id"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(huge); i++)
		for (size_t field = 0; field < 8; field += 4) {
			put_note(notes, "GNU", 4, 3, "0123456789abcdefghij", 20);
			memcpy(notes + field, &huge[i], 4);
			fake_write("/sys/kernel/notes", notes, size);
			identify();
			assert_false(told_key("build_id"));
		}
}

static void build_id_of_no_length_or_too_long(void **state)
{
	unsigned char notes[600], id[200] = { 0 };
	size_t size = put_note(notes, "GNU", 4, 3, id, 0);

	(void)state;
	fake_write("/sys/kernel/notes", notes, size);
	identify();
	assert_false(told_key("build_id"));
	size = put_note(notes, "GNU", 4, 3, id, sizeof(id));
	fake_write("/sys/kernel/notes", notes, size);
	identify();
	assert_false(told_key("build_id"));
}

/* ------------------------------------------------------------------------------------ the CPU */

static void models_of_x86_told_once(void **state)
{
	(void)state;
	fake_file("/proc/cpuinfo",
		  "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n"
		  "cpu family\t: 23\ncpu MHz\t: 2000\n\n"
		  "processor\t: 1\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n\n");
	identify();
	assert_int_equal(times("cpu_model=AMD EPYC"), 1);
	assert_null(strstr(told, "2000"));
	assert_null(strstr(told, "=23"));
}

static void models_of_arm(void **state)
{
	(void)state;
	fake_file("/proc/cpuinfo",
		  "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
		  "CPU variant\t: 0x0\nCPU part\t: 0xd03\nCPU revision\t: 4\n\n"
		  "processor\t: 4\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
		  "CPU variant\t: 0x1\nCPU part\t: 0xd08\nCPU revision\t: 2\n\n"
		  "processor\t: 5\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
		  "CPU variant\t: 0x1\nCPU part\t: 0xd08\nCPU revision\t: 2\n\n"
		  "Hardware\t: BCM2711\nRevision\t: c03114\nSerial\t\t: 100000003d1dfeed\n");
	fake_file("/sys/devices/system/cpu/possible", "0,4-5");
	fake_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
		  "0x00000000410fd034\n");
	fake_file("/sys/devices/system/cpu/cpu5/regs/identification/midr_el1",
		  "0x00000000410fd083\n");
	fake_file("/proc/device-tree/model", "Raspberry Pi 4 Model B");
	identify();
	assert_int_equal(times("cpu_model=arm implementer 0x41 part 0xd03 variant 0x0 revision 4"),
			 1);
	assert_int_equal(times("cpu_model=arm implementer 0x41 part 0xd08 variant 0x1 revision 2"),
			 1);
	assert_int_equal(times("cpu_model=BCM2711"), 1);
	assert_int_equal(times("cpu_midr=0x00000000410fd034"), 1);
	assert_int_equal(times("cpu_midr=0x00000000410fd083"), 1);
	assert_int_equal(times("cpus_possible=3"), 1);
	assert_int_equal(times("board=Raspberry Pi 4 Model B"), 1);
	assert_null(strstr(told, "feed"));
}

static void model_of_s390_without_its_serial_number(void **state)
{
	(void)state;
	fake_file("/proc/cpuinfo",
		  "vendor_id       : IBM/S390\n# processors    : 2\n"
		  "processor 0: version = FF,  identification = 0133E8,  machine = 2964\n"
		  "processor 1: version = FF,  identification = 0133E8,  machine = 2964\n");
	identify();
	assert_int_equal(times("cpu_model=s390 machine = 2964"), 1);
	assert_null(strstr(told, "0133E8"));
	fake_file("/proc/cpuinfo", "processor 0: version = FF\nother: machine = 2964\n");
	identify();
	assert_false(told_key("cpu_model"));
}

static void models_of_other_machines(void **state)
{
	const struct {
		const char *cpuinfo, *line;
	} cases[] = {
		{ "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nrevision\t: 2.2\n",
		  "cpu_model=POWER9, altivec supported" },
		{ "system type\t: malta\ncpu model\t: MIPS 24Kc V0.0\n",
		  "cpu_model=MIPS 24Kc V0.0" },
		{ "processor\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n",
		  "cpu_model=sifive,u74-mc" },
		{ "Processor\t: ARMv7 Processor rev 2 (v7l)\n",
		  "cpu_model=ARMv7 Processor rev 2 (v7l)" },
		{ "no colon\n: no key\nmodel name\t:\t\nmodel name: last line", "page_size=4096" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_file("/proc/cpuinfo", cases[i].cpuinfo);
		identify();
		if (i < ARRAY_SIZE(cases) - 1 || sysconf(_SC_PAGESIZE) == 4096)
			assert_int_equal(times(cases[i].line), 1);
	}
	assert_false(told_key("cpu_model"));
}

/* Longer than the window it is read through, cut at every place by the lines before. */
static void cpuinfo_of_a_large_machine(void **state)
{
	(void)state;
	for (int shift = 0; shift < 64; shift++) {
		static char text[40000];
		size_t len = 0;

		len += (size_t)sprintf(text, "%*s\n", shift, "");
		for (int cpu = 0; cpu < 1000; cpu++)
			len += (size_t)sprintf(text + len, "processor\t: %d\nflags\t: x\n", cpu);
		strcpy(text + len, "model name\t: the last line\n");
		fake_file("/proc/cpuinfo", text);
		identify();
		assert_int_equal(times("cpu_model=the last line"), 1);
	}
}

static void cpuinfo_that_is_hostile(void **state)
{
	static char text[60000];
	size_t len = 0;

	(void)state;
	memset(text, 'x', 20000);
	len = 20000;
	len += (size_t)sprintf(text + len, "\nmodel name: \x01\x1b[31mred\x7f\n");
	for (int i = 0; i < 100; i++)
		len += (size_t)sprintf(text + len, "model name: kind %d\n", i);
	fake_file("/proc/cpuinfo", text);
	identify();
	assert_int_equal(times("cpu_model=[31mred"), 1);
	assert_int_equal(times("cpu_model=kind 14"), 1);
	assert_int_equal(times("cpu_model=kind 15"), 0);
	for (const char *at = told; *at; at++)
		assert_true(*at == '\n' || !iscntrl((unsigned char)*at));
}

/* -------------------------------------------------------------------------------- the machine */

static void board_of_a_pc(void **state)
{
	(void)state;
	fake_file("/sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n");
	identify();
	assert_int_equal(times("board=Standard PC (Q35 + ICH9, 2009)"), 1);
	fake_file("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	fake_file("/sys/class/dmi/id/product_serial", "SECRET\n");
	identify();
	assert_int_equal(times("board=QEMU Standard PC (Q35 + ICH9, 2009)"), 1);
	assert_null(strstr(told, "SECRET"));
}

static void device_tree_before_dmi(void **state)
{
	(void)state;
	fake_write("/proc/device-tree/model", "One Board\0junk", 14);
	fake_file("/sys/class/dmi/id/product_name", "Other\n");
	identify();
	assert_int_equal(times("board=One Board"), 1);
	assert_int_equal(times("board=Other"), 0);
}

static void hypervisor_that_says_so(void **state)
{
	(void)state;
	fake_file("/sys/hypervisor/type", "xen\n");
	identify();
	assert_int_equal(times("hypervisor=xen"), 1);
	fake_file("/proc/cpuinfo", "vendor_id\t: User Mode Linux\nmodel name\t: UML\n");
	identify();
	assert_int_equal(times("hypervisor=uml"), 1);
	assert_int_equal(times("hypervisor=xen"), 0);
}

#if !defined(__x86_64__) && !defined(__i386__)
static void hypervisor_of_the_device_tree(void **state)
{
	(void)state;
	fake_write("/proc/device-tree/compatible", "vendor,board\0vendor,soc", 24);
	identify();
	assert_false(told_key("hypervisor"));
	fake_write("/proc/device-tree/compatible", "linux,dummy-virt", 17);
	identify();
	assert_int_equal(times("hypervisor=qemu"), 1);
	fake_write("/proc/device-tree/hypervisor/compatible", "linux,kvm", 10);
	identify();
	assert_int_equal(times("hypervisor=kvm"), 1);
}
#endif

static void counts_and_lsm(void **state)
{
	(void)state;
	fake_file("/sys/devices/system/cpu/possible", "0-63\n");
	fake_file("/sys/devices/system/cpu/online", "0-1,5\n");
	fake_file("/sys/kernel/security/lsm", "capability,landlock\n");
	identify();
	assert_int_equal(times("cpus_possible=64"), 1);
	assert_int_equal(times("cpus_online=3"), 1);
	assert_int_equal(times("lsm=capability,landlock"), 1);
	fake_file("/sys/devices/system/cpu/possible", "none\n");
	identify();
	assert_false(told_key("cpus_possible"));
}

#define FAKED(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKED(a_machine_without_files),
		FAKED(build_id_among_other_notes),
		FAKED(the_kernel_alone),
		FAKED(notes_cut_short_or_lying),
		FAKED(build_id_of_no_length_or_too_long),
		FAKED(models_of_x86_told_once),
		FAKED(models_of_arm),
		FAKED(model_of_s390_without_its_serial_number),
		FAKED(models_of_other_machines),
		FAKED(cpuinfo_of_a_large_machine),
		FAKED(cpuinfo_that_is_hostile),
		FAKED(board_of_a_pc),
		FAKED(device_tree_before_dmi),
		FAKED(hypervisor_that_says_so),
#if !defined(__x86_64__) && !defined(__i386__)
		FAKED(hypervisor_of_the_device_tree),
#endif
		FAKED(counts_and_lsm),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
