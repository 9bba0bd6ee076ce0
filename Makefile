# Two commands for newcomers: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = python -m pip install --quiet --disable-pip-version-check
INSTALL = $(BIN)/$(PIP) --constraint constraints.txt
CORE = */tabveil/privacy/*,*/tabveil/curator.py,*/tabveil/sources/contributions.py,*/tabveil/release/statement.py
PRIVACY = tests/privacy tests/audit tests/test_curator.py tests/test_discovery.py tests/sources/test_contributions.py \
  tests/test_faults.py tests/columns/test_columns.py tests/tables/test_table.py tests/release/test_statement.py

.PHONY: demo test lowest newest wheels docs release container audit attacks peers margnet adapters coverage mutants format clean browser

demo: $(VENV)/installed
	$(BIN)/tabveil demo --out demo

test: $(VENV)/installed-for-tests browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" -n 2

# The privacy part of the tests, on the lowest and on the newest versions that pyproject.toml allows.
lowest newest: %: .venv-%/installed
	.venv-$*/bin/python -m pytest -m "not slow" -n 2 $(PRIVACY)

# Whether every version of Python that pyproject.toml allows finds all packages built, on every system it names.
wheels: $(VENV)/installed-for-tests
	$(INSTALL) --editable '.[release]'
	@for system in x86_64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc; do \
	  for version in 3.11 3.12 3.13 3.14; do \
	    $(BIN)/uv pip compile --quiet --no-build --python-version $$version --python-platform $$system --extra report \
	      --constraint constraints.txt pyproject.toml --output-file /dev/null || exit 1; \
	    echo "$$system, Python $$version: all there"; \
	  done; \
	done

# The site, into site/; open site/index.html through any web server (python -m http.server -d site).
docs: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A dry run of a release: builds it, checks it, runs the demo from it: in a clean environment, through pipx run and uvx.
release: $(VENV)/installed-for-tests
	$(INSTALL) --editable '.[release]'
	rm -rf dist && $(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	clean=$$(mktemp -d) && $(PYTHON) -m venv $$clean/venv && \
	  $$clean/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	    dist/*.whl && \
	  (cd $$clean && venv/bin/tabveil demo --out demo --rows 2000) && rm -rf $$clean
	here=$$(pwd) && tried=$$(mktemp -d) && cd $$tried && \
	  $(abspath $(BIN))/pipx run --python $(PYTHON) --pip-args "--constraint $$here/constraints.txt" --spec $$here/dist/*.whl \
	    tabveil demo --out piped --rows 2000 && \
	  UV_CONSTRAINT=$$here/constraints.txt $(abspath $(BIN))/uvx --python $(PYTHON) --from $$here/dist/*.whl \
	    tabveil demo --out uved --rows 2000 && cd $$here && rm -rf $$tried
	$(BIN)/python -c 'from rattler_build import Stage0Recipe, VariantConfig; \
	  [_] = Stage0Recipe.from_file("conda/recipe.yaml").render(VariantConfig()); print("conda/recipe.yaml can be rendered.")'
	$(MAKE) container
	@echo "dist/ holds what could be uploaded."

# The container, where a daemon can build it; elsewhere its file is linted.
container: $(VENV)/installed-for-tests
	$(INSTALL) --editable '.[release]'
	$(BIN)/hadolint Containerfile && echo "Nothing to say about Containerfile."
	if docker info >/dev/null 2>&1; then docker build -t tabveil -f Containerfile . && docker run --rm tabveil --version; \
	  else echo "No daemon here: the container was linted, not built."; fi

# Tries to break the privacy claim (about 25 minutes on two free processors), then the long tests, then other versions.
audit: $(VENV)/installed-for-tests
	$(BIN)/tabveil audit
	$(BIN)/python -m pytest -m slow
	$(MAKE) lowest newest

# Outside attackers on this package, a peer and a build without noise, into attacks/ (about half an hour on one processor).
# DATA names the folder of adult.parquet. With AUDITORIUM, python/dp_auditorium of a copy of google/differential-privacy,
# its testers run too. Both have environments of their own: their pins suit nobody else.
attacks: $(VENV)/installed-for-tests $(VENV)/outsiders/installed $(if $(AUDITORIUM),$(VENV)/auditorium/installed)
	$(BIN)/python benchmarks/attacks.py attacks --python $(VENV)/outsiders/bin/python $(if $(DATA),--data-dir $(DATA)) \
	  $(if $(AUDITORIUM),--auditorium $(VENV)/auditorium/bin/python $(AUDITORIUM))

$(VENV)/outsiders/installed: benchmarks/outsiders/requirements.txt
	$(PYTHON) -m venv $(VENV)/outsiders
	$(VENV)/outsiders/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(VENV)/auditorium/installed: benchmarks/outsiders/requirements-auditorium.txt
	$(PYTHON) -m venv $(VENV)/auditorium
	$(VENV)/auditorium/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Others that take a public table, in environments of their own, for benchmarks/public_peers.py. JAM and DPQR name copies of
# ryan112358/private-pgm and terranceliu/dp-query-release. Gigabytes, for torch.
peers: $(if $(JAM),$(VENV)/jam/installed) $(if $(DPQR),$(VENV)/pmw/installed)

# MargNet, for benchmarks/outsiders/margnet.py. Gigabytes, for torch.
margnet: $(VENV)/margnet/installed

$(VENV)/jam/installed $(VENV)/pmw/installed $(VENV)/margnet/installed: $(VENV)/%/installed: benchmarks/outsiders/requirements-%.txt
	$(PYTHON) -m venv --clear $(VENV)/$*
	$(VENV)/$*/bin/$(PIP) -r $< $(if $(filter jam,$*),$(abspath $(JAM)))
	@touch $@

# This package inside others (adapters/), each in an environment of its own: their pins suit nobody else. The last two run
# ours as a command. Several gigabytes and some minutes, most of them for torch; R runs too where it is installed.
adapters: $(VENV)/installed-for-tests $(foreach name,sdmetrics sdgym synthcity lomas,$(VENV)/adapter-$(name)/installed)
	$(VENV)/adapter-sdmetrics/bin/python -W ignore adapters/sdmetrics_report.py
	$(VENV)/adapter-sdgym/bin/python -W ignore adapters/sdgym_synthesizer.py
	TABVEIL=$(abspath $(BIN)/tabveil) $(VENV)/adapter-synthcity/bin/python -W ignore adapters/synthcity_plugin.py
	TABVEIL=$(abspath $(BIN)/tabveil) $(VENV)/adapter-lomas/bin/python -W ignore adapters/lomas_querier.py
	if command -v Rscript >/dev/null; then TABVEIL=$(abspath $(BIN)/tabveil) Rscript adapters/tabveil.R; fi

$(VENV)/adapter-%/installed: adapters/requirements-%.txt
	$(PYTHON) -m venv --clear $(VENV)/adapter-$*
	$(VENV)/adapter-$*/bin/$(PIP) -r $< $(if $(filter $*,sdmetrics sdgym),.)
	@touch $@

# Which branches of the privacy core the tests reach; fails below all of them.
coverage: $(VENV)/installed-for-tests
	SHAPES_UNCHECKED=1 $(BIN)/coverage run --branch --include='$(CORE)' -m pytest -q -m "not slow" \
	  tests/privacy tests/test_curator.py tests/test_faults.py tests/sources/test_contributions.py tests/release/test_statement.py
	$(BIN)/coverage report --show-missing --fail-under=100

# Breaks the privacy core in hundreds of small ways and asks whether the tests notice (an hour or more).
mutants: $(VENV)/installed-for-tests
	$(INSTALL) --editable '.[mutants]'
	$(BIN)/python tests/mutants.py

format: $(VENV)/installed-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tabveil needs Python 3.11 or newer; try: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing tabveil into $(VENV) (about a minute) ..."
	$(INSTALL) --editable '.[report,studio]'
	@touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	@echo "Installing what the tests need ..."
	$(INSTALL) --editable '.[test]'
	@touch $@

.venv-lowest/installed .venv-newest/installed: .venv-%/installed: pyproject.toml constraints-%.txt
	@echo "Installing the $* versions into .venv-$* (a minute or two) ..."
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/$(PIP) --constraint constraints-$*.txt --editable '.[privacy-tests]'
	@touch $@

# The pages are tested in a real browser, without a screen.
browser:
	@command -v chromium >/dev/null || { \
	  echo "Installing Chromium for the tests of the pages ..."; \
	  SUDO=$$(command -v sudo || true); [ "$$(id -u)" = 0 ] && SUDO=; \
	  $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends chromium >/dev/null || \
	  echo "No Chromium here; the tests of the pages will be skipped."; }

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest demo site dist
