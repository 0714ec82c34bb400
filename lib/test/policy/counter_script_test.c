/* SPDX-License-Identifier: MIT */
/* Counters in states that this kernel cannot reach: pipes, a scripted kernel, a simulated page. */
#include "counter_test.h"

#include <pthread.h>
#include <sys/wait.h>

static const struct pm_event_spec hardware[] = { SPEC(0, 0), SPEC(0, 1), SPEC(0, 4) };

static struct perf_event_mmap_page user_page = {
	.lock = 2, .index = 1, .offset = 1000, .pmc_width = 48,
};

static bool fake_counter(uint32_t index, uint64_t *ret)
{
	*ret = 23;
	return index == 0;
}

static bool no_cycles(uint64_t *ret)
{
	(void)ret;
	return false;
}

static const struct pm_registers machine = { fake_counter, no_cycles };

static void start_script(void)
{
	static const struct pm_registers none;

	fake_kernel.on = true;
	fake_kernel.mappable = true;
	registers = &none;
}

/* Whatever opens has a page by which it can be read in user space. */
static void start_with_pages(void)
{
	start_script();
	user_page.cap_bit0_is_deprecated = user_page.cap_user_rdpmc = 1;
	fake_kernel.page = &user_page;
	registers = &machine;
}

/* From now on the event's read(2) gives these words, once. */
static void answer(size_t index, const uint64_t *words, size_t count)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], words, count * 8), (ssize_t)count * 8);
	close(fds[1]);
	assert_int_equal(dup2(fds[0], counters->counters[index].fd),
			 counters->counters[index].fd);
	close(fds[0]);
}

static int open_pinned(size_t count)
{
	struct pm_event_spec specs[3] = { hardware[0], hardware[1], hardware[2] };

	/* One says it for all: they are a group. */
	specs[count - 1].flags |= PM_SPEC_PINNED;
	return open_specs(specs, count, 0);
}

static void pinned_without_a_place(void **state)
{
	const uint64_t words[] = { 3, 500, 500, 1, 2, 3 };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_value values[3] = { { sizeof(values[0]), 42, 42, 42 } };

	(void)state;
	start_script();
	assert_int_equal(open_pinned(3), 0);
	assert_false(fake_kernel.attr.pinned);	/* the last open was a sibling's */
	answer(0, words, 6);
	assert_int_equal(pm_counters_read(counters, values, 3), 3);
	assert_int_equal(values[2].value, 3);
	values[0].value = 42;
	/* The pipe is empty and closed: end of file. */
	assert_int_equal(pm_counters_read(counters, values, 3), -ENODATA);
	assert_int_equal(pm_counters_reset(counters), -ENODATA);
	assert_int_equal(pm_counters_read_one(counters, 1, values), -ENODATA);
	assert_int_equal(values[0].value, 42);
	assert_int_equal(pm_counters_diagnose(counters, -ENODATA, &diag), PM_CAUSE_SILENCE);
	assert_int_equal(diag.error, ENODATA);
	assert_non_null(strstr(diag.text, "pinned"));
	assert_int_equal(pm_counters_diagnose(counters, -ECHILD, &diag), PM_CAUSE_UNSUPPORTED);
	assert_int_equal(pm_counters_diagnose(counters, 0, &diag), PM_CAUSE_NONE);
}

static void only_the_leader_is_pinned(void **state)
{
	(void)state;
	start_script();
	assert_int_equal(open_pinned(1), 0);
	assert_true(fake_kernel.attr.pinned && fake_kernel.attr.disabled);
	pm_counters_destroy(counters);
	assert_int_equal(open_specs(hardware, 1, 0), 0);
	assert_false(fake_kernel.attr.pinned);
}

/*
 * A kernel that leaves disabled leaders out of its sums must see those that get followers. Nobody's
 * exec(2) may start what is counted of others.
 */
static void leaders_are_weighed(void **state)
{
	struct pm_event_spec others[] = { SPEC(0, 0), SPEC(0, 1) };

	(void)state;
	start_script();
	assert_int_equal(open_specs(hardware, 1, 0), 0);
	assert_int_equal(fake_kernel.on_exec, 0);
	pm_counters_destroy(counters);
	assert_int_equal(open_specs(hardware, 3, 0), 0);
	assert_int_equal(fake_kernel.on_exec, 1);
	pm_counters_destroy(counters);
	assert_int_equal(open_specs(hardware, 3, PM_COUNTERS_INHERIT), 0);
	assert_int_equal(fake_kernel.on_exec, 1);
	pm_counters_destroy(counters);
	others[0].tid = others[1].tid = 1;
	assert_int_equal(open_specs(others, 2, 0), 0);
	assert_int_equal(fake_kernel.on_exec, 1);
}

static void answers_of_another_shape(void **state)
{
	const uint64_t wrong_count[] = { 2, 500, 500, 1, 2, 3 };
	struct pm_value values[3] = { { .size = sizeof(values[0]) } };

	(void)state;
	start_script();
	assert_int_equal(open_specs(hardware, 3, 0), 0);
	answer(0, wrong_count, 6);
	assert_int_equal(pm_counters_read(counters, values, 3), -EBADMSG);
	answer(0, wrong_count, 5);
	assert_int_equal(pm_counters_read(counters, values, 3), -EBADMSG);
}

static uint64_t doubtful(void)
{
	struct pm_counters_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_counters_stats(counters, &stats), 0);
	return stats.doubtful;
}

/* They are given all the same: what else the kernel could tell is not known. */
static void values_that_cannot_be_true(void **state)
{
	static const uint64_t words[4][3] = {
		{ 7, 5000000, 5000000 }, { 7, 5000000, 6000000 },	/* read between the two */
		{ 7, 5000000, 7000000 }, { 4, 6000000, 6000000 },
	};
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	start_script();
	assert_int_equal(open_specs(hardware, 1, 0), 0);
	for (size_t i = 0; i < 3; i++) {
		answer(0, words[i], 3);
		assert_int_equal(i == 1 ? pm_counters_read_one(counters, 0, &value) :
				 pm_counters_read(counters, &value, 1), i == 1 ? 0 : 1);
		assert_int_equal(value.value, 7);
		assert_int_equal(doubtful(), i == 2);
	}
	answer(0, words[0], 3);
	assert_int_equal(pm_counters_reset(counters), 0);
	answer(0, words[3], 3);
	assert_int_equal(pm_counters_read(counters, &value, 1), 1);
	assert_int_equal(doubtful(), 2);
}

static void groups_where_one_is_too_small(void **state)
{
	const uint64_t words[3][4] = { { 1, 100, 50, 7 }, { 1, 100, 25, 8 }, { 9, 100, 100 } };
	struct pm_value values[3] = { { .size = sizeof(values[0]) } };
	uint64_t scaled;

	(void)state;
	start_script();
	fake_kernel.sibling_errno = EINVAL;
	assert_int_equal(open_specs(hardware, 3, PM_COUNTERS_TOGETHER), -EINVAL);
	assert_int_equal(open_specs(hardware, 3, 0), 0);
	assert_int_equal(counters->stats.groups, 3);
	/* The last one leads nobody, and is asked for by itself. */
	assert_false(fake_kernel.attr.read_format & PERF_FORMAT_GROUP);
	for (size_t i = 0; i < 3; i++)
		answer(i, words[i], i < 2 ? 4 : 3);
	assert_int_equal(pm_counters_read(counters, values, 3), 3);
	assert_true(values[0].value == 7 && values[1].value == 8 && values[2].value == 9);
	answer(2, words[2], 3);
	assert_int_equal(pm_counters_read_one(counters, 2, values), 0);
	assert_true(values[0].value == 9 && values[0].running == 100);
	assert_int_equal(pm_value_scale(&values[1], &scaled), 0);
	assert_int_equal(scaled, 32);
	fake_kernel.sibling_errno = EMFILE;	/* no reason to open even more */
	pm_counters_destroy(counters);
	counters = NULL;
	assert_int_equal(open_specs(hardware, 3, 0), -EMFILE);
}

static void inherited_group_refused(void **state)
{
	const uint64_t words[2][3] = { { 7, 100, 50 }, { 8, 100, 25 } };
	struct pm_value values[2] = { { .size = sizeof(values[0]) } };

	(void)state;
	start_with_pages();
	fake_kernel.refused_format = PERF_FORMAT_GROUP;
	assert_int_equal(open_specs(hardware, 2, PM_COUNTERS_INHERIT), 0);
	assert_int_equal(counters->stats.groups, 2);
	assert_true(counters->counters[1].leader == 0);	/* still scheduled together */
	answer(0, words[0], 3);
	answer(1, words[1], 3);
	assert_int_equal(pm_counters_read(counters, values, 2), 2);
	assert_true(values[0].value == 7 && values[0].running == 50 && values[1].value == 8 &&
		    values[1].running == 25);
	assert_null(counters->counters[0].page);	/* children are not in the page */
}

static void facts_forbid_inherited_groups(void **state)
{
	const struct pm_fact fact = { .size = sizeof(fact),
				      .key = "group.inherit_read.ended", .verdict = PM_BROKEN,
				      .rank = PM_RANK_BUILD };

	(void)state;
	start_script();
	assert_int_equal(open_specs(hardware, 2, PM_COUNTERS_INHERIT), 0);
	assert_int_equal(counters->stats.groups, 1);
	pm_counters_destroy(counters);
	assert_int_equal(pm_profile_set(nothing, &fact), 1);
	assert_int_equal(open_specs(hardware, 2, PM_COUNTERS_INHERIT), 0);
	assert_int_equal(counters->stats.groups, 2);
}

/* Linux 6.16: what cpu-clock has counted is lost when its thread is switched out. */
static void clock_that_keeps_its_counts(void **state)
{
	struct pm_event_spec clock = SPEC(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	struct pm_fact fact = { .size = sizeof(fact), .key = "sw.clocks.cpu_switched",
				.verdict = PM_YES, .rank = PM_RANK_BUILD };

	(void)state;
	start_script();
	assert_true(pm_profile_set(nothing, &fact) >= 0);
	assert_int_equal(open_specs(&clock, 1, 0), 0);
	assert_int_equal(fake_kernel.attr.config, PERF_COUNT_SW_CPU_CLOCK);
	pm_counters_destroy(counters);
	fact.verdict = PM_BROKEN;
	assert_true(pm_profile_set(nothing, &fact) >= 0);
	assert_int_equal(open_specs(&clock, 1, 0), 0);
	assert_int_equal(fake_kernel.attr.config, PERF_COUNT_SW_TASK_CLOCK);
	pm_counters_destroy(counters);
	clock.flags = PM_SPEC_EXACT;
	assert_int_equal(open_specs(&clock, 1, 0), 0);
	assert_int_equal(fake_kernel.attr.config, PERF_COUNT_SW_CPU_CLOCK);
}

static void user_only_is_told(void **state)
{
	const struct pm_event_spec switches[] = { SPEC(1, 3), SPEC(1, 4), SPEC(1, 11), SPEC(2, 5) };
	struct pm_event_spec exact = hardware[0];

	(void)state;
	start_script();
	fake_kernel.kernel_errno = EACCES;
	assert_int_equal(pm_counters_open(hardware, 1, 0, NULL, NULL, &counters), -EACCES);
	assert_int_equal(fake_kernel.calls, 1);	/* nobody asks why */
	exact.flags = PM_SPEC_EXACT;
	assert_int_equal(open_specs(hardware, 2, 0), -EACCES);
	assert_int_equal(open_specs(&exact, 1, PM_COUNTERS_MAY_USER_ONLY), -EACCES);
	/* They happen in the kernel and would be 0 for ever. */
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		assert_int_equal(open_specs(&switches[i], 1, PM_COUNTERS_MAY_USER_ONLY), -EACCES);
	assert_int_equal(open_specs(hardware, 2, PM_COUNTERS_MAY_USER_ONLY), 1);
	assert_true(fake_kernel.attr.exclude_kernel && fake_kernel.attr.exclude_hv);
}

/* ------------------------------------------------------------------------------- the user page */

/* Opens one hardware event, whose page, behind read(2), is ours. */
static void open_with_page(void)
{
	start_with_pages();
	assert_int_equal(open_specs(hardware, 1, 0), 0);
	assert_non_null(counters->counters[0].page);
}

static void set_index(uint32_t index)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
						   counters->counters[0].fd, 0);

	assert_true(mapped != MAP_FAILED);
	mapped->index = index;
	assert_int_equal(munmap(mapped, size), 0);
}

static const uint64_t by_call[] = { 1030, 900, 900 };

static void read_in_user_space(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	open_with_page();
	assert_int_equal(pm_counters_read_one(counters, 0, &value), 0);
	assert_int_equal(value.value, 1023);
	assert_int_equal(counters->stats.user_reads, 1);
	assert_int_equal(counters->stats.system_calls, 0);
	answer(0, by_call, 3);
	assert_int_equal(pm_counters_reset(counters), 0);
	counters->counters[0].base.value = 1000;
	assert_int_equal(pm_counters_read_one(counters, 0, &value), 0);
	assert_true(value.value == 23 && value.enabled == 0 && value.running == 0);
}

static void index_goes_away(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	open_with_page();
	set_index(0);
	answer(0, by_call, 3);
	assert_int_equal(pm_counters_read_one(counters, 0, &value), 0);
	assert_true(value.value == 1030 && value.running == 900);
	assert_int_equal(counters->stats.fallbacks, 1);
}

static void *read_elsewhere(void *ret)
{
	assert_int_equal(pm_counters_read_one(counters, 0, ret), 0);
	return NULL;
}

/* On another CPU the register would be somebody else's. */
static void other_thread(void **state)
{
	struct pm_value value = { .size = sizeof(value) };
	pthread_t thread;

	(void)state;
	open_with_page();
	answer(0, by_call, 3);
	assert_int_equal(pthread_create(&thread, NULL, read_elsewhere, &value), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(value.value, 1030);
	assert_int_equal(counters->stats.user_reads, 0);
}

/* Ends the counters where something of the child's own lies at the address of their page. */
static bool ends_without_harm(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *own = mmap((void *)(uintptr_t)counters->counters[0].page, size, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	pm_counters_destroy(counters);
	return own != MAP_FAILED && msync(own, size, MS_ASYNC) == 0;
}

/* The kernel does not copy an event's mapping: the page would not be there. */
static void forked_process(void **state)
{
	struct pm_value value = { .size = sizeof(value) };
	int status;
	pid_t child;

	(void)state;
	open_with_page();
	answer(0, by_call, 3);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(pm_counters_read_one(counters, 0, &value) == 0 && value.value == 1030 &&
		      counters->stats.user_reads == 0 && ends_without_harm() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(pm_counters_read_one(counters, 0, &value), 0);
	assert_int_equal(value.value, 1023);
}

static void without_user_reads(void **state)
{
	static const char *const keys[] = { "rdpmc.value.between_reads", "rdpmc.value.supported" };
	struct pm_event_spec other = hardware[0];

	(void)state;
	start_with_pages();
	assert_int_equal(open_specs(hardware, 1, 0), 0);
	assert_non_null(counters->counters[0].page);
	pm_counters_destroy(counters);
	assert_int_equal(open_specs(hardware, 1, PM_COUNTERS_SYSTEM_CALL), 0);
	assert_null(counters->counters[0].page);
	pm_counters_destroy(counters);
	other.tid = 1;
	assert_int_equal(open_specs(&other, 1, 0), 0);
	assert_null(counters->counters[0].page);
	for (size_t i = 0; i < 2; i++) {
		const struct pm_fact fact = { .size = sizeof(fact),
					      .key = keys[i], .rank = PM_RANK_BUILD,
					      .verdict = i == 0 ? PM_BROKEN : PM_NO };

		pm_counters_destroy(counters);
		assert_int_equal(pm_profile_set(nothing, &fact), 1);
		assert_int_equal(open_specs(hardware, 1, 0), 0);
		assert_null(counters->counters[0].page);
		pm_profile_destroy(nothing);
		nothing = pm_profile_create();
	}
}

/* ------------------------------------------------------------------------------------- scaling */

#ifdef __SIZEOF_INT128__
static uint64_t random_word(void)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> (seed & 63);
}

static void scale_is_exact(void **state)
{
	unsigned int overflows = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct pm_value value = { sizeof(value), random_word(), random_word() + 2,
					  random_word() + 1 };
		unsigned __int128 want = (unsigned __int128)value.value * value.enabled;
		uint64_t got;
		int err = pm_value_scale(&value, &got);

		want = (want + value.running / 2) / value.running;
		if (value.enabled == value.running)
			want = value.value;
		if (want >> 64) {
			assert_int_equal(err, -EOVERFLOW);
			overflows++;
		} else {
			assert_int_equal(err, 0);
			assert_true(got == (uint64_t)want);
		}
	}
	assert_in_range(overflows, 1000, 199000);
}
#else
static void scale_is_exact(void **state)
{
	(void)state;
	skip();
}
#endif

static void scale_at_the_edges(void **state)
{
	uint64_t scaled = 5;

	(void)state;
	assert_int_equal(pm_value_scale(&(struct pm_value){ 0, 8, 10, 0 }, &scaled), -ENODATA);
	assert_int_equal(scaled, 5);
	assert_int_equal(pm_value_scale(&(struct pm_value){ 0, 8, 0, 0 }, &scaled), 0);
	assert_int_equal(scaled, 8);
	assert_int_equal(pm_value_scale(&(struct pm_value){ 0, 3, 3, 2 }, &scaled), 0);
	assert_int_equal(scaled, 5);	/* 4.5, rounded */
	assert_int_equal(pm_value_scale(&(struct pm_value){ 0, UINT64_MAX, 2, 1 }, &scaled),
			 -EOVERFLOW);
	assert_int_equal(pm_value_scale(&(struct pm_value){ 0, UINT64_MAX, 7, 7 }, &scaled), 0);
	assert_true(scaled == UINT64_MAX);
	assert_int_equal(pm_value_scale(&(struct pm_value){ 0, UINT64_MAX - 1, UINT64_MAX,
							    UINT64_MAX - 1 }, &scaled), 0);
	assert_true(scaled == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pinned_without_a_place), TEST(only_the_leader_is_pinned),
		TEST(leaders_are_weighed), TEST(answers_of_another_shape),
		TEST(values_that_cannot_be_true), TEST(groups_where_one_is_too_small),
		TEST(inherited_group_refused), TEST(facts_forbid_inherited_groups),
		TEST(clock_that_keeps_its_counts),
		TEST(user_only_is_told), TEST(read_in_user_space), TEST(index_goes_away),
		TEST(other_thread), TEST(forked_process), TEST(without_user_reads),
		TEST(scale_is_exact), TEST(scale_at_the_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
