# One target per need; `make help` lists them. Needs Python >= 3.10 and Node >= 20, makes the rest itself.

PYTHON ?= python3
NPM ?= npm
VENV := .venv
BIN := $(VENV)/bin
VENV6 := .venv-ipykernel6
FLOORS := .venv-floors
PROXY := .venv-proxy
HUB := .venv-hub
GATEWAY := .venv-gateway
# Newer Pythons than $(VENV)'s, for the tests of how programs end: that differs from one Python to the next.
OTHER_PYTHONS := 3.12 3.13
PROCESS_TESTS := tests/unit/api/test_exit.py tests/unit/api/test_processes.py tests/unit/agent/test_process.py
MODELS := .venv-models
RELEASE := .venv-release
SBOM := build/sbom/agentnb.cdx.json
RESULTS := test-results
LAB_ARGS ?=
PYTEST_ARGS ?=
# Test processes at once. Each of the browser's has a server and a browser of its own (docs/decisions/0071).
WORKERS ?= 2
# The other tests wait for the programs that they start: with one process more no core is idle meanwhile.
MORE_WORKERS ?= $(shell expr $(WORKERS) + 1)
# By name: pytest else loads every plugin in the environment into each process (what runs notebooks takes longest), and
# handles each module of agentnb as it does a test's, to rewrite its assertions: a quarter of what collecting takes.
PLUGINS := --disable-plugin-autoload -p xdist -p asyncio -p hypothesispytest -p agentnb.pytest_plugin
PYTEST := $(BIN)/python -m pytest $(PLUGINS)
# What builds the package: installed first, since the install itself asks for no others.
BUILD_TOOLS := hatchling hatch-fancy-pypi-readme hatch-jupyter-builder editables
# The pip that comes with Python 3.11 takes three times as long to find what to install, and knows no `--group`.
PIP := pip>=25.2
EXTRAS := code,dask,export,lab,serve
# Kernels that no fixture starts: nothing of the user's profile is read.
AT_HOME = mkdir -p .cache/ipython .cache/jupyter && IPYTHONDIR=$(CURDIR)/.cache/ipython JUPYTER_CONFIG_DIR=$(CURDIR)/.cache/jupyter JUPYTER_DATA_DIR=$(CURDIR)/.cache/jupyter
NBVAL := -p nbval --nbval --nbval-sanitize-with tests/notebooks/sanitize.cfg -p no:cacheprovider
# The floors' environment has one kernel, its own.
# IPython 8.18's %%time shows an error itself and lets the cell succeed: what is queued behind it runs. Not ours to change.
FLOORS_APART := --deselect 'tests/kernel/test_agent_magic.py::test_interrupt_cancels_the_turn_and_aborts_queued_cells[ipykernel7-%%time\n%agent /slow 100000 20]'
# Its outputs show how the newest pandas names and counts a data frame; the oldest has other words for the same.
FLOORS_NOTEBOOKS = $(filter-out notebooks/data_analysis.ipynb,$(NOTEBOOKS))
AT_FLOORS = $(AT_HOME) AGENTNB_IPYKERNEL6=none $(FLOORS)/bin/python

STATIC := agentnb/static/widget.js
LABEXTENSION := $(VENV)/share/jupyter/labextensions/agentnb/package.json
JS_SOURCES := $(shell find js/src -name '*.ts' -o -name '*.tsx' -o -name '*.css' 2>/dev/null) $(wildcard js/*.mjs js/schema/*.json js/package.json js/tsconfig.json) agentnb/__init__.py # which has the version
# What takes longest begins first: at the end nothing runs alone.
LONG_PLUGIN_TESTS := verify rehearsal map checks
PLUGIN_TESTS := $(LONG_PLUGIN_TESTS) $(filter-out __pycache__ $(LONG_PLUGIN_TESTS),$(patsubst tests/unit/plugins/%/,%,$(wildcard tests/unit/plugins/*/)))
LONG_CORE_TESTS := host server api files cassette ipython kernel policy
CORE_TESTS := $(LONG_CORE_TESTS) $(filter-out __pycache__ plugins $(LONG_CORE_TESTS),$(patsubst tests/unit/%/,%,$(wildcard tests/unit/*/)))
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb tests/notebooks/*.ipynb))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Modules are compiled when they are first imported, which most of what is installed never is: half of an installation.
export PIP_COMPILE := 0
# Where it is set, each of some thousand processes compiles what it imports anew: a third of a kernel's start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env environments static lab test test-all test-core check check-python check-js check-public-types fix types test-unit test-kernel test-notebooks run-test-browser test-js \
	test-browser test-plugins $(CORE_TESTS:%=test-core-%) $(PLUGIN_TESTS:%=test-plugin-%) test-hub test-gateway test-fast test-unit-fast docs test-floors test-floors-short provenance-histories verify-corpus data-checks-corpus test-pythons $(OTHER_PYTHONS:%=test-python-%) test-peers replays soak test-long-texts notebooks chromium newcomer first-day measure-ui build bench pictures flow-pictures build-again check-release sbom release-tools pins clean distclean agent-matrix

help: ## list the targets (times: two cores, nothing else running; about: estimated, not measured)
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 18

# ---------------------------------------------------------------- environment

env: $(VENV)/.installed $(LABEXTENSION) ## the Python environment and the built front end (2 min)

$(VENV)/.created:
	$(PYTHON) scripts/python_version.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

# What is installed changes with the requirements, not with the code: the install is editable. It does not wait for the front end.
$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet "$(PIP)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(BUILD_TOOLS)
	$(BIN)/python -m pip uninstall --quiet --quiet --yes agentnb # the name before it was jupyter-agentnb
	SKIP_JUPYTER_BUILDER=1 $(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[$(EXTRAS)]' --group dev
	@touch $@

# Where JupyterLab looks for it. An editable install copies the extension once; after each build it is copied again.
$(LABEXTENSION): $(STATIC) $(VENV)/.installed
	rm -rf $(@D) && mkdir -p $(@D) && cp -R labextension/. $(@D)/
	@touch $@

# A second environment whose kernel is ipykernel 6: there, clicks reach a running cell in another way.
$(VENV6)/.installed: pyproject.toml constraints.txt constraints-ipykernel6.txt | $(STATIC)
	test -x $(VENV6)/bin/python || $(PYTHON) -m venv $(VENV6)
	grep -v '^ipykernel==' constraints.txt > $(VENV6)/constraints.txt
	cat constraints-ipykernel6.txt >> $(VENV6)/constraints.txt
	$(VENV6)/bin/python -m pip install --quiet "$(PIP)"
	$(VENV6)/bin/python -m pip install --quiet --constraint $(VENV6)/constraints.txt $(BUILD_TOOLS)
	$(VENV6)/bin/python -m pip uninstall --quiet --quiet --yes agentnb
	SKIP_JUPYTER_BUILDER=1 $(VENV6)/bin/python -m pip install --quiet --constraint $(VENV6)/constraints.txt \
		--no-build-isolation --editable . ipykernel
	@touch $@

# A third one with the oldest Python and the oldest allowed version of each dependency.
$(FLOORS)/.installed: pyproject.toml scripts/floors.py scripts/python_version.py | $(VENV)/.created $(STATIC)
	found=$$($(BIN)/python scripts/floors.py --python) && { test -x $(FLOORS)/bin/python || $$found -m venv $(FLOORS); }
	$(BIN)/python scripts/floors.py > $(FLOORS)/floors.txt
	$(FLOORS)/bin/python -m pip install --quiet --requirement $(FLOORS)/floors.txt $(BUILD_TOOLS)
	SKIP_JUPYTER_BUILDER=1 $(FLOORS)/bin/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	$(FLOORS)/bin/python scripts/floors.py --check
	@touch $@

js/node_modules/.installed: js/package.json js/package-lock.json
	cd js && $(NPM) ci --no-fund --no-audit --no-update-notifier --loglevel=error
	@touch $@

# With what the wheel needs and what those tests need, no more.
.venv-3.%/.installed: pyproject.toml constraints.txt scripts/floors.py | $(VENV)/.created $(STATIC)
	found=$$($(BIN)/python scripts/floors.py --python 3.$*) && { test -x $(@D)/bin/python || $$found -m venv $(@D); }
	$(@D)/bin/python -m pip install --quiet --constraint constraints.txt $(BUILD_TOOLS)
	SKIP_JUPYTER_BUILDER=1 $(@D)/bin/python -m pip install --quiet --constraint constraints.txt --no-build-isolation \
		--editable . hypothesis psutil pytest pytest-asyncio pytest-xdist
	@touch $@

environments: env $(VENV6)/.installed chromium

static: $(STATIC) ## build the front end (10 s)

$(STATIC): js/node_modules/.installed $(JS_SOURCES)
	cd js && $(NPM) run --silent build
	@touch $@

chromium: $(VENV)/.installed ## find a Chromium for the browser tests (at once), or install one (about 1 min)
	@$(BIN)/python scripts/chromium.py

pins: $(VENV)/.installed ## write constraints.txt from what is installed (at once)
	$(BIN)/python scripts/pins.py > constraints.txt.new && mv constraints.txt.new constraints.txt

# ---------------------------------------------------------------- use

# In a container one is often root, whom Jupyter turns away.
lab: $(LABEXTENSION) ## open JupyterLab on the quickstart (about 10 s; LAB_ARGS: more options)
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS) notebooks/quickstart.ipynb

# ---------------------------------------------------------------- checks and tests

# Installing and checking side by side, each as soon as what it needs is there; then the core's tests, which use all cores.
# The browser's wait for two fifths of their time: those of kernels, then those of notebooks go on meanwhile (decision 348).
SIDE_BY_SIDE = $(MAKE) --no-print-directory --jobs 3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

test: ## everything that must pass (about: 13 to 30 min, with a fresh environment)
	+@$(SIDE_BY_SIDE) environments check test-js
	@$(MAKE) --no-print-directory test-core
	+@$(SIDE_BY_SIDE) --jobs 2 run-test-browser test-kernel test-notebooks

test-all: ## that, and what takes long and seldom fails: other Pythons, ipykernel 6, rare ways (about: 20 to 45 min)
	+@AGENTNB_THOROUGH=1 $(MAKE) --no-print-directory test test-pythons

# They only compute: as many processes as cores, and nothing waits for another target.
test-fast: env ## static checks, the unit tests that start no programs, TypeScript (2 min)
	+@$(SIDE_BY_SIDE) check test-js test-unit-fast

test-unit-fast: $(VENV)/.installed | $(STATIC)
	$(PYTEST) tests/unit -m 'not slow' --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS)

check: check-python check-js ## static checks, both languages (1 min)

check-python: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONUTF8=1 $(BIN)/lint-imports --no-logo
	for each in scripts/gen_*.py; do $(BIN)/python $$each --check || exit 1; done

# mypy checks the same code in `check`; pyright also says where another type checker might infer another type.
check-public-types: $(VENV)/.installed ## whether every public name has a type: 100 % of pyright --verifytypes (opt-in, 1 min, and what it installs)
	PATH="$(abspath $(BIN)):$$PATH" $(NPM) exec --yes --package pyright@1.1.414 -- pyright --verifytypes agentnb --ignoreexternal

check-js: js/node_modules/.installed
	cd js && $(NPM) run --silent check

fix: $(VENV)/.installed js/node_modules/.installed ## let the formatters do what they can (10 s)
	$(BIN)/ruff check --fix . || true
	$(BIN)/ruff format .
	cd js && $(NPM) run --silent fix

types: $(VENV)/.installed ## what is generated: TypeScript types, reference pages (10 s)
	for each in scripts/gen_*.py; do $(BIN)/python $$each || exit 1; done

test-unit: $(VENV)/.installed | $(STATIC) ## Python (5 min)
	$(PYTEST) tests/unit --numprocesses $(MORE_WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

# One process for each folder and each plug-in, and those side by side: workers would each collect all of them.
test-core: $(VENV)/.installed | $(STATIC) ## the core's tests without plug-ins, each plug-in's with that one alone (6 min)
	+@$(SIDE_BY_SIDE) --keep-going $(CORE_TESTS:%=test-core-%) $(PLUGIN_TESTS:%=test-plugin-%) test-plugins

$(CORE_TESTS:%=test-core-%): test-core-%: $(VENV)/.installed | $(STATIC)
	AGENTNB_PLUGINS= $(PYTEST) $(if $(filter files,$*),$(wildcard tests/unit/test_*.py),tests/unit/$*) $(PYTEST_ARGS)

test-plugins: $(VENV)/.installed | $(STATIC) # all together
	$(PYTEST) tests/unit/plugins/test_*.py $(PYTEST_ARGS)

$(PLUGIN_TESTS:%=test-plugin-%): test-plugin-%: $(VENV)/.installed | $(STATIC)
	AGENTNB_PLUGINS=$* $(PYTEST) tests/unit/plugins/$* $(PYTEST_ARGS)

test-pythons: $(OTHER_PYTHONS:%=test-python-%) ## how programs end, on newer Pythons where they are installed (1 min, with their environments)

$(OTHER_PYTHONS:%=test-python-%): test-python-%: $(VENV)/.created | $(STATIC)
	+@if $(VENV)/bin/python scripts/floors.py --python $* > /dev/null; then \
		$(MAKE) --no-print-directory .venv-$*/.installed && \
		.venv-$*/bin/python -m pytest $(PLUGINS) -p no:cacheprovider $(PROCESS_TESTS) --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS); \
	else echo "$@: skipped: no Python $* on this machine"; fi

test-kernel: $(VENV)/.installed $(VENV6)/.installed | $(STATIC) ## real kernels (ipykernel 7 and 6), no front end (2 min)
	$(PYTEST) tests/kernel --numprocesses $(MORE_WORKERS) $(PYTEST_ARGS)

test-notebooks: $(VENV)/.installed | $(STATIC) ## every notebook against its stored outputs (2 min)
	$(AT_HOME) $(PYTEST) $(NBVAL) --numprocesses $(MORE_WORKERS) --dist loadfile --no-loadscope-reorder tests/notebooks $(NOTEBOOKS) $(PYTEST_ARGS)

test-floors: $(FLOORS)/.installed ## the oldest Python with the oldest allowed dependencies: kernels and notebooks (3 min, and its environment)
	$(AT_FLOORS) -m pytest tests/kernel $(FLOORS_APART) --numprocesses $(WORKERS) $(PYTEST_ARGS)
	$(AT_FLOORS) -m pytest $(NBVAL) --numprocesses $(WORKERS) --dist loadfile $(FLOORS_NOTEBOOKS) tests/notebooks $(PYTEST_ARGS)

# The part of it that says most, in two minutes.
test-floors-short: $(FLOORS)/.installed ## some of it: the magics, and two notebooks (2 min)
	$(AT_FLOORS) -m pytest tests/kernel/test_agent_magic.py $(FLOORS_APART) --numprocesses $(WORKERS) $(PYTEST_ARGS)
	$(AT_FLOORS) -m pytest $(NBVAL) notebooks/quickstart.ipynb tests/notebooks/headless.ipynb $(PYTEST_ARGS)

test-js: js/node_modules/.installed ## TypeScript (1 min)
	cd js && $(NPM) test --silent

test-browser: $(LABEXTENSION) $(VENV6)/.installed chromium ## real JupyterLab in a real Chromium (8 min)
	@$(MAKE) --no-print-directory run-test-browser

# Without what it needs: in `test` that is there, and a target that has to wait for it would begin last.
run-test-browser:
	$(PYTEST) tests/browser --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS)

# A Jupyter server with the proxy: what that brings (aiohttp and more) is not for everybody who runs the tests.
$(PROXY)/.installed: Makefile
	test -x $(PROXY)/bin/python || $(PYTHON) -m venv $(PROXY)
	$(PROXY)/bin/python -m pip install --quiet jupyter-server-proxy==4.6.0
	@touch $@

# Model servers, of which the package index has few as wheels: 460 MB when installed.
$(MODELS)/.installed: Makefile
	test -x $(MODELS)/bin/python || $(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python -m pip install --quiet xllamacpp==2026.10.11549 gguf==0.19.0 mlx-lm==0.32.2 "mlx[cpu]==0.32.4"
	@touch $@

test-peers: $(VENV)/.installed $(PROXY)/.installed $(MODELS)/.installed | $(STATIC) ## real agents and model servers from npm and PyPI, some agents confined; jupyter-server-proxy (opt-in, 4 min, and what they install)
	$(PYTEST) tests/peers -m peers $(PYTEST_ARGS)

# JupyterHub brings much that nobody else needs; the users' servers find JupyterLab and agentnb in $(VENV).
$(HUB)/.installed: Makefile $(VENV)/.installed
	test -x $(HUB)/bin/python || $(PYTHON) -m venv $(HUB)
	$(HUB)/bin/python -m pip install --quiet jupyterhub==6.1.1
	$(HUB)/bin/python -c "import site, sys; open(site.getsitepackages()[0] + '/agentnb-environment.pth', 'w').write('import site; site.addsitedir(%r)' % sys.argv[1])" \
		$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')
	$(NPM) install --silent --no-fund --no-audit --no-update-notifier --prefix $(HUB) configurable-http-proxy@5.3.0
	@touch $@

test-hub: $(LABEXTENSION) $(HUB)/.installed chromium ## a real JupyterHub with two users, and the site's policy in it (opt-in, 1 min, and what it installs)
	$(PYTEST) tests/hub $(PYTEST_ARGS)

$(GATEWAY)/.installed: Makefile
	test -x $(GATEWAY)/bin/python || $(PYTHON) -m venv $(GATEWAY)
	$(GATEWAY)/bin/python -m pip install --quiet jupyter-enterprise-gateway==3.3.0
	@touch $@

test-gateway: $(LABEXTENSION) $(GATEWAY)/.installed ## a kernel that a real Jupyter Enterprise Gateway starts (opt-in, 1 min, and what it installs)
	$(PYTEST) tests/gateway $(PYTEST_ARGS)

agent-matrix: $(VENV)/.installed | $(STATIC) ## try each real agent with its own settings, and write docs/reference/agents.md (opt-in, 2 min, and what it installs)
	rm -f .cache/agent-matrix.jsonl
	AGENTNB_AGENT_MATRIX=.cache/agent-matrix.jsonl $(PYTEST) tests/peers/test_asks.py -m peers $(PYTEST_ARGS)
	$(BIN)/python scripts/agent_matrix.py .cache/agent-matrix.jsonl

notebooks: $(VENV)/.installed | $(STATIC) ## execute the notebooks and store their outputs (about 5 min)
	$(AT_HOME) $(BIN)/python scripts/execute.py $(NOTEBOOKS)

replays: $(VENV)/.installed | $(STATIC) ## each recorded notebook 20 times, byte-equal, without agents and network (opt-in, 10 min)
	AGENTNB_REPLAYS=20 $(PYTEST) tests/notebooks/test_cassettes.py --numprocesses $(WORKERS) $(PYTEST_ARGS)

test-long-texts: $(LABEXTENSION) $(VENV6)/.installed chromium ## every long or hostile text in a real browser (opt-in, 8 min)
	AGENTNB_LONG_TEXTS=all $(PYTEST) tests/browser/test_long_text.py $(PYTEST_ARGS)

soak: $(VENV)/.installed ## the delivery schedules and orders of undos, 50,000 of each; remote clients; batches; loops (opt-in, half an hour)
	AGENTNB_SCHEDULES=50000 $(PYTEST) tests/unit/server/test_schedules.py --numprocesses $(WORKERS) $(PYTEST_ARGS)
	AGENTNB_AHP_SCHEDULES=2000 AGENTNB_AHP_MESSAGES=100000 $(PYTEST) tests/unit/server/websocket/test_ahp_schedules.py \
		tests/unit/server/websocket/test_bad_input.py --numprocesses $(WORKERS) $(PYTEST_ARGS)
	AGENTNB_AHP_CONNECTIONS=10000 $(PYTEST) tests/kernel/test_many_connections.py $(PYTEST_ARGS)
	AGENTNB_UNDOS=50000 $(PYTEST) tests/unit/changes/test_undo_machine.py tests/unit/host/test_undo_turns.py --numprocesses $(WORKERS) $(PYTEST_ARGS)
	AGENTNB_LOOP_TRIES=100 AGENTNB_LOOP_KILLS=20 $(PYTEST) tests/kernel/test_loop.py -k 'killed or many' $(PYTEST_ARGS)
	AGENTNB_BATCHES=300 $(PYTEST) tests/unit/plugins/map/test_batch_machine.py $(PYTEST_ARGS)
	AGENTNB_BATCH_ASKED=20000 AGENTNB_BATCH_ANSWERED=1000000 $(PYTEST) tests/unit/plugins/map/test_bad_input.py -k memory $(PYTEST_ARGS)

bench: $(VENV)/.installed $(STATIC) chromium ## measure, print a table with ratios, write docs/explanation/benchmarks.md (about half an hour)
	$(BIN)/python -m tests.benchmarks --page docs/explanation/benchmarks.md

provenance-histories: $(VENV)/.installed ## attribute the lines of 1,000 generated histories, and print how many rightly (opt-in, 1 min; SEED: others)
	$(BIN)/python -m tests.unit.plugins.provenance.test_histories 1000 $(or $(SEED),1)

verify-corpus: $(VENV)/.installed ## verify notebooks with planted faults and clean ones, and print how many were found (opt-in, 8 min; SEED: others)
	$(BIN)/python -m tests.verify_corpus --seed $(or $(SEED),1) $(CORPUS_ARGS)

data-checks-corpus: $(VENV)/.installed ## steps on tables with planted faults and ordinary ones, how many were found, and the time (opt-in, 1 min; SEED: others)
	$(BIN)/python -m tests.benchmarks.data_checks --seed $(or $(SEED),1) $(CORPUS_ARGS)
	$(BIN)/python -m tests.benchmarks.data_checks --independent --seed $(or $(SEED),1)
	$(BIN)/python -m tests.benchmarks.data_checks --speed

newcomer: $(VENV)/.installed $(STATIC) chromium ## time a newcomer's way from an empty environment to an answer, and count the clicks (about 5 min)
	$(BIN)/python scripts/newcomer.py

first-day: $(VENV)/.installed $(STATIC) chromium ## a real agent in a fresh environment of each Python: ask, review, undo, CI from a cassette, timed and filmed (opt-in, about 2 min each)
	$(BIN)/python scripts/first_day.py $(RESULTS)/first-day

measure-ui: $(LABEXTENSION) chromium ## what a user sees: clicks, controls, heights, decisions, beside 0.2's and what is wanted (2 min)
	$(BIN)/python scripts/measure_ui.py

pictures: $(VENV)/.installed $(STATIC) chromium ## the manual's pictures, taken from the running product (about 1 min)
	$(BIN)/python scripts/pictures.py

flow-pictures: $(VENV)/.installed $(STATIC) $(LABEXTENSION) chromium ## each flow in light and dark, 420 and 1,200 px wide, to be looked at (3 min)
	$(BIN)/python scripts/flow_pictures.py test-results/flows

$(VENV)/.docs-installed: $(VENV)/.installed
	SKIP_JUPYTER_BUILDER=1 $(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable . --group docs
	@touch $@

# Every warning is an error: a link that leads nowhere, a page that no list names, a docstring that does not parse.
docs: $(VENV)/.docs-installed ## the documentation as a site in build/site (1 min)
	$(BIN)/python -m sphinx --builder html --conf-dir docs --fail-on-warning --keep-going --quiet . build/site
	@echo "open build/site/docs/index.html"

# ---------------------------------------------------------------- distribution

build: $(VENV)/.installed $(STATIC) ## sdist and wheel in dist/, checked (10 s)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python scripts/distribution.py dist

build-again: build ## build twice, the front end included: both must be equal to the byte (30 s)
	rm -rf build/first agentnb/static labextension && mkdir -p build && mv dist build/first
	$(MAKE) --no-print-directory build
	for each in dist/*; do cmp $$each build/first/$${each#dist/} || exit 1; done

$(RELEASE)/.installed: constraints-release.txt
	test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --require-hashes --requirement constraints-release.txt
	@touch $@

# Two files are twice in the wheel: licences, which go along with each copy of the code, and a manifest that JupyterLab looks for (W002).
# Beside the package is the program's module (W009), which says so where the other project's package is found before ours.
check-release: $(RELEASE)/.installed ## what the package index and others say of the files in dist/ (10 s)
	$(RELEASE)/bin/python -m twine check --strict dist/*
	$(RELEASE)/bin/check-wheel-contents --ignore W002,W009 dist/*.whl

sbom: $(VENV)/.installed $(RELEASE)/.installed | $(STATIC) ## the bill of materials, in build/sbom (10 s)
	$(BIN)/python scripts/sbom.py $(SBOM)
	$(RELEASE)/bin/python scripts/sbom.py --check $(SBOM)

release-tools: ## write constraints-release.txt with the newest tools and their hashes; needs uv (10 s)
	{ head -1 constraints-release.txt; printf '%s\n' check-wheel-contents 'cyclonedx-python-lib[json-validation]' pypi-attestations twine | \
		uv pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.12 -; } \
		> constraints-release.txt.new && mv constraints-release.txt.new constraints-release.txt

clean: ## delete what builds and tests made (at once)
	rm -rf dist build agentnb/static labextension js/dist js/lib $(RESULTS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find agentnb tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## and the environments (about 10 s)
	rm -rf $(VENV) $(VENV6) $(FLOORS) $(HUB) $(GATEWAY) $(RELEASE) $(OTHER_PYTHONS:%=.venv-%) js/node_modules .cache
