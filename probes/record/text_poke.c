/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring report changes of the kernel's own code, with the bytes before and after? A decoder
 * of instruction traces needs the code as it was.
 * Observed: the first user of a static key makes the kernel patch jump labels; the records of these
 * patches are compared. Only x86 writes them.
 * Linux e17d43b93e54 ("perf: Add perf text poke event") (v5.9)
 */
#include "probe.h"
#include <sys/syscall.h>

PROBE(TITLE("changes of kernel code in the ring")
      SINCE("5.9")
      COMMIT("e17d43b93e54")
      NEEDS("arch:x86")
      POINT(record, "patching a jump label gives TEXT_POKE with address, old and new bytes")
      POINT(there_and_back, "code that is patched and patched back ends as it began"))

static struct sampler watch_code(void)
{
	struct perf_event_attr attr = attr_sideband(), without;

	without = attr;
	attr.text_poke = 1;
	return ask_run_sampler(&attr, &without, 0, -1, 32, "text_poke");
}

/*
 * Two static keys that few others hold: major faults as a software event, and the statistics of
 * BPF (BPF_ENABLE_STATS, v5.8). Taking and dropping them patches jump labels.
 */
static void patch_code(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	uint32_t statistics[4] = { 0 };
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	fd = syscall(SYS_bpf, 32, statistics, 4);
	if (fd >= 0)
		close(fd);
}

static bool next_patch(struct sampler *sampler, struct pm_record *ret)
{
	if (!find_record(sampler, PERF_RECORD_TEXT_POKE, ret))
		return false;
	if (!ret->text_poke.addr || ret->text_poke.old_len + ret->text_poke.new_len == 0 ||
	    ret->text_poke.old_len > 64 || ret->text_poke.new_len > 64)
		say_broken("addr=%#" PRIx64 " old_len=%u new_len=%u", ret->text_poke.addr,
			   ret->text_poke.old_len, ret->text_poke.new_len);
	return true;
}

TEST(record)
{
	struct sampler sampler = watch_code();
	struct pm_record record;
	int patches = 0, changes = 0;

	for (int round = 0; round < 5 && !changes; round++) {
		patch_code();
		while (next_patch(&sampler, &record)) {
			const struct pm_record *r = &record;

			patches++;
			changes += r->text_poke.old_len != r->text_poke.new_len ||
				   memcmp(r->text_poke.bytes,
					  r->text_poke.bytes + r->text_poke.old_len,
					  r->text_poke.old_len);
		}
	}
	if (!patches)
		say_absent("no record when static keys toggle: not x86, or no code is patched");
	if (!changes)
		say_broken("records=%d of which none changes a byte", patches);
}

TEST(there_and_back)
{
	struct sampler sampler = watch_code();
	struct pm_record record;
	uint64_t address = 0;
	uint8_t first[64];
	unsigned int length = 0, returned = 0;

	for (int round = 0; round < 5 && !returned; round++) {
		patch_code();
		while (next_patch(&sampler, &record)) {
			const uint8_t *new = record.text_poke.bytes + record.text_poke.old_len;

			if (!address) {
				address = record.text_poke.addr;
				length = record.text_poke.old_len;
				memcpy(first, record.text_poke.bytes, length);
			} else if (address == record.text_poke.addr) {
				returned += record.text_poke.new_len == length &&
					    !memcmp(new, first, length);
			}
		}
	}
	if (!address)
		say_absent("no record when static keys toggle: not x86, or no code is patched");
	if (!returned)
		say_broken("address=%#" PRIx64 " never went back to its first bytes", address);
}

PROBE_MAIN
