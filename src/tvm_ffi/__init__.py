# SPDX-License-Identifier: Apache-2.0
"""Functions, tensors and errors that cross between Python and any other language at C speed.

>>> import tvm_ffi
>>> add_one = tvm_ffi.convert_func(lambda x: x + 1)
>>> add_one(41)
42

Importing this package loads no array library, starts no process, writes no file and installs no
signal handler.
"""

from os import environ as _environ

# Import `_binding` before `core`: it raises ImportError if `core` is a module of apache-tvm-ffi.
from . import _binding, core, serialization
from ._binding.object import register_late_classes as _register_late_classes
from ._convert import convert
from ._dtype import (
    bfloat16 as bfloat16,
    bool as bool,  # noqa: A004  (the dtype `bool`; not in `__all__`)
    dtype as dtype,
    float4_e2m1fn as float4_e2m1fn,
    float4_e2m1fnx2 as float4_e2m1fnx2,
    float6_e2m3fn as float6_e2m3fn,
    float6_e3m2fn as float6_e3m2fn,
    float8_e3m4 as float8_e3m4,
    float8_e4m3 as float8_e4m3,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from ._internal.lazy import TYPE_CHECKING as _TYPE_CHECKING
from ._internal.lazy import late_attributes as _late_attributes
from ._tensor import Shape, device, from_dlpack
from ._version import __version__, __version_tuple__
from .container import Array, Dict, List, Map
from .core import (
    CAny as CAny,
    CContainerBase as CContainerBase,
    Device,
    Function,
    Object,
    ObjectConvertible,
    PreparedCall,
    Sequence,
    Tensor,
    convert_func,
    run,
)
from .error import register_error
from .module import Module, load_module, system_lib
from .registry import (
    get_global_func,
    get_global_func_metadata,
    init_ffi_api,
    register_global_func,
    register_object,
    remove_global_func,
)
from .stream import StreamContext, get_raw_stream, use_raw_stream, use_torch_stream

__all__ = [
    "Array",
    "DLDeviceType",
    "DefRegionKind",
    "Device",
    "Dict",
    "Dispatch",
    "Function",
    "InplaceMode",
    "List",
    "Map",
    "Module",
    "Object",
    "ObjectConvertible",
    "PreparedCall",
    "Sequence",
    "Shape",
    "Signature",
    "StreamContext",
    "StructuralKey",
    "StructuralMutator",
    "StructuralVisitor",
    "Tensor",
    "TensorLike",
    "VisitInterrupt",
    "WalkOrder",
    "WalkResult",
    "__version__",
    "__version_tuple__",
    "access_path",
    "builds",
    "convert",
    "convert_func",
    "core",
    "debug",
    "device",
    "dispatch",
    "dtype",
    "export_library",
    "from_dlpack",
    "get_first_structural_mismatch",
    "get_global_func",
    "get_global_func_metadata",
    "get_printoptions",
    "get_raw_stream",
    "init_ffi_api",
    "load_module",
    "method",
    "printoptions",
    "readonly",
    "record",
    "register_error",
    "register_global_func",
    "register_object",
    "remove_global_func",
    "run",
    "serialization",
    "set_printoptions",
    "stats",
    "structural",
    "structural_equal",
    "structural_hash",
    "structural_map",
    "structural_mutate",
    "structural_visit",
    "structural_walk",
    "system_lib",
    "trace",
    "unchecked",
    "use_raw_stream",
    "use_torch_stream",
]

if _TYPE_CHECKING:
    from ctypes import CDLL

    from . import (
        access_path,
        builds,
        codegen,
        cpp,
        cuda,
        dataclasses,
        dispatches,
        export,
        inspection,
        libinfo,
        observe,
        signature,
        structural,
        stub,
        testing,
        utils,
    )
    from ._binding.call import unchecked
    from ._binding.tensor import readonly
    from ._internal.dlpack_codes import DLDeviceType
    from ._internal.printing import get_printoptions, printoptions, set_printoptions
    from .dataclasses.py_class import method
    from .dispatches import Dispatch, dispatch
    from .export import export_library
    from .observe import debug, ranges, record, stats, trace
    from .signature import Signature, TensorLike
    from .structural import (
        DefRegionKind,
        InplaceMode,
        StructuralKey,
        StructuralMutator,
        StructuralVisitor,
        VisitInterrupt,
        WalkOrder,
        WalkResult,
        get_first_structural_mismatch,
        structural_equal,
        structural_hash,
        structural_map,
        structural_mutate,
        structural_visit,
        structural_walk,
    )

    LIB: CDLL

_register_late_classes(
    {
        "ffi.StructuralKey": "tvm_ffi.structural",
        "ffi.StructuralMutator": "tvm_ffi.structural",
        "ffi.StructuralVisitor": "tvm_ffi.structural",
        "ffi.VisitErrorContext": "tvm_ffi.structural",
        "ffi.VisitInterrupt": "tvm_ffi.structural",
        "ffi.reflection.AccessPath": "tvm_ffi.access_path",
        "ffi.reflection.AccessStep": "tvm_ffi.access_path",
    }
)


def _runtime_for_ctypes() -> object:
    """Return the runtime library as a `ctypes.CDLL`, the value of ``tvm_ffi.LIB``."""
    import ctypes

    return globals().setdefault("LIB", ctypes.CDLL(core._load.library_path, ctypes.RTLD_GLOBAL))


__getattr__ = _late_attributes(
    globals(),
    {
        "DLDeviceType": "._internal.dlpack_codes:DLDeviceType",
        "LIB": _runtime_for_ctypes,
        "access_path": ".access_path",
        "builds": ".builds",
        "codegen": ".codegen",
        "cpp": ".cpp",
        "cuda": ".cuda",
        "dataclasses": ".dataclasses",
        "Dispatch": ".dispatches:Dispatch",
        "dispatch": ".dispatches:dispatch",
        "dispatches": ".dispatches",
        "export": ".export",
        "export_library": ".export:export_library",
        "inspection": ".inspection",
        "libinfo": ".libinfo",
        "get_printoptions": "._internal.printing:get_printoptions",
        "observe": ".observe",
        "debug": ".observe:debug",
        "ranges": ".observe:ranges",
        "record": ".observe:record",
        "stats": ".observe:stats",
        "trace": ".observe:trace",
        "method": ".dataclasses.py_class:method",
        "readonly": "._binding.tensor:readonly",
        "signature": ".signature",
        "Signature": ".signature:Signature",
        "TensorLike": ".signature:TensorLike",
        "printoptions": "._internal.printing:printoptions",
        "set_printoptions": "._internal.printing:set_printoptions",
        "structural": ".structural",
        "DefRegionKind": ".structural:DefRegionKind",
        "InplaceMode": ".structural:InplaceMode",
        "StructuralKey": ".structural:StructuralKey",
        "StructuralMutator": ".structural:StructuralMutator",
        "StructuralVisitor": ".structural:StructuralVisitor",
        "VisitInterrupt": ".structural:VisitInterrupt",
        "WalkOrder": ".structural:WalkOrder",
        "WalkResult": ".structural:WalkResult",
        "get_first_structural_mismatch": ".structural:get_first_structural_mismatch",
        "structural_equal": ".structural:structural_equal",
        "structural_hash": ".structural:structural_hash",
        "structural_map": ".structural:structural_map",
        "structural_mutate": ".structural:structural_mutate",
        "structural_visit": ".structural:structural_visit",
        "structural_walk": ".structural:structural_walk",
        "unchecked": "._binding.call:unchecked",
        "stub": ".stub",
        "testing": ".testing",
        "utils": ".utils",
    },
    public=[name for name in globals() if not name.startswith("_")],
)

# The policy of this variable also holds for frameworks, so they are observed from now on.
if _environ.get("TVM_FFI_BUILDS"):
    from .builds import follow_variable as _follow_variable

    _follow_variable()

if _environ.get("TVM_FFI_DEBUG"):
    from .observe._debug_process import debug_process as _debug_process

    _debug_process()
