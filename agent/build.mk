# The agent of this machine, its tests, and the static agents of others.

# With its unit tests and those agents that only tests start; agent-only: without.
agent: build/agent/Makefile
	$(BUILD) build/agent
	$(INSTALL_AGENTS)

agent-only: build/agent/Makefile
	$(BUILD) build/agent --target rtstone-agent --target rtstone-agent-sim
	$(INSTALL_AGENTS)

define INSTALL_AGENTS
@mkdir -p $(AGENTS)
@for agent in rtstone-agent rtstone-agent-sim; do \
	cmp -s build/agent/$$agent $(AGENTS)/$$agent || install build/agent/$$agent $(AGENTS); done
endef

# The static agents (docs/start/install.md): small, for machines reached over a network and
# for guests of the lab.  The table says which there are, and the bytes each may have: on x86-64 most are glibc's.
ARCHITECTURES_TABLE := rtstone/architectures.txt
ARCHITECTURES := $(shell sed -n '/^[^\#]/s/ .*//p' $(ARCHITECTURES_TABLE))
field = $(word $(2),$(shell grep '^$(1) ' $(ARCHITECTURES_TABLE)))
compiler = $(call field,$(1),3)-gcc
libc = libc6-dev$(if $(filter $(1),$(shell uname -m)),,-$(call field,$(1),2)-cross)

.PHONY: $(addprefix agent-,$(ARCHITECTURES))

agents: check-agents
	@$(MAKE) --no-print-directory $(addprefix agent-,$(ARCHITECTURES))

# Stripped.  Beside it is what a replay in the lab needs to know of it (docs/guides/explain.md).
$(addprefix agent-,$(ARCHITECTURES)): agent-%: build/agent-%/Makefile
	$(BUILD) build/agent-$* --target rtstone-agent
	@cd build/agent-$*; tools=$(call field,$*,3); \
	$$tools-objcopy --strip-all rtstone-agent stripped && \
	$$tools-objcopy --strip-debug rtstone-agent symbols && \
	$$tools-objcopy --only-keep-debug symbols && \
	$(call MARKS,$$tools-readelf,rtstone-agent,marks)
	@bytes=$$(stat -c %s build/agent-$*/stripped); most=$(call field,$*,4); \
	echo "static agent for $*: $$bytes bytes of $$most"; \
	if [ $$bytes -gt $$most ]; then \
	    echo "make: the static agent for $* has become too large" >&2; exit 1; fi
	@mkdir -p $(AGENTS); cd build/agent-$*; to=$(CURDIR)/$(AGENTS)/rtstone-agent-$*; \
	cmp -s stripped $$to || install stripped $$to; \
	for file in symbols marks; do \
	    cmp -s $$file $$to.$$file || install -m 644 $$file $$to.$$file; done

# The marks of a program, by a readelf, unless they are newer than it; its table takes a while.
MARKS = { [ $(3) -nt $(2) -a $(3) -nt $(CURDIR)/agent/marks.py ] || { \
	$(PYTHON) $(CURDIR)/agent/marks.py $(1) $(2) >$(3).new && mv $(3).new $(3); }; }

build/agent-%/Makefile: | check-tools
	$(call NEED_COMPILERS,$*)
	cmake -S agent -B build/agent-$* $(GENERATOR) -DRTS_LEAN=ON -DCMAKE_SYSTEM_NAME=Linux \
	    -DCMAKE_SYSTEM_PROCESSOR=$* -DCMAKE_C_COMPILER=$(call compiler,$*)

build/agent/Makefile: | check-tools
	cmake -S agent -B build/agent $(GENERATOR)

sanitized: build/sanitized/Makefile build/sanitized/engine.so
	$(BUILD) build/sanitized

build/sanitized/Makefile: | check-tools
	cmake -S agent -B build/sanitized $(GENERATOR) -DRTS_SANITIZE=ON

check-agents:
	$(call NEED_COMPILERS,$(ARCHITECTURES))

define NEED_COMPILERS
@missing=; \
$(foreach one,$(1),[ -e "$$($(call compiler,$(one)) -print-file-name=libc.a 2>/dev/null)" ] \
    || missing="$$missing gcc-$(subst _,-,$(call field,$(one),3)) $(call libc,$(one))";) \
if [ -n "$$missing" ]; then \
    echo "make: not installed:$$missing" >&2; \
    echo "make: install it with: apt-get install$$missing" >&2; \
    exit 1; \
fi
endef

# clang-tidy looks at each file once, and not again while nothing in it has changed; lint-all at
# each in every program it is part of.  Clang does not know every option of GCC.
TIDY := $(BIN)/python agent/tidy.py

lint-agent: $(VENV)/dev.stamp agent
	git ls-files 'agent/*.[ch]' 'rtstone/*.[ch]' | xargs $(BIN)/clang-format --dry-run -Werror
	$(TIDY) build/agent $$(git ls-files 'agent/*.c' | grep -v /template/)
	if [ -e build/freertos-a64/compile_commands.json ]; then \
	    $(TIDY) --flag=--target=aarch64-none-elf build/freertos-a64 \
	        agent/ports/freertos/*.c agent/loads/freertos/*.c agent/tests/freertos/*.c \
	        agent/boards/virt-a53/*.c \
	    && $(TIDY) --flag=--target=arm-none-eabi --without=-fno-move-loop-invariants \
	        build/freertos-m3 agent/boards/mps2/*.c \
	    && $(TIDY) --flag=--target=arm-none-eabi --without=-mgeneral-regs-only \
	        build/freertos-a9 agent/boards/vexpress-a9/*.c \
	    && $(TIDY) --flag=--target=riscv64-none-elf --without=-misa-spec=2.2 \
	        build/freertos-rv64 agent/boards/virt-riscv/*.c \
	    && $(TIDY) --flag=--target=aarch64-none-elf \
	        build/freertos-a64-xen agent/boards/virt-a53/*.c; fi
