# SPDX-License-Identifier: MIT
# perfmodes: builds the probes and the library, runs the tests. `make help` lists the targets.
#
#   ARCH=x86_64         machine to build for (uname -m); outputs go to build/$(ARCH)/
#   CROSS_COMPILE=...   tool prefix, as for the kernel; without it one is set up for a foreign ARCH
#   CC=...              musl-gcc when it is there, for small static programs; else gcc
#   V=1                 show commands;  WERROR=1  warnings are errors
#   KSELFTEST_DIR=...   take the kselftest harness from a kernel tree
#   NO_INSTALL=1        never install packages
#   PREFIX=/usr/local   where make install puts things;  DESTDIR=  a folder in front of it

ARCH ?= $(shell uname -m)
B := build/$(ARCH)
PYTHON ?= /usr/bin/python3

# Another machine of the kernel matrix: Debian's cross gcc and that machine's musl are set up once.
# x86_64-NAME is a second build folder of this machine; any other name is an error.
HOST := $(shell uname -m)
ifneq ($(filter-out $(HOST) $(HOST)-%,$(ARCH)),)
  ifeq ($(CROSS_COMPILE)$(filter-out default,$(origin CC)),)
    include $(B)/cross/tools.mk
  endif
endif
include .packaging/needs.mk

ifeq ($(origin CC),default)
  ifneq ($(CROSS_COMPILE),)
    CC := $(CROSS_COMPILE)gcc
  else
    CC := $(if $(shell command -v musl-gcc),musl-gcc,gcc)
  endif
endif
OBJCOPY ?= $(CROSS_COMPILE)objcopy
AR := $(CROSS_COMPILE)ar
# musl has no kernel headers: the system's are searched last
KERNEL_HEADERS := $(if $(findstring musl,$(CC)),-idirafter /usr/include \
	-idirafter /usr/include/$(shell gcc -print-multiarch 2>/dev/null))

OPT ?= -O1
CFLAGS ?= $(OPT)
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes $(if $(WERROR),-Werror)
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(CFLAGS) $(KERNEL_HEADERS) -fno-common $(SMALL) -pthread -MMD
# Each probe is a static program of its own: what it does not use, unwind tables and padding between
# segments would be in it some hundred times.
SMALL := -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables
LINK := -static -pthread -Wl,--gc-sections,--build-id=none,-z,noseparate-code,-z,norelro
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS)))),,@printf '  %-7s %s\n' $(1) $(2))

MECHANISM := $(patsubst %.c,$(B)/%.o,$(filter-out lib/test/%,$(wildcard lib/*.c)))
KIT := $(patsubst probes/%.c,$(B)/%.o,$(wildcard probes/kit/*.c))
PROBES := $(patsubst probes/%.c,%,$(filter-out probes/kit/% probes/launcher/%,$(wildcard probes/*/*.c)))
PROGRAMS := $(B)/launch $(B)/identify $(B)/doctor $(B)/explain $(B)/replay
LAUNCHER := $(patsubst probes/%.c,$(B)/%.o,$(filter-out %/main.c %/identify.c %/multicall.c,$(wildcard probes/launcher/*.c)))
HARNESS := build/kselftest/kselftest_harness.h

# Programs of probes that were removed: they must not run.
STALE := $(filter-out $(PROBES:%=$(B)/probes/%) $(B)/probes/replay/recorded,$(wildcard $(B)/probes/*/*)) \
	$(filter-out $(PROBES:%=$(B)/declared/%.txt),$(wildcard $(B)/declared/*/*))

##@ Probes
all: shipped $(B)/falsify/launch	## build the probes (the default)
shipped: $(PROGRAMS) $(PROBES:%=$(B)/object/%.o) $(PROBES:%=$(B)/probes/%) $(B)/probes/replay/recorded
	$(if $(strip $(STALE)),$(Q)rm -f $(STALE))

$(HARNESS): | $(B)/compiles
	$(Q)probes/kit/fetch-harness $(@D)

# A program that does nothing, made once before all others: is there what it takes?
$(B)/compiles:
	$(Q)mkdir -p $(@D)
	$(Q)printf '#include <stdio.h>\n#include <linux/types.h>\nint main(void) { return 0; }\n' >$@.c
	$(Q){ $(CC) $(KERNEL_HEADERS) $(LINK) -o $@ $@.c && $(OBJCOPY) --version && $(AR) --version; } >/dev/null 2>&1 || \
		{ echo "make: the build needs a C compiler ($(CC)) that makes static programs, and binutils;" \
			"on Debian: apt-get install $$(echo $$(.ci/install --list build))" >&2; exit 1; }

define compile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
endef
$(B)/lib/%.o: lib/%.c | $(B)/compiles
	$(compile)
$(B)/%.o: probes/%.c | $(B)/compiles
	$(compile)
$(B)/%.o: suites/%.c | $(B)/compiles
	$(compile)

$(B)/lib/mechanism.a: $(MECHANISM)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/launch: $(LAUNCHER) $(B)/launcher/main.o $(B)/lib/mechanism.a
$(B)/identify: $(B)/launcher/identify.o $(B)/lib/mechanism.a
# The same launcher with fake kernels, for the tests alone: it is in no bundle.
$(B)/falsify/launch: $(patsubst suites/%.c,$(B)/%.o,$(wildcard suites/falsify/*.c)) $(B)/falsify/lies/names.o $(LAUNCHER) $(B)/lib/mechanism.a
$(PROGRAMS) $(B)/falsify/launch:
	$(call say,LINK,$@)
	$(Q)$(CC) $(LINK) -o $@ $^

# The build refuses a probe whose declaration lacks a title, a since or a point. The harness's macros
# define functions with unused parameters: that warning is off.
$(B)/object/%.o: probes/%.c | $(B)/compiles $(HARNESS)
	$(call say,PROBE,$(subst /,.,$*))
	$(Q)mkdir -p $(@D) $(B)/declared/$(dir $*)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-unused-parameter -isystem build/kselftest -I probes/kit \
		-DPROBE_ID='"$(subst /,.,$*)"' -MF $(B)/object/$*.d -MT $@ -c -o $@.new $<
	$(Q)$(OBJCOPY) -O binary --only-section=.probeinfo $@.new $(B)/declared/$*.new
	$(Q)(tr '\0' '\n' <$(B)/declared/$*.new | grep .; echo) >$(B)/declared/$*.txt
	$(Q)for key in title since point; do grep -q "^$$key=." $(B)/declared/$*.txt || \
		{ echo "$<: PROBE() declares no $$key" >&2; exit 1; }; done
	$(Q)rm $(B)/declared/$*.new && mv $@.new $@
$(B)/probes/%: $(B)/object/%.o $(KIT) $(B)/lib/mechanism.a
	$(Q)mkdir -p $(@D) && $(CC) $(LINK) -o $@ $^

bundles:	## a bundle for every machine of the kernel matrix
	$(Q)for arch in $$($(PYTHON) -m kernels bundles); do $(MAKE) ARCH=$$arch bundle || exit 1; done

$(B)/cross/tools.mk: kernels/source/cross.py
	$(Q)$(PYTHON) -m kernels cross $(ARCH) $(@D) $(if $(NO_INSTALL),--no-install)

# probes/AREA/NAME:	## build one probe: make probes/ring/write_backward
$(PROBES:%=probes/%): probes/%: $(B)/probes/%

include lib/build.mk $(wildcard lib/*/build.mk) suites/tests.mk .packaging/bundle.mk .packaging/release.mk

clean:		## remove build/
	rm -rf build

help:		## print this
	@sed -n 's/^##@ //p; s/^\(# \)\{0,1\}\([A-Za-z/-]*\):.*## *\(.*\)/  \2	\3/p' \
		$(filter %Makefile %build.mk %tests.mk %bundle.mk %release.mk,$(MAKEFILE_LIST)) | expand -t 20
	@echo Variables && sed -n 's/^#   \([A-Z_0-9]*=\)/  \1/p' $(firstword $(MAKEFILE_LIST))

.PHONY: all shipped bundle bundles clean help changed $(PROBES:%=probes/%)
.DELETE_ON_ERROR:
.SECONDARY:
# What was compiled is compiled again when a header of it changes, or is there no more: %.h is made by nothing.
# Where nothing is compiled these files are not read, which takes longer than all else that make does first.
%.h:;
%.def:;
%.inc:;
ifneq ($(filter-out help clean uninstall tarball release-sums nightly soak-tests quick% check%,$(GOALS)),)
-include $(shell find $(foreach part,pic lib kit launcher falsify object,$(B)/$(part)) build/test build/fuzz build/tsan -name '*.d' 2>/dev/null)
endif
