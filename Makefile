# The front door. `make` lists what there is; README.md says which two to start with.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Builds and tools outlive the clone: a fresh clone on the same machine compiles only what is ours.
export CAPSTAN_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/capstan
export PATH := $(CAPSTAN_CACHE)/tools/bin:$(PATH)

.PHONY: help setup demo test check bench campaign fuzz generate

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## Install what this machine lacks (the other targets call it)
	@scripts/setup build

demo: setup ## See an operator work: created, healed, crashed and resumed, on the in-process API server
	@cargo run --quiet --example tour

test: setup ## Run the tests
	cargo test --workspace --quiet
	cargo test --package kit --features otlp --lib --quiet telemetry

check: setup ## Everything CI checks besides the tests: format, lints, docs, generated files, licences
	@scripts/setup check
	@scripts/check

bench: setup ## Measure against kube_runtime on the same objects in the same run
	cargo bench --package bench

campaign: setup ## Every crash and every stale read of every scenario, in full
	CAPSTAN_CAMPAIGN=full cargo test --workspace --quiet campaign

fuzz: setup ## Throw random bytes at what parses input (SECONDS_EACH=60)
	@scripts/setup fuzz
	@scripts/fuzz $${SECONDS_EACH:-60}

generate: setup ## Write the generated files anew (docs/reference, deploy)
	cargo xtask generate
