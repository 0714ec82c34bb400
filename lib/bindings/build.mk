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

PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
install-bindings: bindings	## install perfmodes.hpp and the Python package
	$(Q)$(call put,644,$(PREFIX)/include,lib/bindings/cpp/perfmodes.hpp)
	$(Q)$(call put,644,$(PYTHONDIR)/perfmodes,$(BINDINGS)/python/perfmodes/*.py $(BINDINGS)/python/perfmodes/py.typed)

.PHONY: bindings install-bindings
