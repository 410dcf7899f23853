# SPDX-License-Identifier: Apache-2.0
"""The C ABI for ctypes: structs, type indices, flags, symbol names and function prototypes.

One table per fact, each in the order and with the names of the C headers; ``tests/conformance``
compares all of them with the contract ``abi.json``. The module loads no library: `declare` sets
the prototypes on a library that the caller has loaded.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any, NamedTuple

VERSION = (0, 1, 16)
SONAME = "libtvm_ffi.so"
DLPACK_VERSION = (1, 3)

# --- Type indices -------------------------------------------------------------------------------

kTVMFFIAny = -1
kTVMFFINone = 0
kTVMFFIInt = 1
kTVMFFIBool = 2
kTVMFFIFloat = 3
kTVMFFIOpaquePtr = 4
kTVMFFIDataType = 5
kTVMFFIDevice = 6
kTVMFFIDLTensorPtr = 7
kTVMFFIRawStr = 8
kTVMFFIByteArrayPtr = 9
kTVMFFIObjectRValueRef = 10
kTVMFFISmallStr = 11
kTVMFFISmallBytes = 12
kTVMFFIUnchanged = 13
kTVMFFIStaticObjectBegin = 64
kTVMFFIObject = 64
kTVMFFIStr = 65
kTVMFFIBytes = 66
kTVMFFIError = 67
kTVMFFIFunction = 68
kTVMFFIShape = 69
kTVMFFITensor = 70
kTVMFFIArray = 71
kTVMFFIMap = 72
kTVMFFIModule = 73
kTVMFFIOpaquePyObject = 74
kTVMFFIList = 75
kTVMFFIDict = 76
kTVMFFIVisitInterrupt = 77
kTVMFFIBigInt = 78
kTVMFFIStaticObjectEnd = 79
kTVMFFIDynObjectBegin = 128

# Keys of the static types. The first group is of plain values without a parent; the second group is
# of objects, whose parent is ffi.Object.
VALUE_TYPE_KEYS = {
    kTVMFFINone: "None",
    kTVMFFIInt: "int",
    kTVMFFIBool: "bool",
    kTVMFFIFloat: "float",
    kTVMFFIOpaquePtr: "void*",
    kTVMFFIDataType: "DataType",
    kTVMFFIDevice: "Device",
    kTVMFFIDLTensorPtr: "DLTensor*",
    kTVMFFIRawStr: "const char*",
    kTVMFFIByteArrayPtr: "TVMFFIByteArray*",
    kTVMFFIObjectRValueRef: "ObjectRValueRef",
    kTVMFFISmallStr: "ffi.SmallStr",
    kTVMFFISmallBytes: "ffi.SmallBytes",
    kTVMFFIUnchanged: "ffi.Unchanged",
}
OBJECT_TYPE_KEYS = {
    kTVMFFIObject: "ffi.Object",
    kTVMFFIStr: "ffi.String",
    kTVMFFIBytes: "ffi.Bytes",
    kTVMFFIError: "ffi.Error",
    kTVMFFIFunction: "ffi.Function",
    kTVMFFIShape: "ffi.Shape",
    kTVMFFITensor: "ffi.Tensor",
    kTVMFFIArray: "ffi.Array",
    kTVMFFIMap: "ffi.Map",
    kTVMFFIModule: "ffi.Module",
    kTVMFFIOpaquePyObject: "ffi.OpaquePyObject",
    kTVMFFIList: "ffi.List",
    kTVMFFIDict: "ffi.Dict",
    kTVMFFIVisitInterrupt: "ffi.VisitInterrupt",
    kTVMFFIBigInt: "ffi.BigInt",
}

# --- Flags, kinds and counts --------------------------------------------------------------------

kTVMFFIObjectDeleterFlagBitMaskStrong = 1
kTVMFFIObjectDeleterFlagBitMaskWeak = 2
kTVMFFIObjectDeleterFlagBitMaskBoth = 3

kTVMFFIBacktraceUpdateModeReplace = 0
kTVMFFIBacktraceUpdateModeAppend = 1

kTVMFFIFieldFlagBitMaskWritable = 1 << 0
kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1
kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2
kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3
kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4
kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5
kTVMFFIFieldFlagBitMaskReprOff = 1 << 6
kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7
kTVMFFIFieldFlagBitMaskHashOff = 1 << 8
kTVMFFIFieldFlagBitMaskInitOff = 1 << 9
kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10
kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11
kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12

kTVMFFISEqHashKindUnsupported = 0
kTVMFFISEqHashKindTreeNode = 1
kTVMFFISEqHashKindFreeVar = 2
kTVMFFISEqHashKindDAGNode = 3
kTVMFFISEqHashKindConstTreeNode = 4
kTVMFFISEqHashKindUniqueInstance = 5

kTVMFFIDefRegionKindNone = 0
kTVMFFIDefRegionKindPattern = 1
kTVMFFIDefRegionKindSimple = 2

kDLCPU = 1
kDLCUDA = 2
kDLCUDAHost = 3
kDLOpenCL = 4
kDLVulkan = 7
kDLMetal = 8
kDLVPI = 9
kDLROCM = 10
kDLROCMHost = 11
kDLExtDev = 12
kDLCUDAManaged = 13
kDLOneAPI = 14
kDLWebGPU = 15
kDLHexagon = 16
kDLMAIA = 17
kDLTrn = 18

kDLInt = 0
kDLUInt = 1
kDLFloat = 2
kDLOpaqueHandle = 3
kDLBfloat = 4
kDLComplex = 5
kDLBool = 6
kDLFloat8_e3m4 = 7
kDLFloat8_e4m3 = 8
kDLFloat8_e4m3b11fnuz = 9
kDLFloat8_e4m3fn = 10
kDLFloat8_e4m3fnuz = 11
kDLFloat8_e5m2 = 12
kDLFloat8_e5m2fnuz = 13
kDLFloat8_e8m0fnu = 14
kDLFloat6_e2m3fn = 15
kDLFloat6_e3m2fn = 16
kDLFloat4_e2m1fn = 17

DLPACK_FLAG_BITMASK_READ_ONLY = 1
DLPACK_FLAG_BITMASK_IS_COPIED = 2
DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED = 4

# Bits of a module's property mask, and the parts of the combined reference count.
MODULE_PROPERTY_MASK = {"BinarySerializable": 1, "Runnable": 2, "CompilationExportable": 4}
REFERENCE_COUNT = {
    "StrongOne": 1,
    "WeakOne": 1 << 32,
    "Initial": (1 << 32) + 1,
    "StrongMask": (1 << 32) - 1,
}

# Names in libraries.
SYMBOL_PREFIX = "__tvm_ffi_"
MAIN_SYMBOL = "__tvm_ffi_main"
LIBRARY_CTX_SYMBOL = "__tvm_ffi__library_ctx"
LIBRARY_BIN_SYMBOL = "__tvm_ffi__library_bin"
METADATA_SYMBOL_PREFIX = "__tvm_ffi__metadata_"
DOC_SYMBOL_PREFIX = "__tvm_ffi__doc_"

SMALL_STR_MAX_LEN = 7

# --- Structs ------------------------------------------------------------------------------------
# Function pointers and pointers to other structs are `c_void_p`: addresses are plain integers in
# Python, and no object of ctypes has to stay alive for them.


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.c_void_p),  # const int64_t*
        ("strides", ctypes.c_void_p),  # const int64_t*, in elements
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),  # void(DLManagedTensor*)
    ]


class DLPackVersion(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),  # void(DLManagedTensorVersioned*)
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


class DLPackExchangeAPIHeader(ctypes.Structure):
    _fields_ = [("version", DLPackVersion), ("prev_api", ctypes.c_void_p)]


class DLPackExchangeAPI(ctypes.Structure):
    _fields_ = [
        ("header", DLPackExchangeAPIHeader),
        ("managed_tensor_allocator", ctypes.c_void_p),
        ("managed_tensor_from_py_object_no_sync", ctypes.c_void_p),
        ("managed_tensor_to_py_object_no_sync", ctypes.c_void_p),
        ("dltensor_from_py_object_no_sync", ctypes.c_void_p),
        ("current_work_stream", ctypes.c_void_p),
    ]


class TVMFFIVersion(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("patch", ctypes.c_uint32),
    ]


class _Padding(ctypes.Union):
    _fields_ = [("zero_padding", ctypes.c_uint32), ("small_str_len", ctypes.c_uint32)]


class _Payload(ctypes.Union):
    _fields_ = [
        ("v_int64", ctypes.c_int64),
        ("v_float64", ctypes.c_double),
        ("v_ptr", ctypes.c_void_p),
        ("v_c_str", ctypes.c_void_p),  # const char*
        ("v_obj", ctypes.c_void_p),  # TVMFFIObject*
        ("v_dtype", DLDataType),
        ("v_device", DLDevice),
        ("v_bytes", ctypes.c_uint8 * 8),
        ("v_uint64", ctypes.c_uint64),
    ]


class TVMFFIAny(ctypes.Structure):
    _anonymous_ = ("_padding", "_payload")
    _fields_ = [("type_index", ctypes.c_int32), ("_padding", _Padding), ("_payload", _Payload)]


class _Deleter(ctypes.Union):
    _fields_ = [("deleter", ctypes.c_void_p), ("__ensure_align", ctypes.c_int64)]


class TVMFFIObject(ctypes.Structure):
    _anonymous_ = ("_deleter",)
    _fields_ = [
        ("combined_ref_count", ctypes.c_uint64),
        ("type_index", ctypes.c_int32),
        ("__padding", ctypes.c_uint32),
        ("_deleter", _Deleter),  # void(void* self, int flags)
    ]


class TVMFFIByteArray(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class TVMFFIShapeCell(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class TVMFFISeqCell(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("data_deleter", ctypes.c_void_p),  # void(void*)
    ]


class TVMFFIErrorCell(ctypes.Structure):
    _fields_ = [
        ("kind", TVMFFIByteArray),
        ("message", TVMFFIByteArray),
        ("backtrace", TVMFFIByteArray),
        ("update_backtrace", ctypes.c_void_p),
        ("cause_chain", ctypes.c_void_p),
        ("extra_context", ctypes.c_void_p),
    ]


class TVMFFIFunctionCell(ctypes.Structure):
    _fields_ = [("safe_call", ctypes.c_void_p), ("cpp_call", ctypes.c_void_p)]


class TVMFFIOpaqueObjectCell(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_void_p)]


class TVMFFIObjectAllocHeader(ctypes.Structure):
    _fields_ = [("delete_space", ctypes.c_void_p)]  # void(void* ptr)


class TVMFFICustomAllocator(ctypes.Structure):
    _fields_ = [("allocate", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class TVMFFIFieldInfo(ctypes.Structure):
    _fields_ = [
        ("name", TVMFFIByteArray),
        ("doc", TVMFFIByteArray),
        ("metadata", TVMFFIByteArray),
        ("flags", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("alignment", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("getter", ctypes.c_void_p),
        ("setter", ctypes.c_void_p),
        ("default_value_or_factory", TVMFFIAny),
        ("field_static_type_index", ctypes.c_int32),
    ]


class TVMFFIMethodInfo(ctypes.Structure):
    _fields_ = [
        ("name", TVMFFIByteArray),
        ("doc", TVMFFIByteArray),
        ("metadata", TVMFFIByteArray),
        ("flags", ctypes.c_int64),
        ("method", TVMFFIAny),
    ]


class TVMFFITypeMetadata(ctypes.Structure):
    _fields_ = [
        ("doc", TVMFFIByteArray),
        ("creator", ctypes.c_void_p),
        ("total_size", ctypes.c_int32),
        ("structural_eq_hash_kind", ctypes.c_int32),
    ]


class TVMFFITypeAttrColumn(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),  # const TVMFFIAny*
        ("size", ctypes.c_int32),
        ("begin_index", ctypes.c_int32),
    ]


class TVMFFITypeInfo(ctypes.Structure):
    _fields_ = [
        ("type_index", ctypes.c_int32),
        ("type_depth", ctypes.c_int32),
        ("type_key", TVMFFIByteArray),
        ("type_ancestors", ctypes.c_void_p),  # const TVMFFITypeInfo**, root first
        ("type_key_hash", ctypes.c_uint64),
        ("num_fields", ctypes.c_int32),
        ("num_methods", ctypes.c_int32),
        ("fields", ctypes.c_void_p),
        ("methods", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    ]


STRUCTS = {
    struct.__name__: struct
    for struct in (
        TVMFFIVersion, TVMFFIAny, TVMFFIObject, TVMFFIByteArray, TVMFFIShapeCell, TVMFFISeqCell,
        TVMFFIErrorCell, TVMFFIFunctionCell, TVMFFIOpaqueObjectCell, TVMFFIObjectAllocHeader,
        TVMFFICustomAllocator, TVMFFIFieldInfo, TVMFFIMethodInfo, TVMFFITypeMetadata,
        TVMFFITypeAttrColumn, TVMFFITypeInfo, DLDevice, DLDataType, DLTensor, DLManagedTensor,
        DLPackVersion, DLManagedTensorVersioned, DLPackExchangeAPIHeader, DLPackExchangeAPI,
    )
}  # fmt: skip

HEADER_SIZE = ctypes.sizeof(TVMFFIObject)

# --- Functions ----------------------------------------------------------------------------------

FUNCTIONS_TEXT = """
void TVMFFIGetVersion(TVMFFIVersion* out_version)
int TVMFFIObjectIncRef(TVMFFIObjectHandle obj)
int TVMFFIObjectDecRef(TVMFFIObjectHandle obj)
int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index, void (*deleter)(void*), TVMFFIObjectHandle* out)
TVMFFICustomAllocator* TVMFFIGetCustomAllocator()
int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator)
int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex)
int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void*), TVMFFIObjectHandle* out)
int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out)
int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out)
int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)
void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result)
void TVMFFIErrorSetRaised(TVMFFIObjectHandle error)
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message)
void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts, int32_t num_parts)
int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out)
int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace, TVMFFIObjectHandle cause_chain, TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out)
int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment, int32_t require_contiguous, TVMFFIObjectHandle* out)
int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out)
int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t require_alignment, int32_t require_contiguous, TVMFFIObjectHandle* out)
int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out)
int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype, TVMFFIObjectHandle* out)
int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out)
int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out)
int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out)
TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value)
int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out)
int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out)
int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f, int allow_override)
int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info, int allow_override)
int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info)
int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info)
int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata)
int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name, const TVMFFIAny* attr_value)
const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name)
const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno, const char* func, int cross_ffi_boundary)
int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key, int32_t static_type_index, int32_t type_depth, int32_t num_child_slots, int32_t child_slots_can_overflow, int32_t parent_type_index)
const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index)
int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void**))
int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void*))
int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream, TVMFFIStreamHandle* opt_out_original_stream)
TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id)
int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator, int write_to_global_context, DLPackManagedTensorAllocator* opt_out_original_allocator)
DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator()
int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out)
int TVMFFIEnvCheckSignals()
int TVMFFIEnvRegisterCAPI(const char* name, void* symbol)
int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name, TVMFFIObjectHandle* out)
int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol)
int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol)
"""

# Function pointer types, by their names in the headers.
FUNCTION_TYPES_TEXT = """
int TVMFFISafeCallType(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)
int TVMFFIFieldGetter(void* field, TVMFFIAny* result)
int TVMFFIFieldSetter(void* field, const TVMFFIAny* value)
int TVMFFIObjectCreator(TVMFFIObjectHandle* result)
int DLPackManagedTensorAllocator(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx, void (*SetError)(void*, const char*, const char*))
int DLPackManagedTensorFromPyObjectNoSync(void* py_object, DLManagedTensorVersioned** out)
int DLPackManagedTensorToPyObjectNoSync(DLManagedTensorVersioned* tensor, void** out_py_object)
int DLPackDLTensorFromPyObjectNoSync(void* py_object, DLTensor* out)
int DLPackCurrentWorkStream(DLDeviceType device_type, int32_t device_id, void** out_current_stream)
void ObjectDeleter(void* self, int flags)
void UpdateBacktrace(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t update_mode)
"""


class Parameter(NamedTuple):
    """One parameter: its name and its C type, ``(*)`` marking the name of a function pointer."""

    name: str
    c_type: str


class Prototype(NamedTuple):
    """One C function or function pointer type."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...]

    @property
    def restype(self) -> Any:
        """The ctypes type of the result; None for ``void``."""
        return ctypes_type(self.returns)

    @property
    def argtypes(self) -> list[Any]:
        """The ctypes types of the parameters."""
        return [ctypes_type(parameter.c_type) for parameter in self.parameters]

    @property
    def callback(self) -> Any:
        """The ctypes class of Python callbacks with this prototype."""
        return ctypes.CFUNCTYPE(self.restype, *self.argtypes)


def _parameter(text: str) -> Parameter:
    """Return the parameter that `text` declares."""
    pointer = re.fullmatch(r"(\w+ )\(\*(\w+)\)(\(.*\))", text)
    if pointer:
        return Parameter(pointer[2], f"{pointer[1]}(*){pointer[3]}")
    c_type, name = re.fullmatch(r"(.*[\s*])(\w+)", text).groups()  # type: ignore[union-attr]
    return Parameter(name, c_type.strip())


def prototypes(text: str) -> dict[str, Prototype]:
    """Return the declarations in `text`, one a line, by name."""
    found = {}
    for line in text.strip().splitlines():
        returns, name, parameters = re.fullmatch(r"(.*[\s*])(\w+)\((.*)\)", line).groups()  # type: ignore[union-attr]
        # A comma inside the parentheses of a function pointer separates nothing here.
        parts = re.split(r",\s*(?![^()]*\))", parameters) if parameters else []
        found[name] = Prototype(name, returns.strip(), tuple(map(_parameter, parts)))
    return found


_INTEGERS = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64,
    "DLDeviceType": ctypes.c_int32,
}


def ctypes_type(c_type: str) -> Any:
    """Return the ctypes type of a C type in a prototype: pointers of all kinds are `c_void_p`."""
    if c_type == "void":
        return None
    return _INTEGERS.get(c_type) or STRUCTS.get(c_type) or ctypes.c_void_p


FUNCTION_TYPES = prototypes(FUNCTION_TYPES_TEXT)
FUNCTIONS = prototypes(FUNCTIONS_TEXT)


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Set the prototypes of all C functions of the ABI that `library` exports; return `library`."""
    for name, prototype in FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is not None:
            function.restype, function.argtypes = prototype.restype, prototype.argtypes
    return library


def callback(type_name: str) -> Any:
    """Return the ctypes class of callbacks of a function pointer type, such as `ObjectDeleter`."""
    return FUNCTION_TYPES[type_name].callback
