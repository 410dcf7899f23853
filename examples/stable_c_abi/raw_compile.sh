#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Build the kernel library and the program load with compiler commands, then run the program.
# The script needs a C11 compiler named `cc` and the command `tvm-ffi-config` of the Python package.
set -eu
cd "$(dirname "$0")"
mkdir -p build

# [kernel.begin]
cc -std=c11 -O2 -fPIC -shared src/add_one_cpu.c \
  $(tvm-ffi-config --cflags --ldflags --libs) \
  -Wl,-rpath,"$(tvm-ffi-config --libdir)" \
  -o build/add_one_cpu.so
# [kernel.end]

# [load.begin]
cc -std=c11 -O2 src/load.c \
  $(tvm-ffi-config --cflags --ldflags --libs) \
  -Wl,-rpath,"$(tvm-ffi-config --libdir)" \
  -o build/load
build/load
# [load.end]
