# The commands of this project. `make` alone lists them. Needs Python 3.11 or newer, with venv, and nothing else.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
UV := $(BIN)/uv
PLACE := .venv/.place
INSTALLED := .venv/.installed
READY := .venv/.ready
BENCH_READY := .venv/.bench-ready
LOCAL_READY := .venv/.local-ready
PY_PEERS := a2a02 a2a03 a2acli adk fasta2a frameworks langchain mcp1 mcp2 openai0
PEERS := tests/peers/package-lock.json $(PY_PEERS:%=tests/peers/%.txt)
UV_COMPILE := $(UV) pip compile --python $(BIN)/python --quiet --universal --generate-hashes --no-emit-index-url \
	--custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
UV_INSTALL := $(UV) pip install --python $(BIN)/python --constraints constraints.txt --build-constraints constraints.txt
# Without coverage, which makes in-process tests take three times as long; `make coverage` measures it.
# Five workers on two cores: two thirds of the time of a test that talks to a server is waiting.
PYTEST := $(BIN)/pytest --forks 5 --no-cov
# Tests that start no server and, but for a few, no process; all of them take less than a minute together.
QUICK := $(addprefix tests/,core schema policy journal call protocols test_each.py test_layers.py test_public_names.py)

# What one process has compiled, the next one reads: the tests start thousands of processes.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONUTF8 := 1
# The certificates of this machine, not a list that uv brings along.
export UV_SYSTEM_CERTS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup bundle wheels docs docs-serve docs-pictures demo test escape coverage endurance endurance-changed quick test-local conformance a2a-kit check format locale bench train-embedded promote-embedded workflow-oracle lock clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with everything that the other commands need
	@echo "ready: make demo"

bundle: $(READY) ## build the pages of the studio, where they are stale
	$(BIN)/python packages/studio/hatch_build.py

wheels: $(READY) bundle ## build the wheel of actum into wheels/, or DIR=FOLDER, for the files of actum init --deploy
	$(UV) build --wheel --no-build-isolation --python $(BIN)/python --out-dir $(or $(DIR),wheels)

docs: $(READY) ## build the documentation as a site into site/: no other host is asked for anything
	$(BIN)/python -m packages.site.build

docs-serve: docs ## show the site at http://127.0.0.1:8001
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8001

docs-pictures: $(READY) ## make the pictures of the guides anew: the demo, the layers, and screenshots out of the studio's tests
	$(BIN)/python -m packages.site.pictures
	$(BIN)/pytest -q --no-cov --pictures tests/studio/test_first_minutes.py -k understands

demo: $(INSTALLED) ## watch questions become calls and answers: no key, no network
	@$(BIN)/actum demo

test: $(READY) ## run the tests; make test ARGS='-k journal' runs some
	$(PYTEST) $(ARGS)

escape: $(READY) ## try to get out of the sandbox: the escape suite alone, with every attempt in every jail
	$(BIN)/pytest -n 0 --no-cov tests/sandbox/test_escape.py $(ARGS)
	$(BIN)/pytest -n 0 --no-cov --endurance=whole tests/sandbox/test_escape.py $(ARGS)

coverage: $(READY) ## run the tests and show what they cover
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term $(ARGS)

endurance: $(READY) ## prove by volume (kill loops, fuzzing, every cut) and write tests/endurance.toml
	$(PYTEST) -o faulthandler_timeout=1200 --endurance=whole $(ARGS)

endurance-changed: $(READY) ## the same for eight minutes, of those whose files have changed since they passed
	$(PYTEST) -o faulthandler_timeout=1200 --endurance=$(or $(WITHIN_S),480) $(ARGS)

quick: $(READY) ## run the tests that are pure and in-process: under a minute
	$(PYTEST) $(QUICK) $(ARGS)

test-local: $(LOCAL_READY) ## test local models on transformers and torch, which it installs (gigabytes)
	$(BIN)/pytest -n 0 tests_local $(ARGS)

conformance: $(READY) ## run the official MCP conformance suite against our server, gateway and client
	$(BIN)/python -m tests.conformance.run $(ARGS)

a2a-kit: $(READY) ## run the official A2A compatibility kit against actum serve; fetches the kit, or A2A_KIT=FOLDER
	$(BIN)/python -m tests.a2a_kit.run

check: $(READY) ## format, lint, types and tests: what has to hold before a commit
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(PYTEST)

format: $(READY) ## put the code into its one format and mend what can be mended
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

locale: $(READY) ## bring the sentences of the source into the catalogue of Chinese, src/actum/locale/zh.po
	$(BIN)/python -m tests.catalogue

bench: $(BENCH_READY) ## measure against a bare loop and a peer
	$(BIN)/python -m bench $(ARGS)

workflow-oracle: ## record what Dify's own engine answers for tests/workflow/dify; needs Python 3.12
	test -x .oracle/bin/python || python3.12 -m venv .oracle
	.oracle/bin/python -m pip install --quiet graphon==0.8.0 jinja2
	.oracle/bin/python tests/workflow/dify/record.py

train-embedded: $(READY) ## learn weights of the embedded model anew, from questions
	$(BIN)/python -m packages.embedded.training fit

promote-embedded: $(READY) ## ship what was learned, if it is better on held-out questions
	$(BIN)/python -m packages.embedded.training promote

lock: $(UV) ## pin what pyproject.toml asks for in constraints.txt; make lock UPGRADE=1 takes the newest
	$(UV_COMPILE) pyproject.toml --group dev --group bench --group setup --output-file constraints.txt
	for name in $(PY_PEERS) inspect litellm; do $(UV_COMPILE) tests/peers/$$name.in --output-file tests/peers/$$name.txt; done

clean: ## remove .venv and everything else that was made here
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv whose Python is gone, or that was moved along with its folder, is made anew.
ifneq ($(shell { $(BIN)/python -c 'import pip' && cat $(PLACE); } 2>/dev/null),$(CURDIR))
.PHONY: $(PLACE)
endif

$(PLACE):
	@for python in python3 python3.11 python3.12 python3.13 python3.14; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
	done; \
	[ -n "$$python" ] || { echo 'actum needs Python 3.11 or newer: apt-get install python3 python3-venv' >&2; exit 1; }; \
	$$python -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$$python has no venv: apt-get install python3-venv" >&2; exit 1; }; \
	echo "making .venv with $$($$python --version)"; \
	$$python -m venv --clear .venv
	@echo '$(CURDIR)' > $@

# pip has one task: to fetch uv, at the version and hash that are pinned.
$(UV): $(PLACE) constraints.txt
	sed -n '/^uv==/,/[^\\]$$/p' constraints.txt | $(BIN)/python -m pip install --requirement /dev/stdin
	@touch $@

$(INSTALLED): $(UV) pyproject.toml constraints.txt
	$(UV_INSTALL) --group dev --group setup --editable .
	@touch $@

# The peers of the tests: other programs, in environments of their own, and a browser. The demo needs none of them.
$(READY): $(INSTALLED) $(PEERS)
	$(BIN)/python -m tests.peers.install
	@touch $@

$(LOCAL_READY): $(READY)
	$(UV_INSTALL) --editable '.[local]'
	@touch $@

$(BENCH_READY): $(READY)
	$(UV_INSTALL) --group bench
	@touch $@
