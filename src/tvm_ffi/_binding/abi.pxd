# SPDX-License-Identifier: Apache-2.0
# Declarations of the C ABI (tvm/ffi/c_api.h, tvm/ffi/extra/c_env_api.h, dlpack.h), of the host
# calls (tvm/ffi/extra/c_host_call.h), of the observers (tvm/ffi/extra/c_observe.h) and of the
# prepared calls (tvm/ffi/extra/c_prepared.h).  The C compiler takes layouts and values from the
# headers, so a declaration here that differs from its header is a compile error or has no effect.
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

cdef extern from "dlpack/dlpack.h" nogil:
    enum:
        DLPACK_MAJOR_VERSION
        DLPACK_MINOR_VERSION
    uint64_t DLPACK_FLAG_BITMASK_READ_ONLY
    uint64_t DLPACK_FLAG_BITMASK_IS_COPIED

    ctypedef enum DLDeviceType:
        kDLCPU
        kDLCUDA
        kDLCUDAHost
        kDLOpenCL
        kDLVulkan
        kDLMetal
        kDLVPI
        kDLROCM
        kDLROCMHost
        kDLExtDev
        kDLCUDAManaged
        kDLOneAPI
        kDLWebGPU
        kDLHexagon
        kDLMAIA
        kDLTrn

    ctypedef enum DLDataTypeCode:
        kDLInt
        kDLUInt
        kDLFloat
        kDLOpaqueHandle
        kDLBfloat
        kDLComplex
        kDLBool
        kDLFloat8_e3m4
        kDLFloat8_e4m3
        kDLFloat8_e4m3b11fnuz
        kDLFloat8_e4m3fn
        kDLFloat8_e4m3fnuz
        kDLFloat8_e5m2
        kDLFloat8_e5m2fnuz
        kDLFloat8_e8m0fnu
        kDLFloat6_e2m3fn
        kDLFloat6_e3m2fn
        kDLFloat4_e2m1fn

    ctypedef struct DLPackVersion:
        uint32_t major
        uint32_t minor

    ctypedef struct DLDevice:
        DLDeviceType device_type
        int32_t device_id

    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes

    ctypedef struct DLTensor:
        void* data
        DLDevice device
        int32_t ndim
        DLDataType dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset

    ctypedef struct DLManagedTensor:
        DLTensor dl_tensor
        void* manager_ctx
        void (*deleter)(DLManagedTensor* self) noexcept

    ctypedef struct DLManagedTensorVersioned:
        DLPackVersion version
        void* manager_ctx
        void (*deleter)(DLManagedTensorVersioned* self) noexcept
        uint64_t flags
        DLTensor dl_tensor

    ctypedef int (*DLPackManagedTensorAllocator)(
        DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
        void (*SetError)(void* error_ctx, const char* kind, const char* message) noexcept,
    ) noexcept

    ctypedef struct DLPackExchangeAPIHeader:
        DLPackVersion version
        DLPackExchangeAPIHeader* prev_api

    ctypedef struct DLPackExchangeAPI:
        DLPackExchangeAPIHeader header
        DLPackManagedTensorAllocator managed_tensor_allocator
        int (*managed_tensor_from_py_object_no_sync)(
            void* py_object, DLManagedTensorVersioned** out) noexcept
        int (*managed_tensor_to_py_object_no_sync)(
            DLManagedTensorVersioned* tensor, void** out_py_object) noexcept
        int (*dltensor_from_py_object_no_sync)(void* py_object, DLTensor* out) noexcept
        int (*current_work_stream)(
            DLDeviceType device_type, int32_t device_id, void** out_current_stream) noexcept

cdef extern from "tvm/ffi/c_api.h" nogil:
    uint64_t TVM_FFI_REF_COUNT_INITIAL

    ctypedef void* TVMFFIObjectHandle

    ctypedef enum TVMFFITypeIndex:
        kTVMFFINone
        kTVMFFIInt
        kTVMFFIBool
        kTVMFFIFloat
        kTVMFFIOpaquePtr
        kTVMFFIDataType
        kTVMFFIDevice
        kTVMFFIDLTensorPtr
        kTVMFFIRawStr
        kTVMFFIByteArrayPtr
        kTVMFFIObjectRValueRef
        kTVMFFISmallStr
        kTVMFFISmallBytes
        kTVMFFIStaticObjectBegin
        kTVMFFIDynObjectBegin
        kTVMFFIObject
        kTVMFFIStr
        kTVMFFIBytes
        kTVMFFIError
        kTVMFFIFunction
        kTVMFFIShape
        kTVMFFITensor
        kTVMFFIArray
        kTVMFFIMap
        kTVMFFIModule
        kTVMFFIOpaquePyObject
        kTVMFFIList
        kTVMFFIDict
        kTVMFFIBigInt

    ctypedef enum TVMFFIObjectDeleterFlagBitMask:
        kTVMFFIObjectDeleterFlagBitMaskStrong
        kTVMFFIObjectDeleterFlagBitMaskWeak
        kTVMFFIObjectDeleterFlagBitMaskBoth

    ctypedef enum TVMFFIBacktraceUpdateMode:
        kTVMFFIBacktraceUpdateModeReplace
        kTVMFFIBacktraceUpdateModeAppend

    ctypedef struct TVMFFIVersion:
        uint32_t major
        uint32_t minor
        uint32_t patch

    ctypedef struct TVMFFIObject:
        uint64_t combined_ref_count
        int32_t type_index
        uint32_t __padding
        void (*deleter)(void* self, int flags) noexcept

    ctypedef struct TVMFFIAny:
        int32_t type_index
        uint32_t zero_padding
        uint32_t small_str_len
        int64_t v_int64
        double v_float64
        void* v_ptr
        const char* v_c_str
        TVMFFIObject* v_obj
        DLDataType v_dtype
        DLDevice v_device
        char v_bytes[8]
        uint64_t v_uint64

    ctypedef struct TVMFFIByteArray:
        const char* data
        size_t size

    ctypedef struct TVMFFIShapeCell:
        const int64_t* data
        size_t size

    ctypedef struct TVMFFIErrorCell:
        TVMFFIByteArray kind
        TVMFFIByteArray message
        TVMFFIByteArray backtrace
        void (*update_backtrace)(
            TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t update_mode) noexcept
        TVMFFIObjectHandle cause_chain
        TVMFFIObjectHandle extra_context

    ctypedef int (*TVMFFISafeCallType)(
        void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) noexcept

    ctypedef struct TVMFFIFunctionCell:
        TVMFFISafeCallType safe_call
        void* cpp_call

    ctypedef struct TVMFFIOpaqueObjectCell:
        void* handle

    ctypedef enum TVMFFIFieldFlagBitMask:
        kTVMFFIFieldFlagBitMaskWritable
        kTVMFFIFieldFlagBitMaskHasDefault
        kTVMFFIFieldFlagBitMaskIsStaticMethod
        kTVMFFIFieldFlagBitMaskSEqHashIgnore
        kTVMFFIFieldFlagBitMaskSEqHashDefPattern
        kTVMFFIFieldFlagBitMaskDefaultFromFactory
        kTVMFFIFieldFlagBitMaskReprOff
        kTVMFFIFieldFlagBitMaskCompareOff
        kTVMFFIFieldFlagBitMaskHashOff
        kTVMFFIFieldFlagBitMaskInitOff
        kTVMFFIFieldFlagBitMaskKwOnly
        kTVMFFIFieldFlagBitSetterIsFunctionObj
        kTVMFFIFieldFlagBitMaskSEqHashDefSimple

    ctypedef enum TVMFFISEqHashKind:
        kTVMFFISEqHashKindUnsupported
        kTVMFFISEqHashKindTreeNode
        kTVMFFISEqHashKindFreeVar
        kTVMFFISEqHashKindDAGNode
        kTVMFFISEqHashKindConstTreeNode
        kTVMFFISEqHashKindUniqueInstance

    ctypedef int (*TVMFFIFieldGetter)(void* field, TVMFFIAny* result) noexcept
    ctypedef int (*TVMFFIFieldSetter)(void* field, const TVMFFIAny* value) noexcept

    ctypedef struct TVMFFIFieldInfo:
        TVMFFIByteArray name
        TVMFFIByteArray doc
        TVMFFIByteArray metadata
        int64_t flags
        int64_t size
        int64_t alignment
        int64_t offset
        TVMFFIFieldGetter getter
        void* setter
        TVMFFIAny default_value_or_factory
        int32_t field_static_type_index

    ctypedef struct TVMFFIMethodInfo:
        TVMFFIByteArray name
        TVMFFIByteArray doc
        TVMFFIByteArray metadata
        int64_t flags
        TVMFFIAny method

    ctypedef struct TVMFFITypeMetadata:
        TVMFFIByteArray doc
        int32_t total_size
        TVMFFISEqHashKind structural_eq_hash_kind

    ctypedef struct TVMFFITypeAttrColumn:
        const TVMFFIAny* data
        int32_t size
        int32_t begin_index

    ctypedef struct TVMFFITypeInfo:
        int32_t type_index
        int32_t type_depth
        TVMFFIByteArray type_key
        const TVMFFITypeInfo** type_ancestors
        int32_t num_fields
        int32_t num_methods
        const TVMFFIFieldInfo* fields
        const TVMFFIMethodInfo* methods
        const TVMFFITypeMetadata* metadata

    TVMFFIByteArray* TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj)
    TVMFFIErrorCell* TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj)
    TVMFFIFunctionCell* TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj)
    TVMFFIOpaqueObjectCell* TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj)
    TVMFFIShapeCell* TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj)
    DLTensor* TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj)

    void TVMFFIGetVersion(TVMFFIVersion* out_version)
    int TVMFFIObjectIncRef(TVMFFIObjectHandle obj)
    int TVMFFIObjectDecRef(TVMFFIObjectHandle obj)
    int TVMFFIObjectCreateOpaque(
        void* handle, int32_t type_index, void (*deleter)(void* handle) noexcept,
        TVMFFIObjectHandle* out)

    int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out)
    int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out)
    int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out)
    TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value)
    int TVMFFIDataTypeFromString(const TVMFFIByteArray* text, DLDataType* out)
    int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out)
    int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out)

    int TVMFFIFunctionCreate(
        void* self, TVMFFISafeCallType safe_call, void (*deleter)(void* self) noexcept,
        TVMFFIObjectHandle* out)
    int TVMFFIFunctionCall(
        TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)
    int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out)
    int TVMFFIFunctionSetGlobal(
        const TVMFFIByteArray* name, TVMFFIObjectHandle f, int allow_override)
    int TVMFFIFunctionSetGlobalFromMethodInfo(
        const TVMFFIMethodInfo* method_info, int allow_override)

    void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result)
    void TVMFFIErrorSetRaised(TVMFFIObjectHandle error)
    void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message)
    int TVMFFIErrorCreateWithCauseAndExtraContext(
        const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
        const TVMFFIByteArray* backtrace, TVMFFIObjectHandle cause_chain,
        TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out)
    const TVMFFIByteArray* TVMFFIBacktrace(
        const char* filename, int lineno, const char* func, int cross_ffi_boundary)

    int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex)
    int32_t TVMFFITypeGetOrAllocIndex(
        const TVMFFIByteArray* type_key, int32_t static_type_index, int32_t type_depth,
        int32_t num_child_slots, int32_t child_slots_can_overflow, int32_t parent_type_index)
    int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info)
    int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info)
    int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata)
    const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index)
    int TVMFFITypeRegisterAttr(
        int32_t type_index, const TVMFFIByteArray* attr_name, const TVMFFIAny* attr_value)
    const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name)

    int TVMFFITensorFromDLPack(
        DLManagedTensor* source, int32_t require_alignment, int32_t require_contiguous,
        TVMFFIObjectHandle* out)
    int TVMFFITensorFromDLPackVersioned(
        DLManagedTensorVersioned* source, int32_t require_alignment, int32_t require_contiguous,
        TVMFFIObjectHandle* out)
    int TVMFFITensorToDLPack(TVMFFIObjectHandle source, DLManagedTensor** out)
    int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle source, DLManagedTensorVersioned** out)
    int TVMFFITensorCreateUnsafeView(
        TVMFFIObjectHandle source, const DLTensor* prototype, TVMFFIObjectHandle* out)

cdef extern from "tvm/ffi/extra/c_env_api.h" nogil:
    ctypedef void* TVMFFIStreamHandle

    int TVMFFIEnvSetStream(
        int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
        TVMFFIStreamHandle* opt_out_original_stream)
    TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id)
    int TVMFFIEnvSetDLPackManagedTensorAllocator(
        DLPackManagedTensorAllocator allocator, int write_to_global_context,
        DLPackManagedTensorAllocator* opt_out_original_allocator)
    int TVMFFIEnvRegisterCAPI(const char* name, void* symbol)

cdef extern from "tvm/ffi/extra/c_prepared.h" nogil:
    ctypedef struct TVMFFIPreparedCell:
        TVMFFIObjectHandle function
        TVMFFIObjectHandle checks
        TVMFFIAny* args
        int32_t num_args
        DLDevice device
        TVMFFIStreamHandle stream
        DLPackManagedTensorAllocator allocator
        TVMFFIObjectHandle callee

    TVMFFIPreparedCell* TVMFFIPreparedGetCellPtr(TVMFFIObjectHandle prepared)
    bint TVMFFIPreparedAccepts(const TVMFFIAny* slot, const TVMFFIAny* argument)
    int TVMFFIPreparedCreate(
        TVMFFIObjectHandle function, TVMFFIObjectHandle checks, const TVMFFIAny* args,
        int32_t num_args, TVMFFIObjectHandle* out)
    int TVMFFIPreparedUpdate(
        TVMFFIObjectHandle prepared, const int32_t* slots, const TVMFFIAny* values,
        int32_t num_values)
    int TVMFFIPreparedRun(
        const TVMFFIObjectHandle* prepared, int32_t num_calls, TVMFFIAny* results, int32_t* failed)

cdef extern from "tvm/ffi/extra/c_observe.h" nogil:
    int TVMFFIObserverShow(TVMFFIObjectHandle function, const TVMFFIByteArray* name)
    int32_t TVMFFIObserverCount()

cdef extern from "tvm/ffi/extra/c_host_call.h" nogil:
    int32_t TVMFFIHostIsReadOnly(const DLTensor* tensor)
