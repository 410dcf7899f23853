# SPDX-License-Identifier: Apache-2.0
"""Type stubs, and Rust mirrors, for what native libraries register.

``tvm-ffi-stubgen`` (`cli`) fills blocks between marker lines of source files.  Steps: `file_utils`
splits a file into blocks, `lib_state` says what is registered, a generator (`generator`) writes the
text of one language, and `_pipeline` connects them.  Nothing here is loaded by ``import tvm_ffi``.
"""
