# SPDX-License-Identifier: MIT
# The tests, in rings: quick on each save, check before a commit. Part of ../Makefile.

# The quick ring needs no perf permission; it boots nothing, fuzzes nothing and seldom waits for a clock.
QUICK_lib := lib/test/test_lib.py lib/test/policy/test_policy.py -k 'not fuzz and not late_ and not lies'
QUICK_reports := reports/test $(filter-out reports/site/%,$(wildcard reports/*/test)) \
	$(patsubst %,--ignore=reports/%.py,test/test_fuzz database/test/test_store database/test/test_server)
QUICK_kernels := kernels/test $(patsubst %,--ignore=kernels/test/test_%.py,boot fetch isolate place engine)
QUICK_suites := $(patsubst %,suites/test/test_%.py,tree suites hidden)
# A test may run make itself: it has nothing to do with the jobs of this one.
PYTEST := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(PYTHON) -m pytest -q -p no:cacheprovider

quick: check-deps	## build what changed and run the tests of a minute: on each save
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) WERROR=1 all library unit-tests
	$(Q)$(MAKE) --no-print-directory -k -j$$(nproc) --output-sync=target \
		quick-lib quick-suites quick-reports quick-kernels
quick-%:
	$(Q)$(PYTEST) $(QUICK_$*)

check-deps:
	$(Q)$(if $(NO_INSTALL),:,.ci/install build reports database site check)

check: check-deps	## run all tests (installs what they need; NO_INSTALL=1 does not)
	$(Q)$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) WERROR=1 \
		all bundle library library-tests fuzz-targets
	$(Q)status=0; for part in lib reports kernels suites; do echo "== $$part"; \
		$(PYTEST) $(if $(JUNIT),--junitxml=$(JUNIT)/$$part.xml) \
			$$(ls -d $$part/test $$part/*/test 2>/dev/null) || status=1; done; exit $$status

# The launcher's readers as a fuzz target: it includes five files and needs the others.
build/test/launcher_fuzz: probes/launcher/fuzz/launcher_fuzz.c $(wildcard probes/launcher/*.[chd]*) build/fuzz/lib.a
	$(call say,FUZZ,$@)
	$(Q)clang $(filter-out -MMD -MP,$(TEST_FLAGS)) -fsanitize=fuzzer -o $@ $< $(patsubst %,probes/launcher/%.c, \
		frame inherit persona regular supervise) build/fuzz/lib.a $(YAJL)
fuzz-targets: $(LIB_FUZZ) build/test/launcher_fuzz

SECONDS ?= 60
fuzz: fuzz-targets	## mutate what each reader reads: each target for SECONDS=60, findings in build/fuzz
	$(Q)$(PYTHON) suites/test/fuzz/run.py --seconds $(SECONDS)

compare-builds:	## the same verdicts from gcc and clang at -O0, -O2, -O3
	$(Q)suites/compare_builds.py

odd-machines: bundle $(B)/deny_calls	## the same answers on btrfs, with one CPU, without /proc, in a container ...
	$(Q)suites/odd_machines.py
$(B)/deny_calls: suites/deny_calls.c
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -O1 $(WARNINGS) -o $@ $<

falsify: all lying-probes	## run probes on kernels that lie: each point must be able to fail; PROBE='ring.*' for a few
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
-include $(wildcard $(B)/falsify/lies/*.d)

.PHONY: quick check check-deps compare-builds odd-machines falsify fuzz fuzz-targets lying-probes
