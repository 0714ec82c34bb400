# SPDX-License-Identifier: MIT
# libperfmodes-pfm: events by the names of libpfm4. Part of ../build.mk. Built where the compiler finds
# libpfm4's header; the library itself is loaded at run time.

ifeq ($(CROSS_COMPILE),)
HASH := \#
HAVE_PFM := $(shell echo '$(HASH)include <perfmon/pfmlib_perf_event.h>' | $(LIB_CC) -E -x c - >/dev/null 2>&1 && echo yes)
endif
PFM := $(wildcard lib/pfm/*.c)
PFM_TESTS := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/pfm/*_test.c))

ifeq ($(HAVE_PFM),)
pfm:
	@echo "  LEFT    libperfmodes-pfm: the compiler finds no <perfmon/pfmlib.h> (Debian: libpfm4-dev)"
else
pfm: $(B)/libperfmodes-pfm.a	## build libperfmodes-pfm (needs libpfm4's headers)
unit-tests: $(PFM_TESTS)
bindings: $(B)/perfmodes/libperfmodes-pfm.so
endif
library: pfm

$(B)/libperfmodes-pfm.a: $(PFM:lib/%.c=$(B)/pic/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# What is compared with: libpfm4 as it is linked, whose header and ours both define perf_event_attr.
build/test/object/test/pfm/theirs.o: lib/test/pfm/theirs.c
$(PFM_TESTS): build/test/%_test: lib/test/%_test.c build/test/object/test/pfm/theirs.o \
		$(PFM:lib/%.c=build/test/object/%.o) build/test/lib.a lib/test/pfm/theirs.h
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(filter-out -MMD,$(TEST_FLAGS)) -Ilib -Wl,--wrap=dlopen -o $@ $(filter-out %.h,$^) \
		-lcmocka $(YAJL) -lpfm -ldl

install-pfm: $(B)/libperfmodes-pfm.a install	## install, and libperfmodes-pfm
	$(Q)$(call put,644,$(PREFIX)/include,lib/perfmodes_pfm.h)
	$(Q)$(call put,644,$(LIBDIR),$<)
	$(Q)$(call put_pc,lib/pfm/perfmodes-pfm.pc.in)
	$(Q)$(PYTHON) lib/man/pages.py $(B)/man/pfm lib/perfmodes_pfm.h -- lib/pfm/*.3.in
	$(Q)$(call put_pages,$(B)/man/pfm)

.PHONY: pfm install-pfm
