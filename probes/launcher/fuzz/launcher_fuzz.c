/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as what the launcher reads: the plan of a result directory, which --resume takes as it
 * finds it; the table of personas; the kernel's log; the end of an earlier result file. The first
 * byte chooses. The launcher's own files are included, because its readers are its own.
 */
#include "../kernel_log.c"
#include "../live.c"
#include "../personas.c"
#include "../plan.c"
#include "../queue.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[32];

static void remove_folder(void)
{
	char path[64];

	for (int i = 0; i < table.count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, table.rows[i].name);
		rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/end", folder);
	unlink(path);
	rmdir(folder);
}

static FILE *text_file(const void *data, size_t size)
{
	static char none[1] = "\n";

	return size ? fmemopen((void *)data, size, "r") : fmemopen(none, 1, "r");
}

/* What was said on stderr is thrown away. */
static void be_quiet(void)
{
	static bool quiet;

	if (!quiet)
		stderr = fopen("/dev/null", "w");
	quiet = true;
}

/* In memory where that is possible, because a disk is slower than what is tested. */
static void make_ours(void)
{
	static const char *const below[] = { "/dev/shm", "/tmp" };

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(folder, sizeof(folder), "%s/pm-fuzz-XXXXXX", below[i]);
		if (mkdtemp(folder))
			return;
	}
	abort();
}

static void begin(void)
{
	static const char rows[] = "root 0 kept none x\nuser 65534 none none x\n";
	static bool begun;
	FILE *file;

	if (begun)
		return;
	begun = true;
	make_ours();
	atexit(remove_folder);
	file = text_file(rows, sizeof(rows) - 1);
	if (read_rows("rows", file) != 0)
		abort();
	fclose(file);
}

/* Ids that are taken stay below the folder of the probes. */
static void read_as_plan(const uint8_t *data, size_t size)
{
	FILE *plan = text_file(data, size);
	char line[256], id[PLAN_ID_SIZE];

	for (int i = 0; i < 60 && fgets(line, sizeof(line), plan); i++) {
		(void)plan_beside(line);
		if (plan_line(line, id) == NULL)
			continue;
		if (strlen(id) >= sizeof(id) || strchr(id, '/') || strstr(id, "..") || id[0] == '.')
			abort();
	}
	fclose(plan);
}

/* Privileges depend on this table: what is taken is what the columns may say. */
static void read_as_personas(const uint8_t *data, size_t size)
{
	const int kept = table.count;
	const typeof(table) before = table;
	FILE *file = text_file(data, size);

	table.count = 0;
	if (read_rows("rows", file) == 0 && (table.count < 1 || table.count > PERSONAS_MAX))
		abort();
	for (int i = 0; i < table.count; i++) {
		const struct persona *row = &table.rows[i];

		if (row->keeps_capabilities != (row->uid == 0 || row->uid == PERSONA_SAME_UID) ||
		    !row->name[0] || strchr(row->name, '/') || strchr(row->name, '.'))
			abort();
	}
	fclose(file);
	table = before;
	table.count = kept;
}

static void read_as_log(const uint8_t *data, size_t size)
{
	static int null = -1;
	char *text = malloc(size + 1), *rest = text, *line;
	bool where = false;

	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n")))
		(void)tell_line(line, null, &where);
	free(text);
}

static void read_as_earlier(const uint8_t *data, size_t size)
{
	static int file = -1;
	char path[64];
	double spent;

	snprintf(path, sizeof(path), "%s/end", folder);
	if (file < 0)
		file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (ftruncate(file, 0) < 0 || pwrite(file, data, size, 0) != (ssize_t)size)
		abort();
	spent = live_spent(folder, "end");
	if (spent < -1 || spent > 1e6)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 8192)
		return 0;
	be_quiet();
	begin();
	switch (data[0] % 4) {
	case 0: read_as_plan(data + 1, size - 1); break;
	case 1: read_as_personas(data + 1, size - 1); break;
	case 2: read_as_log(data + 1, size - 1); break;
	default: read_as_earlier(data + 1, size - 1);
	}
	return 0;
}
