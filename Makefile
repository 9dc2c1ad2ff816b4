# The commands of this repository. `make help` lists them.
VENV := .venv
PYTHON := $(VENV)/bin/python
LIBRARY := build/libkiln_pjrt.so
WHEEL_STAMP := .deps/wheel.stamp

.DEFAULT_GOAL := help
# Steps share apt, .deps and build; what is parallel inside them is up to Ninja.
.NOTPARALLEL:
.PHONY: help run test build library bench coverage accuracy wheel clean setup setup-build setup-python

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 16

run: wheel  ## build, install into .venv, train a classifier in JAX on Kiln and compare with XLA:CPU
	@$(PYTHON) examples/digits.py

test: build/build.ninja wheel  ## build and run every test; ends with 'N passed, N failed'
	@ninja -C build
	@$(PYTHON) scripts/run_tests.py

build: library  ## build build/libkiln_pjrt.so and build/kiln
	@ninja -C build kiln

# What was linked, laid out by what it executes; `ninja -C build libkiln_pjrt.so` alone is enough for work on Kiln itself.
library: build/build.ninja setup-python
	@ninja -C build $(notdir $(LIBRARY))
	@scripts/optimize_layout.sh build $(PYTHON)

bench: wheel  ## measure some 300 programs beside XLA:CPU, with a page of plots; python -m benchmarks --help for parts
	@$(PYTHON) -m benchmarks

coverage: wheel  ## run every public function of JAX on Kiln against XLA:CPU and write docs/coverage.md
	@$(PYTHON) -m tests.coverage

accuracy: wheel  ## measure the error of every function against mpmath, beside XLA:CPU, into docs/accuracy.md
	@$(PYTHON) -m benchmarks.accuracy

# The wheel holds the library, so it is made and installed again whenever the library or the package changes.
wheel: library  ## make the wheel in dist and install it into .venv
	@scripts/install_wheel.sh $(PYTHON) $(LIBRARY) $(WHEEL_STAMP)

build/build.ninja: setup-build
	@test -f $@ || cmake --preset release

setup: setup-build setup-python

setup-build:
	@scripts/setup.sh build

setup-python:
	@scripts/setup.sh python

clean:  ## remove what was built; keep .deps and .venv
	rm -rf build build-debug build-asan build-tsan dist plugin/jax/build plugin/jax/*.egg-info plugin/jax/src/*.egg-info
	rm -f $(WHEEL_STAMP)
