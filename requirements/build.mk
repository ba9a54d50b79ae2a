# The Python environment, as the lock files pin it.

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

# Each in a Python of its own: labgrid and Apache Otava as their users have them, for tests only, and
# what makes the site.
$(LABGRID)/stamp $(OTAVA)/stamp $(SPHINX)/stamp: build/%/stamp: requirements/%.lock | check-tools
	$(PYTHON) -m venv build/$*
	build/$*/bin/$(PIP_LOCKED) $<
	@touch $@

# The versions that the lock files pin, from pyproject.toml and requirements/*.in.
lock: $(VENV)/dev.stamp
	$(BIN)/pip-compile $(LOCK) --all-build-deps -o requirements/run.lock pyproject.toml
	$(BIN)/pip-compile $(LOCK) --extra dev -o requirements/dev.lock pyproject.toml
	$(BIN)/pip-compile $(LOCK) -o requirements/labgrid.lock requirements/labgrid.in
	$(BIN)/pip-compile $(LOCK) -o requirements/otava.lock requirements/otava.in
	$(BIN)/pip-compile $(LOCK) -o requirements/sphinx.lock requirements/sphinx.in

LOCK := --quiet --strip-extras --generate-hashes --no-emit-index-url --no-emit-trusted-host \
	--no-emit-find-links --no-header --no-annotate --allow-unsafe
