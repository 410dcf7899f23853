# SPDX-License-Identifier: Apache-2.0
# Commands for building, testing and formatting, from a clean clone; `make help` lists them.
# tools/system_packages.sh installs or names missing system packages, pip installs the rest into VENV.

PYTHON ?= python3
VENV ?= .venv
BUILD ?= build
# The sources compile without warnings with the compilers in CI; use WERROR=OFF with others.
WERROR ?= ON
# Interpreters of test-nogil and test-nogil-tsan: a free-threaded Python, 3.13 or later, and one of the
# same version that was configured --with-thread-sanitizer.
PYTHON_NOGIL ?= python3.13t
PYTHON_NOGIL_TSAN ?= python3.13t-tsan
# Number of tests that run at once.
JOBS ?= $(shell nproc)
STRESS_SECONDS ?= 30
FUZZ_SECONDS ?= 60
# Platforms of test-platforms, by default all: PLATFORMS="aarch64-linux-gnu x86_64-linux-musl".
PLATFORMS ?=
# Wheel of the incumbent, with which test-device compares.
INCUMBENT ?=
# All fuzz targets unless some are named: FUZZ_TARGETS="json json_graph".
FUZZ_TARGETS ?=
NOGIL_TSAN_TESTS ?= tests/python/stress/test_thread_stress.py tests/python/stress/test_threads.py \
	tests/python/signature/test_metadata.py
# Tests that build with CMake use the options of this build, so that ccache finds the results.
export WERROR

BIN := $(abspath $(VENV))/bin
STAMPS := $(VENV)/.stamps
export PATH := $(BIN):$(PATH)
# These variables could replace the package under test by another one.
unexport PYTHONPATH PYTHONHOME

PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := $(shell find CMakeLists.txt LICENSE README.md pyproject.toml cmake include runtime src \
	-type f -not -name '*.pyc')
C_SOURCES := $(shell find include runtime tests examples benchmarks -path '*/build' -prune \
	-o -type f \( -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.h' \) -print)
RUST_SOURCES := $(shell find rust examples tests/rust tests/conformance -path '*/build' -prune -o -name '*.rs' -print)
# Rust sources are formatted and checked only where rustfmt is installed.
RUSTFMT := $(if $(shell command -v rustfmt),rustfmt --edition 2021 --config-path rust,true rustfmt)
CYTHON_SOURCES := $(shell find src -name '*.pyx' -o -name '*.px[di]')

.PHONY: help system venv quickstart test test-c test-python test-slow quick slowest test-sanitizers test-asan \
	test-tsan test-python-asan test-aarch64 test-windows test-platforms test-nogil test-nogil-tsan test-odr \
	test-faults test-flashinfer test-clients test-systems test-frameworks test-device test-conformance fuzz wheel \
	wheels release docs bench format lint clean

help:
	@echo "make quickstart   build everything, then run a C kernel from Python and from C"
	@echo "make test         tests and checks: test-c test-python lint; 15 minutes on 2 cores"
	@echo "make quick        lint tests, core C++ tests if built, core Python tests; under a minute on a built tree"
	@echo "make test-c       C and C++ tests; needs doctest"
	@echo "make test-python  Python tests; PYTEST_ARGS='tests/python -k tensor' selects some of them"
	@echo "make test-slow    the other Python tests: each header and template, the site, packages; 10 minutes"
	@echo "make lint         formatters, linters and mypy; they change nothing"
	@echo "make format       rewrite the sources with the formatters"
	@echo "make venv         install the package into $(VENV), nothing else"
	@echo "make docs         the documentation: $(BUILD)/docs/index.html"
	@echo "make wheel        dist/: a wheel that auditwheel accepts, tested in a fresh environment"
	@echo "make wheels       dist/: checked wheels for CPython 3.9 to 3.15, x86-64 and AArch64; WHEELS_TARGETS='cp311-x86_64 ...'"
	@echo "make release      build/release/: changelog section, text of the tag, wheels, checksums; changes nothing else"
	@echo "make bench        compare with the incumbent and the floor; BENCH_ARGS=--quick is short"
	@echo "make clean        remove $(BUILD) and caches; $(VENV) stays"
	@echo "more tests:"
	@echo "make test-sanitizers   test-asan, test-tsan: C and C++ tests; test-python-asan: Python tests"
	@echo "make test-nogil   Python tests on a free-threaded Python; PYTHON_NOGIL=... STRESS_SECONDS=$(STRESS_SECONDS)"
	@echo "make test-nogil-tsan   tests with threads on a free-threaded Python under TSan; PYTHON_NOGIL_TSAN=..."
	@echo "make test-platforms   C and C++ tests on other processors and systems, in emulators; PLATFORMS=..."
	@echo "make test-aarch64   Python and Rust tests on Linux on AArch64, emulated; an hour"
	@echo "make test-windows   Python tests on Windows on x86-64, in wine; 20 minutes"
	@echo "make test-faults  fail each allocation and each system call of a session once; minutes"
	@echo "make test-odr     find names that two files of the library define differently; needs g++"
	@echo "make test-flashinfer   compile FlashInfer's sources; downloads 130 MB, needs nvcc, minutes"
	@echo "make test-clients   published packages on this runtime and on the incumbent; downloads gigabytes"
	@echo "make test-systems   kernel languages and compilers, from source to a call; downloads gigabytes"
	@echo "make test-frameworks   array frameworks and graph compilers that call functions; downloads gigabytes"
	@echo "make test-conformance   tests of the conformance kit, the kit on faulty copies and on this runtime; FAULTS='$(FAULTS)'"
	@echo "make test-device   on a GPU, without a package index; else on a fake driver; OUT=... INCUMBENT=WHEEL"
	@echo "make fuzz         random input for each reader; needs clang; FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_TARGETS=..."
	@echo "variables: PYTHON=$(PYTHON) PYTHON_NOGIL=$(PYTHON_NOGIL) PYTHON_NOGIL_TSAN=$(PYTHON_NOGIL_TSAN) VENV=$(VENV) BUILD=$(BUILD) WERROR=$(WERROR) JOBS=$(JOBS) CC CXX"
	@echo "           COVERAGE=1 prints the lines that test-python and test-asan execute"
	@echo "           SYSTEM_PACKAGES=check names missing system packages and installs none"

# ---- Environment ---------------------------------------------------------------------------------

# System packages are checked once per run of make, for the targets that were named, and before
# anything is built.
goals = $(filter $(1),$(MAKECMDGOALS))
SYSTEM_PURPOSES := build \
	$(if $(call goals,test test-c test-asan test-tsan test-sanitizers),c-tests) \
	$(if $(call goals,test test-python),python-tests) \
	$(if $(call goals,test-platforms test-aarch64 test-windows),platforms) \
	$(if $(call goals,test-asan test-tsan test-python-asan test-sanitizers),sanitizers)

# Make's default for CXX is g++, CMake's is c++, and that of scikit-build-core is Python's.  ccache finds
# objects of the same compiler only.
COMPILERS := CC="$(CC)" CXX="$(if $(filter default,$(origin CXX)),c++,$(CXX))"

system:
	@PYTHON="$(PYTHON)" $(COMPILERS) tools/system_packages.sh $(SYSTEM_PURPOSES)

venv: $(STAMPS)/package

$(STAMPS)/created: | system
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet "pip>=25.1"  # the first release that reads [dependency-groups]
	mkdir -p $(STAMPS) && touch $@

# One stamp per dependency group in pyproject.toml.
$(STAMPS)/build $(STAMPS)/test $(STAMPS)/platforms $(STAMPS)/coverage $(STAMPS)/wheel \
		$(STAMPS)/wheels $(STAMPS)/release $(STAMPS)/docs $(STAMPS)/bench \
		$(STAMPS)/fuzz $(STAMPS)/lint: $(STAMPS)/%: pyproject.toml | $(STAMPS)/created
	$(PIP) install --quiet --group $*
	touch $@

# Without isolation the build folder stays valid, so only changed files are compiled.
$(STAMPS)/package: $(STAMPS)/build $(SOURCES)
	$(COMPILERS) $(PIP) install --no-build-isolation --no-deps \
		--config-settings=cmake.define.TVM_FFI_WARNINGS_AS_ERRORS=$(WERROR) .
	touch $@

# ---- Quickstart ----------------------------------------------------------------------------------

QUICKSTART := $(BUILD)/quickstart

quickstart: $(STAMPS)/package
	mkdir -p $(QUICKSTART)
	$(CC) -std=c11 -O2 -shared -fPIC examples/quickstart/kernel.c \
		$$(tvm-ffi-config --cflags --ldflags --libs) -o $(QUICKSTART)/kernel.so
	$(BIN)/python examples/quickstart/run.py $(QUICKSTART)/kernel.so
	$(CC) -std=c11 -O2 examples/quickstart/main.c $$(tvm-ffi-config --cflags --ldflags --libs) \
		-Wl,-rpath,"$$(tvm-ffi-config --libdir)" -o $(QUICKSTART)/main
	$(QUICKSTART)/main $(QUICKSTART)/kernel.so

# ---- Tests ---------------------------------------------------------------------------------------

# docs/design/tests.md describes each target and its cost.
test: test-c test-python lint
	@$(MAKE) --no-print-directory slowest

COMMA := ,
RESULTS = $(abspath $(BUILD))/results-$(1).xml

# $(call run_ctest,FOLDER,BUILD TYPE,CMAKE OPTIONS): build and run the C and C++ tests.
define run_ctest
$(COMPILERS) cmake -S . -B $(BUILD)/$(1) -G Ninja -DCMAKE_BUILD_TYPE=$(2) -DTVM_FFI_BUILD_TESTS=ON $(3)
cmake --build $(BUILD)/$(1)
ctest --test-dir $(BUILD)/$(1) --output-on-failure --no-tests=error --parallel $(JOBS) \
	--output-junit $(call RESULTS,$(1))
endef

test-c: $(STAMPS)/build
	$(call run_ctest,test,Release,-DTVM_FFI_WARNINGS_AS_ERRORS=$(WERROR))

# Tests of one file stay on one worker because they share what the file compiled. tests/conftest.py
# decides the order of the files.
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

test-python: $(STAMPS)/package $(STAMPS)/test $(if $(COVERAGE),$(STAMPS)/coverage)
	$(PYTEST) -m 'not slow' --junit-xml $(call RESULTS,python) \
		$(if $(COVERAGE),--cov=tvm_ffi --cov-report=term) $(PYTEST_ARGS)

test-slow: $(STAMPS)/package $(STAMPS)/test
	$(PYTEST) -m slow --junit-xml $(call RESULTS,slow) $(PYTEST_ARGS)

# The runtime with faults is built from source: FAULTS='runtime kernels reference'.
FAULTS ?= kernels reference
test-conformance: $(STAMPS)/package $(STAMPS)/test
	$(BIN)/python -m pytest tests/conformance
	$(BIN)/python tests/conformance/mutations.py $(FAULTS)
	PYTHONPATH=conformance/src $(BIN)/python -m tvm_ffi_conformance runtime \
		$$($(BIN)/python -c "from tvm_ffi import libinfo; print(libinfo.find_libtvm_ffi())") \
		--junit $(call RESULTS,conformance) || test $$? = 1

# Fast tests of the parts that most changes touch. C++ programs are run if test-c has built them.
QUICK_PROGRAMS := runtime cpp_values cpp_container cpp_reflection cpp_module
QUICK_TESTS := tests/lint $(wildcard $(addprefix tests/python/binding/,call containers convert tensor values)) \
	tests/python/binding/object/test_errors.py tests/python/signature tests/python/types
# Tests in these folders that start several processes with torch.
QUICK_TESTS += --ignore-glob 'tests/python/binding/tensor/test_*_results.py'

quick: $(STAMPS)/package $(STAMPS)/test
	$(if $(wildcard $(BUILD)/test/build.ninja),cmake --build $(BUILD)/test --target $(QUICK_PROGRAMS))
	$(if $(wildcard $(BUILD)/test/build.ninja),ctest --test-dir $(BUILD)/test --output-on-failure \
		--parallel $(JOBS) --tests-regex '^($(subst $() ,|,$(QUICK_PROGRAMS)))\.')
	$(PYTEST) $(QUICK_TESTS) $(PYTEST_ARGS)

slowest:
	@$(BIN)/python tools/slowest_tests.py $(call RESULTS,test) $(call RESULTS,python)

test-sanitizers: test-asan test-tsan test-python-asan

# GCC warns falsely about instrumented code, so warnings are not errors here.
test-asan: $(STAMPS)/build $(if $(COVERAGE),$(STAMPS)/coverage)
	$(call run_ctest,asan,Debug,-DTVM_FFI_SANITIZERS=address$(COMMA)undefined \
		-DTVM_FFI_COVERAGE=$(if $(COVERAGE),ON,OFF))
	@# Threads count without locks, so a counter can be negative. A failing report fails nothing.
	-$(if $(COVERAGE),gcovr --root . --filter runtime/ --filter include/ --merge-lines \
		--gcov-ignore-parse-errors=negative_hits.warn_once_per_file \
		--gcov-object-directory $(BUILD)/asan $(BUILD)/asan)

test-tsan: $(STAMPS)/build
	$(call run_ctest,tsan,Debug,-DTVM_FFI_SANITIZERS=thread)

# Link-time optimization sees all files of the library at once, so GCC can compare their definitions
# of one name. Clang does not compare them.
ODR_FLAGS := -flto=auto -Wodr -Werror=odr -Wlto-type-mismatch -Werror=lto-type-mismatch

test-odr: $(STAMPS)/build
	cmake -S . -B $(BUILD)/odr -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
		-DCMAKE_CXX_FLAGS=-flto=auto -DCMAKE_SHARED_LINKER_FLAGS="$(ODR_FLAGS)"
	cmake --build $(BUILD)/odr --target tvm_ffi_shared

test-faults: $(STAMPS)/package $(STAMPS)/test
	$(BIN)/python tests/faults/every_fault.py --build $(BUILD)/faults

# tools/environments.py makes the environments of the following targets, each in a folder of BUILD, and
# runs the tests there.
environment = tools/environments.py $(1) --build $(BUILD) --jobs $(JOBS)

test-nogil: | system
	$(PYTHON) $(call environment,nogil) --python $(PYTHON_NOGIL) \
		--stress-seconds $(STRESS_SECONDS) -- $(PYTEST_ARGS)

test-nogil-tsan: | system
	$(PYTHON) $(call environment,nogil-tsan) --python $(PYTHON_NOGIL) \
		--python-tsan $(PYTHON_NOGIL_TSAN) --stress-seconds $(STRESS_SECONDS) \
		--tests "$(NOGIL_TSAN_TESTS)" -- $(PYTEST_ARGS)

test-python-asan: | system
	$(COMPILERS) $(PYTHON) $(call environment,python-asan) --python $(PYTHON) -- $(PYTEST_ARGS)

test-platforms: $(STAMPS)/build $(STAMPS)/platforms
	$(BIN)/python tools/platforms.py --build $(BUILD) --jobs $(JOBS) $(PLATFORMS)

test-aarch64 test-windows: test-%: $(STAMPS)/build
	$(BIN)/python $(call environment,$*) -- $(PYTEST_ARGS)

test-flashinfer: $(STAMPS)/package $(STAMPS)/test
	$(BIN)/python $(call environment,flashinfer) -- $(PYTEST_ARGS)

test-clients test-systems test-frameworks: test-%: $(STAMPS)/package $(STAMPS)/test
	$(BIN)/python $(call environment,published) --tests tests/$* -- $(PYTEST_ARGS)

# Without $(STAMPS): neither the package nor the tests need an index or system packages.
test-device:
	$(PYTHON) $(call environment,device) --python $(PYTHON) --incumbent "$(INCUMBENT)" -- $(PYTEST_ARGS)

fuzz: $(STAMPS)/package $(STAMPS)/fuzz
	$(BIN)/python $(call environment,fuzz) --fuzz-seconds $(FUZZ_SECONDS) -- $(FUZZ_TARGETS)

# ---- Wheel ---------------------------------------------------------------------------------------

# The platform tag names the oldest system that the wheel runs on; for older systems, run this target
# on one of them.
WHEELS := $(BUILD)/wheel

wheel: $(STAMPS)/build $(STAMPS)/wheel
	rm -rf $(WHEELS)
	$(PIP) wheel --no-build-isolation --no-deps --wheel-dir $(WHEELS) \
		--config-settings=cmake.define.TVM_FFI_INSTALL_ARCHIVE=OFF .
	auditwheel show $(WHEELS)/*.whl
	auditwheel repair --wheel-dir dist $(WHEELS)/*.whl
	$(PYTHON) -m venv --clear $(WHEELS)/environment
	$(PIP) --python $(WHEELS)/environment/bin/python install --no-index --find-links dist pytvmffi
	cd $(WHEELS) && environment/bin/python -c 'import tvm_ffi; print(tvm_ffi.__version__)'

# Paths of CPythons that Debian does not have and PATH does not name: 3.10, 3.12, 3.14t.
PYTHONS ?=
# One of them is built twice, from two folders, and must have the same bytes.
WHEELS_TARGETS ?=
WHEELS_TWICE ?= $(or $(firstword $(WHEELS_TARGETS)),cp311-x86_64)

wheels: $(STAMPS)/build $(STAMPS)/wheels
	$(BIN)/python tools/wheels.py --build $(BUILD)/wheels --interpreters "$(PYTHON_NOGIL) $(PYTHONS)" \
		--twice "$(WHEELS_TWICE)" $(WHEELS_TARGETS)

# Neither commits, tags nor publishes: it prints the commands that do.
release: $(STAMPS)/build $(STAMPS)/release
	$(BIN)/python tools/release.py $(BUILD)/release
	$(BIN)/python tools/wheels.py --build $(BUILD)/wheels --interpreters "$(PYTHON_NOGIL) $(PYTHONS)" \
		--out $(BUILD)/release $(WHEELS_TARGETS)
	$(BIN)/python tools/release.py --checksums $(BUILD)/release

# ---- Documentation -------------------------------------------------------------------------------

# -E rebuilds every page: Sphinx does not notice changed docstrings of the installed package.
# tests/docs runs the examples of the pages.
docs: $(STAMPS)/package $(STAMPS)/docs
	rm -rf $(BUILD)/docs
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs $(BUILD)/docs

# ---- Benchmarks, formatters, linters -------------------------------------------------------------

bench: $(STAMPS)/package $(STAMPS)/bench
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

format: $(STAMPS)/lint
	ruff check --fix .
	ruff format .
	clang-format -i $(C_SOURCES)
	$(RUSTFMT) $(RUST_SOURCES)

lint: $(STAMPS)/lint
	ruff check .
	ruff format --check .
	mypy
	clang-format --dry-run -Werror $(C_SOURCES)
	$(RUSTFMT) --check $(RUST_SOURCES)
	cython-lint $(CYTHON_SOURCES)

clean:
	rm -rf $(BUILD) dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
