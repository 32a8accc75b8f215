# The front door. `make` lists what there is; README.md says which two to start with.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Builds and tools outlive the clone: a fresh clone on the same machine compiles only what is ours.
export CAPSTAN_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/capstan
export PATH := $(CAPSTAN_CACHE)/tools/bin:$(PATH)

# Compiled first: on a fresh machine it takes a minute in which cargo would print nothing.
XTASK = scripts/progress 'compiling xtask' cargo build --quiet --bin xtask; cargo xtask

.PHONY: help setup demo demo-down test test-kubernetes kubernetes image check bench campaign fuzz generate

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## Install what this machine lacks (the other targets call it)
	@scripts/setup build

demo: setup ## Capstan on a real Kubernetes: on this machine, or with CONTEXT=<kubectl context> on yours
	@$(if $(CONTEXT),,scripts/setup kubernetes)
	@$(XTASK) demo $(if $(CONTEXT),--context '$(CONTEXT)') $(if $(IMAGE),--image '$(IMAGE)') $(if $(S3_IMAGE),--s3-image '$(S3_IMAGE)')

demo-down: setup ## Remove what the demo made
	@$(XTASK) demo --down $(if $(CONTEXT),--context '$(CONTEXT)') $(if $(IMAGE),--image '$(IMAGE)')

test: setup ## Run the tests
	@$(XTASK) test

test-kubernetes: setup ## Run the tests that need a real Kubernetes, on the lab
	@scripts/setup kubernetes
	@$(XTASK) test-kubernetes

kubernetes: setup ## Build the lab: Kubernetes from its Go modules, and its images
	@scripts/setup kubernetes
	@$(XTASK) lab build

image: setup ## Make the images capstan:dev and capstan-s3:dev, without a container engine
	@$(XTASK) image

check: setup ## Everything CI checks besides the tests: format, lints, docs, generated files, licences
	@scripts/setup check
	@scripts/check

bench: setup ## Measure against kube_runtime, and against upstream's generator of configuration
	cargo bench --package bench
	scripts/bench-prometheus

campaign: setup ## Every crash and every stale read of every scenario, and every scenario on the lab
	PROPTEST_CASES=1000 cargo test --profile campaign --workspace --quiet -- properties
	CAPSTAN_CAMPAIGN=full cargo test --profile campaign --workspace --quiet -- at_rest
	cargo xtask campaign --extent full
	@scripts/setup kubernetes
	CAPSTAN_CAMPAIGN=full cargo xtask test-kubernetes --whole

fuzz: setup ## Throw random bytes at what parses input (SECONDS_EACH=60)
	@scripts/setup fuzz
	@scripts/fuzz $${SECONDS_EACH:-60}

generate: setup ## Write the generated files anew (docs/reference, deploy)
	cargo xtask generate
