# SPDX-License-Identifier: MIT
# The room lib/sampler: watching other processes. Part of ../../Makefile.

SAMPLER_SOURCES := $(filter-out lib/sampler/willing/% lib/sampler/service/%,$(wildcard lib/sampler/*.c lib/sampler/*/*.c))
WILLING_SOURCES := $(wildcard lib/sampler/willing/*.c)

library: $(B)/libperfmodes-sampler.a $(B)/libperfmodes-willing.a
$(B)/libperfmodes-sampler.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(SAMPLER_SOURCES))
$(B)/libperfmodes-willing.a: $(patsubst lib/%.c,$(B)/pic/%.o,$(WILLING_SOURCES))
$(B)/libperfmodes-%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Tests: as those of the library, with the sanitizers.
SAMPLER_TESTS := $(patsubst lib/test/%.c,build/test/%,$(wildcard lib/test/sampler/*_test.c))
unit-tests: $(SAMPLER_TESTS)
build/test/sampler.a: $(patsubst lib/%.c,build/test/object/%.o,$(SAMPLER_SOURCES) $(WILLING_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^
$(SAMPLER_TESTS): build/test/%_test: lib/test/%_test.c build/test/sampler.a build/test/lib.a $(wildcard lib/test/*.h lib/test/sampler/*.h)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(TEST_FLAGS) -o $@ $< build/test/sampler.a build/test/lib.a -lcmocka $(YAJL) $(TEST_LIBS)
