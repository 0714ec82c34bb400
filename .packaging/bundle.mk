# SPDX-License-Identifier: MIT
# The bundle: what a device or guest needs, and nothing else. Part of ../Makefile.
# bin/probe is all probes as one program, called by links: what they share is in it once, a seventh
# of the size of the single programs.

##@ Bundles and packages
bundle: $(B)/bundle.tar	## what a device or guest needs, in build/ARCH: bundle, bundle.tar

# The symbols of a probe become its own, its main() gets the probe's name, and its constructors a
# section that can be found by name. What i386 takes its own address with stays global: the linker
# keeps one copy of all.
underscored = $(subst /,_,$*)
$(B)/multicall/%.o: $(B)/object/%.o
	$(Q)mkdir -p $(@D)
	$(Q)$(OBJCOPY) -w --keep-global-symbol=probe_$(underscored) \
		--keep-global-symbol='__x86.get_pc_thunk.*' --redefine-sym main=probe_$(underscored) \
		--rename-section .init_array=init_$(underscored) $< $@

# Its time changes only when the list does.
$(B)/multicall.def: $(if $(shell printf '%s\n' $(PROBES) | cmp -s - $(B)/multicall.list || echo changed),changed)
	$(Q)mkdir -p $(@D) && printf '%s\n' $(PROBES) >$(B)/multicall.list
	$(Q)sed 's|\(.*\)/\(.*\)|PROBE_FILE(\1, \2)|' $(B)/multicall.list >$@
changed:
$(B)/launcher/multicall.o: $(B)/multicall.def
$(B)/launcher/multicall.o: ALL_CFLAGS += -I $(B)
$(B)/probe: $(B)/launcher/multicall.o $(PROBES:%=$(B)/multicall/%.o) $(KIT) $(B)/lib/mechanism.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LINK) -o $@ $^

# Members in one order, with the time of the last commit, no owner and fixed modes: the same tree
# gives the same bytes. MANIFEST has the checksum of each file: sha256sum -c MANIFEST.
$(B)/bundle.tar: $(PROGRAMS) $(B)/probe run.sh reports/screen.sh $(wildcard suites/*.txt) .packaging/tar
	$(call say,BUNDLE,$(B)/bundle)
	$(Q)rm -rf $(B)/bundle && mkdir -p $(B)/bundle/bin $(B)/bundle/suites
	$(Q)cp run.sh $(B)/bundle/ && cp suites/*.txt $(B)/bundle/suites/ && cp reports/screen.sh $(B)/bundle/bin/screen
	$(Q)for program in launch identify doctor explain replay probe; do \
		$(CROSS_COMPILE)strip -R .comment -o $(B)/bundle/bin/$$program $(B)/$$program || exit 1; done
	$(Q)cd $(B)/bundle/bin && for probe in $(PROBES); do mkdir -p probes/$${probe%/*} && \
		ln -s ../../probe probes/$$probe || exit 1; done; \
		mkdir -p probes/replay && ln -s ../../replay probes/replay/recorded
	$(Q)cd $(B) && tar -cf - $(PROBES:%=declared/%.txt) | tar -xf - -C bundle/bin
	$(Q).packaging/tar $@ $(B) bundle

SUITE ?= default
kselftest: $(B)/bundle.tar	## probes of SUITE= as a collection for run_kselftest.sh, into DESTDIR=
	$(Q)[ -n "$(DESTDIR)" ] || { echo "make: DESTDIR= is to name the folder of run_kselftest.sh" >&2; exit 1; }
	$(Q).packaging/kselftest $(B)/bundle "$(DESTDIR)" "$(SUITE)"
.PHONY: kselftest

kselftest-series:	## probes as patches for the kernel's perf_events selftests, in OUT=
	$(Q)[ -n "$(OUT)" ] || { echo "make: OUT= is to name the folder of the series" >&2; exit 1; }
	$(Q)$(PYTHON) .packaging/kselftest_series.py --out "$(OUT)" $(if $(LINUX),--linux "$(LINUX)") $(if $(AUTHOR),--author "$(AUTHOR)")
.PHONY: kselftest-series
