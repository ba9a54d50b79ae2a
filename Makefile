# What a person types.  Each of run, test, bench and lint sets up all it needs.

ifndef PYTHON
PYTHON := $(shell packaging/python || echo python3)
endif
VENV := .venv
BIN := $(VENV)/bin
AGENTS := rtstone/_agent
CHARTS := rtstone/report/assets/charts.js
ENGINE := rtstone/_engine/engine.so
PLUGINS := $(addprefix rtstone/_engine/qemu-plugin-,1.so 3.so)
LABGRID := build/labgrid
OTAVA := build/otava
TEST_ARGS ?=
# Tests side by side: tests/conftest.py says which are not, and that the longest begin first.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder
# A line for each file would take a process each, a seventh of the time.
GENERATOR := -G "Unix Makefiles" -DCMAKE_RULE_MESSAGES=OFF
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
# Under make --jobs, all compilers together are as many as it says.
BUILD = +$(if $(findstring jobserver,$(MAKEFLAGS)),env -u CMAKE_BUILD_PARALLEL_LEVEL )cmake --build
# Tests start rtstone hundreds of times: it is compiled once, whatever the caller's shell says.
export PYTHONDONTWRITEBYTECODE :=
MAKEFLAGS += --no-print-directory

.PHONY: run agent-only test lab-kernel bench lint lint-host \
	lint-agent lint-engine lint-all format docs wheel dist deb deb-check man agent agents freertos \
	freertos-memory engine sanitized charts check-tools check-charts check-agents \
	check-cross check-deb agents-archive sbom clean lock
.DEFAULT_GOAL := help

.PHONY: help
help:
	@echo "make run     measure this machine with suite quick, and show the result"
	@echo "make test    run all tests"
	@echo "make wheel   build a wheel and a source distribution into dist (docs/install.md)"
	@echo "make deb     build a package of Debian 12 (SUITE=trixie: 13) into dist; deb-check tries it"
	@echo "make agents-archive  pack the static agents alone; make sbom: what is in all of these"
	@echo "make man     write the manual pages into build/man"
	@echo "make agents  build the static agents for other machines (needs cross compilers)"
	@echo "make freertos  build the images of the emulated boards (needs a cross compiler)"
	@echo "make bench   speed of the simulator and the report; beside cyclictest and perf"
	@echo "make docs    write the pages of the benches from their tables"
	@echo "make lint    check style, types and warnings"

STEP := @packaging/step

# Only what it runs, side by side.
run:
	@packaging/packages install build charts
	$(STEP) "rtstone is set up" build/run.log $(MAKE) --jobs 4 $(VENV)/run.stamp agent-only charts
	@$(BIN)/rtstone run quick
	@$(BIN)/rtstone report last -o report.html

# LAB=needed: no test is run where none could boot an emulated board, emulate another processor, or
# acquire a place of labgrid.
LAB ?= wanted

define OPTIONAL
@packaging/step "what tests of $(2) need is built" build/test-$(notdir $(1:/stamp=)).log \
    $(MAKE) $(1) || { [ "$(LAB)" != needed ] && \
    echo "make: tests of $(2) are skipped, for the reason above"; }
endef

test:
	@packaging/packages install build charts agents boards kernel test || { \
	    [ "$(LAB)" != needed ] && packaging/packages check build charts; } || exit 1
	$(STEP) "what tests need is built" build/test.log \
	    $(MAKE) agent engine charts sanitized build/collected
	$(call OPTIONAL,agents,other machines' agents)
	$(call OPTIONAL,$(LABGRID)/stamp,places of labgrid)
	$(call OPTIONAL,$(OTAVA)/stamp,Apache Otava)
	$(call OPTIONAL,freertos,emulated boards)
	$(call OPTIONAL,lab-kernel,guests with Linux)
	$(BIN)/pytest $(PARALLEL) --durations=10 $(TEST_ARGS)

# Imports all tests once, which compiles all modules; else each worker would, in a fresh clone.
build/collected: $(VENV)/dev.stamp | agent engine
	@mkdir -p build; $(BIN)/pytest --collect-only --quiet >$@ || { cat $@ >&2; rm $@; exit 1; }

# The kernel and the hypervisor that tests boot, if there are none yet; `rtstone lab fetch` brings
# the newest.
lab-kernel: $(VENV)/run.stamp
	@if $(BIN)/rtstone lab list | grep -q 'lab fetch linux-6.1 *$$'; then \
	    $(BIN)/rtstone lab fetch linux-6.1 xen-4.17; fi

bench: $(VENV)/dev.stamp agent engine charts
	$(BIN)/python -m tests.bench.simulate
	$(BIN)/python -m tests.bench.store
	$(BIN)/python -m tests.bench.imports
	$(BIN)/python -m tests.bench.report
	$(BIN)/python -m tests.bench.peers
	$(BIN)/python -m tests.bench.gates
	$(BIN)/python -m tests.bench.trend
	$(BIN)/python -m tests.bench.reach
	$(BIN)/python -m tests.bench.users

# clang-tidy looks at each file once, and not again while nothing in it has changed; lint-all at
# each in every program it is part of.  Clang does not know every option of GCC.
TIDY := $(BIN)/python agent/tidy.py

lint: lint-host lint-agent lint-engine

lint-host: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/reuse lint --lines

lint-agent: $(VENV)/dev.stamp agent
	git ls-files 'agent/*.[ch]' 'rtstone/*.[ch]' | xargs $(BIN)/clang-format --dry-run -Werror
	$(TIDY) build/agent $$(git ls-files 'agent/*.c' | grep -v /template/)
	if [ -e build/freertos-a64/compile_commands.json ]; then \
	    $(TIDY) --flag=--target=aarch64-none-elf build/freertos-a64 \
	        agent/ports/freertos/*.c agent/tests/freertos/*.c agent/boards/virt-a53/*.c \
	    && $(TIDY) --flag=--target=arm-none-eabi --without=-fno-move-loop-invariants \
	        build/freertos-m3 agent/boards/mps2/*.c \
	    && $(TIDY) --flag=--target=arm-none-eabi --without=-mgeneral-regs-only \
	        build/freertos-a9 agent/boards/vexpress-a9/*.c \
	    && $(TIDY) --flag=--target=riscv64-none-elf --without=-misa-spec=2.2 \
	        build/freertos-rv64 agent/boards/virt-riscv/*.c \
	    && $(TIDY) --flag=--target=aarch64-none-elf \
	        build/freertos-a64-xen agent/boards/virt-a53/*.c; fi

lint-engine: $(VENV)/dev.stamp
	$(BIN)/clang-tidy --quiet $(ENGINE_SOURCE) -- $(ENGINE_FLAGS)
	$(BIN)/clang-tidy --quiet rtstone/explain/plugin.c -- $(ENGINE_FLAGS) -DRTS_PLUGIN_API=1

lint-all: TIDY += --all
lint-all: lint

docs: $(VENV)/run.stamp agent
	$(BIN)/python -m rtstone.cli.benchpages docs/benches

# What is given to others.  `make dist` puts into the wheel what the lab starts, too; without
# AGENTS_IN_WHEEL it has only the agents for this machine, and needs no cross compilers.
DIST := dist
AGENTS_IN_WHEEL ?= ON
LAB_IN_WHEEL ?= OFF
WHEEL_SETTINGS ?=

wheel: $(VENV)/dev.stamp charts $(if $(filter ON,$(AGENTS_IN_WHEEL)),agents)
	rm -rf build/wheel && mkdir -p $(DIST)
	$(BIN)/python -m build --no-isolation --sdist --outdir $(DIST) .
	$(BIN)/python -m build --no-isolation --wheel --outdir build/wheel \
	    --config-setting=cmake.define.RTSTONE_AGENTS=$(AGENTS_IN_WHEEL) \
	    --config-setting=cmake.define.RTSTONE_LAB=$(LAB_IN_WHEEL) $(WHEEL_SETTINGS) .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir $(DIST) build/wheel/*.whl

dist: freertos
	$(MAKE) wheel LAB_IN_WHEEL=ON

# A package of Debian (docs/security.md): the wheel, and what it needs as the lock file pins it, for
# the Python of the suite.  deb-check installs it in a clean system of its own, as root.
SUITE ?= bookworm

deb: check-deb $(VENV)/dev.stamp
	rm -rf build/deb/dist
	$(MAKE) wheel DIST=build/deb/dist
	$(BIN)/python packaging/deb.py build/deb/dist/*.whl build/deb $(SUITE)
	mkdir -p $(DIST) && cp build/deb/rtstone_*.deb $(DIST)

DEB_ROOT ?=

deb-check: DEB_SETS = root
deb-check: deb
	packaging/deb-check build/deb/rtstone_*.deb $(SUITE) $(DEB_ROOT)

# The static agents alone, for machines that get them by other ways than rtstone's (docs/agent.md).
agents-archive: agents $(VENV)/dev.stamp
	mkdir -p $(DIST)
	$(BIN)/python packaging/agents.py $(DIST)

# What each wheel, package and archive in dist holds, in CycloneDX (docs/install.md).
sbom: $(VENV)/dev.stamp
	$(BIN)/python packaging/sbom.py $(DIST)

man: $(VENV)/run.stamp
	$(BIN)/python -m rtstone.cli.manpages build/man

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files 'agent/*.[ch]' 'rtstone/*.[ch]' | xargs $(BIN)/clang-format -i

# ---- what is built --------------------------------------------------------------------------

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

# The static agents (docs/install.md): small, for machines reached over a network and for guests of
# the lab.  The table says which there are, and the bytes each may have: on x86-64 most are glibc's.
ARCHITECTURES_TABLE := rtstone/architectures.txt
ARCHITECTURES := $(shell sed -n '/^[^\#]/s/ .*//p' $(ARCHITECTURES_TABLE))
field = $(word $(2),$(shell grep '^$(1) ' $(ARCHITECTURES_TABLE)))
compiler = $(call field,$(1),3)-gcc
libc = libc6-dev$(if $(filter $(1),$(shell uname -m)),,-$(call field,$(1),2)-cross)

.PHONY: $(addprefix agent-,$(ARCHITECTURES))

agents: check-agents
	@$(MAKE) --no-print-directory $(addprefix agent-,$(ARCHITECTURES))

# Stripped.  Beside it is what a replay in the lab needs to know of it (docs/explain.md).
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

# ---- FreeRTOS images (docs/freertos.md) -------------------------------------------------------

FREERTOS_KERNEL_PATH ?=
FREERTOS_BOARDS := virt-a53:freertos-a64 virt-a53-xen:freertos-a64-xen \
	mps2-an385:freertos-m3 mps2-an385-hart:freertos-m3-hart \
	mps2-an386:freertos-m4f mps2-an500:freertos-m7 mps2-an505:freertos-m33 \
	vexpress-a9:freertos-a9 virt-rv32:freertos-rv32 virt-rv64:freertos-rv64
FREERTOS_IMAGES := $(foreach pair,$(FREERTOS_BOARDS),$(lastword $(subst :, ,$(pair))))
FREERTOS_KERNEL := build/freertos-kernel
FREERTOS_OPTIONS ?=

.PHONY: freertos-kernel $(addprefix image-,$(FREERTOS_IMAGES))

freertos: $(addprefix image-,$(FREERTOS_IMAGES))
	@size $(addprefix $(AGENTS)/,$(FREERTOS_IMAGES:=.elf))

$(addprefix image-,$(FREERTOS_IMAGES)): image-%: freertos-kernel
	@cmake -S agent -B build/$* $(GENERATOR) -DFREERTOS_KERNEL_PATH="$$(cat $(FREERTOS_KERNEL))" \
	    -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/agent/boards/$(patsubst %:$*,%,$(filter %:$*,\
	        $(FREERTOS_BOARDS))).cmake $(FREERTOS_OPTIONS)
	$(BUILD) build/$*
	@$(call MARKS,readelf,build/$*/$*.elf,build/$*/$*.marks)
	@mkdir -p $(AGENTS); \
	for file in $*.elf $*.marks; do \
	    cmp -s build/$*/$$file $(AGENTS)/$$file \
	        || install -m 644 build/$*/$$file $(AGENTS) || exit 1; \
	done

# Where the kernel's sources are.
freertos-kernel: | check-cross
	@kernel="$(FREERTOS_KERNEL_PATH)"; \
	[ -n "$$kernel" ] || kernel=$$($(PYTHON) agent/ports/freertos/kernel/find.py) || exit 1; \
	mkdir -p build; echo "$$kernel" >$(FREERTOS_KERNEL)

freertos-memory: freertos $(VENV)/dev.stamp
	$(BIN)/python -m tests.bench.memory

sanitized: build/sanitized/Makefile build/sanitized/engine.so
	$(BUILD) build/sanitized

build/sanitized/Makefile: | check-tools
	cmake -S agent -B build/sanitized $(GENERATOR) -DRTS_SANITIZE=ON

engine: $(ENGINE) $(PLUGINS)

ENGINE_SOURCE := $(addprefix rtstone/simulate/,engine.c hartstone.c)
ENGINE_HEADER := $(ENGINE_SOURCE:.c=.h)
ENGINE_FLAGS := -std=c11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wundef -Wvla -Wpointer-arith -Wwrite-strings

$(ENGINE): $(ENGINE_SOURCE) $(ENGINE_HEADER) Makefile | check-tools
	@mkdir -p $(dir $@)
	gcc $(ENGINE_FLAGS) -O2 -g -fPIC -fvisibility=hidden -shared $(ENGINE_SOURCE) -o $@

# For QEMU up to 8, and since 9.1; it finds its own functions in the emulator that loads it.
$(PLUGINS): rtstone/_engine/qemu-plugin-%.so: rtstone/explain/plugin.c Makefile | check-tools
	@mkdir -p $(dir $@)
	gcc $(ENGINE_FLAGS) -O2 -g -fPIC -fvisibility=hidden -shared -DRTS_PLUGIN_API=$* $< -o $@

build/sanitized/engine.so: $(ENGINE_SOURCE) $(ENGINE_HEADER) Makefile | check-tools
	@mkdir -p $(dir $@)
	gcc $(ENGINE_FLAGS) -O1 -g -fPIC -shared -fsanitize=address,undefined \
	    -fno-sanitize-recover=all $(ENGINE_SOURCE) -o $@

charts: $(CHARTS)

$(CHARTS): package-lock.json $(wildcard rtstone/report/charts/*) | check-charts
	npm ci --no-audit --no-fund --loglevel=error
	npm run --silent build

$(VENV)/bin/python: | check-tools
	$(PYTHON) -m venv $(VENV)

# A lock file has all that is needed: to look for it again would find what was released since.
# Modules are compiled when they are first imported, as most never are.
PIP_INSTALL := pip install --quiet --disable-pip-version-check --no-deps --no-compile
PIP_LOCKED := $(PIP_INSTALL) --require-hashes -r

$(VENV)/run.stamp: requirements/run.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/$(PIP_LOCKED) requirements/run.lock
	$(BIN)/$(PIP_INSTALL) --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.lock $(VENV)/run.stamp
	$(BIN)/$(PIP_LOCKED) requirements/dev.lock
	@touch $@

# labgrid and Apache Otava, for tests only, each in a Python of its own as its users have it.
$(LABGRID)/stamp $(OTAVA)/stamp: build/%/stamp: requirements/%.lock | check-tools
	$(PYTHON) -m venv build/$*
	build/$*/bin/$(PIP_LOCKED) $<
	@touch $@

# ---- what has to be there -------------------------------------------------------------------

check-tools:
	@packaging/packages check build

check-charts:
	@packaging/packages check charts

check-cross:
	@packaging/packages check build boards

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

check-deb:
	@packaging/packages check deb $(DEB_SETS)

# The versions that the lock files pin, from pyproject.toml and requirements/*.in.
lock: $(VENV)/dev.stamp
	$(BIN)/pip-compile $(LOCK) --all-build-deps -o requirements/run.lock pyproject.toml
	$(BIN)/pip-compile $(LOCK) --extra dev -o requirements/dev.lock pyproject.toml
	$(BIN)/pip-compile $(LOCK) -o requirements/labgrid.lock requirements/labgrid.in
	$(BIN)/pip-compile $(LOCK) -o requirements/otava.lock requirements/otava.in

LOCK := --quiet --strip-extras --generate-hashes --no-emit-index-url --no-emit-trusted-host \
	--no-emit-find-links --no-header --no-annotate --allow-unsafe

clean:
	rm -rf build dist node_modules $(VENV) $(AGENTS) $(dir $(ENGINE)) $(CHARTS)
