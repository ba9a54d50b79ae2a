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
SPHINX := build/sphinx
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
	freertos-memory site engine sanitized charts check-tools check-charts check-agents \
	check-cross check-deb agents-archive sbom clean lock
.DEFAULT_GOAL := help

# How each of these is built stands beside what it is built of.
include agent/build.mk agent/boards/build.mk rtstone/build.mk packaging/build.mk requirements/build.mk

.PHONY: help
help:
	@echo "make run     measure this machine with suite quick, and show the result"
	@echo "make test    run all tests"
	@echo "make wheel   build a wheel and a source distribution into dist (docs/start/install.md)"
	@echo "make deb     build a package of Debian 12 (SUITE=trixie: 13) into dist; deb-check tries it"
	@echo "make agents-archive  pack the static agents alone; make sbom: what is in all of these"
	@echo "make man     write the manual pages into build/man"
	@echo "make agents  build the static agents for other machines (needs cross compilers)"
	@echo "make freertos  build the images of the emulated boards (needs a cross compiler)"
	@echo "make bench   speed of the simulator and the report; beside cyclictest and perf"
	@echo "make docs    write the pages of the benches from their tables"
	@echo "make site    the documentation as pages for a browser, with a search, in build/site"
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
	@if $(BIN)/rtstone lab list --json | grep -q '"rtstone lab fetch linux-6.1"'; then \
	    $(BIN)/rtstone lab fetch linux-6.1 xen-4.17; fi

bench: $(VENV)/dev.stamp agent engine charts
	$(BIN)/python -m tests.bench.simulate
	$(BIN)/python -m tests.bench.store
	$(BIN)/python -m tests.bench.imports
	$(BIN)/python -m tests.bench.report
	$(BIN)/python -m tests.bench.peers
	$(BIN)/python -m tests.bench.gates
	$(BIN)/python -m tests.bench.trend
	$(BIN)/python -m tests.bench.growth
	$(BIN)/python -m tests.bench.reach
	$(BIN)/python -m tests.bench.users

lint: lint-host lint-agent lint-engine

lint-host: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/reuse lint --lines

lint-all: TIDY += --all
lint-all: lint

docs: $(VENV)/run.stamp agent
	$(BIN)/python -m rtstone.cli.benchpages docs/benches
	cp rtstone/references.bib docs/reference/references.bib

site: $(SPHINX)/stamp
	$(SPHINX)/bin/sphinx-build -q -W --keep-going -E -c packaging/site docs build/site
	cp build/site/README.html build/site/index.html

man: $(VENV)/run.stamp
	$(BIN)/python -m rtstone.cli.manpages build/man

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files 'agent/*.[ch]' 'rtstone/*.[ch]' | xargs $(BIN)/clang-format -i

check-tools:
	@packaging/packages check build

clean:
	rm -rf build dist node_modules $(VENV) $(AGENTS) $(dir $(ENGINE)) $(CHARTS)
