# SPDX-License-Identifier: MIT
# The tests, in rings: quick on each save, check before a commit, nightly before a release. Part of ../Makefile.

# The quick ring needs a compiler, Python, pytest and cmocka, and no perf permission; it starts no probe,
# boots nothing, fuzzes nothing and seldom waits for a clock.
QUICK_lib := lib/test/test_lib.py lib/test/policy/test_policy.py \
	-k 'not late_ and not lies and not faults_test and not calls_test and not matrix_test and not exec_test and not pollable_test'
QUICK_reports := reports/test $(filter-out reports/site/% reports/database/%,$(wildcard reports/*/test)) \
	$(patsubst %,--ignore=reports/test/test_%.py,fuzz bounds floors answers shipped named)
QUICK_kernels := kernels/test $(patsubst %,--ignore=kernels/test/test_%.py,boot cross fetch isolate place engine lab ssh)
QUICK_suites := $(patsubst %,suites/test/test_%.py,suites hidden)
# A test may run make itself: it has nothing to do with the jobs of this one. Tests run side by side where
# pytest-xdist is there; those of one xdist_group use one thing and follow each other.
PYTEST := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(PYTHON) -m pytest -q -p no:cacheprovider
BESIDE = $(shell $(PYTHON) -c 'import xdist' 2>/dev/null && echo '-n $(1) --dist loadgroup')
CPUS := $(shell nproc)
ROOMS := lib reports kernels suites

##@ Tests
quick:		## build what changed and run the tests of a minute or two: on each save
	$(Q)$(if $(NO_INSTALL),:,.ci/install build reports quick)
	$(Q)$(MAKE) --no-print-directory -j$(CPUS) WERROR=1 all library unit-tests
	$(Q)status=0; for part in $(ROOMS); do \
		$(MAKE) --no-print-directory quick-$$part || status=1; done; exit $$status
	@echo "quick leaves out: runs of probes, fuzzing, guests, devices, database, site, what ships, stacks, bindings, and skips what wants" \
		"a program that it does not install; make check has them"
quick-%:
	@echo "== $*"
	$(Q)$(PYTEST) $(call BESIDE,$(CPUS)) -m 'not peer and not slow and not server' $(if $(JUNIT),--junitxml='$(JUNIT)/quick-$*.xml') \
		$(QUICK_$*)

# Tests wait more than they compute: more of them at a time than there are CPUs, in lib one more.
SIDE_lib := $(shell expr $(CPUS) + 1)
tests_of = $$(ls -d $(1)/test $(1)/*/test 2>/dev/null)
check:		## all tests that need neither a guest nor a large peer
	$(Q)$(if $(NO_INSTALL),:,.ci/install build reports quick check)
	$(Q)$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(CPUS)) WERROR=1 \
		all bundle library unit-tests
	$(Q)status=0; for part in $(ROOMS); do $(MAKE) --no-print-directory check-$$part || status=1; done; exit $$status
check-%:
	@echo "== $*"
	$(Q)$(PYTEST) $(call BESIDE,$(or $(SIDE_$*),$(shell expr $(CPUS) \* 2))) -m 'not peer and not slow' \
		$(if $(JUNIT),--junitxml='$(JUNIT)/$*.xml') $(call tests_of,$*)

PEERS ?= postgresql browser java go rust wheel lava perfetto
check-peers:	## tests beside large peers; PEERS="go rust": those of them (.ci/install lists all)
	$(Q)$(if $(NO_INSTALL),:,.ci/install build reports quick check $(PEERS))
	$(Q)$(MAKE) --no-print-directory -j$(CPUS) all bundle library unit-tests
	$(Q)status=0; for part in $(ROOMS); do echo "== $$part"; \
		$(PYTEST) -m peer $(if $(JUNIT),--junitxml='$(JUNIT)'/peers-$$part.xml) $(call tests_of,$$part); \
		case $$? in 0 | 5) ;; *) status=1 ;; esac; done; exit $$status

nightly:	## before each release, hours: PARTS="check peers soak slow fuzz odd bare rows"
	$(Q).ci/nightly $(PARTS)

N ?= 20
soak-tests:	## quick and check N=20 times beside busy loops: which tests change their mind
	$(Q).ci/soak-tests $(N)

# The launcher's readers as a fuzz target: it includes five files and needs the others.
build/test/launcher_fuzz: probes/launcher/fuzz/launcher_fuzz.c $(wildcard probes/launcher/*.[chd]*) build/fuzz/lib.a
	$(call say,FUZZ,$@)
	$(Q)clang $(filter-out -MMD,$(TEST_FLAGS)) -fsanitize=fuzzer -o $@ $< $(patsubst %,probes/launcher/%.c, \
		again descendants frame inherit persona regular supervise) build/fuzz/lib.a $(YAJL)
fuzz-targets: $(LIB_FUZZ) build/test/launcher_fuzz

# The launcher under ASan and UBSan, for suites/test/test_queue.py.
build/test/launch: $(filter-out %/identify.c %/multicall.c,$(wildcard probes/launcher/*.c)) build/test/lib.a \
		$(wildcard probes/launcher/*.[hd]*)
	$(call say,TEST,$@)
	$(Q)gcc $(filter-out -MMD,$(TEST_FLAGS)) -o $@ $(filter %.c %.a,$^)
unit-tests: build/test/launch

SECONDS ?= 60
fuzz: fuzz-targets	## mutate what each reader reads, each for SECONDS=60; findings in build/fuzz
	$(Q)$(PYTHON) suites/test/fuzz/run.py --seconds $(SECONDS)

compare-builds: shipped	## the same verdicts from gcc and clang at -O0, -O2, -O3
	$(Q)suites/compare_builds.py

compare-forms: all bundle	## the same verdicts from single programs and out of a bundle; ROWS=, FORMS_SUITE=
	$(Q)suites/compare_forms.py $(if $(FORMS_SUITE),--suite $(FORMS_SUITE)) $(ROWS)

odd-machines: bundle $(B)/deny_calls	## the same answers on btrfs, with one CPU, without /proc, in a container ...
	$(Q)suites/odd_machines.py
$(B)/deny_calls: suites/deny_calls.c
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -O1 $(WARNINGS) -o $@ $<

# Of the probes that PROBE names both programs are linked, of the others there is what they declare. A pattern
# that make has not, as of two stars, is all of them.
CHOSEN := $(if $(or $(findstring ?,$(PROBE)),$(findstring [,$(PROBE)),$(word 3,x$(subst *, x,$(PROBE)))),$(PROBES), \
	$(filter $(subst .,/,$(subst *,%,$(or $(PROBE),*))),$(PROBES)))
falsify: $(PROGRAMS) $(PROBES:%=$(B)/object/%.o) $(B)/falsify/launch $(CHOSEN:%=$(B)/probes/%) $(CHOSEN:%=$(B)/falsify/probes/%)	## each point must be able to fail, on kernels that lie; PROBE='ring.*': a few
	$(Q)ARCH=$(ARCH) suites/falsify/falsify.py $(if $(PROBE),--probe '$(PROBE)')

# A probe with the lies of falsify/lies between it and its calls; PERFMODES_LIE names one. Never in a bundle
# that ships.
LIES := $(patsubst suites/%.c,$(B)/%.o,$(wildcard suites/falsify/lies/*.c))
WRAPPED := syscall close ioctl prctl read mmap munmap poll epoll_wait fcntl sigtimedwait sigaction \
	write readlink fstat clock_gettime \
	pm_record_decode pm_ring_next pm_ring_head spr_read spr_write getauxval
LYING := $(PROBES:%=$(B)/falsify/probes/%)
$(B)/falsify/probes/%: $(B)/object/%.o $(KIT) $(LIES) $(B)/lib/mechanism.a
	$(call say,LYING,$(subst /,.,$*))
	$(Q)mkdir -p $(@D) && $(CC) $(LINK) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^
lying-probes: $(LYING)

.PHONY: quick check check-peers nightly soak-tests compare-builds compare-forms odd-machines falsify fuzz fuzz-targets lying-probes
