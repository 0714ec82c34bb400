# SPDX-License-Identifier: MIT
# libperfmodes-stacks: optional, built where pkg-config knows elfutils. Part of ../../Makefile.

STACKS_NEED := libdw libelf zlib
STACKS_LIBS := -ldw -lelf -lz -ldl -pthread
STACKS_SOURCES := $(wildcard lib/stacks/*.c) lib/wire/packet.c
STACKS_FUZZ := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/stacks/*_fuzz.c))
ifeq ($(CROSS_COMPILE),)
HAVE_STACKS := $(shell pkg-config --exists $(STACKS_NEED) 2>/dev/null && echo yes)
endif

ifneq ($(HAVE_STACKS),)
library: $(B)/libperfmodes-stacks.a $(B)/examples/stacks/folded_stacks
unit-tests: $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/stacks/*_test.c))
library-tests: stacks-tests
fuzz-targets: $(STACKS_FUZZ)
else
library: without-stacks
without-stacks:
	@echo "  LEFT    libperfmodes-stacks: pkg-config knows no $(STACKS_NEED) (Debian: libdw-dev zlib1g-dev)"
.PHONY: without-stacks
endif

$(B)/libperfmodes-stacks.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(STACKS_SOURCES))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/examples/stacks/%: lib/examples/stacks/%.c $(B)/libperfmodes-stacks.a $(B)/libperfmodes-sampler.a $(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(LIB_CC) -std=gnu11 -O2 $(WARNINGS) -Ilib -o $@ $< $(filter %.a,$^) $(YAJL) $(STACKS_LIBS)

STACKS_PAGES := $(wildcard lib/stacks/man/*.3.in)
install-stacks: $(B)/libperfmodes-stacks.a	## install libperfmodes-stacks, its header and its pages
	$(Q)$(call put,644,$(PREFIX)/include,lib/perfmodes_stacks.h)
	$(Q)$(call put,644,$(LIBDIR),$<)
	$(Q)rm -rf $(B)/man-stacks && $(PYTHON) lib/man/pages.py $(B)/man-stacks lib/perfmodes_stacks.h -- $(STACKS_PAGES)
	$(Q)$(call put,644,$(MANDIR)/man3,$(B)/man-stacks/*.3)
.PHONY: install-stacks

# The tests of the room: under the sanitizers, and the programs that they look at.
STACKS_PROGRAMS := $(patsubst %,build/test/stacks/%,trees late.so stopped sample)
STACKS_TESTS := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/stacks/*_test.c))
stacks-tests: $(STACKS_PROGRAMS) $(STACKS_TESTS) $(STACKS_FUZZ)	## build the tests of lib/stacks
build/test/stacks.a: $(patsubst lib/%.c,build/test/object/%.o,$(STACKS_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
build/fuzz/stacks.a: $(patsubst lib/%.c,build/fuzz/object/%.o,$(STACKS_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
$(STACKS_TESTS): build/test/%: lib/test/%.c build/test/stacks.a lib/test/test.h
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/stacks.a -lcmocka $(STACKS_LIBS)
$(STACKS_FUZZ): build/test/%: lib/test/%.c build/fuzz/stacks.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && clang $(filter-out -MMD -MP,$(TEST_FLAGS)) -fsanitize=fuzzer -o $@ $< \
		build/fuzz/stacks.a $(STACKS_LIBS)
build/test/stacks/stopped build/test/stacks/sample: build/test/stacks/%: lib/test/stacks/%.c build/test/stacks.a build/test/lib.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/stacks.a build/test/lib.a $(STACKS_LIBS)
build/test/stacks/trees: lib/test/stacks/trees.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -O1 -g -o $@ $< -ldl -pthread -lrt
build/test/stacks/late.so: lib/test/stacks/late.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -shared -fPIC -O2 -fomit-frame-pointer -o $@ $<
.PHONY: stacks-tests
