/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With every field at once, is each where the documented order puts it, and does the record end
 * with the last one?
 * Observed: the fields that this kernel takes for a page fault are asked for together. The decoder
 * walks them in the documented order; first, middle and last are compared with what is known.
 */
#include "probe.h"
#include "callchain.h"

PROBE(TITLE("all sample fields at once")
      SINCE("3.12")
      POINT(everything, "first, middle and last field are true and nothing is left over")
      FACT(fields, string, "bits", "sample_type of the largest sample this kernel writes here"))

/* Add what the kernel accepts, one field after the other. */
static struct perf_event_attr attr_everything(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						  PERF_SAMPLE_TID | PERF_SAMPLE_TIME);

	attr.exclude_callchain_kernel = 1;
	attr.sample_id_all = 1;
	attr.read_format = PERF_FORMAT_ID;
	for (unsigned int bit = 0; bit < 25; bit++) {
		struct perf_event_attr more = attr;
		int fd;

		more.sample_type |= 1ull << bit;
		if (more.sample_type & PERF_SAMPLE_REGS_USER)
			more.sample_regs_user = 1;
		if (more.sample_type & PERF_SAMPLE_REGS_INTR)
			more.sample_regs_intr = 1;
		if (more.sample_type & PERF_SAMPLE_STACK_USER)
			more.sample_stack_user = 256;
		fd = pm_open(&more, 0, -1, -1, 0);
		if (fd < 0)
			continue;
		close(fd);
		attr = more;
	}
	return attr;
}

/* Whose sample it is, and where it was taken. */
static void expect_place(const struct perf_event_attr *attr, const struct pm_sample *sample,
			 int cpu)
{
	const struct pm_sample_id *sid = &sample->sid;

	if (sid->pid != (uint32_t)getpid())
		say_broken("pid=%u want=%d", sid->pid, (int)getpid());
	if (attr->sample_type & PERF_SAMPLE_CPU && (sid->cpu != (uint32_t)cpu || sid->cpu_reserved))
		say_broken("cpu=%u,%u want=%d,0", sid->cpu, sid->cpu_reserved, cpu);
	if (attr->sample_type & PERF_SAMPLE_STREAM_ID && sid->stream_id != sid->id)
		say_broken("stream_id=%" PRIu64 " want=%" PRIu64, sid->stream_id, sid->id);
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR && sample->regs_intr_nr != 1)
		say_broken("registers of the interrupt=%u want=1", sample->regs_intr_nr);
}

TEST(everything)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IDENTIFIER);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);
	const int cpu = move_to_nth_cpu(count_cpus() - 1);
	struct recursion recursion;
	struct sampler sampler;
	struct pm_sample sample;

	close(ask_open(&attr, &without, 0, -1, "IDENTIFIER"));
	attr = attr_everything();
	sampler = must_sampler(&attr, 0, -1, 8);
	fact_str("fields", "%#" PRIx64, attr.sample_type);
	sample = sample_recursion(&sampler, &recursion, 3);
	if (sample.sid.tid != (uint32_t)pm_gettid() ||
	    sample.sid.id != must_counts(sampler.fd, PERF_FORMAT_ID).member[0].id ||
	    sample.period != 1)
		say_broken("tid=%u id=%" PRIu64 " period=%" PRIu64, sample.sid.tid, sample.sid.id,
			   sample.period);
	expect_place(&attr, &sample, cpu);
	if (attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		expect_frames(&sample, &recursion, HAVE_FRAMES ? 4 : 0);
	if ((attr.sample_type & PERF_SAMPLE_REGS_USER) && sample.regs_user_nr != 1)
		say_broken("registers=%u want=1", sample.regs_user_nr);
	if ((attr.sample_type & PERF_SAMPLE_CODE_PAGE_SIZE) &&
	    sample.code_page_size < probe_env()->page_size)
		say_broken("code_page_size=%" PRIu64 " at the end", sample.code_page_size);
}

PROBE_MAIN
