# SPDX-License-Identifier: Apache-2.0
# Everything from a clean clone.  Needs make, a C and a C++17 compiler, Python >= 3.9; the rest is
# installed into VENV from a package index.

PYTHON ?= python3
VENV ?= .venv
BUILD ?= build
# Ours is clean with the compilers we test with; WERROR=OFF builds the tests with others.
WERROR ?= ON
# A free-threaded Python, 3.13 or later; only test-nogil needs one.  And one of the same version that
# was configured --with-thread-sanitizer, for test-nogil-tsan, which needs both.
PYTHON_NOGIL ?= python3.13t
PYTHON_NOGIL_TSAN ?= python3.13t-tsan
# How many tests run at once.
JOBS ?= $(shell nproc)
# Tests that build with CMake do it with the options of this build, so that a compiler cache has it.
export WERROR

BIN := $(abspath $(VENV))/bin
STAMPS := $(VENV)/.stamps
export PATH := $(BIN):$(PATH)
# Nothing from outside the environment may take the place of what is tested.
unexport PYTHONPATH PYTHONHOME

PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := $(shell find CMakeLists.txt LICENSE README.md pyproject.toml cmake include runtime src \
	-type f -not -name '*.pyc')
C_SOURCES := $(shell find include runtime tests examples benchmarks -path '*/build' -prune \
	-o -type f \( -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.h' \) -print)
RUST_SOURCES := $(shell find rust examples tests/rust -path '*/build' -prune -o -name '*.rs' -print)
# Where Rust is installed; nothing else needs it.
RUSTFMT := $(if $(shell command -v rustfmt),rustfmt --edition 2021 --config-path rust,true rustfmt)
CYTHON_SOURCES := $(shell find src -name '*.pyx' -o -name '*.pxd')

.PHONY: help venv quickstart test test-c test-python slowest test-sanitizers test-asan test-tsan \
	test-python-asan test-nogil test-nogil-tsan test-odr test-faults test-flashinfer test-clients \
	test-systems test-frameworks fuzz wheel docs bench format lint clean

help:
	@echo "make quickstart   build everything, run a C kernel from Python and from C"
	@echo "make test         all tests and checks: test-c test-python lint; 15 minutes on 2 cores"
	@echo "make test-c       the C and C++ tests; needs doctest (Debian: doctest-dev)"
	@echo "make test-python  the Python tests; PYTEST_ARGS='tests/python -k tensor' for some of them"
	@echo "make test-sanitizers   test-asan, test-tsan: the C and C++ tests; test-python-asan: the Python tests"
	@echo "make test-nogil   the Python tests without the GIL; PYTHON_NOGIL=... STRESS_SECONDS=$(STRESS_SECONDS)"
	@echo "make test-nogil-tsan   the tests with threads on such a Python under TSan; PYTHON_NOGIL_TSAN=..."
	@echo "make test-faults  each request for memory and each system call of a session fails once; minutes"
	@echo "make test-odr     names that two files of the library define differently; needs g++"
	@echo "make test-flashinfer   compile FlashInfer's sources; downloads 130 MB, needs nvcc, minutes"
	@echo "make test-clients   published packages on this runtime and on theirs; downloads gigabytes"
	@echo "make test-systems   kernel languages and compilers, from source to a call; the same"
	@echo "make test-frameworks array frameworks and graph compilers that call functions; the same"
	@echo "make fuzz         hostile input for a minute per reader; needs clang; FUZZ_SECONDS FUZZ_TARGETS"
	@echo "make wheel        dist/: a wheel that auditwheel accepts, tried in a fresh environment"
	@echo "make docs         the documentation: $(BUILD)/docs/index.html"
	@echo "make bench        compare with the peer and the floor; BENCH_ARGS=--quick for a glance"
	@echo "make venv         only $(VENV) with the package in it"
	@echo "make format       let the formatters rewrite the sources"
	@echo "make clean        remove $(BUILD) and caches; $(VENV) stays"
	@echo "make lint         what the formatters and linters have to say"
	@echo "variables: PYTHON=$(PYTHON) PYTHON_NOGIL=$(PYTHON_NOGIL) PYTHON_NOGIL_TSAN=$(PYTHON_NOGIL_TSAN) VENV=$(VENV) BUILD=$(BUILD) WERROR=$(WERROR) JOBS=$(JOBS) CC CXX"
	@echo "           COVERAGE=1 prints which lines test-python and test-asan reach"

# ---- Environment ---------------------------------------------------------------------------------

venv: $(STAMPS)/package

$(STAMPS)/created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9) and "Python >= 3.9 is needed")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet "pip>=25.1"  # the first that reads [dependency-groups]
	mkdir -p $(STAMPS) && touch $@

# One stamp per group of requirements in pyproject.toml.
$(STAMPS)/build $(STAMPS)/test $(STAMPS)/coverage $(STAMPS)/wheel $(STAMPS)/docs $(STAMPS)/bench \
		$(STAMPS)/fuzz $(STAMPS)/lint: $(STAMPS)/%: pyproject.toml | $(STAMPS)/created
	$(PIP) install --quiet --group $*
	touch $@

# Not isolated: the build folder stays valid, so only what changed is compiled again.
$(STAMPS)/package: $(STAMPS)/build $(SOURCES)
	$(PIP) install --no-build-isolation --no-deps \
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

# docs/design/tests.md says what runs where, and what it costs.
test: test-c test-python lint
	@$(MAKE) --no-print-directory slowest

COMMA := ,
RESULTS = $(abspath $(BUILD))/results-$(1).xml

# $(call run_ctest,FOLDER,BUILD TYPE,OPTIONS OF CMAKE): build and run the C and C++ tests.
define run_ctest
cmake -S . -B $(BUILD)/$(1) -G Ninja -DCMAKE_BUILD_TYPE=$(2) -DTVM_FFI_BUILD_TESTS=ON $(3)
cmake --build $(BUILD)/$(1)
ctest --test-dir $(BUILD)/$(1) --output-on-failure --no-tests=error --parallel $(JOBS) \
	--output-junit $(call RESULTS,$(1))
endef

test-c: $(STAMPS)/build
	$(call run_ctest,test,Release,-DTVM_FFI_WARNINGS_AS_ERRORS=$(WERROR))

test-sanitizers: test-asan test-tsan test-python-asan

# Compilers see ghosts in instrumented code, so warnings are no errors there.
test-asan: $(STAMPS)/build $(if $(COVERAGE),$(STAMPS)/coverage)
	$(call run_ctest,asan,Debug,-DTVM_FFI_SANITIZERS=address$(COMMA)undefined \
		-DTVM_FFI_COVERAGE=$(if $(COVERAGE),ON,OFF))
	@# Threads count without locks, so a counter may come out negative.  A report stops nobody.
	-$(if $(COVERAGE),gcovr --root . --filter runtime/ --filter include/ --merge-lines \
		--gcov-ignore-parse-errors=negative_hits.warn_once_per_file \
		--gcov-object-directory $(BUILD)/asan $(BUILD)/asan)

test-tsan: $(STAMPS)/build
	$(call run_ctest,tsan,Debug,-DTVM_FFI_SANITIZERS=thread)

# Links the library from all files at once, where definitions of one name are compared.  Clang does
# not compare them.
ODR_FLAGS := -flto=auto -Wodr -Werror=odr -Wlto-type-mismatch -Werror=lto-type-mismatch

test-odr: $(STAMPS)/build
	cmake -S . -B $(BUILD)/odr -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
		-DCMAKE_CXX_FLAGS=-flto=auto -DCMAKE_SHARED_LINKER_FLAGS="$(ODR_FLAGS)"
	cmake --build $(BUILD)/odr --target tvm_ffi_shared

# The tests of a file stay together: they share what the file has compiled.
test-python: $(STAMPS)/package $(STAMPS)/test $(if $(COVERAGE),$(STAMPS)/coverage)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile \
		--junit-xml $(call RESULTS,python) \
		$(if $(COVERAGE),--cov=tvm_ffi --cov-report=term) $(PYTEST_ARGS)

# Environments of their own, $(BUILD)/NAME, for builds of another kind.  Nothing in them is compiled but
# our package: the newest NumPy may have no wheel for such a Python, and takes a quarter of an hour.
# $(call make_environment,NAME,PYTHON,GROUP OF REQUIREMENTS)
define make_environment
$(2) -m venv --clear $(BUILD)/$(1)/venv
$(BUILD)/$(1)/venv/bin/python -m pip install --disable-pip-version-check --quiet "pip>=25.1"
$(BUILD)/$(1)/venv/bin/python -m pip install --disable-pip-version-check --quiet \
	--only-binary :all: --group $(3)
endef

# $(call install_package,NAME,OPTIONS OF THE BUILD)
define install_package
$(call python_in,$(1)) -m pip install --disable-pip-version-check --no-build-isolation --no-deps \
	--config-settings=build-dir=$(BUILD)/$(1)/package $(2) .
endef

# $(call python_in,NAME): a Python there, whose tools come first.
python_in = PATH="$(abspath $(BUILD))/$(1)/venv/bin:$$PATH" $(BUILD)/$(1)/venv/bin/python

# Without the GIL: what needs packages that have no such build is skipped, and says which.
STRESS_SECONDS ?= 30
NOGIL_REPORT := no free-threaded Python: '$(PYTHON_NOGIL)' is not to be found, or has the GIL; \
	name one with PYTHON_NOGIL=PATH

test-nogil: $(BUILD)/nogil/.installed
	$(call python_in,nogil) -m pytest --numprocesses $(JOBS) --dist loadfile \
		--junit-xml $(call RESULTS,nogil) tests/python $(PYTEST_ARGS)
	TVM_FFI_STRESS_SECONDS=$(STRESS_SECONDS) $(call python_in,nogil) -m pytest -s \
		tests/python/test_thread_stress.py

$(BUILD)/nogil/.environment: pyproject.toml
	@$(PYTHON_NOGIL) -c "import sys; sys.exit(sys._is_gil_enabled())" 2>/dev/null || \
		{ echo "$(NOGIL_REPORT)" >&2; exit 1; }
	$(call make_environment,nogil,$(PYTHON_NOGIL),light)
	touch $@

$(BUILD)/nogil/.installed: $(BUILD)/nogil/.environment $(SOURCES)
	$(call install_package,nogil)
	touch $@

# The tests with threads under TSan: Python, the binding and the runtime are compiled for it, NumPy is
# not.  The ordinary Python builds and installs, as that takes a tenth of the time.  A report fails the
# target, whatever the tests say.
NOGIL_TSAN := $(abspath $(BUILD))/nogil-tsan
NOGIL_TSAN_REPORT := no free-threaded Python under TSan: '$(PYTHON_NOGIL_TSAN)' is not to be found, has \
	the GIL, or was not configured --with-thread-sanitizer; name one with PYTHON_NOGIL_TSAN=PATH
NOGIL_TSAN_TESTS ?= tests/python/test_thread_stress.py tests/python/test_threads.py \
	tests/python/signature/test_metadata.py

test-nogil-tsan: $(BUILD)/nogil-tsan/.installed
	rm -rf $(NOGIL_TSAN)/reports && mkdir $(NOGIL_TSAN)/reports
	TVM_FFI_TESTS_SANITIZED=1 TVM_FFI_STRESS_SECONDS=$(STRESS_SECONDS) \
		TSAN_OPTIONS=exitcode=0:suppressions=$(abspath tests/python/tsan_suppressions.txt):log_path=$(NOGIL_TSAN)/reports/tsan \
		PYTHONPATH=$(NOGIL_TSAN)/site $(PYTHON_NOGIL_TSAN) -m pytest -s -p no:cacheprovider \
		--junit-xml $(call RESULTS,nogil-tsan) $(NOGIL_TSAN_TESTS) $(PYTEST_ARGS); \
		status=$$?; cat $(NOGIL_TSAN)/reports/* 2>/dev/null && exit 1; exit $$status

$(BUILD)/nogil-tsan/.installed: $(BUILD)/nogil/.environment $(SOURCES)
	@TSAN_OPTIONS=report_bugs=0 $(PYTHON_NOGIL_TSAN) -c "import sys, sysconfig; \
		sys.exit(sys._is_gil_enabled() or '-fsanitize=thread' not in sysconfig.get_config_var('CFLAGS'))" \
		2>/dev/null || { echo "$(NOGIL_TSAN_REPORT)" >&2; exit 1; }
	rm -rf $(NOGIL_TSAN)/site
	$(call python_in,nogil) -m pip install --disable-pip-version-check --quiet \
		--only-binary :all: --target $(NOGIL_TSAN)/site --group light
	$(call python_in,nogil) -m pip install --disable-pip-version-check --no-build-isolation --no-deps \
		--target $(NOGIL_TSAN)/site --config-settings=build-dir=$(BUILD)/nogil-tsan/package \
		--config-settings=cmake.build-type=Debug \
		--config-settings=cmake.define.TVM_FFI_SANITIZERS=thread .
	touch $@

# The package and its binding under ASan and UBSan, and with them all that the tests start, compilers
# too.  Python's own allocator would hide what is freed.  A report fails the target, also one of a
# process whose end no test looks at.  With ASan first, as it wants to be, those of UBSan would not go
# to the files.
PYTHON_ASAN_REPORTS = $(abspath $(BUILD))/python-asan/reports
PYTHON_ASAN_PRELOAD = $(shell $(CC) -print-file-name=libubsan.so):$(shell $(CC) -print-file-name=libasan.so)
PYTHON_ASAN_ENVIRONMENT = TVM_FFI_TESTS_SANITIZED=1 PYTHONMALLOC=malloc \
	LD_PRELOAD=$(PYTHON_ASAN_PRELOAD) \
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:allocator_may_return_null=1:log_path=$(PYTHON_ASAN_REPORTS)/asan \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path=$(PYTHON_ASAN_REPORTS)/ubsan

test-python-asan: $(BUILD)/python-asan/.installed
	rm -rf $(PYTHON_ASAN_REPORTS) && mkdir $(PYTHON_ASAN_REPORTS)
	$(PYTHON_ASAN_ENVIRONMENT) $(call python_in,python-asan) -m pytest --numprocesses $(JOBS) \
		--dist loadfile --junit-xml $(call RESULTS,python-asan) tests/python $(PYTEST_ARGS); \
		status=$$?; cat $(PYTHON_ASAN_REPORTS)/* 2>/dev/null && exit 1; exit $$status

$(BUILD)/python-asan/.environment: pyproject.toml
	$(call make_environment,python-asan,$(PYTHON),light)
	touch $@

# Not optimized: that takes a quarter of the time to compile.
$(BUILD)/python-asan/.installed: $(BUILD)/python-asan/.environment $(SOURCES)
	$(call install_package,python-asan,--config-settings=cmake.build-type=Debug \
		--config-settings=cmake.define.TVM_FFI_SANITIZERS=address$(COMMA)undefined)
	touch $@

# Every request for memory and every system call of a session, each in a run of its own.
test-faults: $(STAMPS)/package $(STAMPS)/test
	$(BIN)/python tests/faults/every_fault.py --build $(BUILD)/faults

slowest:
	@$(BIN)/python tools/slowest_tests.py $(call RESULTS,test) $(call RESULTS,python)

# Kernels that others wrote for the same headers.  The package is unpacked, not installed: it needs
# no device, and none of what it depends on beyond one header library of CUDA.
FLASHINFER := $(BUILD)/flashinfer

$(FLASHINFER)/.unpacked: | $(STAMPS)/created
	$(PIP) install --quiet --no-deps --target $(FLASHINFER) \
		flashinfer-python==0.7.2 nvidia-curand==10.4.0.35
	touch $@

test-flashinfer: $(STAMPS)/package $(STAMPS)/test $(FLASHINFER)/.unpacked
	TVM_FFI_FLASHINFER=$(FLASHINFER) $(BIN)/python -m pytest \
		tests/compat/test_flashinfer_sources.py $(PYTEST_ARGS)

# The software of others, each in environments of its own: packages made for the incumbent, on this
# runtime and on theirs; kernel languages and compilers; frameworks. 
PUBLISHED := $(abspath $(BUILD))/published

$(PUBLISHED)/wheel: $(STAMPS)/package $(STAMPS)/test
	rm -rf $@
	$(PIP) wheel --quiet --no-build-isolation --no-deps --wheel-dir $@ .

test-clients test-systems test-frameworks: test-%: $(PUBLISHED)/wheel
	TVM_FFI_PUBLISHED=$(PUBLISHED) $(BIN)/python -m pytest tests/$* $(PYTEST_ARGS)

# Reads what nobody would write, FUZZ_SECONDS per target, and prints a table.  What was found to be
# interesting stays in $(BUILD)/fuzz/corpus, so that the next run begins there.
FUZZ := $(BUILD)/fuzz
FUZZ_SECONDS ?= 60
# All, unless some are named: FUZZ_TARGETS="json json_graph".
FUZZ_TARGETS ?=

fuzz: $(STAMPS)/package $(STAMPS)/fuzz
	cmake -S . -B $(FUZZ) -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo -DTVM_FFI_BUILD_FUZZERS=ON \
		-DTVM_FFI_SANITIZERS=address$(COMMA)undefined$(COMMA)fuzzer-no-link
	cmake --build $(FUZZ) --target fuzzers
	$(BIN)/python tests/fuzz/run.py --build $(FUZZ) --seconds $(FUZZ_SECONDS) --jobs $(JOBS) \
		$(FUZZ_TARGETS)

# ---- Wheel ---------------------------------------------------------------------------------------

# Compiled where the package is, see above.  The platform tag is the oldest that the wheel fits;
# for wheels that run on older systems, run this target on one.
WHEELS := $(BUILD)/wheel

wheel: $(STAMPS)/build $(STAMPS)/wheel
	rm -rf $(WHEELS)
	$(PIP) wheel --no-build-isolation --no-deps --wheel-dir $(WHEELS) .
	auditwheel show $(WHEELS)/*.whl
	auditwheel repair --wheel-dir dist $(WHEELS)/*.whl
	$(PYTHON) -m venv --clear $(WHEELS)/environment
	$(PIP) --python $(WHEELS)/environment/bin/python install --no-index --find-links dist pytvmffi
	cd $(WHEELS) && environment/bin/python -c 'import tvm_ffi; print(tvm_ffi.__version__)'

# ---- Documentation -------------------------------------------------------------------------------

# Always as a whole (-E): Sphinx overlooks changes of the installed package, where docstrings are.
# What pages show is run by tests/docs.
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
