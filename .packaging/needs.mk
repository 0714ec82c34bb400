# SPDX-License-Identifier: MIT
# What each goal needs, in words of .packaging/need. Part of ../Makefile. It is looked for first of all, as
# the rest of the makefiles depends on what is there: root gets it installed, others a sentence.

NEED_all := probes
NEED_shipped := probes
NEED_bundle := probes
NEED_bundles := probes machines
NEED_clean :=
NEED_help :=

NEED_library := library
NEED_doctor-library := library
NEED_doctor := probes
NEED_explain := probes
NEED_soak := library clang cmocka tests
NEED_library-bundle := probes
NEED_bench = library $(addprefix bench-,$(or $(BENCH),counter drain live profile stop suite))
NEED_bench-table := python
NEED_install := library
NEED_install-all := library stacks topology pfm bindings
NEED_uninstall := python
NEED_bindings := library bindings
NEED_install-bindings := library bindings
NEED_pfm := library pfm
NEED_install-pfm := library pfm
NEED_install-sampler := library stacks
NEED_install-stacks := library stacks
NEED_stacks-tests := library stacks clang cmocka
NEED_stacks-guest := machines
NEED_topology := library topology
NEED_install-topology := library topology

# These install groups of packages by themselves.
NEED_quick :=
NEED_check :=
NEED_check-peers :=
NEED_nightly :=
NEED_soak-tests :=
NEED_fuzz := library stacks clang cmocka reports machines
NEED_compare-builds := probes clang musl reports
NEED_compare-forms := probes reports
NEED_odd-machines := probes reports disks
NEED_falsify := probes reports

NEED_kselftest := probes
NEED_kselftest-series := python
NEED_install-suite := probes
NEED_tarball := xz
NEED_deb = $(if $(filter -d,$(DEB_FLAGS)),,package xz)
NEED_abi := library bindings types
NEED_release = probes xz python $(if $(RELEASE_ARCHES),,machines)

# Another machine first needs what sets up its tools; then make starts again.
GOALS := $(or $(MAKECMDGOALS),all)
FOREIGN := $(filter-out $(HOST) $(HOST)-%,$(ARCH))
SET_UP := $(if $(FOREIGN),$(CROSS_COMPILE)$(filter-out default,$(origin CC)),yes)
NEEDED := $(if $(SET_UP),$(sort $(foreach goal,$(GOALS),$(NEED_$(goal)) $(if $(filter probes/%,$(goal)),probes))),machines)
# With -n and -q nothing is made.
FLAGS := $(firstword -$(MAKEFLAGS))
ifneq ($(if $(findstring n,$(FLAGS))$(findstring q,$(FLAGS)),,$(NEEDED)),)
LACKING := $(shell CC='$(if $(filter default,$(origin CC)),,$(CC))' PYTHON='$(PYTHON)' NO_INSTALL='$(NO_INSTALL)' \
	CROSS_COMPILE='$(CROSS_COMPILE)' DEBIAN_ARCH='$(DEBIAN_ARCH)' .packaging/need $(NEEDED))
ifneq ($(LACKING),)
$(error make $(GOALS): $(LACKING))
endif
endif
