# Everything sets itself up in .venv from a fresh clone: Python >= 3.11, pip and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
WORKERS ?= 2

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/core.stamp: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("pateval needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt $(VENV)/core.stamp
	$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e ".[dev]"
	touch $@

.PHONY: demo
demo: $(VENV)/core.stamp ## Set up, then the main job on embedded data
	$(BIN)/pateval demo

.PHONY: test
test: lint ## Set up, then lint, types, import rules, doctests and all fast tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

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

.PHONY: fuzz
fuzz: $(VENV)/dev.stamp ## 100,000 random cases of PATE against its literal definition
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -q -n $(WORKERS) tests/test_pate.py -k "TestAgainstOracle"

.PHONY: bench
bench: $(VENV)/dev.stamp ## Speed and memory, as ratios measured side by side
	$(BIN)/python benchmarks/pate.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/leaderboard.py throughput
	$(BIN)/python benchmarks/leaderboard.py accumulate --points 100000000

.PHONY: bench-peers
bench-peers: $(VENV)/dev.stamp ## The authors' package beside ours, in an environment of its own
	$(BIN)/python benchmarks/peers.py

.PHONY: docs
docs: $(VENV)/dev.stamp ## Make the pages that are printed by the program itself
	$(BIN)/pateval metrics --format markdown > docs/metrics.md
	$(BIN)/python benchmarks/disagreements.py > docs/disagreements.md

.PHONY: freeze
freeze: $(VENV)/dev.stamp ## Freeze the numbers of new metrics, and of those whose definition was raised
	$(BIN)/python tests/support/frozen_values.py

.PHONY: gallery
gallery: $(VENV)/dev.stamp ## Every figure, from real data where there are any, into gallery/
	$(BIN)/python examples/gallery.py -o gallery

.PHONY: reproduce
reproduce: $(VENV)/dev.stamp ## Every table and figure of the paper that the data at hand allow, into docs/results
	$(BIN)/pateval reproduce all -o docs/results

.PHONY: clean
clean: ## Remove the environment and all caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
