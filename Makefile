# make reproduce [LANE=auto|kick|lite|cpu|full] [CORES=all]   the tables, the figures and results/report.html
# make test                                                   the quick tests
# make peers                                                  the peers' C libraries, part of both with a C compiler
# Both set up .venv on a fresh clone. PYTHON=python3.12 picks another Python (3.11 to 3.13).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
LANE ?=
CORES ?= all
TESTS ?= tests

VENV := .venv
BIN := $(VENV)/bin/python
PEERS := build/peers/complete
KEY := $(shell cat requirements.lock requirements-native.lock | cksum | cut -d ' ' -f 1)
READY := $(VENV)/.ready-$(KEY)
UV_COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header --quiet

# A mistake on the command line ends here, before any set-up.
$(foreach name,lane cores python tests,$(if $(filter command line,$(origin $(name))),$(error write it in capitals: $(name)=$($(name)) sets nothing)))
ifneq ($(CORES),all)
ifneq ($(shell grep -cxE '[1-9][0-9]*' <<< '$(subst ','"'"',$(CORES))'),1)
$(error CORES is 'all' or a number >= 1, not '$(CORES)')
endif
endif
ifneq ($(filter-out auto,$(LANE)),)
ifeq ($(wildcard config/lanes/$(LANE).yaml),)
$(error LANE is auto or one of $(basename $(notdir $(wildcard config/lanes/*.yaml))), not '$(LANE)')
endif
endif

.PHONY: help setup peers reproduce test lint lock clean

help:
	@sed -n '1,4s/^# //p' Makefile

setup: $(READY)

# What cannot be built is tried again here each time; without a compiler that costs nothing.
peers: $(PEERS)

reproduce: $(READY) $(PEERS)
	@$(BIN) -m workflow.scripts.plan $(if $(LANE),--lane $(LANE))
	@$(BIN) -m workflow.scripts.unlock
	@$(BIN) -m workflow.scripts.put_aside
	@WAVEBENCH_PLAN=shown $(BIN) -m snakemake --quiet host reason rules --cores $(CORES) $(if $(LANE),--config lane=$(LANE))
	@echo "the report: $(CURDIR)/results/report.html"

test: $(READY) $(PEERS)
	@$(BIN) -m pytest -m "not slow and not gpu" -n 2 $(TESTS)

lint: $(READY)
	@$(BIN) -m ruff check .
	@$(BIN) -m ruff format --check .
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(BIN) -m snakefmt --check Snakefile workflow
	@$(BIN) .ci/lint.py

# Wheels only, but for connection-pool, which is pure Python and published as source alone: no compiler is needed.
# pywfa and mappy compile; without a compiler their rows say so. A second set-up at the same time waits for this one.
$(READY): requirements.lock requirements-native.lock
	@fail() { echo "error: '$(PYTHON)' $$1; choose another with make PYTHON=python3.12" >&2; exit 2; }; \
	found=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || fail "does not run ($${found##*$$'\n'})"; \
	case "$$found" in 3.11|3.12|3.13) ;; *) fail "is Python $$found, not 3.11, 3.12 or 3.13" ;; esac; \
	$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		fail "lacks the modules venv and ensurepip (on Debian and Ubuntu the package python$$found-venv)"
	@if command -v flock >/dev/null; then exec 9<Makefile; flock 9; fi; \
	if [ -e $@ ]; then exit 0; fi; \
	echo "setting up $(VENV) from requirements.lock (a minute or two)"; \
	rm -rf $(VENV); \
	$(PYTHON) -m venv $(VENV); \
	$(BIN) -m pip install -qq --disable-pip-version-check --require-hashes --only-binary=:all: \
		--no-binary=connection-pool -r requirements.lock; \
	$(BIN) -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-native.lock \
		>$(VENV)/native.log 2>&1 || \
		echo "note: pywfa and mappy could not be built, their rows will say so (needs a C compiler; $(VENV)/native.log)"; \
	touch $@

# The peers' C libraries for this processor; a second build at the same time waits for this one.
$(PEERS): requirements.lock requirements-native.lock $(wildcard workflow/peers/*.*) | $(READY)
	@$(BIN) -m workflow.peers.build

lock:
	$(UV_COMPILE) --upgrade requirements.in -o requirements.lock
	$(UV_COMPILE) --upgrade requirements-native.in -o requirements-native.lock

# Everything generated; samples of named machines in results/recorded stay.
clean:
	@rm -rf .snakemake .numba build/peers
	@if [ -d results ]; then find results -mindepth 1 -maxdepth 1 ! -name recorded -exec rm -rf {} +; fi
