# One page for everything a person does with this repository. `make` alone prints the list.
.DEFAULT_GOAL := help
.SUFFIXES:
.PHONY: help setup run test check faults fanout mutate format bundle synth diff deploy migrate bench clean

PYTHON ?= python3
UV_VERSION := 0.13.9
UV := .tools/bin/uv
RUN := .venv/bin/
READY := .venv/.ready

# Interpreters come from the machine, never from a download; uv would look for one that fits otherwise.
export UV_PYTHON_DOWNLOADS := never

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## install what everything else needs (done by itself when it is missing)

run: $(READY) ## the whole platform on this machine; UNTIL=settled ends it once every job has succeeded
	@$(RUN)python -m ops.local.run $(if $(UNTIL),--until $(UNTIL))

# Hundreds of processes are started by tests: without bytecode, each would compile what it imports of ours.
test: $(READY) ## all tests, against real PostgreSQL and the synthesised templates
	@env -u PYTHONDONTWRITEBYTECODE $(RUN)python -m pytest -n 4 $(ARGS)

check: $(READY) ## format, lint, types, import contracts
	@$(RUN)ruff format --check .
	@$(RUN)ruff check .
	@$(RUN)mypy
	@$(RUN)lint-imports

faults: $(READY) ## kill, freeze, cut and fill real workers and servers, then check ledger and effects: RUNS=1000
	@$(RUN)python -m tests.faults.run --runs $(or $(RUNS),1000) $(ARGS)

fanout: $(READY) ## one parent, thousands of children, workers killed and messages doubled: CHILDREN=5000
	@$(RUN)python -m tests.faults.fan_out --children $(or $(CHILDREN),5000) $(ARGS)

mutate: $(READY) ## take each condition out of the guard's statements and see a test fail (half an hour)
	@$(RUN)python -m tests.mutations

format: $(READY) ## put the code into its format
	@$(RUN)ruff format .
	@$(RUN)ruff check --fix .

bundle: $(READY) ## what ships, in build/bundle: a folder for the Lambda zip and one for the image
	@$(RUN)python -m infra.bundle

synth: bundle ## the templates of every environment (or ENV=dev) in cdk.out: no account, no Docker
	@$(RUN)python app.py $(if $(ENV),-c env=$(ENV))
	@ls cdk.out/shiftlock-$(or $(ENV),*)-*.template.json

diff: node_modules bundle ## what `make deploy ENV=dev` would change
	@$(RUN)python -m ops.deploy diff $(ENV)

deploy: node_modules bundle ## network and database, then migrations, then the jobs: make deploy ENV=dev
	@$(RUN)python -m ops.deploy deploy $(ENV)

migrate: $(READY) ## the ledger's schema of an environment, as a task in its network: make migrate ENV=dev
	@$(RUN)python -m ops.deploy migrate $(ENV)

bench: $(READY) ## what a guarded run, its steps, a cron expression and an export of a million orders cost
	@$(RUN)python -m benchmarks.guard
	@$(RUN)python -m benchmarks.steps
	@$(RUN)python -m benchmarks.cron
	@$(RUN)python -m benchmarks.export

clean: ## everything that was made, the data of `make run` included
	rm -rf .venv .tools .data build cdk.out node_modules

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: $(PYTHON) is older than Python 3.11: give a newer one with PYTHON=python3.12" >&2; exit 2; }
	@echo "setting up uv $(UV_VERSION) in .tools"
	@$(PYTHON) -m venv .tools || { echo "make: $(PYTHON) cannot make virtual environments: install python3-venv" >&2; exit 2; }
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(READY): $(UV) pyproject.toml uv.lock
	@echo "installing the locked packages into .venv"
	@$(UV) sync --frozen --quiet --compile-bytecode --python .tools/bin/python
	@touch $@

node_modules: $(READY) package-lock.json
	@$(RUN)python -m infra.node npm ci --silent
	@touch $@
