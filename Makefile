# Every target sets up what it needs; .ci/set-up.sh returns at once when nothing has changed.
SHELL := bash
.DEFAULT_GOAL := help
BIN := .venv/bin
# Many containers set the last one: pytest would rewrite the assertions of all tests at every start.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
export DAGSTER_HOME ?= $(CURDIR)/.dagster

DEMO_ARGS := $(if $(SCALE),--scale $(SCALE)) $(ARGS)

MINUTES ?= 30

# One Spark session leaves half of two cores idle, so that two workers share the files of tests. A worker that dies ends
# the run: xdist hands what a dead one had finished to the others as work without a test, for which they wait for ever.
WORKERS ?= -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

.PHONY: help setup demo dev unit test acceptance experimental durations check site conformance gameday dialect-check soak bench thousand dist lowest newest lock jars screenshots dashboards clean

help: ## show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## environment, dependencies and jars (every other target does this first)
	@.ci/set-up.sh

demo: setup ## sync a real database into Delta twice and prove it equal (SCALE=1 for more data; ARGS="--source mariadb", mysql, sqlite, log or files; ARGS="--lake s3")
	@$(if $(findstring mariadb,$(ARGS)),.ci/mariadb.sh)$(if $(findstring mysql,$(ARGS)),.ci/mysql.sh)$(if $(findstring s3,$(ARGS)),.ci/seaweedfs.sh)
	@$(BIN)/incremental-assets demo $(DEMO_ARGS)

dev: setup ## the demo's database, Dagster's webserver and daemon, until Ctrl-C
	@$(BIN)/incremental-assets dev $(ARGS)

unit: setup ## the pure tests: no database server, no Spark, no command as a whole (ARGS="-k window")
	$(BIN)/pytest $(filter-out --no-loadscope-reorder,$(WORKERS)) --ignore tests/e2e -m "not (postgres or mariadb or mysql or spark or e2e or acceptance)" $(ARGS)

test: setup check ## make check, the pure tests, PostgreSQL, Spark, and the commands from end to end (ARGS="-k window")
	$(BIN)/pytest $(WORKERS) -m "not acceptance" $(ARGS)

acceptance: setup ## what takes longer: Dagster's UI, daemon, deployment, component, cluster, faults, known-bad variants (TESTS=all for minutes each)
	$(BIN)/pytest $(WORKERS) -m acceptance $(ARGS)

experimental: setup ## the tests of Oracle and SQL Server, a distribution of its own, in an environment with their drivers (ARGS="-k rowversion")
	@.ci/experimental.sh
	.venv-experimental/bin/python -m pytest plugins/experimental/tests $(ARGS)

durations: setup ## run the tests of `make test` and write how long each took; the result is docs/durations.md (ARGS="-m acceptance")
	$(BIN)/pytest $(WORKERS) -m "not acceptance" -p tests.durations --durations-table=docs/durations.md $(ARGS)

check: setup ## style, types, who may import whom, and the links of the pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file tools/site/mkdocs.yml

site: setup ## the documentation as a site, on http://127.0.0.1:8000 until Ctrl-C
	$(BIN)/mkdocs serve --config-file tools/site/mkdocs.yml

conformance: setup ## run every fault and write docs/conformance.md (ARGS="-k kill", ARGS=--engine, ARGS=--cluster)
	$(BIN)/python -m pytest tests/conformance tests/model/test_mutants.py -p tests.conformance.report --report docs/conformance.md --timeout 900 $(WORKERS) $(ARGS)

dialect-check: setup ## play the contract of all databases on a server of yours, in databases of its own (URL=dialect://user@host:port/database)
	@$(if $(filter oracle:% sqlserver:% mssql:%,$(URL)),.ci/experimental.sh && .venv-experimental/bin,$(BIN))/python -m tests.dialect_check "$(URL)" $(ARGS)

gameday: setup ## break a deployment that runs in each way, wait for the alert, follow its runbook; the result is docs/gameday.md (ARGS="-k certificate")
	$(BIN)/python -m pytest tests/gameday -m acceptance -p tests.gameday.report --games docs/gameday.json --timeout 900 $(ARGS)

soak: setup ## rows live a fixed life while syncs are killed (MINUTES=30, ARGS=--log: by PostgreSQL's log, --binlog: by MariaDB's); the result is docs/soak.json, docs/soak-log.json, docs/soak-binlog.json
	$(BIN)/python -m tests.conformance.soak$(if $(findstring log,$(ARGS)),.by_log $(MINUTES) docs/soak-$(patsubst --%,%,$(ARGS)).json $(patsubst --%,%,$(ARGS)), $(MINUTES) docs/soak.json)

bench: setup ## measure against dlt, Spark, sling and COPY; the result is docs/benchmarks.md (ARGS=--quick, ARGS="--only F1,I1")
	$(BIN)/python -m bench $(ARGS)

thousand: setup ## measure a thousand idle tables; the result is docs/benchmarks-thousand.json (ARGS=--browser)
	$(BIN)/python -m bench.thousand $(ARGS)

dist: setup ## build wheel and sdist into dist/, and check what they say of themselves
	@rm -rf dist build
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist .
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz

lowest: setup ## the tests on the oldest versions that pyproject.toml allows, in an environment of their own
	@.ci/range.sh lowest $(ARGS)

newest: setup ## the same on the newest
	@.ci/range.sh newest $(ARGS)

COMPILE = $(BIN)/uv pip compile --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet
IMAGES := docs/deployment/container
FOR_IMAGES := --constraints requirements.lock --python-platform linux
lock: setup ## resolve the dependencies of pyproject.toml anew, with hashes and without addresses
	$(COMPILE) pyproject.toml --extra dev --universal --upgrade --output-file requirements.lock
	$(COMPILE) plugins/experimental/pyproject.toml --all-extras --universal --upgrade --constraints requirements.lock \
	  --no-emit-package incremental-assets --no-deps --output-file plugins/experimental/requirements.lock
	$(COMPILE) pyproject.toml $(IMAGES)/build.in $(addprefix --extra ,service mysql kafka avro s3 glue otel openlineage notify ssh) $(FOR_IMAGES) --output-file $(IMAGES)/full.lock
	$(COMPILE) $(IMAGES)/ui.in $(IMAGES)/build.in $(FOR_IMAGES) --output-file $(IMAGES)/ui.lock

jars: setup ## resolve the jars anew and write their hashes to the lock (after changing a coordinate)
	$(BIN)/python -m incremental_assets.adapters.spark.jars --relock

screenshots: setup ## the README's pictures, taken in headless Chromium
	$(BIN)/python -m tools.screenshots

dashboards: setup ## the pictures of the dashboards, drawn from what a Prometheus answers about a history that is made up
	$(BIN)/python -m tools.dashboards

clean: ## stop the demo's database and an engine; remove data, lake, history and environment
	@if [ -x $(BIN)/incremental-assets ] && [ -d "$(DAGSTER_HOME)/engine" ]; then $(BIN)/incremental-assets engine stop; fi
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m incremental_assets.demo.shop; fi
	@if [ -x $(BIN)/python ] && [ -d .bench ]; then $(BIN)/python -m bench --forget; fi
	rm -rf .venv .venv-* dist build site .jars .mysql .seaweedfs .demo .demo-* .lake .lake-* incremental_assets/.lake .dagster
