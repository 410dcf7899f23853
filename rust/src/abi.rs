// SPDX-License-Identifier: Apache-2.0
//! Declarations of the C ABI: `tvm/ffi/c_api.h`, `tvm/ffi/extra/c_env_api.h` and `dlpack/dlpack.h`.
//!
//! The names are the names in the headers, which document meaning, ownership and thread safety.
//! `tests/abi/test_rust_layout.py` compares sizes, offsets, values and prototypes with the headers'
//! contract. The file uses no other module of the crate.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, missing_docs)]

use std::ffi::{c_char, c_int, c_void};

/// The ABI level (the release of the C ABI) of these declarations.
pub const TVM_FFI_VERSION: (u32, u32, u32) = (0, 1, 16);
/// The DLPack version of these declarations.
pub const DLPACK_VERSION: (u32, u32) = (1, 3);

pub type TVMFFIObjectHandle = *mut c_void;
pub type TVMFFIStreamHandle = *mut c_void;
pub type DLDeviceType = i32;

// ---- Enums as integer constants, because C may pass any number ---------------------------------

macro_rules! constants {
    ($($group:ident: $type:ty { $($name:ident = $value:expr),* $(,)? })*) => {
        $($(pub const $name: $type = $value;)*)*
    };
}

constants! {
        TVMFFITypeIndex: i32 {
            kTVMFFIAny = -1,
            kTVMFFINone = 0,
            kTVMFFIInt = 1,
            kTVMFFIBool = 2,
            kTVMFFIFloat = 3,
            kTVMFFIOpaquePtr = 4,
            kTVMFFIDataType = 5,
            kTVMFFIDevice = 6,
            kTVMFFIDLTensorPtr = 7,
            kTVMFFIRawStr = 8,
            kTVMFFIByteArrayPtr = 9,
            kTVMFFIObjectRValueRef = 10,
            kTVMFFISmallStr = 11,
            kTVMFFISmallBytes = 12,
            kTVMFFIUnchanged = 13,
            kTVMFFIStaticObjectBegin = 64,
            kTVMFFIObject = 64,
            kTVMFFIStr = 65,
            kTVMFFIBytes = 66,
            kTVMFFIError = 67,
            kTVMFFIFunction = 68,
            kTVMFFIShape = 69,
            kTVMFFITensor = 70,
            kTVMFFIArray = 71,
            kTVMFFIMap = 72,
            kTVMFFIModule = 73,
            kTVMFFIOpaquePyObject = 74,
            kTVMFFIList = 75,
            kTVMFFIDict = 76,
            kTVMFFIVisitInterrupt = 77,
            kTVMFFIBigInt = 78,
            kTVMFFIStaticObjectEnd = 79,
            kTVMFFIDynObjectBegin = 128,
        }
        TVMFFIObjectDeleterFlagBitMask: i32 {
            kTVMFFIObjectDeleterFlagBitMaskStrong = 1,
            kTVMFFIObjectDeleterFlagBitMaskWeak = 2,
            kTVMFFIObjectDeleterFlagBitMaskBoth = 3,
        }
        TVMFFIBacktraceUpdateMode: i32 {
            kTVMFFIBacktraceUpdateModeReplace = 0,
            kTVMFFIBacktraceUpdateModeAppend = 1,
        }
        TVMFFIFieldFlagBitMask: i64 {
            kTVMFFIFieldFlagBitMaskWritable = 1,
            kTVMFFIFieldFlagBitMaskHasDefault = 2,
            kTVMFFIFieldFlagBitMaskIsStaticMethod = 4,
            kTVMFFIFieldFlagBitMaskSEqHashIgnore = 8,
            kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 16,
            kTVMFFIFieldFlagBitMaskDefaultFromFactory = 32,
            kTVMFFIFieldFlagBitMaskReprOff = 64,
            kTVMFFIFieldFlagBitMaskCompareOff = 128,
            kTVMFFIFieldFlagBitMaskHashOff = 256,
            kTVMFFIFieldFlagBitMaskInitOff = 512,
            kTVMFFIFieldFlagBitMaskKwOnly = 1024,
            kTVMFFIFieldFlagBitSetterIsFunctionObj = 2048,
            kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 4096,
        }
        TVMFFISEqHashKind: i32 {
            kTVMFFISEqHashKindUnsupported = 0,
            kTVMFFISEqHashKindTreeNode = 1,
            kTVMFFISEqHashKindFreeVar = 2,
            kTVMFFISEqHashKindDAGNode = 3,
            kTVMFFISEqHashKindConstTreeNode = 4,
            kTVMFFISEqHashKindUniqueInstance = 5,
        }
        TVMFFIDefRegionKind: i32 {
            kTVMFFIDefRegionKindNone = 0,
            kTVMFFIDefRegionKindPattern = 1,
            kTVMFFIDefRegionKindSimple = 2,
        }
        DLDeviceType: i32 {
            kDLCPU = 1,
            kDLCUDA = 2,
            kDLCUDAHost = 3,
            kDLOpenCL = 4,
            kDLVulkan = 7,
            kDLMetal = 8,
            kDLVPI = 9,
            kDLROCM = 10,
            kDLROCMHost = 11,
            kDLExtDev = 12,
            kDLCUDAManaged = 13,
            kDLOneAPI = 14,
            kDLWebGPU = 15,
            kDLHexagon = 16,
            kDLMAIA = 17,
            kDLTrn = 18,
        }
        DLDataTypeCode: u8 {
            kDLInt = 0,
            kDLUInt = 1,
            kDLFloat = 2,
            kDLOpaqueHandle = 3,
            kDLBfloat = 4,
            kDLComplex = 5,
            kDLBool = 6,
            kDLFloat8_e3m4 = 7,
            kDLFloat8_e4m3 = 8,
            kDLFloat8_e4m3b11fnuz = 9,
            kDLFloat8_e4m3fn = 10,
            kDLFloat8_e4m3fnuz = 11,
            kDLFloat8_e5m2 = 12,
            kDLFloat8_e5m2fnuz = 13,
            kDLFloat8_e8m0fnu = 14,
            kDLFloat6_e2m3fn = 15,
            kDLFloat6_e3m2fn = 16,
            kDLFloat4_e2m1fn = 17,
        }
        DLPackFlagBitMask: u64 {
            DLPACK_FLAG_BITMASK_READ_ONLY = 1,
            DLPACK_FLAG_BITMASK_IS_COPIED = 2,
            DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED = 4,
        }
}

// ---- Function types ----------------------------------------------------------------------------

pub type TVMFFISafeCallType =
    Option<unsafe extern "C" fn(*mut c_void, *const TVMFFIAny, i32, *mut TVMFFIAny) -> c_int>;
pub type TVMFFIFieldGetter = Option<unsafe extern "C" fn(*mut c_void, *mut TVMFFIAny) -> c_int>;
pub type TVMFFIFieldSetter = Option<unsafe extern "C" fn(*mut c_void, *const TVMFFIAny) -> c_int>;
pub type TVMFFIObjectCreator = Option<unsafe extern "C" fn(*mut TVMFFIObjectHandle) -> c_int>;
pub type DLPackManagedTensorAllocator = Option<
    unsafe extern "C" fn(
        *mut DLTensor,
        *mut *mut DLManagedTensorVersioned,
        *mut c_void,
        Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
    ) -> c_int,
>;
pub type DLPackManagedTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>;
pub type DLPackManagedTensorToPyObjectNoSync =
    Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>;
pub type DLPackDLTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>;
pub type DLPackCurrentWorkStream =
    Option<unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int>;

// ---- DLPack ------------------------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDevice {
    pub device_type: DLDeviceType,
    pub device_id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLPackExchangeAPIHeader {
    pub version: DLPackVersion,
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLPackExchangeAPI {
    pub header: DLPackExchangeAPIHeader,
    pub managed_tensor_allocator: DLPackManagedTensorAllocator,
    pub managed_tensor_from_py_object_no_sync: DLPackManagedTensorFromPyObjectNoSync,
    pub managed_tensor_to_py_object_no_sync: DLPackManagedTensorToPyObjectNoSync,
    pub dltensor_from_py_object_no_sync: DLPackDLTensorFromPyObjectNoSync,
    pub current_work_stream: DLPackCurrentWorkStream,
}

// ---- Values and objects --------------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TVMFFIVersion {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// Bytes 4 to 7 of a value: the length of a small string or small bytes; 0 for other values.
#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIAnyPadding {
    pub zero_padding: u32,
    pub small_str_len: u32,
}

/// The 8-byte payload of a value; bytes that the member does not use are 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub union TVMFFIAnyPayload {
    pub v_int64: i64,
    pub v_float64: f64,
    pub v_ptr: *mut c_void,
    pub v_c_str: *const c_char,
    pub v_obj: *mut TVMFFIObject,
    pub v_dtype: DLDataType,
    pub v_device: DLDevice,
    pub v_bytes: [c_char; 8],
    pub v_uint64: u64,
}

/// A value of the ABI: a type index, and a payload of 8 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIAny {
    pub type_index: i32,
    pub padding: TVMFFIAnyPadding,
    pub payload: TVMFFIAnyPayload,
}

pub type TVMFFIObjectDeleter = Option<unsafe extern "C" fn(*mut c_void, c_int)>;

/// The 24-byte header at the beginning of every object.
#[repr(C)]
pub struct TVMFFIObject {
    pub combined_ref_count: std::sync::atomic::AtomicU64,
    pub type_index: i32,
    pub __padding: u32,
    pub deleter: TVMFFIObjectDeleter,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TVMFFIByteArray {
    pub data: *const c_char,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TVMFFIShapeCell {
    pub data: *const i64,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFISeqCell {
    pub data: *mut c_void,
    pub size: i64,
    pub capacity: i64,
    pub data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIOpaqueObjectCell {
    pub handle: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIFunctionCell {
    pub safe_call: TVMFFISafeCallType,
    pub cpp_call: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIErrorCell {
    pub kind: TVMFFIByteArray,
    pub message: TVMFFIByteArray,
    pub backtrace: TVMFFIByteArray,
    pub update_backtrace:
        Option<unsafe extern "C" fn(TVMFFIObjectHandle, *const TVMFFIByteArray, i32)>,
    pub cause_chain: TVMFFIObjectHandle,
    pub extra_context: TVMFFIObjectHandle,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIObjectAllocHeader {
    pub delete_space: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFICustomAllocator {
    pub allocate: Option<unsafe extern "C" fn(usize, usize, i32, *mut c_void) -> *mut c_void>,
    pub context: *mut c_void,
}

// ---- Type table ------------------------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIFieldInfo {
    pub name: TVMFFIByteArray,
    pub doc: TVMFFIByteArray,
    pub metadata: TVMFFIByteArray,
    pub flags: i64,
    pub size: i64,
    pub alignment: i64,
    pub offset: i64,
    pub getter: TVMFFIFieldGetter,
    pub setter: *mut c_void,
    pub default_value_or_factory: TVMFFIAny,
    pub field_static_type_index: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFIMethodInfo {
    pub name: TVMFFIByteArray,
    pub doc: TVMFFIByteArray,
    pub metadata: TVMFFIByteArray,
    pub flags: i64,
    pub method: TVMFFIAny,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFITypeMetadata {
    pub doc: TVMFFIByteArray,
    pub creator: TVMFFIObjectCreator,
    pub total_size: i32,
    pub structural_eq_hash_kind: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFITypeAttrColumn {
    pub data: *const TVMFFIAny,
    pub size: i32,
    pub begin_index: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TVMFFITypeInfo {
    pub type_index: i32,
    pub type_depth: i32,
    pub type_key: TVMFFIByteArray,
    pub type_ancestors: *mut *const TVMFFITypeInfo,
    pub type_key_hash: u64,
    pub num_fields: i32,
    pub num_methods: i32,
    pub fields: *const TVMFFIFieldInfo,
    pub methods: *const TVMFFIMethodInfo,
    pub metadata: *const TVMFFITypeMetadata,
}

// ---- Functions of libtvm_ffi -------------------------------------------------------------------
// A program links libtvm_ffi.  A `cdylib` uses the libtvm_ffi that its process has loaded.

extern "C" {
    pub fn TVMFFIGetVersion(out_version: *mut TVMFFIVersion);
    pub fn TVMFFIObjectIncRef(obj: TVMFFIObjectHandle) -> c_int;
    pub fn TVMFFIObjectDecRef(obj: TVMFFIObjectHandle) -> c_int;
    pub fn TVMFFIObjectCreateOpaque(
        handle: *mut c_void,
        type_index: i32,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIGetCustomAllocator() -> *mut TVMFFICustomAllocator;
    pub fn TVMFFISetCustomAllocator(allocator: *mut TVMFFICustomAllocator) -> c_int;
    pub fn TVMFFITypeKeyToIndex(type_key: *const TVMFFIByteArray, out_tindex: *mut i32) -> c_int;
    pub fn TVMFFIFunctionCreate(
        this: *mut c_void,
        safe_call: TVMFFISafeCallType,
        deleter: Option<unsafe extern "C" fn(*mut c_void)>,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIFunctionGetGlobal(
        name: *const TVMFFIByteArray,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIAnyViewToOwnedAny(any_view: *const TVMFFIAny, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIFunctionCall(
        func: TVMFFIObjectHandle,
        args: *mut TVMFFIAny,
        num_args: i32,
        result: *mut TVMFFIAny,
    ) -> c_int;
    pub fn TVMFFIErrorMoveFromRaised(result: *mut TVMFFIObjectHandle);
    pub fn TVMFFIErrorSetRaised(error: TVMFFIObjectHandle);
    pub fn TVMFFIErrorSetRaisedFromCStr(kind: *const c_char, message: *const c_char);
    pub fn TVMFFIErrorSetRaisedFromCStrParts(
        kind: *const c_char,
        message_parts: *mut *const c_char,
        num_parts: i32,
    );
    pub fn TVMFFIErrorCreate(
        kind: *const TVMFFIByteArray,
        message: *const TVMFFIByteArray,
        backtrace: *const TVMFFIByteArray,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIErrorCreateWithCauseAndExtraContext(
        kind: *const TVMFFIByteArray,
        message: *const TVMFFIByteArray,
        backtrace: *const TVMFFIByteArray,
        cause_chain: TVMFFIObjectHandle,
        extra_context: TVMFFIObjectHandle,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFITensorFromDLPack(
        source: *mut DLManagedTensor,
        require_alignment: i32,
        require_contiguous: i32,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFITensorToDLPack(
        source: TVMFFIObjectHandle,
        out: *mut *mut DLManagedTensor,
    ) -> c_int;
    pub fn TVMFFITensorFromDLPackVersioned(
        source: *mut DLManagedTensorVersioned,
        require_alignment: i32,
        require_contiguous: i32,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFITensorToDLPackVersioned(
        source: TVMFFIObjectHandle,
        out: *mut *mut DLManagedTensorVersioned,
    ) -> c_int;
    pub fn TVMFFITensorCreateUnsafeView(
        source: TVMFFIObjectHandle,
        prototype: *const DLTensor,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIStringFromByteArray(input: *const TVMFFIByteArray, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIBytesFromByteArray(input: *const TVMFFIByteArray, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIBigIntFromByteArray(input: *const TVMFFIByteArray, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIBigIntGetContentByteArray(value: *const TVMFFIAny) -> TVMFFIByteArray;
    pub fn TVMFFIDataTypeFromString(text: *const TVMFFIByteArray, out: *mut DLDataType) -> c_int;
    pub fn TVMFFIDataTypeToString(dtype: *const DLDataType, out: *mut TVMFFIAny) -> c_int;
    pub fn TVMFFIFunctionSetGlobal(
        name: *const TVMFFIByteArray,
        f: TVMFFIObjectHandle,
        allow_override: c_int,
    ) -> c_int;
    pub fn TVMFFIFunctionSetGlobalFromMethodInfo(
        method_info: *const TVMFFIMethodInfo,
        allow_override: c_int,
    ) -> c_int;
    pub fn TVMFFITypeRegisterField(type_index: i32, info: *const TVMFFIFieldInfo) -> c_int;
    pub fn TVMFFITypeRegisterMethod(type_index: i32, info: *const TVMFFIMethodInfo) -> c_int;
    pub fn TVMFFITypeRegisterMetadata(
        type_index: i32,
        metadata: *const TVMFFITypeMetadata,
    ) -> c_int;
    pub fn TVMFFITypeRegisterAttr(
        type_index: i32,
        attr_name: *const TVMFFIByteArray,
        attr_value: *const TVMFFIAny,
    ) -> c_int;
    pub fn TVMFFIGetTypeAttrColumn(
        attr_name: *const TVMFFIByteArray,
    ) -> *const TVMFFITypeAttrColumn;
    pub fn TVMFFIBacktrace(
        filename: *const c_char,
        lineno: c_int,
        func: *const c_char,
        cross_ffi_boundary: c_int,
    ) -> *const TVMFFIByteArray;
    pub fn TVMFFITypeGetOrAllocIndex(
        type_key: *const TVMFFIByteArray,
        static_type_index: i32,
        type_depth: i32,
        num_child_slots: i32,
        child_slots_can_overflow: i32,
        parent_type_index: i32,
    ) -> i32;
    pub fn TVMFFIGetTypeInfo(type_index: i32) -> *const TVMFFITypeInfo;
    pub fn TVMFFIHandleInitOnce(
        handle_addr: *mut *mut c_void,
        init_func: Option<unsafe extern "C" fn(*mut *mut c_void) -> c_int>,
    ) -> c_int;
    pub fn TVMFFIHandleDeinitOnce(
        handle_addr: *mut *mut c_void,
        deinit_func: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    ) -> c_int;
    pub fn TVMFFIEnvSetStream(
        device_type: i32,
        device_id: i32,
        stream: TVMFFIStreamHandle,
        opt_out_original_stream: *mut TVMFFIStreamHandle,
    ) -> c_int;
    pub fn TVMFFIEnvGetStream(device_type: i32, device_id: i32) -> TVMFFIStreamHandle;
    pub fn TVMFFIEnvSetDLPackManagedTensorAllocator(
        allocator: DLPackManagedTensorAllocator,
        write_to_global_context: c_int,
        opt_out_original_allocator: *mut DLPackManagedTensorAllocator,
    ) -> c_int;
    pub fn TVMFFIEnvGetDLPackManagedTensorAllocator() -> DLPackManagedTensorAllocator;
    pub fn TVMFFIEnvTensorAlloc(prototype: *mut DLTensor, out: *mut TVMFFIObjectHandle) -> c_int;
    pub fn TVMFFIEnvCheckSignals() -> c_int;
    pub fn TVMFFIEnvRegisterCAPI(name: *const c_char, symbol: *mut c_void) -> c_int;
    pub fn TVMFFIEnvModLookupFromImports(
        library_ctx: TVMFFIObjectHandle,
        func_name: *const c_char,
        out: *mut TVMFFIObjectHandle,
    ) -> c_int;
    pub fn TVMFFIEnvModRegisterContextSymbol(name: *const c_char, symbol: *mut c_void) -> c_int;
    pub fn TVMFFIEnvModRegisterSystemLibSymbol(name: *const c_char, symbol: *mut c_void) -> c_int;
}
