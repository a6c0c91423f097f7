# Short names for the CMake presets (CMakePresets.json). Build folders are build/<preset>.
.PHONY: help setup build demo test test-slow test-sanitizers bench fuzz format

help:
	@echo 'make build      release program: build/release/cuzk'
	@echo 'make demo       builds, then makes and verifies a proof on this machine'
	@echo 'make test       installs missing packages (Debian), builds, runs the tests (minutes)'
	@echo 'make test-slow  the tests that take longer (half an hour on two cores), and then make fuzz'
	@echo 'make test-sanitizers  the fast tests under the address, undefined and thread sanitizers'
	@echo 'make bench      builds and runs the benchmarks of bench/'
	@echo 'make fuzz       builds the fuzz targets (clang) and runs each for FUZZ_SECONDS (default 60)'
	@echo 'make format     lays out all sources with clang-format'

setup:
	@tools/setup-debian.sh

build: setup
	@cmake --preset release -Wno-dev >/dev/null
	@cmake --build --preset release

# Only the program, not the tests: the first build is then less than half as long.
demo: setup
	@cmake --preset release -Wno-dev >/dev/null
	@cmake --build --preset release --target cuzk_program
	@tools/demo.sh build/release/cuzk

test: build
	@ctest --preset release

# blst is compared with where it can be fetched; the tests skip it elsewhere.
test-slow: build
	@tools/oracles/fetch_blst.sh || echo 'test-slow: blst cannot be fetched (npm), so its comparison is skipped'
	@ctest --preset slow
	@$(MAKE) -s fuzz

test-sanitizers: setup
	@for preset in dev tsan; do \
	    cmake --preset $$preset -DCUZK_PLAIN_KERNELS= -Wno-dev >/dev/null && \
	        cmake --build --preset $$preset --target tests_fast && \
	        ctest --preset $$preset || exit 1; \
	done

bench: build
	@cmake --build --preset release --target bench
	@for program in build/release/bench/bench_*; do [ ! -x "$$program" ] || "$$program" || exit 1; done

FUZZ_SECONDS ?= 60
fuzz:
	@tools/setup-debian.sh fuzz
	@cmake --preset fuzz -Wno-dev >/dev/null
	@cmake --build --preset fuzz
	@tools/run-fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS)

format:
	@tools/check-format.sh --fix
