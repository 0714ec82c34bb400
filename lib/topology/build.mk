# SPDX-License-Identifier: MIT
# libperfmodes-topology: counts by hardware thread, over hwloc. Part of ../build.mk. Built where
# pkg-config finds hwloc; with event sets of PAPI where it finds PAPI, too.

ifeq ($(CROSS_COMPILE),)
HAVE_HWLOC := $(shell pkg-config --exists 'hwloc >= 2.1' 2>/dev/null && echo yes)
HAVE_PAPI := $(if $(HAVE_HWLOC),$(shell pkg-config --exists papi 2>/dev/null && echo yes))
endif
TOPOLOGY_NEEDS := hwloc$(if $(HAVE_PAPI), papi)
TOPOLOGY_FLAGS = -Ilib $(if $(HAVE_PAPI),-DPM_HAVE_PAPI) $(shell pkg-config --cflags $(TOPOLOGY_NEEDS))
TOPOLOGY_LIBS = $(shell pkg-config --libs $(TOPOLOGY_NEEDS))
TOPOLOGY := $(patsubst lib/%.c,%,$(wildcard lib/topology/*.c))
TOPOLOGY_TESTS := $(patsubst lib/test/topology/%.c,build/test/topology/%,$(wildcard lib/test/topology/*_test.c))
TOPOLOGY_EXAMPLES := $(patsubst lib/%.c,$(B)/%,$(wildcard lib/topology/example/*.c))

ifeq ($(HAVE_HWLOC),)
topology:
	@echo "  LEFT    libperfmodes-topology: pkg-config knows no hwloc 2.1 (Debian: libhwloc-dev)"
else
topology: $(B)/libperfmodes-topology.a $(TOPOLOGY_EXAMPLES)	## build libperfmodes-topology (needs hwloc; PAPI if there)
	$(if $(HAVE_PAPI),,@echo "  LEFT    event sets of PAPI in libperfmodes-topology (Debian: libpapi-dev)")
unit-tests: $(TOPOLOGY_TESTS)
bindings: $(B)/perfmodes/libperfmodes-topology.so
endif
library: topology

$(B)/pic/topology/%.o: LIB_EXTRA += $(TOPOLOGY_FLAGS)
$(B)/libperfmodes-topology.a: $(TOPOLOGY:%=$(B)/pic/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(B)/topology/example/%: lib/topology/example/%.c $(B)/libperfmodes-topology.a $(B)/libperfmodes.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(LIB_CC) -std=gnu11 -O2 $(WARNINGS) -Ilib/topology $(TOPOLOGY_FLAGS) -o $@ $^ \
		$(YAJL) $(TOPOLOGY_LIBS) -pthread

build/test/object/topology/%.o: TEST_FLAGS += $(TOPOLOGY_FLAGS)
$(TOPOLOGY_TESTS): build/test/topology/%_test: lib/test/topology/%_test.c $(TOPOLOGY:%=build/test/object/%.o) build/test/lib.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && gcc $(filter-out -MMD,$(TEST_FLAGS)) -Ilib/topology $(TOPOLOGY_FLAGS) \
		-o $@ $^ -lcmocka $(YAJL) $(TOPOLOGY_LIBS)

install-topology: $(B)/libperfmodes-topology.a install	## install, and libperfmodes-topology
	$(Q)$(call put,644,$(PREFIX)/include,lib/topology/perfmodes_topology.h)
	$(Q)$(call put,644,$(LIBDIR),$<)
	$(Q)$(call put_pc,lib/topology/perfmodes-topology.pc.in,$(TOPOLOGY_NEEDS))
	$(Q)$(PYTHON) lib/man/pages.py $(B)/man/topology lib/topology/perfmodes_topology.h -- lib/topology/*.3.in
	$(Q)$(call put_pages,$(B)/man/topology)

.PHONY: topology install-topology
