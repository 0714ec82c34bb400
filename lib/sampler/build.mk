# SPDX-License-Identifier: MIT
# The room lib/sampler: watching other processes. Part of ../../Makefile.

SAMPLER_SOURCES := $(filter-out lib/sampler/willing/% lib/sampler/service/% lib/sampler/producer/%,$(wildcard lib/sampler/*.c lib/sampler/*/*.c)) lib/wire/packet.c
WILLING_SOURCES := $(wildcard lib/sampler/willing/*.c)

library: $(B)/libperfmodes-sampler.a $(B)/libperfmodes-willing.a
$(B)/libperfmodes-sampler.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(SAMPLER_SOURCES))
$(B)/libperfmodes-willing.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(WILLING_SOURCES))
# One object, of which only what begins with pm_ can be seen: other names would meet those of a program.
$(B)/libperfmodes-%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(LIB_CC) -r -nostdlib -o $(@:.a=.o) $^
	$(Q)$(CROSS_COMPILE)objcopy --wildcard --keep-global-symbol='pm_*' $(@:.a=.o) && $(AR) rcs $@ $(@:.a=.o)

# Tests: as those of the library, with the sanitizers.
SAMPLER_TESTS := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/sampler/*_test.c))
unit-tests: $(SAMPLER_TESTS)
# Of the service, what needs no stacks.
TESTED := $(patsubst %,lib/sampler/service/%.c,config meaning events guard note) \
	$(patsubst %,lib/sampler/producer/%.c,cpu_id demand event_text shared) lib/wire/field.c
build/test/sampler.a: $(patsubst lib/%.c,build/test/object/%.o,$(SAMPLER_SOURCES) $(WILLING_SOURCES) $(TESTED))
	$(Q)rm -f $@ && ar rcs $@ $^
$(SAMPLER_TESTS): build/test/%_test: lib/test/%_test.c build/test/sampler.a build/test/lib.a $(wildcard lib/test/*.h lib/test/sampler/*.h)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/sampler.a build/test/lib.a -lcmocka $(YAJL) $(TEST_LIBS)

# In guests (see library-bundle): the crowd under a sampler while CPUs come and go.
$(B)/sampler_hotplug: $(B)/lib/test/census/hotplug/sampler_hotplug.o $(HOTPLUG) \
	$(patsubst lib/%.c,$(B)/lib/%.o,$(SAMPLER_SOURCES)) $(LIB_STATIC)
$(B)/pmu_gone: $(patsubst %,$(B)/lib/test/census/%.o,pmu_gone/pmu_gone verdict) \
	$(patsubst lib/%.c,$(B)/lib/%.o,$(SAMPLER_SOURCES)) $(LIB_STATIC)

# The service needs stacks and their symbols: built where lib/stacks/build.mk finds what they need.
SERVICE := $(patsubst lib/%.c,$(B)/pic/%.o,$(wildcard lib/sampler/service/*.c lib/sampler/producer/*.c lib/wire/*.c))
$(B)/pic/sampler/service/main.o: LIB_EXTRA += -DPM_VERSION='"$(shell sed -n 's/^Version: //p' lib/sampler/perfmodes-sampler.pc.in)"'
# The script of a flame graph as a text of C.
$(B)/pic/sampler/service/flame_graph.o: $(B)/pic/flame_graph.js.h
$(B)/pic/sampler/service/flame_graph.o: LIB_EXTRA += -I $(B)/pic
$(B)/pic/flame_graph.js.h: lib/sampler/service/flame_graph.js
	$(Q)mkdir -p $(@D) && sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< >$@.new && mv $@.new $@
SERVICE_LIBS = $(B)/libperfmodes-sampler.a $(B)/libperfmodes-stacks.a $(B)/libperfmodes.a
$(B)/perfmodes-sampler: $(SERVICE) $(B)/libperfmodes-sampler.a $(B)/libperfmodes-stacks.a $(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)$(LIB_CC) $(LIB_LINK) -o $@ $(SERVICE) $(SERVICE_LIBS) $(YAJL) $(STACKS_LIBS) -pthread
ifeq ($(CROSS_COMPILE),)
ifneq ($(shell pkg-config --exists libdw libelf zlib 2>/dev/null && echo yes),)
library: $(B)/perfmodes-sampler
unit-tests: build/test/sampler/workload $(B)/perfmodes-sampler
else
library: without-sampler
without-sampler:
	@echo "  LEFT    perfmodes-sampler: pkg-config knows no libdw libelf zlib (Debian: libdw-dev zlib1g-dev)"
.PHONY: without-sampler
endif
endif
# What the service is tried on: as programs are built, without sanitizers.
build/test/sampler/workload: lib/test/sampler/workload.c $(WILLING_SOURCES)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 $(WARNINGS) -O1 -g -fno-omit-frame-pointer -o $@ $^

SAMPLER_EXAMPLES = $(PREFIX)/share/doc/perfmodes-sampler/examples
SAMPLER_HEADERS := $(patsubst %,lib/perfmodes_%.h,sampler descriptors willing perfetto)
install-sampler: $(B)/perfmodes-sampler $(B)/libperfmodes-sampler.a $(B)/libperfmodes-willing.a install	## install, and perfmodes-sampler with its libraries
	$(Q)$(call put,755,$(PREFIX)/bin,$<)
	$(Q)$(call put,644,$(MANDIR)/man1,lib/sampler/service/perfmodes-sampler.1)
	$(Q)$(call put,644,$(LIBDIR),$(B)/libperfmodes-sampler.a $(B)/libperfmodes-willing.a)
	$(Q)$(call put,644,$(PREFIX)/include,$(SAMPLER_HEADERS))
	$(Q)rm -rf $(B)/man-sampler && $(PYTHON) lib/man/pages.py $(B)/man-sampler $(SAMPLER_HEADERS) -- lib/sampler/man/*.3.in
	$(Q)$(call put_pages,$(B)/man-sampler)
	$(Q)$(call put_pc,lib/sampler/perfmodes-sampler.pc.in)
	$(Q)$(call put_pc,lib/sampler/willing/perfmodes-willing.pc.in)
	$(Q)$(call put,644,$(SAMPLER_EXAMPLES),lib/sampler/service/example.json)
.PHONY: install-sampler

SAMPLER_FUZZ := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/sampler/*_fuzz.c))
library-tests fuzz-targets: $(SAMPLER_FUZZ)
build/fuzz/sampler.a: $(patsubst lib/%.c,build/fuzz/object/%.o,$(SAMPLER_SOURCES) $(patsubst %,lib/sampler/service/%.c,config meaning events) \
	$(patsubst %,lib/sampler/producer/%.c,cpu_id demand event_text) lib/wire/field.c)
	$(Q)rm -f $@ && ar rcs $@ $^
$(SAMPLER_FUZZ): build/test/%_fuzz: lib/test/%_fuzz.c build/fuzz/sampler.a build/fuzz/lib.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && clang $(filter-out -MMD,$(TEST_FLAGS)) -fsanitize=fuzzer -o $@ $< \
		build/fuzz/sampler.a build/fuzz/lib.a $(YAJL)
