# SPDX-License-Identifier: Apache-2.0
"""Options of ``tvm-ffi-stubgen``; descriptions of reflected functions, fields and object types."""

from ._stubgen.object_info import MISSING, FuncInfo, InitFieldInfo, NamedTypeSchema, ObjectInfo
from ._stubgen.options import InitConfig, Options

__all__ = [
    "MISSING",
    "FuncInfo",
    "InitConfig",
    "InitFieldInfo",
    "NamedTypeSchema",
    "ObjectInfo",
    "Options",
]

for _class in (FuncInfo, InitConfig, InitFieldInfo, NamedTypeSchema, ObjectInfo, Options):
    _class.__module__ = __name__
