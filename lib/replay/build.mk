# SPDX-License-Identifier: MIT
# What ./run.sh --replay runs: static, as the probes are. Part of ../../Makefile.
REPLAY := $(wildcard lib/replay/*.c) lib/explain/part.c
$(B)/replay: $(patsubst lib/%.c,$(B)/lib/%.o,$(REPLAY)) $(B)/lib/mechanism.a
# As the launcher finds it, among the probes.
$(B)/probes/replay/recorded: $(B)/replay
	$(Q)mkdir -p $(@D) && ln -sf ../../replay $@
