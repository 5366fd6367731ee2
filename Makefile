# All targets work in .venv. `make run` installs what serving a SQLite file needs, and hatchling for
# the editable installation; the other targets but `lock` and `clean` add the development tools, the
# driver of PostgreSQL and OpenTelemetry.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# On a terminal, pip shows what it downloads and installs.
INSTALL := quiet=; [ -t 1 ] || quiet=--quiet; $(PIP) install $$quiet
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
# The console is built with Node, from .tools or the system. Serving it needs none.
CONSOLE := server/console
CONSOLE_TYPES := $(CONSOLE)/src/api/types.ts
NODE_PATH := $(CURDIR)/.tools/bin:$(PATH)
NODE_MODULES := $(CONSOLE)/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help run test verify bench bench-scale faults audit lint format types generate check-generated check-breaking console check-console screenshots lock clean

help: ## Print this list.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Roster requires Python 3.11 or later. Set PYTHON=/path/to/python."; exit 1; }
	@test -x $(BIN)/python || \
		{ echo "Creating the virtual environment $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing the $$(grep -c == requirements.lock) packages of requirements.lock ..."
	@$(INSTALL) --no-deps --require-hashes -r requirements.lock
	@echo "Installing Roster ..."
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable . --editable generated/python
	@touch $@

$(TOOLS): $(READY) tests/requirements.lock
	@echo "Installing the development tools into $(VENV) ..."
	@$(INSTALL) --require-hashes -r tests/requirements.lock
	@touch $@

run: $(READY) ## Install and serve on this machine. Prints addresses, a first API key and curl lines.
	@echo "Starting Roster ..."
	@exec $(BIN)/roster serve

# PYTHONDONTWRITEBYTECODE is cleared because without bytecode every process that a test starts
# compiles all modules again.
test: $(TOOLS) ## Install the development tools too, and run the tests in parallel processes.
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto -m "not verify"

verify: $(TOOLS) ## Run the tests with browsers, other languages, machines and repeated kills.
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto -m "verify or hypothesis" --hypothesis-profile=thorough

bench: $(TOOLS) ## Run the benchmarks, or those of MEASUREMENTS, and write their results to bench.json.
	@$(BIN)/python -m tests.bench $(MEASUREMENTS)

bench-scale: $(TOOLS) ## Benchmark tables of up to 1,000,000 rows on both databases.
	@$(BIN)/python -m tests.bench.scale

faults: $(TOOLS) ## Check the fault promises (minutes; ROSTER_FAULTS=full takes hours). Writes faults.json.
	@GRPC_ENABLE_FORK_SUPPORT=0 $(BIN)/python -m tests.faults.promises $(PROMISES)

audit: $(TOOLS) ## Check the locked packages for known vulnerabilities (run .ci/tools/pip-audit first).
	@$(BIN)/python -m tests.audit

lint: $(TOOLS) ## Lint Python and the protos (repair: make format).
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python protos/generate.py --image $(VENV)/roster.binpb
	@for file in protos/roster/v1/*.proto; do \
		$(BIN)/buf lint $(VENV)/roster.binpb --config protos/buf.yaml --path roster/v1/$$(basename $$file) || exit 1; \
	done

format: $(TOOLS) ## Fix what the linter can fix.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(TOOLS) ## Check types with mypy.
	@$(BIN)/mypy

generate: $(TOOLS) ## Regenerate generated/ and the tables of settings and metrics.
	@rm -rf generated/python
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python protos/generate.py generated
	@$(BIN)/python protos/generate_clients.py generated
	@$(BIN)/python protos/generate_console.py $(CONSOLE_TYPES)
	@$(BIN)/python -m rosterd.server.deploy.tables

check-generated: $(TOOLS) ## Check that generated/ matches the protos (repair: make generate).
	@rm -rf $(VENV)/generated
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python protos/generate.py $(VENV)/generated
	@$(BIN)/python protos/generate_clients.py $(VENV)/generated
	@for made in $(VENV)/generated/*; do \
		diff -r --exclude=__pycache__ $$made generated/$$(basename $$made) || \
			{ echo "generated/ is out of date: run make generate"; exit 1; }; \
	done
	@$(BIN)/python protos/generate_console.py $(VENV)/console_types.ts
	@diff $(VENV)/console_types.ts $(CONSOLE_TYPES) || \
		{ echo "$(CONSOLE_TYPES) is out of date: run make generate"; exit 1; }

check-breaking: $(TOOLS) ## Check the protos for breaking changes of the wire and JSON formats.
	@$(BIN)/python protos/generate.py --image $(VENV)/roster.binpb
	@$(BIN)/buf breaking $(VENV)/roster.binpb --config protos/buf.yaml --against protos/released.binpb

$(NODE_MODULES): $(CONSOLE)/package-lock.json
	@cd $(CONSOLE) && PATH="$(NODE_PATH)" npm ci --silent --no-audit --no-fund
	@touch $@

console: $(NODE_MODULES) ## Check the types of the console and build it (requires Node 22.18 or later).
	@cd $(CONSOLE) && PATH="$(NODE_PATH)" npx tsc && PATH="$(NODE_PATH)" node build.mjs

check-console: ## Check the console: types, tests, size, and that its build is up to date (make console).
	@if PATH="$(NODE_PATH)" node -e 'const [a, b] = process.versions.node.split("."); process.exit(+(a * 100 + +b < 2218))' 2> /dev/null; then \
		$(MAKE) --no-print-directory .check-console; \
	elif [ "$$ROSTER_TOOLS" = required ]; then \
		echo "Node 22.18 or later is missing; .ci/tools/typescript installs it."; exit 1; \
	else \
		echo "Skipped: the console needs Node 22.18 or later; .ci/tools/typescript installs it."; \
	fi

.PHONY: .check-console
.check-console: $(NODE_MODULES)
	@cd $(CONSOLE) && PATH="$(NODE_PATH)" npx tsc
	@cd $(CONSOLE) && PATH="$(NODE_PATH)" node --test --test-reporter=dot
	@cd $(CONSOLE) && PATH="$(NODE_PATH)" node build.mjs node_modules/.built
	@diff -r $(CONSOLE)/node_modules/.built $(CONSOLE)/built || \
		{ echo "$(CONSOLE)/built is out of date: run make console"; exit 1; }

screenshots: $(TOOLS) ## Draw the pictures in the guides and README.md again.
	@$(BIN)/python -m tests.console.screenshots

lock: $(READY) ## Resolve requirements.lock and tests/requirements.lock from pyproject.toml.
	@$(PIP) install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra build \
		--no-emit-package roster-client --output-file requirements.lock pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra dev \
		--no-emit-package roster-client --constraint requirements.lock --output-file tests/requirements.lock pyproject.toml

clean: ## Remove the virtual environment and the caches. The data folder stays.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
