# SPDX-License-Identifier: Apache-2.0
"""Implementation of ``tvm-ffi-stubgen``; the public modules of `tvm_ffi.stub` re-export from here.

`command_line` parses the options, `pipeline` reads and writes files, `source_file` and `blocks`
split a file at its marker lines, `registered` and `object_info` describe the registered functions
and types.  `python` and `rust` generate the text for one language each; `target` is their
interface.
"""
