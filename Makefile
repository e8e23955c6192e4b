# Penstock: `make demo` shows it, `make test` proves it; both do all the set-up they need.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
ARGS ?=
# Three processes for two cores, each with parts of its own: a test that waits for a broker or a driver leaves its core to another.
# The tests of one file stay together and share the parts.
WITH_PARTS = $(filter-out tests/unit/ tests/long/ tests/__pycache__/,$(wildcard tests/*/)) $(wildcard tests/test_*.py) -n 3 --dist loadfile --no-loadscope-reorder

apt_install := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

# $(call need,test that succeeds when it is there,what it is,Debian packages): installed where we may, named where we may not.
need = { $(1); } >/dev/null 2>&1 || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing $(2): $(3)" >&2; \
	  $(apt_install) $(3) >/dev/null 2>&1 || { apt-get update -qq && $(apt_install) $(3) >/dev/null; }; \
	else \
	  echo "$(2) is missing. On Debian: sudo apt-get install $(3)" >&2; exit 6; \
	fi; }

.PHONY: demo
demo: setup jars ## a living example on embedded parts; make demo ARGS="--seconds 30"
	@$(BIN)/penstock demo $(ARGS)

.PHONY: test
test: setup jars postgres chromium ## everything that proves Penstock: check, then all tests (under 20 minutes on 2 cores)
	@$(MAKE) --no-print-directory --output-sync=target -j 2 check unit archive
	@$(BIN)/pytest $(WITH_PARTS) $(ARGS)

.PHONY: unit
unit: setup ## the tests that need no JVM, in seconds
	@$(BIN)/pytest tests/unit -n 2 --dist loadfile $(ARGS)

.PHONY: check
check: setup ## style, types and layers, in under a minute
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

.PHONY: fmt
fmt: setup ## put the code into shape
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

.PHONY: docs
docs: setup ## write the pages that come from the code
	@$(BIN)/python docs/generate.py

.PHONY: bench
bench: setup jars $(if $(filter nexmark pattern,$(ARGS)),flink) $(if $(filter state,$(ARGS)),bytewax) ## benchmarks beside plain PySpark and Flink, in one run; make bench ARGS="ysb --json"
	@$(BIN)/penstock bench $(if $(ARGS),$(ARGS),ysb)

.PHONY: flink
flink: setup # PyFlink, for `bench nexmark` and `bench pattern`: it needs other versions than Penstock, so it has an environment of its own
	@[ -x .venv-flink/bin/python ] || $(PYTHON) -m venv .venv-flink
	@.venv-flink/bin/python -c 'import pyflink' 2>/dev/null || { echo "installing PyFlink (400 MB)" >&2; \
	  .venv-flink/bin/pip install --quiet --disable-pip-version-check apache-flink==2.3.0; } \
	  || echo "PyFlink could not be installed: the benchmark leaves it out" >&2

.PHONY: bytewax
bytewax: setup # Bytewax, and protobuf for Spark's transformWithState, for `bench state` alone, in an environment of its own
	@[ -x .venv-bytewax/bin/python ] || $(PYTHON) -m venv .venv-bytewax
	@.venv-bytewax/bin/python -c 'import bytewax' 2>/dev/null || .venv-bytewax/bin/pip install --quiet --disable-pip-version-check bytewax==0.21.1 \
	  || { echo "Bytewax could not be installed: the benchmark leaves it out" >&2; }
	@[ -d .venv-bytewax/spark ] || .venv-bytewax/bin/pip install --quiet --disable-pip-version-check --target .venv-bytewax/spark protobuf==7.36.2

.PHONY: random
random: setup jars ## random queries, live beside batch and DuckDB; make random N=500 SEED=1
	@$(BIN)/python -m penstock.testing.random_run --count $(or $(N),500) --seed $(or $(SEED),1)

.PHONY: patterns
patterns: setup ## random row patterns beside a brute force; make patterns N=500 SEED=1
	@$(BIN)/python -m penstock.testing.random_pattern --count $(or $(N),500) --seed $(or $(SEED),1)

.PHONY: chaos
chaos: setup jars postgres archive ## every fault against the built-in apps (hours); make chaos SEEDS="4 5" FAULTS=zombie,kill-at ROUTES=kafka-kafka MORE=1
	@SEEDS="$(or $(SEEDS),1 2 3)" $(if $(FAULTS),FAULTS="$(FAULTS)") $(if $(ROUTES),ROUTES="$(ROUTES)") $(if $(VIEWS),VIEWS="$(VIEWS)") MORE="$(MORE)" $(BIN)/python -m penstock.chaos.suite

.PHONY: outages
outages: setup jars postgres ## brokers, databases, folders and disks away for a minute each, with how long it took (9 minutes); make outages S=300
	@PENSTOCK_OUTAGE_S=$(or $(S),60) $(BIN)/pytest tests/promises/test_outages.py -o log_cli=true -o log_cli_level=WARNING -o timeout=$(or $(S),60)0 $(ARGS)

.PHONY: soak
soak: setup jars chromium ## 1,000 subscribers of 50 views, with kills of the server; 100 views over a kill; 200 views and 10 browsers; make soak MINUTES=10
	@PENSTOCK_SOAK_MINUTES=$(or $(MINUTES),10) PENSTOCK_SOAK_FOLLOWERS=$(FOLLOWERS) $(BIN)/pytest tests/web/test_soak.py tests/long/test_many.py -s $(ARGS)

.PHONY: wheel
wheel: setup java ## what the wheel alone can do, in an environment of its own (minutes; it needs the package registries)
	@$(BIN)/pytest tests/long/test_without_make.py $(ARGS)

.PHONY: golden
golden: setup jars ## every golden query live and over history, also those that `make test` leaves out
	@PENSTOCK_GOLDEN=all $(BIN)/pytest tests/test_golden.py $(ARGS)

.PHONY: setup
setup: $(READY) ## the virtual environment, with every version pinned

$(READY): pyproject.toml constraints.txt
	@$(call need,$(PYTHON) -c 'import ensurepip; import sys; sys.exit(sys.hexversion < 0x30b0000)',Python 3.11 with venv,python3 python3-venv)
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages, pinned by constraints.txt" >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

.PHONY: java
java:
	@$(call need,[ -n "$${JAVA_HOME:-}" ] || command -v java,Java 17,openjdk-17-jre-headless)
	@$(call need,command -v mvn,Maven,maven)

.PHONY: jars
jars: setup java ## the Kafka connector's jars, with their checksums
	@$(BIN)/python -m penstock.spark.session.jars

.PHONY: archive
archive: jars ## the JVM's class-data archive, once: Spark then starts twice as fast
	@$(BIN)/python -m penstock.spark.session.archive

.PHONY: chromium
chromium:
	@$(call need,command -v chromium,Chromium,chromium)

.PHONY: postgres
postgres:
	@$(call need,command -v postgres || ls /usr/lib/postgresql/*/bin/postgres,PostgreSQL,postgresql)

.PHONY: clean
clean: ## remove what was built or cached here; apps keep their state
	@rm -rf .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist src/*.egg-info
	@find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
