# SPDX-License-Identifier: Apache-2.0
"""Link an object file into this process with the published package apache-tvm-ffi-orcjit.

python use_orcjit.py OBJECT
"""

import sys

import pytest
import tvm_ffi_orcjit

import tvm_ffi

module = tvm_ffi_orcjit.default_session().load_module(sys.argv[1])
assert type(module) is tvm_ffi.Module
assert module.add_one(41) == 42
with pytest.raises(TypeError, match="add_one takes an int"):
    module.add_one("text")
assert module.implements_function("add_one")
assert not module.implements_function("missing")
print("used orcjit")
