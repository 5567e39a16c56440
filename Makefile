# Everything here works without make: `python3 bootstrap.py run` and `python3 bootstrap.py test`.
PYTHON ?= python3

.PHONY: run test test-all lint dictionary lock

run:
	$(PYTHON) bootstrap.py run

test:
	$(PYTHON) bootstrap.py test

test-all:
	$(PYTHON) bootstrap.py test --all

lint:
	$(PYTHON) bootstrap.py setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# docs/DICTIONARY.md, QUESTIONS.md and contract.odcs.yaml, generated from contracts and examples, and docs/COMMANDS.md
# from the commands' help; tests fail when stale.
dictionary:
	$(PYTHON) bootstrap.py setup
	PYTHONPATH=. .venv/bin/python docs/tables.py
	PYTHONPATH=. .venv/bin/python docs/commands.py
	PYTHONPATH=. .venv/bin/python docs/reasons.py

# Resolve the dependencies of pyproject.toml for every platform and Python 3.11 to 3.14, with hashes.
# uv is installed into its own environment: nothing else needs it. Locked versions stay while they fit;
# `make lock UPGRADE=--upgrade` takes the newest that fit.
COMPILE = .venv-lock/bin/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" --quiet $(UPGRADE)

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
	echo 'duckdb<2' > .venv-lock/first.txt # the lane of requirements-duckdb2.lock has the other one
	$(COMPILE) --constraint .venv-lock/first.txt --extra mcp --extra postgres --extra storage --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml \
		$$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.lock)
	echo 'duckdb==2.0.1' | $(COMPILE) --no-deps --output-file requirements-duckdb2.lock -
	printf 'ray==2.60.0\nmsgpack\n' | $(COMPILE) --no-deps --output-file requirements-ray.lock -
	printf 'dbt-core<1.11\ndbt-duckdb\nduckdb<2\n' | $(COMPILE) --output-file requirements-dbt.lock -
	echo 'beancount==3.2.3' | $(COMPILE) --output-file requirements-beancount.lock -
	printf 'duckdb==1.4.4\nduckdb-ext-httpfs==1.4.4.20260205\npyspark==4.3.0\npy4j\n' | $(COMPILE) --no-deps --output-file requirements-readers.lock -
	echo 'moto[server]==5.2.5' | $(COMPILE) --output-file requirements-storage.lock -
