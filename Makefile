# Everything sets itself up in .venv from a fresh clone: Python >= 3.11, pip and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
# Dependency groups need pip 25.1; Python 3.11 comes with an older one.
NEW_PIP := "pip>=25.1"
WORKERS ?= 2
# What `make test-core` runs: the metrics, their oracles and golden values, without torch.
CORE := tests/core src/pateval/pate src/pateval/metrics src/pateval/kernels

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf "\nmore:\n"
	@awk 'BEGIN {FS = ":.*#> "} /^[a-z-]+:.*#> / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/core.stamp: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("pateval needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt $(VENV)/core.stamp
	$(BIN)/python -m pip install $(PIP_FLAGS) --upgrade $(NEW_PIP)
	$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e ".[all]" --group dev
	touch $@

.PHONY: demo
demo: $(VENV)/core.stamp ## Set up, then the main job on embedded data
	$(BIN)/pateval demo --report demo-report.html

.PHONY: announce
announce:
	@test -e $(VENV)/dev.stamp || echo "first run: installs torch (CPU), scikit-learn, Dask, matplotlib, pandas, polars and test tools into $(VENV), about 2 GB and some minutes"
	@echo "make test takes about six minutes on two cores once that is done; make test-core tests the metrics alone, without torch, in about a minute and a half"

.PHONY: test
test: announce lint ## Set up, then lint, types, import rules, doctests and all fast tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

$(VENV)-core/test.stamp: pyproject.toml constraints.txt
	@echo "setting up $(VENV)-core: NumPy, SciPy, pyarrow, pandas, polars, scikit-learn, pytest; about 0.7 GB, no torch"
	test -x $(VENV)-core/bin/python || $(PYTHON) -m venv $(VENV)-core
	$(VENV)-core/bin/python -m pip install $(PIP_FLAGS) --upgrade $(NEW_PIP)
	$(VENV)-core/bin/python -m pip install $(PIP_FLAGS) -c constraints.txt -e . --group test-core
	touch $@

.PHONY: test-core
test-core: $(VENV)-core/test.stamp ## The metrics and nothing else, without torch: about a minute and a half
	$(VENV)-core/bin/python -m pytest -q -n $(WORKERS) --dist worksteal $(CORE)

# $(call test_with,NAME,OPTIONS OF UV): the metrics in the environment $(VENV)-NAME, whose versions uv chooses by the options.
define test_with
	test -x $(VENV)-$(1)/bin/python || $(PYTHON) -m venv $(VENV)-$(1)
	$(VENV)-$(1)/bin/python -m pip install $(PIP_FLAGS) uv
	$(VENV)-$(1)/bin/uv pip install --quiet --python $(VENV)-$(1)/bin/python $(2) -e . --group test-core
	$(VENV)-$(1)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal $(CORE)
endef

.PHONY: test-lowest
test-lowest: #> The metrics with the lowest versions that pyproject.toml allows (NumPy 1.26), in an environment of its own
	$(call test_with,lowest,--resolution lowest-direct)

.PHONY: test-newest
test-newest: #> The metrics with the newest version of everything, in an environment of its own
	$(call test_with,newest,--upgrade)

.PHONY: wheel-test
wheel-test: $(VENV)/dev.stamp #> Build wheel and sdist, check them, and try the wheel in an empty environment
	rm -rf dist build/wheel-venv
	$(BIN)/python -m pip install $(PIP_FLAGS) --group release
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip install $(PIP_FLAGS) dist/*.whl
	$(BIN)/python tests/support/smoke.py build/wheel-venv/bin

.PHONY: lint
lint: $(VENV)/dev.stamp ## Style, types, import rules, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell

.PHONY: test-slow
test-slow: $(VENV)/dev.stamp ## Training, whole data sets, long searches
	$(BIN)/python -m pytest -q -m slow tests

.PHONY: test-report
test-report: $(VENV)/dev.stamp #> Reports in a browser: 60 of every shape against Python, NAB, a million steps, 2,000 series
	$(BIN)/python -m pytest -q -s -m slow tests/test_report_scripts.py tests/test_report_large.py

.PHONY: fuzz
fuzz: $(VENV)/dev.stamp ## 100,000 random cases of PATE against its literal definition
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -q -n $(WORKERS) tests/core/test_pate.py -k "TestAgainstOracle"

PACKAGE ?= metrics
N ?= 20
SEED ?= 0
.PHONY: mutants
mutants: $(VENV)/dev.stamp ## Small faults that no test notices: PACKAGE=metrics N=20 SEED=0
	$(BIN)/python benchmarks/mutants.py $(PACKAGE) -n $(N) --seed $(SEED)

.PHONY: coverage
coverage: $(VENV)/dev.stamp #> All fast tests, with the share of lines that they run
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --cov=pateval --cov-report=term:skip-covered

.PHONY: bench
bench: $(VENV)/dev.stamp ## Speed and memory, as ratios measured side by side
	$(BIN)/python benchmarks/pate.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/leaderboard.py throughput
	$(BIN)/python benchmarks/leaderboard.py accumulate --points 100000000

.PHONY: bench-check
bench-check: $(VENV)/dev.stamp #> This commit's speed against the committed one; fails past a margin
	$(BIN)/python benchmarks/check.py

.PHONY: announce-peers
announce-peers:
	@test -e build/peers/tsadmetrics/installed || echo "first run: installs PATE, scikit-learn, TSB-AD, vus, aeon, TimeEval, dtaianomaly and tsadmetrics into build/peers, an environment each: about 4 GB and eight minutes"
	@echo "measuring takes about fifteen minutes once that is done"

.PHONY: bench-peers
bench-peers: announce-peers $(VENV)/dev.stamp #> The speed sheet: other packages beside ours, how cost grows, what boards cost
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/growth.py

.PHONY: coming-from
coming-from: $(VENV)/dev.stamp #> The pages "Coming from": calls of other packages beside ours, with both numbers
	$(BIN)/python benchmarks/coming_from.py

.PHONY: drop-ins
drop-ins: $(VENV)/dev.stamp #> pateval.compat against the real packages, each in an environment of its own: 200 cases, and NAB
	$(BIN)/python benchmarks/drop_ins.py

.PHONY: beside
beside: $(VENV)/dev.stamp #> The wheel beside TSB-AD, aeon and TimeEval with all they require: no version moves, first steps work
	$(BIN)/python benchmarks/beside.py

.PHONY: announce-integrations
announce-integrations:
	@test -e build/peers/pyod-and-aeon/installed || echo "first run: installs TimeEval, dtaianomaly, darts, Merlion, Orion, river, sktime, MLflow, PyOD with aeon, and TSB-AD into build/peers, an environment each: about 6 GB and ten minutes"
	@echo "running them takes about four minutes once that is done"

.PHONY: test-integrations
test-integrations: announce-integrations $(VENV)/dev.stamp #> Recipes, detectors and results of other frameworks, with the real packages
	$(BIN)/python benchmarks/recipes.py

$(VENV)/docs.stamp: pyproject.toml constraints.txt $(VENV)/dev.stamp
	$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e ".[plot]" --group docs
	touch $@

.PHONY: docs
docs: $(VENV)/docs.stamp ## The documentation site, into docs/_build/html; a warning is an error
	$(BIN)/pateval metrics --format markdown > docs/metrics.md
	$(BIN)/python benchmarks/disagreements.py > docs/disagreements.md
	$(BIN)/python docs/pate_pictures.py
	$(BIN)/python docs/metric_pages.py
	mkdir -p docs/_extra
	$(BIN)/pateval demo --report docs/_extra/demo-report.html > /dev/null
	$(BIN)/pateval leaderboard results/scores/held-out/MSL/*.parquet --doubt 20 -o build/docs-board --overwrite > /dev/null
	$(BIN)/pateval report build/docs-board --title "MSL, five deep detectors" -o docs/_extra/msl-report.html --overwrite
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check_site.py

.PHONY: freeze
freeze: $(VENV)/dev.stamp ## Freeze the numbers of new metrics, and of those whose definition was raised
	$(BIN)/python tests/support/frozen_values.py

.PHONY: gallery
gallery: $(VENV)/dev.stamp #> Every figure, from real data where there are any, into gallery/
	$(BIN)/python examples/gallery.py -o gallery

.PHONY: reproduce
reproduce: $(VENV)/dev.stamp #> Every table and figure of the paper that the data at hand allow, into docs/results
	$(BIN)/pateval reproduce all -o docs/results

.PHONY: trial
trial: $(VENV)/dev.stamp #> Metrics and data on trial, with the data in PATEVAL_DATA, into docs
	$(BIN)/python benchmarks/trial_pages.py metrics "$(PATEVAL_DATA)/scores/NAB"
	$(BIN)/python benchmarks/trial_pages.py data

.PHONY: clean
clean: ## Remove the environments and all caches
	rm -rf $(VENV) $(VENV)-core $(VENV)-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
