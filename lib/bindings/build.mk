# SPDX-License-Identifier: MIT
# Bindings: Python (ctypes), Rust, C++. Part of ../../Makefile. What the headers declare is put into
# each package here, by the debug information of a compiler: nothing of it is committed.

BINDINGS := $(B)/bindings
bindings: $(BINDINGS)/made $(B)/libperfmodes.so	## make the Python package and the Rust crate in build/
$(BINDINGS)/made: $(HEADERS:%=lib/%) lib/perfmodes.map $(shell find lib/bindings -type f -not -path '*/__pycache__/*')
	$(call say,BIND,$(BINDINGS))
	$(Q)mkdir -p $(@D) && $(PYTHON) lib/bindings/abi/make.py lib $(BINDINGS) && touch $@
$(B)/libperfmodes.so: $(B)/libperfmodes.so.0
	$(Q)ln -sf $(<F) $@

# Python loads the optional libraries when it needs them: each is shared here, and shows what its header
# declares. Their folder lies beside libperfmodes.so.0. Others link the static ones.
PARTS = sampler $(if $(HAVE_STACKS),stacks) $(if $(HAVE_HWLOC),topology) $(if $(HAVE_PFM),pfm)
PART_sampler = $(B)/libperfmodes.a -lyajl
PART_stacks = $(STACKS_LIBS)
PART_topology = $(B)/libperfmodes.so.0 $(TOPOLOGY_LIBS)
PART_pfm = -ldl
bindings: $(B)/perfmodes/libperfmodes-sampler.so
$(B)/perfmodes/libperfmodes-sampler.so: $(B)/libperfmodes.a
$(B)/perfmodes/libperfmodes-topology.so: $(B)/libperfmodes.so.0
$(B)/perfmodes/libperfmodes-%.so: $(B)/libperfmodes-%.a $(BINDINGS)/made
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(LIB_CC) $(LIB_LINK) -shared -pthread -Wl,--version-script=$(BINDINGS)/$*.map -Wl,-z,defs \
		-Wl,-soname,$(@F) -o $@ -Wl,--whole-archive $< -Wl,--no-whole-archive $(PART_$*)

PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
install-bindings: bindings	## install the headers for C++, and the Python package with what it loads
	$(Q)$(call put,644,$(PREFIX)/include,$(wildcard lib/bindings/cpp/*.hpp))
	$(Q)$(call put,644,$(PYTHONDIR)/perfmodes,$(BINDINGS)/python/perfmodes/*.py $(BINDINGS)/python/perfmodes/py.typed)
	$(Q)$(call put,755,$(LIBDIR)/perfmodes,$(PARTS:%=$(B)/perfmodes/libperfmodes-%.so))

.PHONY: bindings install-bindings
