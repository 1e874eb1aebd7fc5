# Everything starts here: `make help`.
# Set-up is remembered by stamp files in .venv, so that a second run costs nothing; a changed lock installs again.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
CONFIG ?= config/server.properties
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input

COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
           --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

.DEFAULT_GOAL := help
.PHONY: help run cluster install dev tools test check format unit both alone soak bench demo docs lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: install ## start a broker on 127.0.0.1:9092, data in ./data (stop with Ctrl-C)
	@exec $(BIN)/barnabas serve $(CONFIG)

cluster: install ## start three brokers that replicate on 127.0.0.1:9092 to 9094, data in ./data/cluster (stop with Ctrl-C)
	@exec $(BIN)/barnabas cluster up $(ARGS)

test: dev tools check both alone ## everything CI runs: lint, types, import contract, tests

check: dev ## ruff, mypy --strict and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: dev ## let ruff put the files in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: dev ## all tests one after the other, or some: ARGS="tests/unit/storage -x"
	$(BIN)/pytest $(ARGS)

# In four processes, since many tests wait; a file stays in one. Then what measures, by itself.
both: dev
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder -m "not soak and not alone" $(ARGS)

alone: dev
	$(BIN)/pytest -m "alone and not soak" $(ARGS)

soak: dev tools ## the long tests: crashes under load, for minutes
	$(BIN)/pytest -m soak $(ARGS)

bench: dev ## measure beside Apache Kafka (from Maven Central) and write benchmarks/results/
	$(BIN)/python -m benchmarks $(ARGS)

demo: $(VENV)/.spark ## broker, events, pipelines on Spark and their report, in ./demo (a few minutes; needs Java 17)
	@command -v java >/dev/null || { echo "Spark needs Java 17 or newer. On Debian: sudo apt-get install default-jdk-headless" >&2; exit 1; }
	@$(BIN)/python -m barnabas.pipelines.demo $(ARGS)

docs: dev ## write docs/files.md from the docstrings, and the chart of the README from its table
	$(BIN)/python tools/file_map.py
	$(BIN)/python tools/front_page_chart.py

lock: dev ## resolve the dependencies anew and write requirements/*.txt
	$(COMPILE) --upgrade --only-build-deps --build-deps-for editable --output-file requirements/build.txt pyproject.toml
	$(COMPILE) --upgrade --output-file requirements/broker.txt pyproject.toml
	$(COMPILE) --upgrade --extra spark --constraint requirements/broker.txt --output-file requirements/spark.txt pyproject.toml
	$(COMPILE) --upgrade --extra spark --extra registry --constraint requirements/spark.txt --output-file requirements/registry.txt pyproject.toml
	$(COMPILE) --upgrade --extra dev --extra spark --extra registry --constraint requirements/build.txt --constraint requirements/registry.txt --output-file requirements/dev.txt pyproject.toml

clean: ## remove what was built and installed here (never ./data)
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

install: $(VENV)/.installed ## the virtual environment with the broker in it
dev: $(VENV)/.dev ## the same with the tools for development

# kcat and Java are wanted by some tests; without them those tests are listed as not run.
tools:
	@.ci/install-tools

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Barnabas needs Python 3.11 or newer; $$($(PYTHON) --version) is what '$(PYTHON)' is. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "The venv module is missing. On Debian: sudo apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.created requirements/build.txt requirements/broker.txt pyproject.toml
	@echo "Installing the locked dependencies ..."
	@$(PIP) install --quiet --require-hashes -r requirements/build.txt -r requirements/broker.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed requirements/dev.txt
	@echo "Installing the locked development tools ..."
	@$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.spark: $(VENV)/.installed requirements/spark.txt
	@echo "Installing Spark ..."
	@$(PIP) install --quiet --require-hashes -r requirements/spark.txt
	@touch $@
