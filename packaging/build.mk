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

# A package of Debian: the wheel, and what it needs as the lock file pins it, for the Python of the
# suite (docs/guides/security.md).  deb-check installs it in a clean system of its own, as root.
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

# The static agents alone, for machines that get them by other ways (docs/guides/agent.md).
agents-archive: agents $(VENV)/dev.stamp
	mkdir -p $(DIST)
	$(BIN)/python packaging/agents.py $(DIST)

# What each wheel, package and archive in dist holds, in CycloneDX (docs/start/install.md).
sbom: $(VENV)/dev.stamp
	$(BIN)/python packaging/sbom.py $(DIST)

check-deb:
	@packaging/packages check deb $(DEB_SETS)
