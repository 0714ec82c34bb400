# SPDX-License-Identifier: MIT
# The library: libperfmodes, its examples, its unit tests and fuzz targets. Part of ../Makefile.
# Built with gcc against the C library of the system, whose JSON reader (yajl) it links statically.

LIB_SOURCES := $(wildcard lib/*.c lib/policy/*/*.c)
# Event-based branches: only where CPUs have them. What a branch may run uses general registers alone.
ifneq ($(filter ppc64le ppc64le-%,$(ARCH)),)
LIB_SOURCES += $(wildcard lib/ebb/*.c)
LIB_ENTRY := ebb/entry.o
EBB_MAP := -Wl,--version-script=lib/ebb/ebb.map
$(addprefix $(B)/,lib/ebb/branch.o lib/ebb/note.o lib/test/ebb/callback.o): CFLAGS += -mno-altivec -mno-vsx -msoft-float
$(B)/pic/ebb/branch.o $(B)/pic/ebb/note.o: LIB_EXTRA += -mno-altivec -mno-vsx -msoft-float
endif
LIB_CC := $(CROSS_COMPILE)gcc
LIB_FLAGS := -std=gnu11 $(WARNINGS) -pthread -MMD
YAJL := -l:libyajl_s.a

##@ Library
library: $(B)/libperfmodes.a $(B)/libperfmodes.so.0 $(B)/perfmodes-doctor $(B)/perfmodes-explain examples	## build libperfmodes and its examples
examples: $(patsubst lib/%.c,$(B)/%,$(wildcard lib/examples/*.c))

$(B)/pic/%.o: lib/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(LIB_CC) $(LIB_FLAGS) -O2 $(LIB_EXTRA) -fPIC -fvisibility=hidden -c -o $@ $<
$(B)/pic/%.o: lib/%.S
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D) && $(LIB_CC) -MMD -c -o $@ $<
$(B)/lib/%.o: lib/%.S
	$(compile)
$(B)/libperfmodes.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(LIB_SOURCES)) $(LIB_ENTRY:%=$(B)/pic/%)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(B)/libperfmodes.so.0: $(B)/libperfmodes.a lib/perfmodes.map
	$(call say,LINK,$@)
	$(Q)$(LIB_CC) $(LIB_LINK) -shared -pthread -Wl,--version-script=lib/perfmodes.map $(EBB_MAP) -Wl,-soname,$(@F) -Wl,-z,defs \
		-o $@ -Wl,--whole-archive $< -Wl,--no-whole-archive -lyajl
$(B)/examples/%: lib/examples/%.c $(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(LIB_CC) -std=gnu11 -O2 $(WARNINGS) -Ilib -rdynamic -o $@ $< \
		$(B)/libperfmodes.a $(YAJL) -pthread -ldl

# The doctor runs where the probes run, so it is built as they are, static and without yajl. What is
# installed reads profiles as every other program does.
DOCTOR := $(patsubst lib/%.c,$(B)/lib/%.o,$(filter-out lib/policy/profile/json.c,$(LIB_SOURCES)) \
	$(filter-out %/app.c,$(wildcard lib/doctor/*.c))) $(LIB_ENTRY:%=$(B)/lib/%)
$(B)/doctor: $(DOCTOR)
# For an app: without main, and with all that it needs besides libc.
$(B)/libperfmodes-doctor.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(filter-out lib/policy/profile/json.c,$(LIB_SOURCES)) \
		$(filter-out %/main.c,$(wildcard lib/doctor/*.c))) $(LIB_ENTRY:%=$(B)/pic/%)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
doctor-library: $(B)/libperfmodes-doctor.a	## build libperfmodes-doctor.a, the doctor inside an app's process
doctor: $(B)/doctor	## build what ./run.sh doctor runs
$(B)/perfmodes-doctor: $(patsubst lib/%.c,$(B)/pic/%.o,$(filter-out %/no_json.c %/app.c,$(wildcard lib/doctor/*.c))) \
		$(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)$(LIB_CC) $(LIB_LINK) -o $@ $^ $(YAJL) -pthread

# What ./run.sh explain runs: the gates and what they are told by, without the library's choices.
EXPLAIN := $(wildcard lib/explain/*.c) lib/doctor/flow.c
$(B)/explain: $(patsubst lib/%.c,$(B)/lib/%.o,$(EXPLAIN) $(wildcard lib/policy/diagnosis/*.c lib/policy/spec/*.c)) $(B)/lib/mechanism.a
explain: $(B)/explain	## build what ./run.sh explain runs
$(B)/perfmodes-explain: $(patsubst lib/%.c,$(B)/pic/%.o,$(EXPLAIN)) $(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)$(LIB_CC) $(LIB_LINK) -o $@ $^ $(YAJL) -pthread

# Unit tests: one program a file, with the sanitizers. Fuzz targets: libFuzzer.
TEST_FLAGS := $(LIB_FLAGS) -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
LIB_TESTS := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/*_test.c lib/test/policy/*_test.c))
LIB_FUZZ := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/*_fuzz.c lib/test/policy/*_fuzz.c))
unit-tests: $(LIB_TESTS)
library-tests: unit-tests $(LIB_FUZZ)

build/test/object/%.o: lib/%.c
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -c -o $@ $<
build/test/lib.a: $(patsubst lib/%.c,build/test/object/%.o,$(LIB_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
build/test/%_test: lib/test/%_test.c build/test/lib.a $(wildcard lib/test/*.h lib/test/data/*.inc)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/lib.a -lcmocka $(YAJL) $(TEST_LIBS)
# What test_event_grammar.py holds against perf(1).
unit-tests: build/test/policy/event_attrs
build/test/policy/event_attrs: lib/test/policy/event_attrs.c build/test/lib.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/lib.a $(YAJL)
# As it is installed: what the sanitizers call is not to be refused, what their memory faults not counted.
build/test/policy/calls_test: lib/test/policy/calls.def
build/test/policy/calls_test build/test/policy/exact_test: build/test/policy/%_test: lib/test/policy/%_test.c \
		lib/test/policy/sessions.h $(B)/libperfmodes.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(LIB_FLAGS) -g -O1 -o $@ $< $(B)/libperfmodes.a -lcmocka $(YAJL)
# As a program loads it at run time; the sanitizers would keep memory and handlers of their own.
build/test/policy/unload_test: lib/test/policy/unload_test.c $(B)/libperfmodes.so.0
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(LIB_FLAGS) -g -O1 -DLIBRARY='"/$(ARCH)/libperfmodes.so.0"' -o $@ $< -lcmocka -ldl
build/test/policy/tracepoint_test: TEST_LIBS := -l:libtraceevent.a -ldl
build/test/policy/matrix_test: TEST_LIBS := -Wl,--wrap=pm_ring_pending,--wrap=clock_gettime
build/test/policy/storms_test: TEST_LIBS := -Wl,--wrap=clock_gettime
build/test/policy/faults_test: TEST_LIBS := -Wl,--wrap=free $(shell awk -F'[(,) ]+' \
	'/^X/ && $$3 != "NEVER" { print "-Wl,--wrap=" $$2 }' lib/test/policy/libc.def)
build/fuzz/object/%.o: lib/%.c
	$(Q)mkdir -p $(@D) && clang $(TEST_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<
build/fuzz/lib.a: $(patsubst lib/%.c,build/fuzz/object/%.o,$(LIB_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
build/test/%_fuzz: lib/test/%_fuzz.c build/fuzz/lib.a $(wildcard lib/test/*.h lib/test/policy/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && clang $(filter-out -MMD,$(TEST_FLAGS)) -fsanitize=fuzzer -o $@ $< \
		build/fuzz/lib.a $(YAJL)

# The census (test/census): with the sanitizers of memory and of threads, and static for guests.
# The sanitizer of threads also sees the tests that have several, and Valgrind the one of endings.
CENSUS := $(wildcard lib/test/census/*.c)
TSAN_FLAGS := $(LIB_FLAGS) -g -O1 -fsanitize=thread -Wno-tsan
TSAN := $(patsubst %,build/tsan/%,policy/lifecycle_test policy/follow_test policy/session_test census \
	$(patsubst lib/%.c,%,$(wildcard lib/examples/*.c)))
library-tests: build/test/census build/plain/lifecycle_test $(TSAN)
build/test/census: $(CENSUS) build/test/lib.a $(wildcard lib/test/census/*.h)
	$(call say,TEST,$@)
	$(Q)gcc $(filter-out -MMD,$(TEST_FLAGS)) -o $@ $(CENSUS) build/test/lib.a $(YAJL)
build/tsan/object/%.o: lib/%.c
	$(Q)mkdir -p $(@D) && gcc $(TSAN_FLAGS) -c -o $@ $<
build/tsan/lib.a: $(patsubst lib/%.c,build/tsan/object/%.o,$(LIB_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
define link_tsan
	$(call say,TSAN,$@)
	$(Q)mkdir -p $(@D) && gcc $(TSAN_FLAGS) -Ilib -rdynamic -o $@ $(filter-out %.h %.def,$^) -lcmocka $(YAJL) -ldl
endef
build/tsan/%_test: lib/test/%_test.c build/tsan/lib.a $(wildcard lib/test/*.h lib/test/policy/*.h)
	$(link_tsan)
build/tsan/census: $(CENSUS) build/tsan/lib.a $(wildcard lib/test/census/*.h)
	$(link_tsan)
build/tsan/examples/%: lib/examples/%.c build/tsan/lib.a
	$(link_tsan)
build/plain/%_test: lib/test/policy/%_test.c $(LIB_SOURCES) $(wildcard lib/*.h lib/*/*.h lib/policy/*/*.h lib/test/*/*.h)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -g -O1 -pthread -o $@ $< $(LIB_SOURCES) -lcmocka $(YAJL)
soak: library-tests	## a minute of census with each sanitizer, 1000 attaches under Valgrind
	$(Q)PM_SOAK=1 $(PYTHON) -m pytest -q -p no:cacheprovider -m slow lib/test/policy/test_soak.py
# Static and without yajl, to be run in guests; hotplug shares the crowd and how verdicts are told.
GUESTS := $(B)/census $(B)/hotplug $(B)/sampler_hotplug $(B)/kinds $(B)/pmu_gone $(B)/user_page $(if $(LIB_ENTRY),$(B)/ebb)
LIB_STATIC := $(patsubst lib/%.c,$(B)/lib/%.o,lib/doctor/no_json.c $(filter-out lib/policy/profile/json.c,$(LIB_SOURCES))) \
	$(LIB_ENTRY:%=$(B)/lib/%)
$(B)/census: $(patsubst lib/%.c,$(B)/lib/%.o,$(CENSUS)) $(LIB_STATIC)
HOTPLUG := $(patsubst %,$(B)/lib/test/census/%.o,hotplug/switch crowd verdict)
$(B)/hotplug: $(B)/lib/test/census/hotplug/hotplug.o $(HOTPLUG) $(LIB_STATIC)
$(B)/kinds: $(patsubst %,$(B)/lib/test/census/%.o,kinds/kinds verdict) $(LIB_STATIC)
$(B)/user_page: $(patsubst lib/%.c,$(B)/lib/%.o,$(wildcard lib/test/census/user_page/*.c)) $(B)/lib/test/census/verdict.o $(LIB_STATIC)
$(B)/ebb: $(patsubst %,$(B)/%.o,$(basename $(wildcard lib/test/ebb/*.[cS])) lib/test/census/verdict) $(LIB_STATIC)
$(GUESTS):
	$(call say,LINK,$@)
	$(Q)$(CC) $(LINK) -o $@ $^
library-bundle: bundle $(GUESTS)	## the bundle with the tests that ./run.sh kernels --suite library runs
	$(Q)mkdir -p $(B)/bundle/bin/probes/library
	$(Q)for name in $(notdir $(GUESTS)); do \
		$(CROSS_COMPILE)strip -o $(B)/bundle/bin/probes/library/$$name $(B)/$$name || exit 1; done
.PHONY: library-bundle soak

# Benchmarks, side by side with others; nothing is judged. BENCH="attach suite" runs some of them,
# GUEST=NAME the default suite in a kernel of the matrix, too. bench-table puts a run into READMEs.
BENCH ?= $(patsubst lib/bench/%.c,%,$(wildcard lib/bench/*.c)) suite
SUITE_BENCH := lib/bench/suite.py$(if $(GUEST), --guest $(GUEST)) $(B)/bench/nothing
bench: $(patsubst %,$(B)/bench/%,$(filter-out suite,$(BENCH)))	## measure the library beside others; BENCH=counter ROUNDS=1 is a short one
bench: $(if $(filter suite,$(BENCH)),$(B)/bench/nothing shipped bundle)
	$(Q)$(PYTHON) lib/bench/bench.py --json build/bench $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(patsubst %,$(B)/bench/%,$(filter-out suite,$(BENCH))) $(if $(filter suite,$(BENCH)),"$(SUITE_BENCH)")
bench-table:	## put the last `make bench` into the tables of the READMEs
	$(Q)$(PYTHON) lib/bench/table.py --take build/bench/run.json --write
$(B)/bench/nothing: lib/bench/peer/nothing.c
	$(Q)mkdir -p $(@D) && $(LIB_CC) -O2 -static -o $@ $<
$(B)/bench/%: lib/bench/%.c lib/bench/bench.h $(B)/libperfmodes.a
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(LIB_CC) -std=gnu11 -O2 $(WARNINGS) -Ilib -o $@ $(filter-out %.h %.def,$^) \
		$(YAJL) $(PEERS_$*) -pthread
PEERS_counter := -lpapi
PEERS_profile := -ljansson -lcjson
PEERS_drain := $(B)/libperf/libperf.a $(B)/libperf/libapi.a
$(B)/bench/drain: $(B)/bench/peer/libperf.o
$(B)/bench/peer/libperf.o: lib/bench/peer/libperf.c lib/bench/peer/peer.h lib/bench/fetch-libperf
	$(Q)lib/bench/fetch-libperf $(B)/libperf
	$(Q)mkdir -p $(@D) && $(LIB_CC) -std=gnu11 -O2 -I$(B)/libperf/include -I$(B)/libperf/tools/include \
		-I$(B)/libperf/tools/host -c -o $@ $<

# make install PREFIX=/usr DESTDIR=...
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
ifneq ($(strip $(foreach path,PREFIX LIBDIR MANDIR,$(word 2,$($(path))))),)
  $(error PREFIX, LIBDIR and MANDIR must not have blanks; the tree and DESTDIR may)
endif
DATADIR := $(PREFIX)/share/perfmodes
HEADERS := perfmodes.h perfmodes_event.h perfmodes_count.h perfmodes_trace.h perfmodes_stats.h perfmodes_sample.h \
	perfmodes_session.h perfmodes_ebb.h perfmodes_verdicts.def perfmodes_event.def
put = install -d "$(DESTDIR)$(2)" && install -m $(1) $(3) "$(DESTDIR)$(2)/"
# The functions that a page describes: the names that stand in its NAME section.
names_in = sed -n '/^.Sh NAME/,/^.Nd/s/^.Nm \([a-z_]*\).*/\1/p'

# The pages of a folder, and a link for each name besides the page's own; a file for pkg-config.
put_pages = $(call put,644,$(MANDIR)/man3,$(1)/*.3) && for page in $(1)/*.3; do page=$${page\#\#*/}; \
	for name in $$($(names_in) $(1)/$$page); do [ $$name.3 = $$page ] || \
	echo ".so man3/$$page" >"$(DESTDIR)$(MANDIR)/man3/$$name.3"; done; done
put_pc = install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" && sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@NEEDS@|$(2)|' \
	$(1) >"$(DESTDIR)$(LIBDIR)/pkgconfig/$(basename $(notdir $(1)))"

$(B)/man/done: lib/man/pages.py $(wildcard lib/man/*.in) $(HEADERS:%=lib/%)
	$(call say,MAN,$(@D))
	$(Q)rm -rf $(@D) && $(PYTHON) lib/man/pages.py $(@D) $(HEADERS:%=lib/%) -- $(filter %.in,$^)
	$(Q)cp lib/man/*.[17] $(@D)/ && touch $@

install: library $(B)/man/done	## install library, doctor, explain and man pages under DESTDIR, PREFIX
	$(Q)$(call put,644,$(PREFIX)/include,$(HEADERS:%=lib/%))
	$(Q)$(call put,644,$(LIBDIR),$(B)/libperfmodes.a)
	$(Q)$(call put,755,$(LIBDIR),$(B)/libperfmodes.so.0)
	$(Q)ln -sf libperfmodes.so.0 "$(DESTDIR)$(LIBDIR)/libperfmodes.so"
	$(Q)$(call put,755,$(PREFIX)/bin,$(B)/perfmodes-doctor $(B)/perfmodes-explain)
	$(Q)$(call put,644,$(DATADIR),lib/profiles/*.json)
	$(Q)$(foreach n,1 7,$(call put,644,$(MANDIR)/man$(n),$(B)/man/*.$(n)) &&) true
	$(Q)$(call put_pages,$(B)/man)
	$(Q)$(call put_pc,lib/perfmodes.pc.in)

install-all:	## install, and every optional part below
	$(Q)$(MAKE) --no-print-directory install install-stacks install-sampler install-topology install-pfm install-bindings

# All that some install-* puts somewhere, of parts that are not built here, too: what lies in the tree says what
# that is. A page for each function, whichever template it is on.
OUR_FILES = $(foreach f,$(notdir $(wildcard lib/perfmodes*.h lib/perfmodes*.def lib/*/perfmodes_*.h lib/bindings/cpp/*.hpp)),$(PREFIX)/include/$(f)) \
	$(foreach p,$(basename $(basename $(notdir $(wildcard lib/*.pc.in lib/*/*.pc.in lib/*/*/*.pc.in)))), \
		$(LIBDIR)/pkgconfig/$(p).pc $(LIBDIR)/lib$(p).a) $(LIBDIR)/libperfmodes.so $(LIBDIR)/libperfmodes.so.0 \
	$(foreach p,$(notdir $(wildcard lib/man/*.1 lib/*/*/*.1)),$(MANDIR)/man1/$(p) $(PREFIX)/bin/$(p:.1=)) \
	$(foreach p,$(notdir $(wildcard lib/man/*.7)),$(MANDIR)/man7/$(p)) \
	$(foreach p,sampler stacks topology pfm,$(LIBDIR)/perfmodes/libperfmodes-$(p).so) \
	$(patsubst lib/profiles/%,$(DATADIR)/%,$(wildcard lib/profiles/*.json)) $(SAMPLER_EXAMPLES)/example.json
OUR_FOLDERS = $(DATADIR) $(LIBDIR)/perfmodes $(SAMPLER_EXAMPLES) $(dir $(SAMPLER_EXAMPLES)) $(SUITEDIR)
uninstall: uninstall-suite	## remove what install, install-all and install-suite put there
	$(Q)rm -rf $(B)/man-all && $(PYTHON) lib/man/pages.py $(B)/man-all lib/perfmodes.h $(filter-out lib/perfmodes.h, \
		$(wildcard lib/perfmodes*.h lib/*/perfmodes_*.h)) -- $(wildcard lib/*/*.3.in lib/*/man/*.3.in)
	$(Q)cd "$(DESTDIR)/" && rm -f $(patsubst /%,%,$(OUR_FILES)) && rm -rf $(patsubst /%,%,$(PYTHONDIR)/perfmodes)
	$(Q)for name in $$($(names_in) $(B)/man-all/*.3); do rm -f "$(DESTDIR)$(MANDIR)/man3/$$name.3"; done
	$(Q)for folder in $(OUR_FOLDERS); do rmdir "$(DESTDIR)$$folder" 2>/dev/null || true; done

.PHONY: library examples unit-tests library-tests bench bench-table doctor doctor-library explain install install-all uninstall
