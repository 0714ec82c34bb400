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
unit-tests: $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/stacks/*_test.c)) stacks-programs
library-tests: stacks-tests
bindings: $(B)/perfmodes/libperfmodes-stacks.so
fuzz-targets: $(STACKS_FUZZ)
else
library: without-stacks
without-stacks:
	@echo "  LEFT    libperfmodes-stacks: pkg-config knows no $(STACKS_NEED) (Debian: libdw-dev zlib1g-dev)"
.PHONY: without-stacks
endif

$(B)/libperfmodes-stacks.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(STACKS_SOURCES))

$(B)/examples/stacks/%: lib/examples/stacks/%.c $(B)/libperfmodes-stacks.a $(B)/libperfmodes-sampler.a $(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(LIB_CC) -std=gnu11 -O2 $(WARNINGS) -Ilib -o $@ $< $(filter %.a,$^) $(YAJL) $(STACKS_LIBS)

STACKS_PAGES := $(wildcard lib/stacks/man/*.3.in)
install-stacks: $(B)/libperfmodes-stacks.a	## install libperfmodes-stacks, its header and its pages
	$(Q)$(call put,644,$(PREFIX)/include,lib/perfmodes_stacks.h)
	$(Q)$(call put,644,$(LIBDIR),$<)
	$(Q)rm -rf $(B)/man-stacks && $(PYTHON) lib/man/pages.py $(B)/man-stacks lib/perfmodes_stacks.h -- $(STACKS_PAGES)
	$(Q)$(call put_pages,$(B)/man-stacks)
	$(Q)$(call put_pc,lib/stacks/perfmodes-stacks.pc.in)
.PHONY: install-stacks

# The tests of the room: under the sanitizers, and the programs that they look at.
STACKS_PROGRAMS := $(patsubst %,build/test/stacks/%,trees pointers late.so stopped sample lines_of symbols_of names_of bounded)
STACKS_TESTS := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/stacks/*_test.c))
stacks-programs: $(STACKS_PROGRAMS) $(B)/examples/stacks/folded_stacks
stacks-tests: $(STACKS_PROGRAMS) $(STACKS_TESTS) $(STACKS_FUZZ) $(B)/examples/stacks/folded_stacks	## build the tests of lib/stacks
build/test/stacks.a: $(patsubst lib/%.c,build/test/object/%.o,$(STACKS_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
build/fuzz/stacks.a: $(patsubst lib/%.c,build/fuzz/object/%.o,$(STACKS_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
$(STACKS_TESTS): build/test/%: lib/test/%.c build/test/stacks.a lib/test/test.h
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/stacks.a -lcmocka $(STACKS_LIBS)
$(STACKS_FUZZ): build/test/%: lib/test/%.c build/fuzz/stacks.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && clang $(filter-out -MMD,$(TEST_FLAGS)) -fsanitize=fuzzer -o $@ $< \
		build/fuzz/stacks.a $(STACKS_LIBS)
build/test/stacks/stopped build/test/stacks/sample build/test/stacks/lines_of build/test/stacks/names_of \
		build/test/stacks/symbols_of build/test/stacks/bounded: \
		build/test/stacks/%: lib/test/stacks/%.c build/test/stacks.a build/test/lib.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/stacks.a build/test/lib.a $(STACKS_LIBS)
build/test/stacks/trees: lib/test/stacks/trees.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -O1 -g -o $@ $< -ldl -pthread -lrt
build/test/stacks/pointers: lib/test/stacks/trees.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -O1 -g -fno-omit-frame-pointer -o $@ $< -ldl -pthread -lrt
build/test/stacks/late.so: lib/test/stacks/late.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -shared -fPIC -O2 -fomit-frame-pointer -o $@ $<
.PHONY: stacks-tests stacks-programs

# What guests of other machines run, against Debian's libraries of that machine: ARCH=aarch64 or ppc64le.
SYSROOT := $(B)/sysroot
SYSROOT_PACKAGES := libc6 libc6-dev linux-libc-dev libdw1 libdw-dev libelf1 libelf-dev zlib1g zlib1g-dev \
	liblzma5 libbz2-1.0
TRIPLET = $(or $(patsubst %-,%,$(CROSS_COMPILE)),$(shell gcc -print-multiarch))
GUEST := $(B)/stacks-guest
GUEST_CC = $(CROSS_COMPILE)gcc --sysroot="$(CURDIR)/$(SYSROOT)" -std=gnu11
GUEST_SOURCES := $(STACKS_SOURCES) $(wildcard lib/*.c)
GUEST_EXAMPLE = $(filter-out lib/policy/profile/json.c,$(filter-out lib/ebb/%,$(LIB_SOURCES))) lib/doctor/no_json.c \
	$(filter-out lib/wire/%,$(SAMPLER_SOURCES))
stacks-guest: lib/test/stacks/guest/run.sh	## what shows known call trees in a guest: ARCH=aarch64
	$(Q)$(PYTHON) -m kernels sysroot $(ARCH) $(SYSROOT) $(SYSROOT_PACKAGES)
	$(Q)rm -rf $(GUEST) && mkdir -p $(GUEST)/root/usr/lib/$(TRIPLET)
	$(Q)cp $< $(GUEST)/ && for name in lib lib64; do \
		[ ! -e $(SYSROOT)/$$name ] || cp -a $(SYSROOT)/$$name $(GUEST)/root/; done
	$(Q)cp -a $(SYSROOT)/usr/lib/$(TRIPLET)/lib*.so* $(GUEST)/root/usr/lib/$(TRIPLET)/
	$(Q)$(GUEST_CC) -O1 -o $(GUEST)/root/trees lib/test/stacks/trees.c -ldl -pthread -lrt
	$(Q)$(GUEST_CC) -shared -fPIC -O2 -fomit-frame-pointer -o $(GUEST)/root/late.so lib/test/stacks/late.c
	$(Q)for name in stopped sample; do $(GUEST_CC) -O2 $(WARNINGS) -o $(GUEST)/root/$$name \
		lib/test/stacks/$$name.c $(GUEST_SOURCES) $(STACKS_LIBS) || exit 1; done
	$(Q)$(GUEST_CC) -O1 -fno-omit-frame-pointer -o $(GUEST)/root/pointers lib/test/stacks/trees.c -ldl -pthread -lrt
	$(Q)[ $(ARCH) != aarch64 ] || $(GUEST_CC) -O1 -mbranch-protection=standard -o $(GUEST)/root/signed \
		lib/test/stacks/trees.c -ldl -pthread -lrt
	$(Q)[ $(ARCH) != x86_64 ] || $(GUEST_CC) -O1 $(WARNINGS) -Ilib -o $(GUEST)/root/folded_stacks \
		lib/examples/stacks/folded_stacks.c $(STACKS_SOURCES) $(GUEST_EXAMPLE) $(STACKS_LIBS)
.PHONY: stacks-guest
