# Everything is done in .venv, which the first target that needs it sets up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test bench bench-scale faults audit lint format types generate check-generated check-breaking lock clean

help: ## Say what can be made.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Roster needs Python 3.11 or later; name it with PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing what Roster needs into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

run: $(READY) ## Serve on this machine; print the addresses, a first API key and curl lines.
	@exec $(BIN)/roster serve

# In several processes (tests/sharing.py); `.venv/bin/pytest FILE` runs a few in one. Some
# environments forbid to keep bytecode: then every process that tests start compiles anew.
test: $(READY) ## Run the tests.
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto

bench: $(READY) ## Measure, print ratios, and write them to bench.json.
	@$(BIN)/python -m tests.bench

bench-scale: $(READY) ## Measure tables of up to a million rows on both databases; draw the curve.
	@$(BIN)/python -m tests.bench.scale

faults: $(READY) ## Try what is promised under faults, a short while (ROSTER_FAULTS=full: hours); write faults.json.
	@GRPC_ENABLE_FORK_SUPPORT=0 $(BIN)/python -m tests.faults.promises $(PROMISES)

audit: $(READY) ## See that nothing in requirements.lock is known to be vulnerable (.ci/tools/pip-audit first).
	@$(BIN)/python -m tests.audit

lint: $(READY) ## Look for faults in Python and in the protos (repair: make format).
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python protos/generate.py --image $(VENV)/roster.binpb
	@for file in protos/roster/v1/*.proto; do \
		$(BIN)/buf lint $(VENV)/roster.binpb --config protos/buf.yaml --path roster/v1/$$(basename $$file) || exit 1; \
	done

format: $(READY) ## Mend what lint can mend by itself.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(READY) ## Check the types.
	@$(BIN)/mypy

generate: $(READY) ## Write generated/ from protos/, and the dashboard from the metrics.
	@rm -rf generated/python
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python protos/generate.py generated
	@$(BIN)/python protos/generate_clients.py generated
	@$(BIN)/python -m server.deploy.dashboard > $(VENV)/dashboard.json
	@mv $(VENV)/dashboard.json server/deploy/dashboard.json

check-generated: $(READY) ## See that generated/ is what protos/ say (repair: make generate).
	@rm -rf $(VENV)/generated
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python protos/generate.py $(VENV)/generated
	@$(BIN)/python protos/generate_clients.py $(VENV)/generated
	@for made in $(VENV)/generated/*; do \
		diff -r --exclude=__pycache__ $$made generated/$$(basename $$made) || \
			{ echo "generated/ is out of date: run make generate"; exit 1; }; \
	done

check-breaking: $(READY) ## See that no released message or field changed its wire or JSON form.
	@$(BIN)/python protos/generate.py --image $(VENV)/roster.binpb
	@$(BIN)/buf breaking $(VENV)/roster.binpb --config protos/buf.yaml --against protos/released.binpb

lock: $(READY) ## Write requirements.lock from pyproject.toml.
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra dev \
		--output-file requirements.lock pyproject.toml

clean: ## Remove what was installed and cached here. The data folder stays.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
